package planner

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

// output is what goes into one sink column.
type output struct {
	column  int // of the sink table
	expr    ddl.Expr
	eval    *eval.Expr // over all columns of the source
	missing bool       // not named by the INSERT
}

// routeSteps is what the steps find out about a route.
type routeSteps struct {
	outputs []output
	filter  *eval.Expr
	// missed: an update that the filter does not let through may have been let through before.
	missed bool
	// moves: an update may move a row to another key of the sink, where none of its values are.
	moves bool
	emits change.Kinds
}

// types is step 3: it compiles the expressions and assigns them to the sink's columns.
func (w *work) types(r *route) {
	if r.src.failed || r.dst.failed {
		r.failed = true
		return
	}
	before := len(w.errs)
	for _, e := range r.checks {
		w.check(r.src, e)
	}
	if r.filter != nil {
		r.steps.filter = w.check(r.src, r.filter)
		if f := r.steps.filter; f != nil && f.Type.Kind != ddl.Boolean && f.Type.Kind != ddl.Null {
			w.fail(ddl.Errorf(r.filter.Span(), "type-mismatch", "WHERE needs a BOOLEAN, this is %s", f.Type).
				WithHelp("compare it with something"))
		}
	}
	compiled := make([]*eval.Expr, len(r.exprs))
	for i, e := range r.exprs {
		compiled[i] = w.check(r.src, e)
	}
	if r.dst.result {
		if len(w.errs) > before {
			r.failed = true
			return
		}
		w.resultColumns(r, compiled)
	}
	targets, ok := w.targets(r)
	if ok && len(targets) != len(r.exprs) {
		w.columnCount(r, targets)
		ok = false
	}
	if ok {
		r.steps.outputs = make([]output, 0, len(targets))
		for i, col := range targets {
			if compiled[i] != nil {
				w.assign(r, col, r.exprs[i], compiled[i])
			}
		}
	}
	r.failed = len(w.errs) > before
}

// check compiles an expression over all columns of a source. Nil: it was complained about.
func (w *work) check(s *source, e ddl.Expr) *eval.Expr {
	if e == nil {
		return nil
	}
	x, errs := eval.Compile(e, &s.scope)
	w.errs = append(w.errs, errs...)
	if len(errs) > 0 {
		return nil
	}
	return x
}

// targets are the sink columns that an INSERT fills, in the order of the query's columns.
func (w *work) targets(r *route) ([]int, bool) {
	t := r.dst.table
	if len(r.insert.Columns) == 0 {
		return storedColumns(t), true
	}
	var out []int
	ok := true
	for _, id := range r.insert.Columns {
		i := t.Column(id.Name)
		e := ddl.Errorf(id.At, "unknown-column", "table %q has no column %q", t.Name, id.Name)
		switch {
		case i < 0:
			var names []string
			for _, c := range t.Columns {
				names = append(names, c.Name.Name)
			}
			if near := ddl.Nearest(id.Name, names); near != "" {
				e.WithHelp("did you mean %q?", near)
			}
		case !stored(t.Columns[i]):
			e = ddl.Errorf(id.At, "cannot-write", "column %q of table %q is not stored, so it cannot be written", id.Name, t.Name)
		case slices.Contains(out, i):
			e = ddl.Errorf(id.At, "duplicate-column", "column %q is named twice", id.Name)
		default:
			out = append(out, i)
			continue
		}
		w.fail(e)
		ok = false
	}
	return out, ok
}

func stored(c ddl.Column) bool { return c.Expr == nil && !(c.Metadata && c.Virtual) }

// storedColumns are the columns that a sink table takes: not computed ones, not virtual metadata.
func storedColumns(t *catalog.Table) (out []int) {
	for i, c := range t.Columns {
		if stored(c) {
			out = append(out, i)
		}
	}
	return out
}

func (w *work) columnCount(r *route, targets []int) {
	names := make([]string, len(targets))
	for i, c := range targets {
		names[i] = r.dst.table.Columns[c].Name.Name
	}
	e := ddl.Errorf(r.insert.Target.Span(), "column-count", "table %q takes %s (%s), the query gives %d",
		r.dst.table.Name, count(len(targets), "column"), strings.Join(names, ", "), len(r.exprs))
	w.fail(e.WithHelp("name the columns that are filled: INSERT INTO %s (...) SELECT ...", r.dst.table.Name))
}

// assign puts one expression into one sink column: as it is, by an implicit cast that keeps every value, or not at all.
func (w *work) assign(r *route, col int, e ddl.Expr, x *eval.Expr) {
	c := r.dst.table.Columns[col]
	if c.Metadata {
		if m := metadataOf(r.dst.connector, c.Key); m != nil && !m.Writable {
			w.fail(ddl.Errorf(c.Name.At, "cannot-write", "metadata %q can only be read, so column %q cannot be written", c.Key, c.Name.Name).
				WithHelp("declare the column as METADATA FROM '%s' VIRTUAL", c.Key))
			return
		}
	}
	bare := *c.Type
	bare.NotNull = false
	if x.Type.Kind == ddl.Null && c.Type.NotNull {
		w.fail(ddl.Errorf(e.Span(), "type-mismatch", "column %q of table %q is NOT NULL, but the query gives NULL", c.Name.Name, r.dst.table.Name))
		return
	}
	if !x.AssignableTo(&bare) {
		w.fail(ddl.Errorf(e.Span(), "type-mismatch", "column %q of table %q is %s, but the query gives %s",
			c.Name.Name, r.dst.table.Name, &bare, plain(x.Type)).WithHelp("write CAST(%s AS %s)", exprText(e), &bare))
		return
	}
	if !sameArrow(x.Type, &bare) {
		e = &ddl.Cast{At: e.Span(), X: e, Type: &bare}
		if x = w.check(r.src, e); x == nil {
			return
		}
	}
	r.steps.outputs = append(r.steps.outputs, output{column: col, expr: e, eval: x})
}

func plain(t *ddl.Type) *ddl.Type {
	p := *t
	p.NotNull = false
	return &p
}

func sameArrow(a, b *ddl.Type) bool {
	x, err := catalog.ArrowType(a)
	if err != nil {
		return false
	}
	y, err := catalog.ArrowType(b)
	return err == nil && arrow.TypeEqual(x, y)
}

// resultColumns makes the columns of a SELECT's result: the types of its first branch.
func (w *work) resultColumns(r *route, compiled []*eval.Expr) {
	t := r.dst.table
	if t.Columns != nil {
		return
	}
	for i, x := range compiled {
		own := *plain(x.Type)
		if own.Kind == ddl.Null {
			own = ddl.Type{Kind: ddl.Varchar, Length: ddl.MaxLength}
		}
		t.Columns = append(t.Columns, ddl.Column{Name: ddl.Ident{Name: r.dst.resultColumns[i], At: r.at}, Type: &own})
	}
}

// missingColumns decides what becomes of the sink columns that no INSERT fills: left as they are where the sink can do that,
// else NULL, which must neither break NOT NULL nor wipe out what a replaced row held.
func (w *work) missingColumns(s *sink) {
	if s.failed || len(s.routes) == 0 {
		return
	}
	all := storedColumns(s.table)
	keyed := s.keyed()
	var leave []int
	for n, r := range s.routes {
		if r.failed {
			continue
		}
		var missing []int
		for _, col := range all {
			if !slices.ContainsFunc(r.steps.outputs, func(o output) bool { return o.column == col }) {
				missing = append(missing, col)
			}
		}
		if n == 0 {
			leave = missing
		} else if !slices.Equal(leave, missing) && keyed {
			w.fail(ddl.Errorf(r.insert.Target.Span(), "partial-row", "two queries fill different columns of table %q", s.table.Name).
				WithHelp("fill the same columns in both, or run them as pipelines of their own"))
			continue
		}
		w.fillMissing(s, r, missing, keyed)
	}
	s.write = all
	if keyed && s.mode.PartialRows {
		s.write = slices.DeleteFunc(slices.Clone(all), func(c int) bool { return slices.Contains(leave, c) })
	}
	for _, r := range s.routes {
		slices.SortFunc(r.steps.outputs, func(a, b output) int { return a.column - b.column })
		r.steps.outputs = slices.DeleteFunc(r.steps.outputs, func(o output) bool { return !slices.Contains(s.write, o.column) })
	}
}

func (w *work) fillMissing(s *sink, r *route, missing []int, keyed bool) {
	for _, col := range missing {
		c := s.table.Columns[col]
		at := r.insert.Target.Span()
		switch {
		case c.Type.NotNull:
			w.fail(ddl.Errorf(at, "missing-column", "column %q of table %q is NOT NULL, but the INSERT does not fill it", c.Name.Name, s.table.Name))
			r.failed = true
		case keyed && !s.mode.PartialRows && s.mode.Accepts.Has(change.UpdateAfter):
			w.fail(ddl.Errorf(at, "partial-row", "mode %q replaces whole rows, so column %q of table %q, which the INSERT does not fill, would lose its values",
				s.mode.Name, c.Name.Name, s.table.Name).WithHelp("fill the column, or leave it out of the declaration of %q", s.table.Name))
			r.failed = true
		default:
			e := &ddl.Cast{At: at, X: &ddl.Literal{At: at, Kind: ddl.NullLiteral}, Type: plain(c.Type)}
			if x := w.check(r.src, e); x != nil {
				r.steps.outputs = append(r.steps.outputs, output{column: col, expr: e, eval: x, missing: true})
			}
		}
	}
}
