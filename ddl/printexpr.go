package ddl

import (
	"encoding/hex"
)

// level is how tight an expression binds.
type level int

const (
	lowest level = iota
	orLevel
	andLevel
	notLevel
	comparisonLevel // = IS IN LIKE BETWEEN: never chained without brackets
	sumLevel
	productLevel
	signLevel
	operandLevel
)

func binaryLevel(op string) level {
	switch op {
	case "OR":
		return orLevel
	case "AND":
		return andLevel
	case "+", "-":
		return sumLevel
	case "*", "/", "%", "||":
		return productLevel
	}
	return comparisonLevel
}

func levelOf(e Expr) level {
	switch x := e.(type) {
	case *Binary:
		return binaryLevel(x.Op)
	case *Unary:
		if x.Op == "NOT" {
			return notLevel
		}
		return signLevel
	case *Is, *In, *LikeExpr, *Between:
		return comparisonLevel
	}
	return operandLevel
}

// expr puts brackets around an expression that binds looser than its place wants.
func (p *printer) expr(e Expr, least level) {
	if levelOf(e) < least {
		p.put("(")
		p.expr(e, lowest)
		p.put(")")
		return
	}
	switch x := e.(type) {
	case *Literal:
		p.literal(x)
	case *ColumnRef:
		p.put(printPath(x.Path))
	case *Call:
		p.call(x)
	case *Unary:
		p.put(x.Op, when(x.Op == "NOT", " "))
		if x.Op == "NOT" {
			p.expr(x.X, comparisonLevel)
		} else {
			p.expr(x.X, operandLevel)
		}
	case *Binary:
		l := binaryLevel(x.Op)
		left := l
		if l == comparisonLevel {
			left = sumLevel
		}
		p.expr(x.L, left)
		p.put(" ", x.Op, " ")
		p.expr(x.R, l+1)
	case *Case:
		p.caseExpr(x)
	case *Cast:
		p.put(when(x.Try, "TRY_"), "CAST(")
		p.expr(x.X, lowest)
		p.put(" AS ", printType(x.Type), ")")
	case *In, *Between, *LikeExpr, *Is:
		p.predicate(x)
	case *Exists:
		p.put("EXISTS ")
		p.bracket(x.Query)
	case *Subquery:
		p.bracket(x.Query)
	case *Item:
		p.base(x.X, true)
		p.put("[")
		p.expr(x.Index, lowest)
		p.put("]")
	case *Field:
		p.base(x.X, false)
		p.put(".", printName(x.Name.Name))
	case *Construct:
		open, end := "[", "]"
		if x.Kind == "ROW" {
			open, end = "(", ")"
		}
		p.put(x.Kind, open)
		p.exprs(x.Elems)
		p.put(end)
	}
}

func (p *printer) bracket(q *Query) {
	p.put("(")
	p.query(q)
	p.put(")")
}

func (p *printer) exprs(list []Expr) {
	p.list(len(list), ", ", func(i int) { p.expr(list[i], lowest) })
}

// base prints what x[i] and x.f stand behind. A column followed by a field would read as one longer name.
func (p *printer) base(e Expr, item bool) {
	bare := false
	switch x := e.(type) {
	case *ColumnRef:
		bare = item
	case *Item, *Field, *Cast, *Subquery:
		bare = true
	case *Call:
		bare = x.Filter == nil && x.Over == nil && !isNiladic(x) && !isQuantified(x)
	case *Construct:
		bare = x.Kind != "ROW"
	}
	if bare {
		p.expr(e, lowest)
		return
	}
	p.put("(")
	p.expr(e, lowest)
	p.put(")")
}

var literalWords = map[LiteralKind]string{DateLiteral: "DATE ", TimeLiteral: "TIME ", TimestampLiteral: "TIMESTAMP ", IntervalLiteral: "INTERVAL "}

func (p *printer) literal(x *Literal) {
	switch x.Kind {
	case NullLiteral:
		p.put("NULL")
	case BytesLiteral:
		p.put("x'", hex.EncodeToString([]byte(x.Text)), "'")
	case StringLiteral, DateLiteral, TimeLiteral, TimestampLiteral, IntervalLiteral:
		p.put(literalWords[x.Kind], QuoteString(x.Text))
		if x.Kind == IntervalLiteral {
			p.put(" ", x.Unit)
		}
	default:
		p.put(x.Text)
	}
}

func (p *printer) caseExpr(x *Case) {
	p.put("CASE ")
	if x.Operand != nil {
		p.expr(x.Operand, lowest)
		p.put(" ")
	}
	for _, w := range x.Whens {
		p.put("WHEN ")
		p.expr(w.Cond, lowest)
		p.put(" THEN ")
		p.expr(w.Result, lowest)
		p.put(" ")
	}
	if x.Else != nil {
		p.put("ELSE ")
		p.expr(x.Else, lowest)
		p.put(" ")
	}
	p.put("END")
}

func (p *printer) predicate(e Expr) {
	switch x := e.(type) {
	case *In:
		p.expr(x.X, sumLevel)
		p.put(when(x.Not, " NOT"), " IN (")
		if x.Query != nil {
			p.query(x.Query)
		} else {
			p.exprs(x.List)
		}
		p.put(")")
	case *Between:
		p.expr(x.X, sumLevel)
		p.put(when(x.Not, " NOT"), " BETWEEN ")
		p.expr(x.Lo, sumLevel)
		p.put(" AND ")
		p.expr(x.Hi, sumLevel)
	case *LikeExpr:
		p.expr(x.X, sumLevel)
		p.put(when(x.Not, " NOT"), when(x.Similar, " SIMILAR TO "), when(!x.Similar, " LIKE "))
		p.expr(x.Pattern, sumLevel)
		if x.Escape != nil {
			p.put(" ESCAPE ")
			p.expr(x.Escape, sumLevel)
		}
	case *Is:
		p.expr(x.X, sumLevel)
		p.put(" IS ", when(x.Not, "NOT "), x.What)
	}
}
