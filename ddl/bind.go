package ddl

import (
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// hidden are arguments that a generic call carries through TiDB and that never reach the tree.
type hidden struct{ at Span }

func (h hidden) Span() Span { return h.at }
func (hidden) expr()        {}

type (
	inArg struct {
		hidden
		list  []Expr
		query *Query
	}
	likeArg struct {
		hidden
		pattern, escape Expr
		similar         bool
	}
	orderArg struct {
		hidden
		item OrderItem
	}
	bodyArg struct {
		hidden
		body QueryBody
	}
	subqueryArg struct {
		hidden
		query *Query
	}
	starArg  struct{ hidden }
	crossArg struct{ hidden }
)

// bindExpr parses the normalised text `SELECT expr` and binds the expression.
func (n *norm) bindExpr() Expr {
	if n.err != nil {
		return nil
	}
	sel, ok := n.parseTiDB().(*ast.SelectStmt)
	if n.err != nil {
		return nil
	}
	if !ok || !plainSelect(sel) || len(sel.Fields.Fields) != 1 {
		n.strange()
		return nil
	}
	e, _ := n.bind(sel.Fields.Fields[0].Expr)
	if n.err != nil {
		return nil
	}
	return e
}

// strange refuses a node that the normaliser never asks for: the list of what may come out of TiDB is closed.
func (n *norm) strange() {
	n.failAt(n.place(), "syntax-error", "this form of a query is not part of the language")
}

// item finds what a placeholder stands for.
func (n *norm) item(name string) any {
	if strings.HasPrefix(name, "#") {
		if k, err := strconv.Atoi(name[1:]); err == nil && k >= 0 && k < len(n.items) {
			return n.items[k]
		}
	}
	n.strange()
	return nil
}

// bind turns a node into ours. The span is computed on the way up, because Binary.Span walks the whole operand.
func (n *norm) bind(node ast.ExprNode) (Expr, Span) {
	if n.err != nil {
		return nil, Span{}
	}
	switch x := node.(type) {
	case *ast.ColumnNameExpr:
		if x.Name.Table.O == "" && x.Name.Schema.O == "" {
			if e, ok := n.item(x.Name.Name.O).(Expr); ok {
				return e, e.Span()
			}
		}
	case *ast.FuncCallExpr:
		return n.bindCall(x)
	case *ast.ParenthesesExpr:
		return n.bind(x.Expr)
	case *ast.BinaryOperationExpr:
		return n.bindBinary(x)
	case *ast.UnaryOperationExpr:
		return n.bindUnary(x)
	case *ast.IsNullExpr:
		return n.bindIs(x.Expr, x.Not)
	case *ast.IsTruthExpr:
		return n.bindIs(x.Expr, x.Not)
	case *ast.BetweenExpr:
		e := &Between{Not: x.Not}
		var first, last Span
		e.X, first = n.bind(x.Expr)
		e.Lo, _ = n.bind(x.Left)
		e.Hi, last = n.bind(x.Right)
		e.At = first.Cover(last)
		return e, e.At
	case *ast.PatternInExpr:
		return n.bindIn(x)
	case *ast.PatternLikeOrIlikeExpr:
		return n.bindLike(x)
	case *ast.SubqueryExpr:
		if q := n.bindSet(x.Query); q != nil {
			return &subqueryArg{hidden{q.At}, q}, q.At
		}
	}
	n.strange()
	return nil, Span{}
}

func (n *norm) bindCall(x *ast.FuncCallExpr) (Expr, Span) {
	b, ok := n.item(x.FnName.O).(builder)
	if !ok || x.Schema.O != "" {
		n.strange()
		return nil, Span{}
	}
	var args []Expr
	if len(x.Args) > 0 {
		args = make([]Expr, len(x.Args))
	}
	for i, a := range x.Args {
		args[i], _ = n.bind(a)
	}
	if n.err != nil {
		return nil, Span{}
	}
	e := b(args)
	return e, e.Span()
}

var binaryOps = map[opcode.Op]string{
	opcode.LogicAnd: "AND", opcode.LogicOr: "OR", opcode.Plus: "+", opcode.Minus: "-", opcode.Mul: "*", opcode.Div: "/",
	opcode.Mod: "%", opcode.IntDiv: "||", opcode.EQ: "=", opcode.NE: "<>", opcode.LT: "<", opcode.LE: "<=", opcode.GT: ">", opcode.GE: ">=",
	opcode.NullEQ: "IS NOT DISTINCT FROM",
}

func (n *norm) bindBinary(x *ast.BinaryOperationExpr) (Expr, Span) {
	op, ok := binaryOps[x.Op]
	if !ok {
		n.strange()
	}
	l, ls := n.bind(x.L)
	r, rs := n.bind(x.R)
	if n.err != nil {
		return nil, Span{}
	}
	e := &Binary{Op: op, L: l, R: r, at: ls.Cover(rs)}
	i := n.after(ls)
	e.OpAt = n.at(i).at
	if x.Op == opcode.NullEQ {
		words := 3
		if n.at(i + 1).is("NOT") {
			words = 4
		} else {
			e.Op = "IS DISTINCT FROM"
		}
		e.OpAt = e.OpAt.Cover(n.at(i + words - 1).at)
	}
	return e, e.at
}

// after finds the token behind an operand and the brackets that close around it.
func (n *norm) after(operand Span) int {
	i := n.tokenAfter(operand.End)
	for n.at(i).is(")") {
		i++
	}
	return i
}

func (n *norm) at(i int) *token {
	if i >= 0 && i < len(n.tokens) {
		return &n.tokens[i]
	}
	return &n.eof
}

func (n *norm) bindUnary(x *ast.UnaryOperationExpr) (Expr, Span) {
	op := map[opcode.Op]string{opcode.Minus: "-", opcode.Plus: "+", opcode.Not: "NOT"}[x.Op]
	if op == "" {
		n.strange()
	}
	e, s := n.bind(x.V)
	if n.err != nil {
		return nil, Span{}
	}
	i := n.tokenAfter(s.Start) - 1
	for n.at(i).is("(") {
		i--
	}
	u := &Unary{At: n.at(i).at.Cover(s), Op: op, X: e}
	return u, u.At
}

// bindIs reads the word behind IS from the tokens, because TiDB makes no difference between NULL and UNKNOWN.
func (n *norm) bindIs(operand ast.ExprNode, not bool) (Expr, Span) {
	x, s := n.bind(operand)
	if n.err != nil {
		return nil, Span{}
	}
	i := n.after(s) + 1
	if not {
		i++
	}
	word := n.at(i)
	e := &Is{At: s.Cover(word.at), X: x, What: strings.ToUpper(word.text), Not: not}
	return e, e.At
}

func (n *norm) bindIn(x *ast.PatternInExpr) (Expr, Span) {
	e := &In{Not: x.Not}
	var s Span
	e.X, s = n.bind(x.Expr)
	if n.err == nil && len(x.List) == 1 {
		list, _ := n.bind(x.List[0])
		if arg, ok := list.(*inArg); ok {
			e.List, e.Query, e.At = arg.list, arg.query, s.Cover(arg.at)
			return e, e.At
		}
	}
	n.strange()
	return nil, Span{}
}

func (n *norm) bindLike(x *ast.PatternLikeOrIlikeExpr) (Expr, Span) {
	e := &LikeExpr{Not: x.Not}
	var s Span
	e.X, s = n.bind(x.Expr)
	pattern, _ := n.bind(x.Pattern)
	if arg, ok := pattern.(*likeArg); ok && n.err == nil && x.IsLike {
		e.Pattern, e.Escape, e.Similar, e.At = arg.pattern, arg.escape, arg.similar, s.Cover(arg.at)
		return e, e.At
	}
	n.strange()
	return nil, Span{}
}
