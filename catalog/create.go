package catalog

import (
	"slices"
	"strings"

	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/option"
)

func (c *Catalog) createTable(s *ddl.CreateTable) ddl.Errors {
	if e := c.taken(s.Name, s.Temporary); e != nil {
		if s.IfNotExists {
			return nil
		}
		return ddl.Errors{e}
	}
	written, at := s, s.At
	var errs ddl.Errors
	if s.Like != nil {
		merged, likeErrs := c.like(s)
		s, errs = merged, append(errs, likeErrs...)
	}
	t, tableErrs := newTable(s)
	errs = append(errs, tableErrs...)
	t.Written = written
	t.Broken = len(errs) > 0
	if written.Like != nil {
		if base, ok := c.Table(written.Like.Table); ok && base.Broken {
			t.Broken, t.Heir = true, true
			errs = slices.DeleteFunc(errs, func(e *ddl.Error) bool { return e.Span.Start < at.Start || e.Span.End > at.End })
		}
	}
	(*c.tables.in(s.Temporary))[t.Name] = t
	return errs
}

// newTable checks a declaration on its own: columns, types, keys, partitions, options that are set twice.
func newTable(s *ddl.CreateTable) (*Table, ddl.Errors) {
	t := &Table{Name: FullName(s.Name), At: s.Name.Span(), Temporary: s.Temporary, OptionsAt: s.OptionsAt, Statement: s,
		Columns: slices.Clone(s.Columns)}
	errs := t.checkColumns()
	if s.PrimaryKey != nil {
		errs = append(errs, t.setKey(s.PrimaryKey)...)
	}
	for _, id := range s.PartitionedBy {
		if i := t.Column(id.Name); i >= 0 {
			t.PartitionedBy = append(t.PartitionedBy, i)
		} else {
			errs = append(errs, t.unknownColumn(id, "PARTITIONED BY"))
		}
	}
	if s.Watermark != nil && t.Column(s.Watermark.Column[0].Name) < 0 {
		errs = append(errs, t.unknownColumn(s.Watermark.Column[0], "WATERMARK"))
	}
	if s.As != nil {
		errs = append(errs, ddl.Errorf(s.As.At, "unsupported-statement", "CREATE TABLE ... AS is not supported").
			WithHelp("declare the columns with CREATE TABLE and fill the table with INSERT INTO %s SELECT ...", t.Name))
	}
	options, optionErrs := option.NewSet(s.Options)
	t.Options = options
	return t, append(errs, optionErrs...)
}

func (t *Table) checkColumns() ddl.Errors {
	var errs ddl.Errors
	seen := map[string]bool{}
	stored := 0
	for i := range t.Columns {
		col := &t.Columns[i]
		if seen[col.Name.Name] {
			errs = append(errs, ddl.Errorf(col.Name.At, "duplicate-column", "column %q is declared twice", col.Name.Name))
		}
		seen[col.Name.Name] = true
		if col.Type == nil {
			continue
		}
		if !col.Metadata {
			stored++
		}
		own := *col.Type
		col.Type = &own
		if _, err := ArrowType(col.Type); err != nil {
			errs = append(errs, ddl.Errorf(col.Type.At, "unsupported-type", "column %q has the type %s, which no table can hold", col.Name.Name, col.Type))
		}
	}
	if stored == 0 && t.Statement.As == nil && t.Statement.Like == nil {
		errs = append(errs, ddl.Errorf(t.At, "no-columns", "table %q has no column that is stored", t.Name).
			WithHelp("declare the columns: CREATE TABLE %s (id BIGINT, ...) WITH (...)", t.Name))
	}
	return errs
}

// setKey resolves PRIMARY KEY. Its columns are NOT NULL by themselves.
func (t *Table) setKey(pk *ddl.PrimaryKey) ddl.Errors {
	var errs ddl.Errors
	t.KeyAt = pk.At
	if pk.Enforced {
		names := make([]string, len(pk.Columns))
		for i, id := range pk.Columns {
			names[i] = id.Name
		}
		errs = append(errs, ddl.Errorf(pk.At, "enforced-key", "a PRIMARY KEY cannot be enforced by syncsql").
			WithHelp("write PRIMARY KEY (%s) NOT ENFORCED", strings.Join(names, ", ")))
	}
	for _, id := range pk.Columns {
		i := t.Column(id.Name)
		switch {
		case i < 0:
			errs = append(errs, t.unknownColumn(id, "PRIMARY KEY"))
		case slices.Contains(t.Key, i):
			errs = append(errs, ddl.Errorf(id.At, "bad-key", "column %q stands twice in the PRIMARY KEY", id.Name))
		case t.Columns[i].Type == nil || t.Columns[i].Metadata && t.Columns[i].Virtual:
			errs = append(errs, ddl.Errorf(id.At, "bad-key", "column %q is not stored, so it cannot be part of the PRIMARY KEY", id.Name))
		default:
			t.Columns[i].Type.NotNull = true
			t.Key = append(t.Key, i)
		}
	}
	return errs
}

func (t *Table) unknownColumn(id ddl.Ident, where string) *ddl.Error {
	e := ddl.Errorf(id.At, "unknown-column", "%s names column %q, which table %q does not have", where, id.Name, t.Name)
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name.Name)
	}
	if near := ddl.Nearest(id.Name, names); near != "" {
		e.WithHelp("did you mean %q?", near)
	}
	return e
}
