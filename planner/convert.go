package planner

import (
	"fmt"
	"slices"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

// allColumns are the columns that a connector can know: not the computed ones.
func allColumns(t *catalog.Table) (out []int) {
	for i, c := range t.Columns {
		if c.Expr == nil {
			out = append(out, i)
		}
	}
	return out
}

// asTable is a table as its connector sees it, with the given columns.
func (d *declared) asTable(columns []int, mode, guarantee string) connectors.Table {
	t := connectors.Table{Name: d.table.Name, Options: d.options, Mode: mode, Guarantee: guarantee}
	for _, i := range columns {
		c := d.table.Columns[i]
		col := column(c.Name.Name, c.Type)
		if c.Metadata {
			col.Metadata = c.Key
		}
		t.Columns = append(t.Columns, col)
	}
	for _, k := range d.table.Key {
		if i := slices.Index(columns, k); i >= 0 {
			t.Key = append(t.Key, i)
		}
	}
	for _, k := range d.table.PartitionedBy {
		if i := slices.Index(columns, k); i >= 0 {
			t.PartitionedBy = append(t.PartitionedBy, i)
		}
	}
	return t
}

func column(name string, t *ddl.Type) connectors.Column {
	dt, err := catalog.ArrowType(t)
	if err != nil {
		panic(fmt.Sprintf("column %s: %v", name, err)) // CREATE TABLE has checked it
	}
	return connectors.Column{Name: name, Type: dt, SQL: plain(t).String(), Nullable: !t.NotNull}
}

// readScope names the columns that are read, by their place in a batch.
func (s *source) readScope() *eval.Scope {
	out := &eval.Scope{Columns: make([]eval.Column, 0, len(s.read))}
	for place, i := range s.read {
		c := s.scope.Columns[i]
		c.Index = place
		out.Columns = append(out.Columns, c)
	}
	return out
}

// tableRead is what the source is opened with for this table.
func (s *source) tableRead(g *group) connectors.TableRead {
	t := connectors.Table{Name: s.table.Name, Options: s.options, Mode: s.mode.Name}
	for place, i := range s.read {
		b := s.columns[i]
		col := column(b.name, b.typ)
		col.Metadata = b.metadata
		t.Columns = append(t.Columns, col)
		if b.column >= 0 && slices.Contains(s.table.PartitionedBy, b.column) {
			t.PartitionedBy = append(t.PartitionedBy, place)
		}
	}
	for _, k := range s.keyColumns() {
		if place := slices.Index(s.read, k); place >= 0 {
			t.Key = append(t.Key, place)
		}
	}
	if len(t.Key) < len(s.table.Key) {
		t.Key = nil
	}
	r := connectors.TableRead{Table: t, Where: s.predicate(g)}
	for _, b := range s.columns {
		if b.metadata == "" && b.column >= 0 {
			r.Declared = append(r.Declared, column(b.name, b.typ))
		}
	}
	for _, route := range g.routes {
		if route.src == s {
			r.WholeRows = r.WholeRows || route.wholeRows()
			r.ExactHandover = r.ExactHandover || route.exactHandover()
		}
	}
	return r
}
