package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
)

// relation is what a query or a FROM item stands for: columns by name, and one branch for each table that rows come from.
// Branches are joined by UNION ALL.
type relation struct {
	columns  []string
	branches []*branch
}

// branch is a projection and a filter over one source table. Its expressions name only columns of that table.
type branch struct {
	src    *source
	exprs  []ddl.Expr // one for each column of the relation
	filter ddl.Expr   // nil: every row
	at     ddl.Span   // of the SELECT
	checks []ddl.Expr // expressions of subqueries: checked although nothing may use them
}

// route is one branch on its way into one sink.
type route struct {
	*branch
	dst    *sink
	insert *ddl.Insert
	steps  routeSteps
	failed bool

	warnings []string
}

// env is what table names mean beside the catalog: the names of WITH.
type env struct {
	ctes  map[string]*relation
	outer *env
	depth int
}

func (e *env) find(name string) (*relation, bool) {
	for ; e != nil; e = e.outer {
		if r, ok := e.ctes[name]; ok {
			return r, true
		}
	}
	return nil, false
}

// depthMax bounds how deep views and subqueries may nest.
const depthMax = 200

// resolve is step 1: names, views and stars; queries over one table become one projection and one filter.
func (w *work) resolve(in *ddl.Insert) {
	rel := w.query(in.Query, nil)
	dst := w.target(in)
	if rel == nil || dst == nil {
		return
	}
	for _, b := range rel.branches {
		r := &route{branch: b, dst: dst, insert: in}
		w.routes = append(w.routes, r)
		dst.routes = append(dst.routes, r)
	}
}

// target finds the sink table, once for all inserts into it.
func (w *work) target(in *ddl.Insert) *sink {
	t, ok := w.Catalog.Table(in.Target)
	if !ok {
		if v, isView := w.Catalog.View(in.Target); isView {
			w.fail(ddl.Errorf(in.Target.Span(), "cannot-write", "%q is a view, which cannot be written", v.Name))
			return nil
		}
		w.fail(w.Catalog.Unknown(in.Target))
		return nil
	}
	if in.Overwrite {
		w.fail(ddl.Errorf(in.Target.Span(), "unsupported-query", "INSERT OVERWRITE is not supported: a sync adds to what the table holds").
			WithHelp("empty the table in its own system, then write INSERT INTO"))
	}
	if len(in.Partition) > 0 {
		w.fail(ddl.Errorf(in.Partition[0].KeyAt, "unsupported-query", "PARTITION (...) in INSERT is not supported").
			WithHelp("select the values of the partition columns like those of any other column"))
	}
	hints := fmt.Sprint(optionTexts(in.Hints))
	for _, s := range w.sinks {
		if s.table != t {
			continue
		}
		if s.hints != hints {
			w.fail(ddl.Errorf(in.Target.Span(), "unsupported-query", "table %q is written twice with different OPTIONS", t.Name).
				WithHelp("write the options into the declaration of %q", t.Name))
		}
		return s
	}
	s := &sink{declared: w.declare(t, in.Hints), at: in.Target.Span(), hints: hints}
	w.sinks = append(w.sinks, s)
	return s
}

// resolveSelect gives a query on its own a sink of its own.
func (w *work) resolveSelect(q *ddl.Query, result *connectors.Connector) {
	rel := w.query(q, nil)
	if rel == nil {
		return
	}
	dst := &sink{at: q.At, result: true, onError: OnError{Policy: Fail}, declared: declared{table: &catalog.Table{Name: "result", At: q.At}, connector: result}}
	w.sinks = append(w.sinks, dst)
	for _, b := range rel.branches {
		r := &route{branch: b, dst: dst, insert: &ddl.Insert{At: q.At, Query: q}}
		w.routes = append(w.routes, r)
		dst.routes = append(dst.routes, r)
	}
	dst.resultColumns = rel.columns
}

// query resolves a whole query. Nil: it was complained about.
func (w *work) query(q *ddl.Query, outer *env) *relation {
	e := &env{ctes: map[string]*relation{}, outer: outer}
	if outer != nil {
		e.depth = outer.depth + 1
	}
	if e.depth > depthMax {
		w.fail(ddl.Errorf(q.At, "too-deep", "queries nest deeper than %d levels", depthMax))
		return nil
	}
	for _, cte := range q.With {
		rel := w.query(cte.Query, e)
		if rel != nil && !w.rename(rel, cte.Columns, cte.Name.Name) {
			rel = nil
		}
		e.ctes[cte.Name.Name] = rel
	}
	ok := w.refuseOrder(q)
	rel := w.body(q.Body, e)
	if !ok {
		return nil
	}
	return rel
}

func (w *work) refuseOrder(q *ddl.Query) bool {
	switch {
	case len(q.OrderBy) > 0:
		w.fail(unbounded(q.OrderBy[0].Expr.Span(), "ORDER BY", "sort in the target; within a key, rows keep the order of the source"))
	case q.Limit != nil:
		w.fail(ddl.Errorf(q.Limit.Span(), "unsupported-query", "LIMIT works in a SELECT of its own only: a sync carries every change").
			WithHelp("filter with WHERE instead"))
	case q.Offset != nil:
		w.fail(ddl.Errorf(q.Offset.Span(), "unsupported-query", "OFFSET is not supported: a stream has no first row").
			WithHelp("filter with WHERE instead"))
	default:
		return true
	}
	return false
}

func (w *work) body(b ddl.QueryBody, e *env) *relation {
	switch b := b.(type) {
	case *ddl.Select:
		return w.selectBlock(b, e)
	case *ddl.SetOp:
		return w.setOp(b, e)
	case *ddl.Values:
		return w.values(b)
	case *ddl.Query:
		return w.query(b, e)
	}
	panic(fmt.Sprintf("query body %T", b))
}

// setOp joins branches. The tree of a long UNION ALL leans to the left, so the left spine is walked in a loop.
func (w *work) setOp(s *ddl.SetOp, e *env) *relation {
	var parts []ddl.QueryBody
	var body ddl.QueryBody = s
	for {
		op, ok := body.(*ddl.SetOp)
		if !ok {
			break
		}
		if op.Op != "UNION" || !op.All {
			name := op.Op
			if op.All {
				name += " ALL"
			}
			help := "write UNION ALL, which keeps repeats"
			if op.Op != "UNION" {
				help = "compare the tables in the target"
			}
			w.fail(unbounded(op.At, name, help))
			return nil
		}
		parts = append(parts, op.Right)
		body = op.Left
	}
	out := w.body(body, e)
	for _, part := range slices.Backward(parts) {
		rel := w.body(part, e)
		if rel == nil || out == nil {
			out = nil
			continue
		}
		if len(rel.columns) != len(out.columns) {
			w.fail(ddl.Errorf(part.Span(), "column-count", "UNION ALL joins queries of %d and %d columns", len(out.columns), len(rel.columns)))
			out = nil
			continue
		}
		out.branches = append(out.branches, rel.branches...)
	}
	return out
}

// selectBlock is SELECT items FROM one table-like thing WHERE condition.
func (w *work) selectBlock(s *ddl.Select, e *env) *relation {
	if !w.refuseState(s) {
		return nil
	}
	var in *scope
	if s.From == nil {
		in = &scope{rel: w.oneRow(s.At)}
	} else if in = w.from(s.From, e); in == nil {
		return nil
	}
	items, columns, ok := w.items(s, in)
	for _, item := range items {
		ok = w.refuseInside(item.expr) && ok
	}
	ok = w.refuseInside(s.Where) && ok
	if !ok {
		return nil
	}
	out := &relation{columns: columns}
	before := len(w.errs)
	for _, b := range in.rel.branches {
		next := &branch{src: b.src, at: s.At, checks: b.checks, filter: b.filter}
		if !in.table {
			next.checks = append(slices.Clone(b.checks), b.exprs...)
		}
		for _, item := range items {
			if item.column >= 0 {
				next.exprs = append(next.exprs, b.exprs[item.column])
				continue
			}
			next.exprs = append(next.exprs, w.bind(item.expr, in, b))
		}
		if s.Where != nil {
			next.filter = and(b.filter, w.bind(s.Where, in, b))
		}
		out.branches = append(out.branches, next)
		if len(w.errs) > before {
			return nil // the other branches would meet the same mistakes
		}
	}
	w.refuseRepeats(items, in, s.Where)
	return out
}

func and(l, r ddl.Expr) ddl.Expr {
	if l == nil {
		return r
	}
	return &ddl.Binary{Op: "AND", OpAt: r.Span(), L: l, R: r}
}

// item is one output of a SELECT: a column of the scope handed on by a star, or an expression.
type item struct {
	column int
	expr   ddl.Expr
}

func (w *work) items(s *ddl.Select, in *scope) (items []item, columns []string, ok bool) {
	ok = true
	for i, it := range s.Items {
		if !it.Star {
			items = append(items, item{-1, it.Expr})
			columns = append(columns, outputName(it, i))
			continue
		}
		if len(it.Of) > 0 && !in.qualifies(it.Of) {
			w.fail(ddl.Errorf(it.Of.Span(), "unknown-table", "%q is not a table of this query", catalog.FullName(it.Of)))
			ok = false
			continue
		}
		if s.From == nil {
			w.fail(ddl.Errorf(it.At, "unknown-column", "* needs a FROM clause"))
			ok = false
			continue
		}
		for c, name := range in.rel.columns {
			items = append(items, item{column: c})
			columns = append(columns, name)
		}
	}
	return items, columns, ok
}

func outputName(it ddl.SelectItem, i int) string {
	if it.Alias.Name != "" {
		return it.Alias.Name
	}
	switch e := it.Expr.(type) {
	case *ddl.ColumnRef:
		return e.Path.Last()
	case *ddl.Field:
		return e.Name.Name
	}
	return fmt.Sprintf("EXPR$%d", i)
}

// from resolves the one FROM item.
func (w *work) from(ref ddl.TableRef, e *env) *scope {
	switch ref := ref.(type) {
	case *ddl.TableName:
		return w.tableName(ref, e)
	case *ddl.Derived:
		rel := w.query(ref.Query, e)
		if rel == nil || !w.rename(rel, ref.Columns, ref.Alias.Name) {
			return nil
		}
		return &scope{rel: rel, qualifiers: [][]string{{ref.Alias.Name}}}
	case *ddl.Join:
		name := strings.TrimSpace(ref.Kind + " JOIN")
		w.fail(unbounded(ref.At, name, "sync both tables and join them in the target, or read a view of the source system that joins them"))
	case *ddl.TableFunction:
		w.fail(ddl.Errorf(ref.At, "unsupported-query", "table functions, UNNEST and windows in FROM are not supported").
			WithHelp("sync the rows as they are and take them apart in the target"))
	default:
		panic(fmt.Sprintf("table reference %T", ref))
	}
	return nil
}

func (w *work) tableName(ref *ddl.TableName, e *env) *scope {
	if ref.AsOf != nil {
		w.fail(ddl.Errorf(ref.AsOf.Span(), "unsupported-query", "FOR SYSTEM_TIME AS OF is not supported: a source is read as it changes"))
		return nil
	}
	in := &scope{}
	switch {
	case ref.Alias.Name != "":
		in.qualifiers = [][]string{{ref.Alias.Name}}
	default:
		for i := range ref.Name {
			var q []string
			for _, id := range ref.Name[i:] {
				q = append(q, id.Name)
			}
			in.qualifiers = append(in.qualifiers, q)
		}
	}
	if len(ref.Name) == 1 {
		if rel, ok := e.find(ref.Name[0].Name); ok {
			if rel == nil {
				return nil
			}
			in.rel = &relation{columns: slices.Clone(rel.columns), branches: rel.branches}
		}
	}
	if in.rel == nil {
		if t, ok := w.Catalog.Table(ref.Name); ok {
			in.table = true
			in.rel = w.tableRelation(t, ref)
		} else if v, ok := w.Catalog.View(ref.Name); ok {
			in.rel = w.view(v, ref.Name, e.depth)
		} else {
			w.fail(w.Catalog.Unknown(ref.Name))
		}
	}
	if in.rel == nil || !w.rename(in.rel, ref.Columns, ref.Name.Last()) {
		return nil
	}
	return in
}

func (w *work) view(v *catalog.View, at ddl.Path, depth int) *relation {
	if v.Broken {
		return nil
	}
	if depth >= depthMax {
		w.fail(ddl.Errorf(at.Span(), "too-deep", "view %q reads itself, or views nest deeper than %d levels", v.Name, depthMax))
		return nil
	}
	rel := w.query(v.Statement.Query, &env{depth: depth + 1})
	if rel == nil || !w.rename(rel, v.Statement.Columns, v.Name) {
		return nil
	}
	return rel
}

// rename applies a column list such as t(a, b).
func (w *work) rename(rel *relation, names []ddl.Ident, of string) bool {
	if len(names) == 0 {
		return true
	}
	if len(names) != len(rel.columns) {
		w.fail(ddl.Errorf(names[0].At.Cover(names[len(names)-1].At), "column-count", "%d names are given to the %d columns of %q", len(names), len(rel.columns), of))
		return false
	}
	rel.columns = nil
	for _, id := range names {
		rel.columns = append(rel.columns, id.Name)
	}
	return true
}

func unbounded(at ddl.Span, what, help string) *ddl.Error {
	return ddl.Errorf(at, "unsupported-query", "%s needs state that grows without bound, which syncsql does not keep", what).WithHelp("%s", help)
}
