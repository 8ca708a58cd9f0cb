package ddl

import (
	"math/rand/v2"
	"testing"
)

// treeMaker draws random trees. What it draws is valid: an aggregate's DISTINCT, a window and the like stand where they may.
type treeMaker struct{ *rand.Rand }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (m treeMaker) name() Ident {
	return Ident{Name: pick(m.Rand, "a", "b", "order", "value", "Case", "it's", "a`b", "select", "key", "row", "null", "x y", "ä", "date", "current_date", "table", "both", "full")}
}

func (m treeMaker) path() Path {
	p := Path{m.name()}
	for m.IntN(3) == 0 {
		p = append(p, m.name())
	}
	return p
}

func (m treeMaker) literal() Expr {
	return pick[*Literal](m.Rand,
		&Literal{Kind: NullLiteral}, &Literal{Kind: BoolLiteral, Text: "TRUE"}, &Literal{Kind: IntLiteral, Text: "12"},
		&Literal{Kind: DecimalLiteral, Text: "1.50"}, &Literal{Kind: DoubleLiteral, Text: "1e-3"}, &Literal{Kind: StringLiteral, Text: "it's -- /* ; \\"},
		&Literal{Kind: BytesLiteral, Text: "\x00\xff"}, &Literal{Kind: DateLiteral, Text: "2024-01-01"}, &Literal{Kind: StringLiteral, Text: "YEAR"},
		&Literal{Kind: TimestampLiteral, Text: "2024-01-01 00:00:00"}, &Literal{Kind: IntervalLiteral, Text: "-5", Unit: "DAY TO SECOND"})
}

func (m treeMaker) exprs(depth, least int) []Expr {
	out := make([]Expr, least+m.IntN(3))
	for i := range out {
		out[i] = m.expr(depth)
	}
	return out
}

func (m treeMaker) typ(depth int) *Type {
	if depth > 0 && m.IntN(2) == 0 {
		return pick(m.Rand, &Type{Kind: Array, Elem: m.typ(depth - 1)}, &Type{Kind: Map, Key: m.typ(0), Elem: m.typ(depth - 1), NotNull: true},
			&Type{Kind: Row, Fields: []RowField{{"a b", m.typ(depth - 1), "it's"}, {"row", m.typ(0), ""}}})
	}
	return pick(m.Rand, &Type{Kind: Int}, &Type{Kind: Varchar, Length: MaxLength}, &Type{Kind: Decimal, Precision: 9, Scale: 2, NotNull: true}, &Type{Kind: TimestampLTZ, Precision: 3})
}

func (m treeMaker) call(depth int) *Call {
	c := &Call{Name: Path{{Name: pick(m.Rand, "f", "SUM", "LEFT", "EXTRACT", "TRIM", "FLOOR", "POSITION", "OVERLAY", "TIMESTAMPADD", "SUBSTRING", "cast", "ROW", "case",
		"ANY", "exists", "CURRENT_DATE", "COUNT", "interval", "array", "TABLE", "GROUPING SETS", "if", "JSON_VALUE", "x y", "end")}}, Args: m.exprs(depth, 0)}
	if m.IntN(8) == 0 {
		c.Name = append(Path{m.name()}, c.Name...)
	}
	switch m.IntN(9) {
	case 0:
		c.Args, c.Star = nil, true
	case 1:
		c.Distinct = true
	case 2:
		c.Filter = m.expr(depth)
	case 3:
		first := m.IntN(2) == 0
		c.Over = &Window{PartitionBy: m.exprs(depth, 0), OrderBy: []OrderItem{{Expr: m.expr(depth), Desc: true, NullsFirst: &first}}, Frame: "ROWS UNBOUNDED PRECEDING"}
	case 4:
		if len(c.Args) > 0 {
			c.ArgNames = make([]string, len(c.Args))
			c.ArgNames[0] = "order"
		}
	case 5:
		c.Extra = []CallClause{{Words: "IGNORE NULLS"}}
	case 6:
		c.Name, c.Args = Path{{Name: "JSON_QUERY"}}, m.exprs(depth, 1)
		c.Extra = []CallClause{{Words: "RETURNING", Type: m.typ(1)}, {Words: "WITH CONDITIONAL WRAPPER"}, {Words: "DEFAULT ON EMPTY", Expr: m.expr(depth)}, {Words: "NULL ON ERROR"}}
	}
	return c
}

func (m treeMaker) expr(depth int) Expr {
	if depth <= 0 {
		return pick(m.Rand, m.literal(), Expr(&ColumnRef{m.path()}))
	}
	d := depth - 1
	not := m.IntN(2) == 0
	switch m.IntN(16) {
	case 0, 1, 2, 3:
		op := pick(m.Rand, "+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
		return &Binary{Op: op, L: m.expr(d), R: m.expr(d)}
	case 4:
		return &Unary{Op: pick(m.Rand, "-", "+", "NOT"), X: m.expr(d)}
	case 5:
		c := &Case{Whens: []When{{m.expr(d), m.expr(d)}}}
		if not {
			c.Operand, c.Else = m.expr(d), m.expr(d)
		}
		return c
	case 6:
		return &Cast{X: m.expr(d), Type: m.typ(2), Try: not}
	case 7:
		in := &In{X: m.expr(d), Not: not, List: m.exprs(d, 2)}
		if m.IntN(3) == 0 {
			in.List, in.Query = nil, m.query(d)
		}
		return in
	case 8:
		return &Between{X: m.expr(d), Lo: m.expr(d), Hi: m.expr(d), Not: not}
	case 9:
		l := &LikeExpr{X: m.expr(d), Pattern: m.expr(d), Not: not, Similar: m.IntN(2) == 0}
		if m.IntN(2) == 0 {
			l.Escape = m.expr(d)
		}
		return l
	case 10:
		return &Is{X: m.expr(d), What: pick(m.Rand, "NULL", "TRUE", "FALSE", "UNKNOWN"), Not: not}
	case 11:
		return pick[Expr](m.Rand, &Exists{Query: m.query(d)}, &Subquery{Query: m.query(d)})
	case 12:
		return &Item{X: m.expr(d), Index: m.expr(d)}
	case 13:
		x := m.expr(d)
		return &Field{X: x, Name: m.name()}
	case 14:
		kind := pick(m.Rand, "ARRAY", "MAP", "MULTISET", "ROW")
		c := &Construct{Kind: kind, Elems: m.exprs(d, 0)}
		if kind == "MAP" && len(c.Elems)%2 == 1 {
			c.Elems = c.Elems[1:]
		}
		return c
	}
	return m.call(d)
}

func (m treeMaker) query(depth int) *Query {
	q := &Query{Body: m.body(depth)}
	if m.IntN(4) == 0 {
		q.With = []CTE{{Name: m.name(), Query: m.query(depth - 1)}, {Name: m.name(), Columns: []Ident{m.name()}, Query: m.query(depth - 2)}}
	}
	if m.IntN(3) == 0 {
		q.OrderBy = []OrderItem{{Expr: m.expr(depth)}, {Expr: m.expr(0), Desc: true}}
	}
	if m.IntN(3) == 0 {
		q.Limit = &Literal{Kind: IntLiteral, Text: "3"}
	}
	if m.IntN(3) == 0 {
		q.Offset = &Literal{Kind: IntLiteral, Text: "4"}
	}
	if inner, ok := q.Body.(*Query); ok && bracketBody(q) == q.Body {
		return inner
	}
	return q
}

func (m treeMaker) body(depth int) QueryBody {
	if depth > 0 {
		switch m.IntN(6) {
		case 0, 1:
			return &SetOp{Op: pick(m.Rand, "UNION", "INTERSECT", "EXCEPT"), All: m.IntN(2) == 0, Left: m.body(depth - 1), Right: m.body(depth - 1)}
		case 2:
			q := m.query(depth - 1)
			q.Limit = &Literal{Kind: IntLiteral, Text: "1"}
			return q
		case 3:
			return &Values{Rows: [][]Expr{m.exprs(depth-1, 1), m.exprs(depth-1, 1)}}
		}
	}
	s := &Select{Distinct: m.IntN(3) == 0, Items: []SelectItem{{Expr: m.expr(depth)}, {Expr: m.expr(0), Alias: m.name()}, {Star: true, Of: m.path()}, {Star: true}}}
	if m.IntN(4) == 0 {
		return s
	}
	s.From = m.table(depth)
	if m.IntN(3) == 0 {
		s.Where, s.Having = m.expr(depth-1), m.expr(depth-1)
	}
	if m.IntN(3) == 0 {
		s.GroupBy = append(m.exprs(depth-1, 1), &Call{Name: Path{{Name: "GROUPING SETS"}}, Args: append(m.exprs(0, 1), &Construct{Kind: "ROW"})})
	}
	return s
}

func (m treeMaker) table(depth int) TableRef {
	d := depth - 1
	if depth > 0 {
		switch m.IntN(6) {
		case 0, 1:
			j := &Join{Kind: pick(m.Rand, "INNER", "LEFT", "RIGHT", "FULL", "CROSS"), Left: m.table(d), Right: m.table(d)}
			switch {
			case j.Kind == "CROSS":
			case m.IntN(3) == 0:
				j.Using = []Ident{m.name(), m.name()}
			case m.IntN(4) == 0 && j.Kind != "FULL":
				j.Natural = true
			default:
				j.On = m.expr(d)
			}
			return j
		case 2:
			return &Derived{Query: m.query(d), Alias: m.name(), Columns: []Ident{m.name()}, Lateral: m.IntN(2) == 0}
		case 3:
			return &TableFunction{Call: &Call{Name: m.path(), Args: append(m.exprs(d, 1), &Call{Name: Path{{Name: "TABLE"}}, Args: []Expr{&ColumnRef{m.path()}}})}, Alias: m.name()}
		case 4:
			return &TableFunction{Call: &Call{Name: Path{{Name: "UNNEST"}}, Args: m.exprs(d, 1)}}
		}
	}
	t := &TableName{Name: m.path()}
	if m.IntN(3) == 0 {
		t.Alias, t.AsOf, t.Hints = m.name(), m.expr(d), []Option{{Key: "k'", Value: "v; --"}}
	}
	return t
}

// TestRandomTrees prints random trees and parses them again: brackets must stand wherever they are needed.
func TestRandomTrees(t *testing.T) {
	for seed := range uint64(5000) {
		m := treeMaker{rand.New(rand.NewPCG(seed, 7))}
		e := m.expr(int(seed % 4))
		if again, err := ParseExpr(PrintExpr(e)); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, PrintExpr(e))
		} else if d := difference(e, again); d != "" {
			t.Fatalf("seed %d: %s\n%s\n%s", seed, d, PrintExpr(e), PrintExpr(again))
		}
	}
	for seed := range uint64(1500) {
		m := treeMaker{rand.New(rand.NewPCG(seed, 8))}
		q := m.query(1 + int(seed%3))
		text := PrintQuery(q)
		again, err := ParseQuery(text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if d := difference(q, again); d != "" {
			t.Fatalf("seed %d: %s\n%s\n%s", seed, d, text, PrintQuery(again))
		}
	}
}
