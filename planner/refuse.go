package planner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/syncsql/syncsql/ddl"
)

// aggregates are functions over many rows. Their results need state for as long as the stream runs.
var aggregates = []string{
	"COUNT", "SUM", "AVG", "MIN", "MAX", "LISTAGG", "COLLECT", "ARRAY_AGG", "JSON_OBJECTAGG", "JSON_ARRAYAGG", "FIRST_VALUE",
	"LAST_VALUE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP", "VARIANCE", "APPROX_COUNT_DISTINCT", "SINGLE_VALUE",
}

// windows are the grouping functions of time windows.
var windows = []string{"TUMBLE", "HOP", "SESSION", "CUMULATE"}

// refuseState complains about everything in a SELECT block that needs state over rows; all of it at once.
func (w *work) refuseState(s *ddl.Select) bool {
	before := len(w.errs)
	if s.Distinct {
		w.fail(unbounded(s.At, "SELECT DISTINCT", "give the sink a PRIMARY KEY: equal keys then collapse in the target"))
	}
	if len(s.GroupBy) > 0 {
		w.fail(unbounded(s.GroupBy[0].Span(), "GROUP BY", "sync the rows and aggregate them in the target, or read a view of the source system"))
		return false // aggregates and HAVING are part of it
	}
	if s.Having != nil {
		w.fail(unbounded(s.Having.Span(), "HAVING", "filter single rows with WHERE"))
	}
	return len(w.errs) == before
}

// refuseInside complains about aggregates, windows and subqueries inside an expression.
func (w *work) refuseInside(e ddl.Expr) bool {
	before := len(w.errs)
	walk(e, func(e ddl.Expr) bool {
		switch e := e.(type) {
		case *ddl.Call:
			name := strings.ToUpper(e.Name.Last())
			switch {
			case e.Over != nil:
				w.fail(unbounded(e.At, name+" OVER (...)", "sync the rows and use the window function in the target"))
				return false
			case slices.Contains(aggregates, name):
				w.fail(unbounded(e.At, "the aggregate "+name, "sync the rows and aggregate them in the target, or read a view of the source system"))
				return false
			case slices.Contains(windows, name):
				w.fail(unbounded(e.At, "the window "+name, "sync the rows and group them by time in the target"))
				return false
			}
		case *ddl.In:
			if e.Query != nil {
				w.fail(unbounded(e.At, "IN (query)", "list the values, or sync both tables and filter in the target"))
				return false
			}
		case *ddl.Exists:
			w.fail(unbounded(e.At, "EXISTS", "sync both tables and filter in the target"))
			return false
		case *ddl.Subquery:
			w.fail(unbounded(e.At, "a scalar subquery", "sync both tables and join them in the target"))
			return false
		}
		return true
	})
	return len(w.errs) == before
}

// rolled are functions that give another value at each call, also within a batch.
var rolled = []string{"UUID", "RAND", "RAND_INTEGER"}

// refuseRepeats complains when an output of a subquery that rolls dice is named twice: it would be rolled twice.
func (w *work) refuseRepeats(items []item, in *scope, where ddl.Expr) {
	if in.table {
		return
	}
	for _, b := range in.rel.branches {
		for c, x := range b.exprs {
			name := rolls(x)
			if name == "" {
				continue
			}
			n := in.uses(where, c)
			for _, it := range items {
				if it.column == c {
					n++
				}
				n += in.uses(it.expr, c)
			}
			if n > 1 {
				w.fail(ddl.Errorf(x.Span(), "unsupported-query", "%s is used %d times as %q and would give another value each time", name, n, in.rel.columns[c]).
					WithHelp("use it once"))
			}
		}
	}
}

func rolls(e ddl.Expr) (name string) {
	walk(e, func(e ddl.Expr) bool {
		if call, ok := e.(*ddl.Call); ok && slices.Contains(rolled, strings.ToUpper(call.Name.Last())) {
			name = strings.ToUpper(call.Name.Last()) + "()"
		}
		return name == ""
	})
	return name
}

// takeLimit takes LIMIT off a SELECT on its own: there it says when to stop.
func (w *work) takeLimit(q **ddl.Query) int64 {
	if (*q).Limit == nil || len((*q).OrderBy) > 0 {
		return 0
	}
	own := **q
	l, ok := own.Limit.(*ddl.Literal)
	n := int64(0)
	if ok && l.Kind == ddl.IntLiteral {
		n, _ = strconv.ParseInt(l.Text, 10, 64)
	}
	if n <= 0 {
		w.fail(ddl.Errorf(own.Limit.Span(), "bad-limit", "LIMIT needs a whole number greater than 0"))
	}
	own.Limit = nil
	*q = &own
	return n
}
