package planner

import "github.com/syncsql/syncsql/ddl"

// rewrite copies an expression with every column reference replaced by what f makes of it.
func rewrite(e ddl.Expr, f func(*ddl.ColumnRef) ddl.Expr) ddl.Expr {
	re := func(x ddl.Expr) ddl.Expr {
		if x == nil {
			return nil
		}
		return rewrite(x, f)
	}
	switch e := e.(type) {
	case *ddl.ColumnRef:
		return f(e)
	case *ddl.Call:
		c := *e
		c.Args = rewriteAll(e.Args, f)
		c.Filter = re(e.Filter)
		c.Extra = nil
		for _, x := range e.Extra {
			x.Expr = re(x.Expr)
			c.Extra = append(c.Extra, x)
		}
		return &c
	case *ddl.Unary:
		c := *e
		c.X = re(e.X)
		return &c
	case *ddl.Binary:
		c := *e
		c.L, c.R = re(e.L), re(e.R)
		return &c
	case *ddl.Case:
		c := *e
		c.Operand, c.Else, c.Whens = re(e.Operand), re(e.Else), nil
		for _, w := range e.Whens {
			c.Whens = append(c.Whens, ddl.When{Cond: re(w.Cond), Result: re(w.Result)})
		}
		return &c
	case *ddl.Cast:
		c := *e
		c.X = re(e.X)
		return &c
	}
	return rewriteTest(e, f, re)
}

func rewriteTest(e ddl.Expr, f func(*ddl.ColumnRef) ddl.Expr, re func(ddl.Expr) ddl.Expr) ddl.Expr {
	switch e := e.(type) {
	case *ddl.In:
		c := *e
		c.X, c.List = re(e.X), rewriteAll(e.List, f)
		return &c
	case *ddl.Between:
		c := *e
		c.X, c.Lo, c.Hi = re(e.X), re(e.Lo), re(e.Hi)
		return &c
	case *ddl.LikeExpr:
		c := *e
		c.X, c.Pattern, c.Escape = re(e.X), re(e.Pattern), re(e.Escape)
		return &c
	case *ddl.Is:
		c := *e
		c.X = re(e.X)
		return &c
	case *ddl.Item:
		c := *e
		c.X, c.Index = re(e.X), re(e.Index)
		return &c
	case *ddl.Field:
		c := *e
		c.X = re(e.X)
		return &c
	case *ddl.Construct:
		c := *e
		c.Elems = rewriteAll(e.Elems, f)
		return &c
	}
	return e // literals; subqueries are refused before
}

func rewriteAll(list []ddl.Expr, f func(*ddl.ColumnRef) ddl.Expr) []ddl.Expr {
	if list == nil {
		return nil
	}
	out := make([]ddl.Expr, len(list))
	for i, x := range list {
		out[i] = rewrite(x, f)
	}
	return out
}

// walk calls f for an expression and all below it, but not below one where f returns false.
func walk(e ddl.Expr, f func(ddl.Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, x := range below(e) {
		walk(x, f)
	}
}

func below(e ddl.Expr) []ddl.Expr {
	switch e := e.(type) {
	case *ddl.Call:
		out := append([]ddl.Expr{e.Filter}, e.Args...)
		for _, x := range e.Extra {
			out = append(out, x.Expr)
		}
		return out
	case *ddl.Unary:
		return []ddl.Expr{e.X}
	case *ddl.Binary:
		return []ddl.Expr{e.L, e.R}
	case *ddl.Case:
		out := []ddl.Expr{e.Operand}
		for _, w := range e.Whens {
			out = append(out, w.Cond, w.Result)
		}
		return append(out, e.Else)
	case *ddl.Cast:
		return []ddl.Expr{e.X}
	case *ddl.In:
		return append([]ddl.Expr{e.X}, e.List...)
	case *ddl.Between:
		return []ddl.Expr{e.X, e.Lo, e.Hi}
	case *ddl.LikeExpr:
		return []ddl.Expr{e.X, e.Pattern, e.Escape}
	case *ddl.Is:
		return []ddl.Expr{e.X}
	case *ddl.Item:
		return []ddl.Expr{e.X, e.Index}
	case *ddl.Field:
		return []ddl.Expr{e.X}
	case *ddl.Construct:
		return e.Elems
	}
	return nil
}
