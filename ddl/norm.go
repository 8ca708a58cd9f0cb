package ddl

import (
	"slices"
	"strconv"
	"strings"
)

// norm rewrites a query or an expression into text that the TiDB parser reads without ever seeing a word of the user:
// every name, literal and table becomes a numbered placeholder `#k`, every call a generic call of a placeholder. What a
// placeholder stands for is kept in items, with its place in the script. What is left for TiDB is the precedence of
// operators, joins, set operations and the shape of SELECT; the binder puts both halves together again.
type norm struct {
	*parser
	out   []byte
	items []any // Expr, builder, TableRef, *selectField, *cteMark; by the number of the placeholder
	spans []Span
	terms int
	// windowUses are the OVER w of the SELECT block that is being read.
	windowUses []windowUse
}

// builder makes the tree of a generic call out of its arguments.
type builder func(args []Expr) Expr

type windowUse struct {
	call *Call
	name Ident
}

func newNorm(p *parser) *norm { return &norm{parser: p, out: make([]byte, 0, 256)} }

// parseExpr reads one expression.
func (p *parser) parseExpr() Expr {
	n := newNorm(p)
	n.emit("SELECT")
	n.expr()
	return n.bindExpr()
}

// parseQuery reads a query with everything that belongs to it.
func (p *parser) parseQuery() *Query {
	n := newNorm(p)
	n.query()
	return n.bindQuery()
}

func (n *norm) emit(s string) {
	if len(n.out) > 0 {
		n.out = append(n.out, ' ')
	}
	n.out = append(n.out, s...)
}

func (n *norm) keep(item any, at Span) int {
	n.items = append(n.items, item)
	n.spans = append(n.spans, at)
	return len(n.items) - 1
}

// leaf emits a placeholder.
func (n *norm) leaf(item any, at Span) {
	n.emit(placeholder(n.keep(item, at)))
}

func placeholder(k int) string { return "`#" + strconv.Itoa(k) + "`" }

// open starts a generic call whose builder is set when its arguments are known.
func (n *norm) open(at Span) int {
	k := n.keep(nil, at)
	n.emit(placeholder(k) + "(")
	return k
}

func (n *norm) close(k int, b builder) {
	n.emit(")")
	n.items[k] = b
}

// wrap turns what was emitted since start into the first argument of a call, which stays open.
func (n *norm) wrap(start int, at Span) int {
	k := n.keep(nil, at)
	n.out = slices.Insert(n.out, start, []byte(" "+placeholder(k)+"(")...)
	return k
}

// term counts a step of a chain. What the steps of all chains around a place add up to is how deep the tree gets there.
func (n *norm) term() bool {
	n.terms++
	if n.terms > maxTerms {
		n.failAt(n.peek(0).at, "too-deep", "the expression has more than %d operators", maxTerms)
		return false
	}
	return true
}

// expr reads an expression: operands and operators in turn.
func (n *norm) expr() {
	if !n.enter() {
		return
	}
	defer n.leaveChain(n.terms)
	for n.err == nil {
		n.prefix(true)
		n.operand()
		if !n.suffix() {
			return
		}
	}
}

func (n *norm) leaveChain(terms int) {
	n.terms = terms
	n.leave()
}

// arithmetic reads an operand of a predicate: everything that binds tighter than a comparison.
func (n *norm) arithmetic() {
	for n.err == nil {
		n.prefix(false)
		n.operand()
		op, ok := arithmeticOps[n.peek(0).text]
		if n.peek(0).kind != punctToken || !ok || !n.term() {
			return
		}
		n.next()
		n.emit(op)
	}
}

func (n *norm) prefix(logical bool) {
	for n.err == nil {
		t := n.peek(0)
		switch {
		case t.is("-") || t.is("+"):
			n.emit(t.text)
		case logical && t.is("NOT"):
			n.emit("NOT")
		default:
			return
		}
		n.next()
		if !n.term() {
			return
		}
	}
}

// DIV has the level of * in TiDB, which is the level of || in Flink; TiDB's own || binds tighter.
var arithmeticOps = map[string]string{"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "||": "DIV"}

var comparisonOps = map[string]string{"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

// suffix reads what may follow an operand, and tells whether another operand has to come.
func (n *norm) suffix() bool {
	for n.err == nil {
		t := n.peek(0)
		if t.kind == punctToken {
			op, ok := arithmeticOps[t.text]
			if !ok {
				op, ok = comparisonOps[t.text]
			}
			if ok && n.term() {
				n.next()
				n.emit(op)
			}
			return ok
		}
		if t.kind != wordToken {
			return false
		}
		switch strings.ToUpper(t.text) {
		case "AND", "OR":
			n.term()
			n.next()
			n.emit(strings.ToUpper(t.text))
			return true
		case "IS":
			if n.term() && n.isSuffix() {
				return true
			}
		case "NOT", "IN", "LIKE", "SIMILAR", "BETWEEN":
			if n.term() && n.predicate() {
				return true
			}
		default:
			n.refuseOperator(t)
			return false
		}
	}
	return false
}

// refuseOperator names operators of Flink SQL that the language leaves out, and those of other databases.
func (n *norm) refuseOperator(t *token) {
	switch word := strings.ToUpper(t.text); word {
	case "OVERLAPS", "COLLATE", "SUBMULTISET", "PRECEDES", "SUCCEEDS":
		n.unsupported(t.at, word, "")
	case "AT":
		if n.isAt(1, "TIME", "ZONE") {
			n.unsupported(t.at, "AT TIME ZONE", "use CONVERT_TZ, TO_TIMESTAMP_LTZ or CAST between TIMESTAMP and TIMESTAMP_LTZ")
		}
	case "MEMBER":
		if n.isAt(1, "OF") {
			n.unsupported(t.at, "MEMBER OF", "")
		}
	case "ILIKE", "RLIKE", "REGEXP", "DIV", "XOR", "MOD":
		help := map[string]string{"ILIKE": "write LOWER(x) LIKE 'pattern'", "RLIKE": "use REGEXP(x, 'pattern')", "REGEXP": "use REGEXP(x, 'pattern')",
			"DIV": "use / and CAST", "XOR": "write a <> b", "MOD": "write a % b or MOD(a, b)"}
		if k := n.peek(1).kind; k == stringToken || k == numberToken || k == quotedToken {
			n.failAt(t.at, "unsupported-syntax", "%s is not an operator of this language", word).Help = help[word]
		}
	}
}

// isSuffix reads IS ...; it tells whether an operand has to come (IS DISTINCT FROM).
func (n *norm) isSuffix() bool {
	start := n.next().at
	not := n.accept("NOT")
	t := n.peek(0)
	switch {
	case t.is("NULL"), t.is("TRUE"), t.is("FALSE"), t.is("UNKNOWN"):
		n.next()
		n.emit("IS")
		if not {
			n.emit("NOT")
		}
		n.emit(strings.ToUpper(t.text))
	case n.accept("DISTINCT"):
		n.expect("FROM")
		n.emit("<=>")
		return true
	case t.is("JSON"), t.is("A"), t.is("EMPTY"), t.is("OF"):
		n.unsupported(start.Cover(t.at), "IS "+strings.ToUpper(t.text), "")
	default:
		n.expected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS")
	}
	return false
}

// predicate reads [NOT] IN, LIKE, SIMILAR TO or BETWEEN; it tells whether an operand has to come (BETWEEN).
func (n *norm) predicate() bool {
	if n.accept("NOT") {
		n.emit("NOT")
	}
	switch {
	case n.accept("BETWEEN"):
		n.emit("BETWEEN")
		if n.is("SYMMETRIC") {
			n.unsupported(n.peek(0).at, "BETWEEN SYMMETRIC", "write x BETWEEN LEAST(a, b) AND GREATEST(a, b)")
		}
		n.accept("ASYMMETRIC")
		return n.err == nil
	case n.accept("IN"):
		n.inList()
	case n.accept("LIKE"):
		n.emit("LIKE")
		n.likePattern(false)
	case n.accept("SIMILAR"):
		n.expect("TO")
		n.emit("LIKE")
		n.likePattern(true)
	default:
		n.expected("IN, LIKE, SIMILAR TO or BETWEEN after NOT")
	}
	return false
}

func (n *norm) inList() {
	start := n.peek(0).at
	if !n.is("(") {
		n.expected(`"(" after IN`)
		return
	}
	n.emit("IN (")
	k := n.open(start)
	arg := &inArg{}
	if n.queryAt(n.pos + 1) {
		n.next()
		n.subquery()
		n.expect(")")
	} else {
		n.next()
		n.exprs()
		n.expect(")")
	}
	arg.at = n.since(start)
	n.close(k, func(args []Expr) Expr {
		if q, ok := args[0].(*subqueryArg); ok && len(args) == 1 {
			arg.query = q.query
		} else {
			arg.list = args
		}
		return arg
	})
	n.emit(")")
}

func (n *norm) likePattern(similar bool) {
	start := n.peek(0).at
	k := n.open(start)
	n.arithmetic()
	arg := &likeArg{similar: similar}
	if n.accept("ESCAPE") {
		n.emit(",")
		n.arithmetic()
	}
	arg.at = n.since(start)
	n.close(k, func(args []Expr) Expr {
		arg.pattern = args[0]
		if len(args) > 1 {
			arg.escape = args[1]
		}
		return arg
	})
}

// exprs reads a list of at least one expression.
func (n *norm) exprs() int {
	count := 0
	for n.err == nil {
		n.expr()
		count++
		if !n.accept(",") {
			break
		}
		n.emit(",")
	}
	return count
}

// operand reads a primary expression with its x[i] and x.f steps.
func (n *norm) operand() {
	start, at := len(n.out), n.peek(0).at
	n.primary()
	for n.err == nil {
		switch {
		case n.accept("["):
			n.term()
			k := n.wrap(start, at)
			n.emit(",")
			n.expr()
			n.expect("]")
			span := n.since(at)
			n.close(k, func(a []Expr) Expr { return &Item{At: span, X: a[0], Index: a[1]} })
		case n.accept("."):
			n.term()
			name := n.ident("a field name after the dot")
			k := n.wrap(start, at)
			span := n.since(at)
			n.close(k, func(a []Expr) Expr { return &Field{At: span, X: a[0], Name: name} })
		default:
			return
		}
	}
}

func (n *norm) primary() {
	t := n.peek(0)
	switch t.kind {
	case numberToken:
		n.number()
	case stringToken:
		n.next()
		n.leaf(&Literal{At: t.at, Kind: StringLiteral, Text: t.text}, t.at)
		if n.peek(0).kind == stringToken {
			n.expected("an operator between two strings").WithHelp("join strings with ||")
		}
	case bytesToken:
		n.next()
		n.leaf(&Literal{At: t.at, Kind: BytesLiteral, Text: t.text}, t.at)
	case quotedToken:
		n.name()
	case wordToken:
		if !n.special(t, strings.ToUpper(t.text)) {
			n.name()
		}
	default:
		if t.is("(") {
			n.bracket()
			return
		}
		n.expected("an expression")
	}
}

func (n *norm) number() {
	t := n.next()
	if w := n.peek(0); w.kind == wordToken && w.at.Start == t.at.End {
		n.failAt(t.at.Cover(w.at), "bad-literal", "%q is not a number", clip(t.text+w.text))
		return
	}
	kind := IntLiteral
	if strings.ContainsAny(t.text, "eE") {
		kind = DoubleLiteral
	} else if strings.Contains(t.text, ".") {
		kind = DecimalLiteral
	}
	n.leaf(&Literal{At: t.at, Kind: kind, Text: t.text}, t.at)
}

// bracket reads (expr), (a, b) or (query).
func (n *norm) bracket() {
	start := n.peek(0).at
	if n.queryAt(n.pos + 1) {
		n.next()
		k := n.open(start)
		n.subquery()
		n.expect(")")
		at := n.since(start)
		n.close(k, func(a []Expr) Expr { return &Subquery{At: at, Query: a[0].(*subqueryArg).query} })
		return
	}
	n.next()
	from := len(n.out)
	n.emit("(")
	count := n.exprs()
	n.expect(")")
	if count == 1 || n.err != nil {
		n.emit(")")
		return
	}
	k := n.keep(rowBuilder(n.since(start)), start)
	n.out = slices.Insert(n.out, from, []byte(" "+placeholder(k))...)
	n.emit(")")
}

func rowBuilder(at Span) builder {
	return func(args []Expr) Expr { return &Construct{At: at, Kind: "ROW", Elems: args} }
}

// subquery reads a query as an argument of a generic call.
func (n *norm) subquery() {
	n.emit("(")
	n.query()
	n.emit(")")
}

// queryAt tells whether a query starts at a token, looking through brackets: ((SELECT 1)) is one, ((SELECT 1) + 1) is not.
func (p *parser) queryAt(i int) bool {
	for depth := i; ; depth++ {
		if depth >= len(p.tokens) {
			return false
		}
		t := &p.tokens[depth]
		if t.is("(") {
			continue
		}
		if !t.is("SELECT") && !t.is("WITH") && !t.is("VALUES") {
			return false
		}
		for j := i; j < depth; j++ {
			if after := p.pairs[j] + 1; after < len(p.tokens) && !endsTerm(&p.tokens[after]) {
				return false
			}
		}
		return true
	}
}

// endsTerm tells whether a token can follow a bracketed query that is a part of a larger query.
func endsTerm(t *token) bool {
	if t.kind == punctToken {
		return t.text == ")"
	}
	return t.kind == wordToken && termEnds[strings.ToUpper(t.text)]
}

var termEnds = set("UNION EXCEPT INTERSECT MINUS ORDER LIMIT OFFSET FETCH")
