package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

// keyColumns are the source's key, as indexes of its columns.
func (s *source) keyColumns() []int {
	var out []int
	for _, k := range s.table.Key {
		out = append(out, slices.IndexFunc(s.columns, func(b base) bool { return b.column == k }))
	}
	return out
}

// origin is the source column whose values an expression carries without merging two of them into one.
func (r *route) origin(e ddl.Expr) (int, bool) {
	switch e := e.(type) {
	case *ddl.ColumnRef:
		for i, c := range r.src.scope.Columns {
			if c.Name == e.Path.Last() {
				return i, true
			}
		}
	case *ddl.Cast:
		c, ok := r.origin(e.X)
		if !ok || e.Try {
			return 0, false
		}
		return c, injective(r.src.columns[c].typ, e.Type)
	}
	return 0, false
}

// injective reports whether a cast keeps different values different.
func injective(from, to *ddl.Type) bool {
	text := func(t *ddl.Type) bool { return t.Kind == ddl.Char || t.Kind == ddl.Varchar }
	switch {
	case text(from) && text(to):
		return to.Length >= from.Length
	case from.Kind >= ddl.TinyInt && from.Kind <= ddl.BigInt && text(to):
		return to.Length >= 20
	}
	return eval.Implicit(from, plain(to)) && from.Kind == to.Kind ||
		from.Kind >= ddl.TinyInt && from.Kind <= ddl.BigInt && eval.Implicit(from, plain(to))
}

// keys is step 6: the sink's PRIMARY KEY against the key of the query.
func (w *work) keys(r *route) {
	if r.failed || r.dst.failed {
		return
	}
	w.changingValues(r)
	if !r.dst.keyed() {
		return
	}
	var carried []int // source key columns that are part of the sink's key
	fixed := true     // every other part of the sink's key is a constant
	for _, o := range r.steps.outputs {
		if !slices.Contains(r.dst.table.Key, o.column) {
			continue
		}
		if !o.eval.Deterministic {
			w.fail(ddl.Errorf(o.expr.Span(), "nondeterministic-key", "column %q is part of the key of table %q, but its value is another each time a row is computed",
				r.dst.table.Columns[o.column].Name.Name, r.dst.table.Name).WithHelp("compute key columns from columns of %q alone", r.src.table.Name))
			r.failed = true
			continue
		}
		if c, ok := r.origin(o.expr); ok && slices.Contains(r.src.keyColumns(), c) {
			carried = append(carried, c)
		} else if len(o.eval.Columns) > 0 {
			fixed = false
		}
	}
	if r.failed || r.src.values != nil {
		return
	}
	covered := len(r.src.table.Key) > 0
	for _, k := range r.src.keyColumns() {
		covered = covered && slices.Contains(carried, k)
	}
	if covered && fixed {
		return
	}
	r.steps.moves = true
	w.otherKey(r, covered)
}

// otherKey decides about a sink key that is not the query's key.
func (w *work) otherKey(r *route, covered bool) {
	src, dst := r.src.table, r.dst.table
	full := r.src.mode.BeforeImages == fullImages
	updating := r.src.mode.Emits.Minus(change.Inserts) != 0
	sinkKey, srcKey := keyText(dst), keyText(src)
	switch {
	case covered && (full || !updating):
		return
	case !updating && len(src.Key) > 0:
		r.warn(fmt.Sprintf("the key of table %q is %s, that of table %q is %s: rows with the same %s replace each other, the last one stays",
			src.Name, srcKey, dst.Name, sinkKey, sinkKey))
	case !updating:
		return
	case full && len(src.Key) == 0:
		r.warn(fmt.Sprintf("table %q declares no key, that of table %q is %s: rows with the same %s replace each other, and a delete of one removes the row",
			src.Name, dst.Name, sinkKey, sinkKey))
	case full:
		r.warn(fmt.Sprintf("the key of table %q is %s, that of table %q is %s: rows with the same %s replace each other, and a delete of one removes the row",
			src.Name, srcKey, dst.Name, sinkKey, sinkKey))
	default:
		w.keyRefusal(r, covered)
	}
}

func (w *work) keyRefusal(r *route, covered bool) {
	src, dst := r.src.table, r.dst.table
	at := r.insert.Target.Span()
	r.failed = true
	var lost []string
	for i, k := range r.src.keyColumns() {
		if !slices.ContainsFunc(r.steps.outputs, func(o output) bool { c, ok := r.origin(o.expr); return ok && c == k }) {
			lost = append(lost, src.Columns[src.Key[i]].Name.Name)
		}
	}
	images := fmt.Sprintf("let table %q send the row before each change", src.Name)
	if alt := r.src.modeWith(func(m *connectors.ReadMode) bool { return m.BeforeImages == fullImages }); alt != "" {
		images += " (" + alt + ")"
	}
	if len(lost) > 0 {
		w.fail(ddl.Errorf(at, "key-mismatch", "table %q: the query loses %s of the key %s of table %q, so an update or delete cannot find its row by %s",
			dst.Name, strings.Join(lost, ", "), keyText(src), src.Name, keyText(dst)).
			WithHelp("select %s into the key of %q, or %s", strings.Join(lost, ", "), dst.Name, images))
		return
	}
	why := "several of its rows may share one key"
	if covered {
		why = "an update may move a row to another key"
	}
	hint := strings.Join(r.keyHint(), ", ")
	w.fail(ddl.Errorf(at, "key-mismatch", "table %q has the key %s, but table %q changes rows by its key %s: %s, and the row before is not sent",
		dst.Name, keyText(dst), src.Name, keyText(src), why).
		WithHelp("declare PRIMARY KEY (%s) NOT ENFORCED on %q, or %s", hint, dst.Name, images))
}

// changingValues refuses expressions that give the row before a change another value than it had, where that row is kept.
func (w *work) changingValues(r *route) {
	if r.dst.result || !r.dst.mode.NeedsBefore || !r.steps.emits.Has(change.UpdateBefore) && !r.steps.emits.Has(change.Delete) {
		return
	}
	for _, o := range r.steps.outputs {
		if !o.eval.Deterministic {
			w.fail(ddl.Errorf(o.expr.Span(), "nondeterministic-change", "column %q of table %q would have another value in the row before a change than it had when that row was written",
				r.dst.table.Columns[o.column].Name.Name, r.dst.table.Name).WithHelp("use a sink with a PRIMARY KEY, or compute the column from columns of %q alone", r.src.table.Name))
			r.failed = true
		}
	}
}

// sharedKeys warns of several queries that write one keyed table: rows with the same key replace each other.
func (w *work) sharedKeys() {
	for _, s := range w.sinks {
		routes := s.living()
		if s.failed || !s.keyed() || len(routes) < 2 {
			continue
		}
		var shared []*route
		var names []string
		for _, a := range routes {
			if !slices.ContainsFunc(routes, func(b *route) bool { return a != b && !a.apart(b) }) {
				continue
			}
			shared = append(shared, a)
			if name := quote(a.src.table.Name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(shared) == 0 {
			continue
		}
		text := fmt.Sprintf("table %q: rows of %s with the same key %s replace each other, and a delete of one removes the row",
			s.table.Name, list(names), keyText(s.table))
		if len(names) == 1 {
			text = fmt.Sprintf("table %q: %d queries over %s write rows with the same key %s; they replace each other, and a delete of one removes the row",
				s.table.Name, len(shared), names[0], keyText(s.table))
		}
		for _, r := range shared {
			r.warn(text)
		}
	}
}

// list joins names for a sentence; a long list is cut.
func list(names []string) string {
	const shown = 5
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// apart: a key column is a different constant in both, so no key is shared.
func (r *route) apart(o *route) bool {
	for _, a := range r.steps.outputs {
		x, ok := constant(a.expr)
		if !ok || !slices.Contains(r.dst.table.Key, a.column) {
			continue
		}
		for _, b := range o.steps.outputs {
			if y, ok := constant(b.expr); ok && b.column == a.column && x.Kind == y.Kind && x.Text != y.Text {
				return true
			}
		}
	}
	return false
}

func constant(e ddl.Expr) (*ddl.Literal, bool) {
	if c, ok := e.(*ddl.Cast); ok {
		e = c.X
	}
	l, ok := e.(*ddl.Literal)
	return l, ok
}

func (r *route) warn(text string) {
	if !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

func keyText(t *catalog.Table) string { return "(" + strings.Join(t.KeyNames(), ", ") + ")" }
