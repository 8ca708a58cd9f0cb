package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
	"github.com/syncsql/syncsql/option"
)

// declared is a table as its connector sees it.
type declared struct {
	table     *catalog.Table
	connector *connectors.Connector // nil: unknown, and complained about in step 2
	options   option.Set            // in the connector's own spelling
	names     map[string]string     // the user's spelling of a key, where it differs
	problems  []connectors.Problem  // of the translation
	decls     []option.Decl
	repeats   ddl.Errors // dynamic options that are set twice
	warnings  []string
	failed    bool
}

// source is one table that is read, with its dynamic options. Inserts that read it alike share it.
type source struct {
	declared
	at      ddl.Span // where it was first named
	hints   string
	columns []base
	scope   eval.Scope // of columns
	mode    connectors.ReadMode
	values  *valueRows // of a query without a table

	read []int // columns that are read, in order; set by push-down
}

// base is one column that a source can hand over.
type base struct {
	name, metadata string
	typ            *ddl.Type
	column         int // in the table's columns, -1 for metadata that is not declared
}

// sink is one table that is written.
type sink struct {
	declared
	at            ddl.Span
	hints         string
	routes        []*route
	mode          connectors.WriteMode
	result        bool // of a SELECT on its own
	resultColumns []string
	write         []int // table columns that are written, in order
	onError       OnError
}

// declare looks a table's connector up and translates its options. It complains about nothing.
func (p *Planner) declare(t *catalog.Table, hints []ddl.Option) declared {
	d := declared{table: t, options: t.Options}
	if len(hints) > 0 {
		own, errs := option.NewSet(hints)
		d.repeats = errs
		for _, key := range own.Keys() {
			e, _ := own.Lookup(key)
			d.options = d.options.With(key, e)
		}
	}
	e, ok := d.options.Lookup(connectorOption.Key)
	if !ok {
		return d
	}
	for _, c := range p.Connectors {
		if c.Name == e.Text {
			d.connector = c
			break
		}
		for i := range c.Aliases {
			if c.Aliases[i].Name == e.Text {
				d.connector = c
				d.translate(&c.Aliases[i])
			}
		}
	}
	if d.connector != nil {
		d.decls = declarations(d.connector)
	}
	return d
}

// translate carries the options of another spelling over: keys by the alias' map, its defaults where the user said nothing.
// Keys that the map does not know stay, so that the connector's own options can be used beside.
func (d *declared) translate(a *connectors.Alias) {
	d.names = map[string]string{}
	out := option.Set{}
	for _, key := range d.options.Keys() {
		e, _ := d.options.Lookup(key)
		to, ok := a.Keys[key]
		switch {
		case !ok:
			out = out.With(key, e)
		case to != "":
			out = out.With(to, e)
			d.names[to] = key
		}
	}
	for _, from := range slices.Sorted(maps.Keys(a.Keys)) {
		to := a.Keys[from]
		if _, ok := d.names[to]; to != "" && !ok {
			d.names[to] = from
		}
	}
	for key, text := range a.Defaults {
		if !out.Has(key) {
			out = out.With(key, option.Entry{Text: text})
		}
	}
	if a.Translate != nil {
		out, d.problems = a.Translate(out)
	}
	d.options = out
}

// holds reports whether all conditions hold for the options or their defaults.
func (d *declared) holds(conditions []connectors.When) bool {
	for _, c := range conditions {
		if !strings.EqualFold(strings.TrimSpace(d.options.Text(d.decls, c.Option)), c.Value) {
			return false
		}
	}
	return true
}

// tableRelation is a table in FROM: its columns in order, computed ones replaced by what computes them.
func (w *work) tableRelation(t *catalog.Table, ref *ddl.TableName) *relation {
	s := w.source(t, ref)
	b := &branch{src: s, at: ref.At}
	rel := &relation{branches: []*branch{b}}
	in := &scope{table: true, rel: &relation{}}
	given := &branch{src: s}
	for i, c := range t.Columns {
		if c.Expr != nil {
			continue
		}
		in.rel.columns = append(in.rel.columns, c.Name.Name)
		given.exprs = append(given.exprs, s.given(i))
	}
	n := 0
	for _, c := range t.Columns {
		rel.columns = append(rel.columns, c.Name.Name)
		if c.Expr == nil {
			b.exprs = append(b.exprs, given.exprs[n])
			n++
			continue
		}
		b.exprs = append(b.exprs, w.bind(c.Expr, in, given))
	}
	return rel
}

// given is the expression of a column that the source hands over: metadata declared with another type is cast.
func (s *source) given(i int) ddl.Expr {
	c := s.table.Columns[i]
	ref := &ddl.ColumnRef{Path: ddl.Path{c.Name}}
	for _, b := range s.columns {
		if b.column == i && c.Metadata && !b.typ.Equal(c.Type) && !sameArrow(b.typ, c.Type) {
			return &ddl.Cast{At: c.At, X: ref, Type: c.Type}
		}
	}
	return ref
}

// source finds or makes the source of a table; dynamic options make another one.
func (w *work) source(t *catalog.Table, ref *ddl.TableName) *source {
	hints := fmt.Sprint(optionTexts(ref.Hints))
	for _, s := range w.sources {
		if s.table == t && s.hints == hints {
			return s
		}
	}
	s := &source{declared: w.declare(t, ref.Hints), at: ref.Name.Span(), hints: hints}
	for i, c := range t.Columns {
		if c.Expr != nil {
			continue
		}
		b := base{name: c.Name.Name, typ: c.Type, column: i}
		if c.Metadata {
			b.metadata = c.Key
			if m := s.metadata(c.Key); m != nil {
				b.typ = metadataType(m, c.Type)
			}
		}
		s.columns = append(s.columns, b)
		s.scope.Columns = append(s.scope.Columns, eval.Column{Name: b.name, Type: b.typ, Index: len(s.columns) - 1})
	}
	if s.connector != nil {
		for i := range s.connector.Metadata {
			m := &s.connector.Metadata[i]
			s.columns = append(s.columns, base{name: meta + "." + m.Key, metadata: m.Key, typ: metadataType(m, nil), column: -1})
			last := len(s.columns) - 1
			s.scope.Columns = append(s.scope.Columns, eval.Column{Name: s.columns[last].name, Type: s.columns[last].typ, Index: last})
		}
	}
	w.sources = append(w.sources, s)
	return s
}

func optionTexts(options []ddl.Option) (out []string) {
	for _, o := range options {
		out = append(out, ddl.QuoteString(o.Key)+"="+ddl.QuoteString(o.Value))
	}
	return out
}

func (s *source) metadata(key string) *connectors.MetadataColumn {
	if s == nil {
		return nil
	}
	return metadataOf(s.connector, key)
}

func metadataOf(c *connectors.Connector, key string) *connectors.MetadataColumn {
	if c == nil {
		return nil
	}
	for i := range c.Metadata {
		if c.Metadata[i].Key == key {
			return &c.Metadata[i]
		}
	}
	return nil
}

// metadataType is the type that the source hands over. The declared one is as good when Arrow carries both alike.
func metadataType(m *connectors.MetadataColumn, as *ddl.Type) *ddl.Type {
	t, err := catalog.SQLType(m.Type)
	if err != nil {
		panic(fmt.Sprintf("metadata column %s: %v", m.Key, err)) // session.TestConnectors checks every list
	}
	if as != nil && sameArrow(t, as) {
		return as
	}
	return t
}

func helpMetadata(e *ddl.Error, key string, c *connectors.Connector) *ddl.Error {
	var known []string
	if c != nil {
		for _, m := range c.Metadata {
			known = append(known, m.Key)
		}
	}
	if near := ddl.Nearest(key, known); near != "" {
		return e.WithHelp("did you mean %q?", near)
	}
	if len(known) == 0 {
		return e.WithHelp("the connector has no metadata columns")
	}
	return e.WithHelp("there are %s", strings.Join(known, ", "))
}
