package eval

import (
	"strings"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/ddl"
)

// compiler turns one tree into nodes. Its methods return nil after a complaint, and callers pass the nil on, so that
// one run reports every mistake.
type compiler struct {
	scope *Scope
	slots int
	errs  ddl.Errors
	// scratch is where fold evaluates. A node is folded once, so its slot is used once and results may stay in it.
	scratch []slot
}

func (c *compiler) fail(span ddl.Span, code, format string, args ...any) *ddl.Error {
	e := ddl.Errorf(span, code, format, args...)
	c.errs = append(c.errs, e)
	return e
}

func (c *compiler) mismatch(span ddl.Span, format string, args ...any) *ddl.Error {
	return c.fail(span, "type-mismatch", format, args...)
}

// node makes a node with a slot of its own.
func (c *compiler) node(t *ddl.Type, at ddl.Span, op func(*node, *frame, mask) *vec, args ...*node) *node {
	n := &node{typ: t, at: at, op: op, args: args, column: -1, slot: c.slots}
	c.slots++
	for _, a := range args {
		n.volatile = n.volatile || a.volatile
		n.zoned = n.zoned || a.zoned
	}
	return n
}

// strict makes a node that is NULL where an operand is NULL, and folds it when all operands are constants.
func (c *compiler) strict(t *ddl.Type, at ddl.Span, k kernel, args ...*node) *node {
	n := c.node(t, at, evalStrict, args...)
	n.kernel = k
	return c.fold(n)
}

// fold replaces an operation on constants by its result. What cannot be computed stays: it is a mistake of the rows that
// reach it, and perhaps none does.
func (c *compiler) fold(n *node) *node {
	if n.volatile || n.zoned || len(n.args) == 0 || layoutOf(n.typ) == nestedValues {
		return n
	}
	for _, a := range n.args {
		if a.constant == nil {
			return n
		}
	}
	if missing := c.slots - len(c.scratch); missing > 0 {
		c.scratch = append(c.scratch, make([]slot, missing)...)
	}
	f := &frame{ctx: &Context{}, slots: c.scratch, n: 1, gen: 1}
	v := n.eval(f, nil)
	if f.err != nil || len(f.failures) > 0 {
		return n
	}
	folded := c.node(n.typ, n.at, evalConstant)
	folded.constant = v
	return folded
}

func (c *compiler) expr(e ddl.Expr) *node {
	switch e := e.(type) {
	case *ddl.Literal:
		return c.literal(e)
	case *ddl.ColumnRef:
		return c.column(e)
	case *ddl.Unary:
		return c.unary(e)
	case *ddl.Binary:
		return c.binary(e)
	case *ddl.Case:
		return c.caseExpr(e)
	case *ddl.Cast:
		return c.castExpr(e)
	case *ddl.In:
		return c.in(e)
	case *ddl.Between:
		return c.between(e)
	case *ddl.LikeExpr:
		return c.like(e)
	case *ddl.Is:
		return c.is(e)
	case *ddl.Call:
		return c.call(e)
	case *ddl.Field:
		return c.fieldExpr(e)
	case *ddl.Item:
		return c.item(e)
	case *ddl.Exists, *ddl.Subquery:
		c.fail(e.Span(), "unsupported-expression", "a subquery cannot stand in an expression").
			WithHelp("join the tables at their source, for example in a view of the source system")
	case *ddl.Construct:
		c.fail(e.Span(), "unsupported-expression", "%s[...] cannot be constructed", e.Kind)
	case nil:
		c.fail(ddl.Span{}, "unsupported-expression", "an expression is missing")
	default:
		c.fail(e.Span(), "unsupported-expression", "this expression cannot be evaluated")
	}
	return nil
}

// all compiles several expressions; ok is false when one of them has a mistake.
func (c *compiler) all(es ...ddl.Expr) (nodes []*node, ok bool) {
	ok = true
	for _, e := range es {
		n := c.expr(e)
		nodes = append(nodes, n)
		ok = ok && n != nil
	}
	return nodes, ok
}

func (c *compiler) column(e *ddl.ColumnRef) *node {
	col, rest, err := c.scope.Resolve(e.Path)
	if err != nil {
		if n := c.bareFunction(e); n != nil {
			return n
		}
		c.errs = append(c.errs, err)
		return nil
	}
	dt, aerr := catalog.ArrowType(col.Type)
	if aerr != nil {
		c.fail(e.Span(), "unsupported-expression", "column %q has the type %s, which cannot be read", col.Name, col.Type)
		return nil
	}
	n := c.node(col.Type, e.Span(), evalColumn)
	n.column, n.arrow = col.Index, dt
	for _, part := range rest {
		if n = c.field(n, part); n == nil {
			return nil
		}
	}
	return n
}

// bareFunction is CURRENT_TIMESTAMP and the like where the parser made a name of it.
func (c *compiler) bareFunction(e *ddl.ColumnRef) *node {
	if len(e.Path) != 1 {
		return nil
	}
	if f := functionNamed(e.Path[0].Name); f != nil && f.bare {
		return c.call(&ddl.Call{At: e.Span(), Name: e.Path})
	}
	return nil
}

func (c *compiler) unary(e *ddl.Unary) *node {
	if lit, ok := e.X.(*ddl.Literal); ok && e.Op == "-" && lit.Kind == ddl.IntLiteral {
		// The smallest BIGINT has no positive counterpart.
		return c.integerLiteral(&ddl.Literal{At: e.At, Kind: lit.Kind, Text: lit.Text}, "-"+lit.Text)
	}
	x := c.expr(e.X)
	if x == nil {
		return nil
	}
	switch strings.ToUpper(e.Op) {
	case "NOT":
		if x = c.boolean(x, "NOT"); x == nil {
			return nil
		}
		return c.strict(of(ddl.Boolean), e.At, notKernel, x)
	case "+":
		if isNumeric(x.typ) || isInterval(x.typ) || x.typ.Kind == ddl.Null {
			return x
		}
		c.mismatch(e.At, "+ needs a number, found %s", x.typ)
		return nil
	}
	return c.negate(e.At, x)
}

func (c *compiler) binary(e *ddl.Binary) *node {
	args, ok := c.all(e.L, e.R)
	if !ok {
		return nil
	}
	l, r := args[0], args[1]
	switch op := strings.ToUpper(e.Op); op {
	case "AND", "OR":
		l, r = c.boolean(l, op), c.boolean(r, op)
		if l == nil || r == nil {
			return nil
		}
		return c.logic(op, e.Span(), l, r)
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		return c.compare(op, e.Span(), l, r)
	case "IS DISTINCT FROM", "IS NOT DISTINCT FROM":
		return c.distinct(e.Span(), l, r, op == "IS DISTINCT FROM")
	case "||":
		return c.concat(e.Span(), l, r)
	case "+", "-", "*", "/", "%":
		return c.arithmetic(op, e, l, r)
	}
	c.fail(e.OpAt, "unsupported-expression", "operator %s is not known", e.Op)
	return nil
}

// boolean demands a BOOLEAN operand; a bare NULL becomes one.
func (c *compiler) boolean(x *node, where string) *node {
	switch x.typ.Kind {
	case ddl.Boolean:
		return x
	case ddl.Null:
		return c.null(of(ddl.Boolean), x.at)
	}
	c.mismatch(x.at, "%s needs a BOOLEAN, found %s", where, x.typ).
		WithHelp("write a comparison, such as x = 1, or CAST(x AS BOOLEAN)")
	return nil
}

// null is a NULL constant of a type.
func (c *compiler) null(t *ddl.Type, at ddl.Span) *node {
	v := &vec{}
	v.allNull(t, 1)
	return c.constantNode(t, at, v)
}

func (c *compiler) constantNode(t *ddl.Type, at ddl.Span, v *vec) *node {
	n := c.node(t, at, evalConstant)
	n.constant = v
	return n
}

func (c *compiler) memo(x *node) *node {
	if x.column >= 0 || x.constant != nil {
		return x
	}
	return c.node(x.typ, x.at, evalMemo, x)
}
