package ddl

import (
	"slices"
	"strings"
)

// special reads an expression that starts with a keyword; it tells whether it was one.
func (n *norm) special(t *token, word string) bool {
	follows := n.peek(1)
	switch word {
	case "NULL", "TRUE", "FALSE", "UNKNOWN":
		if follows.is("(") || follows.is(".") || word == "UNKNOWN" {
			return false
		}
		n.next()
		lit := &Literal{At: t.at, Kind: BoolLiteral, Text: word}
		if word == "NULL" {
			lit.Kind, lit.Text = NullLiteral, ""
		}
		n.leaf(lit, t.at)
	case "CASE":
		n.caseExpr()
	case "INTERVAL":
		if follows.kind != stringToken && !((follows.is("-") || follows.is("+")) && n.peek(2).kind == stringToken) {
			if follows.kind == numberToken {
				n.next()
				n.expected("a string after INTERVAL").WithHelp("write INTERVAL '%s' …", follows.text)
				return true
			}
			return false
		}
		n.interval()
	case "DATE", "TIME", "TIMESTAMP":
		if follows.kind != stringToken {
			return false
		}
		n.pos += 2
		kind := map[string]LiteralKind{"DATE": DateLiteral, "TIME": TimeLiteral, "TIMESTAMP": TimestampLiteral}[word]
		at := t.at.Cover(follows.at)
		n.leaf(&Literal{At: at, Kind: kind, Text: follows.text}, at)
	case "ARRAY", "MAP", "MULTISET":
		if !follows.is("[") {
			return false
		}
		n.construct(word)
	default:
		if niladic[word] && !follows.is("(") && !follows.is(".") {
			n.next()
			n.leaf(&Call{At: t.at, Name: Path{{t.text, t.at}}}, t.at)
			return true
		}
		return n.specialCall(t, word, follows)
	}
	return true
}

// specialCall reads the forms that look like a call and are not, and refuses words that cannot start an expression.
func (n *norm) specialCall(t *token, word string, follows *token) bool {
	if !follows.is("(") {
		if notOperand[word] {
			n.expected("an expression")
			return true
		}
		return false
	}
	switch word {
	case "CAST", "TRY_CAST":
		n.cast(word == "TRY_CAST")
	case "EXISTS", "ANY", "SOME", "ALL":
		if !n.queryAt(n.pos + 2) {
			if word == "EXISTS" || word == "ALL" {
				n.pos += 2
				n.expected("a query")
				return true
			}
			return false
		}
		n.quantified(word)
	case "ROW":
		n.pos += 2
		k := n.open(t.at)
		if !n.is(")") {
			n.exprs()
		}
		n.expect(")")
		n.close(k, rowBuilder(n.since(t.at)))
	case "EXTRACT", "FLOOR", "CEIL", "CEILING", "TRIM", "SUBSTRING", "POSITION", "OVERLAY", "TIMESTAMPADD", "TIMESTAMPDIFF":
		n.keywordCall(word)
	default:
		if notOperand[word] && word != "LEFT" && word != "RIGHT" && word != "IF" && word != "SET" {
			n.expected("an expression")
			return true
		}
		return false
	}
	return true
}

// niladic are functions that are called without brackets.
var niladic = set("CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_USER SESSION_USER SYSTEM_USER")

// notOperand are reserved words that no expression starts with. The list is shorter than Flink's list of reserved words:
// a column called `value` or `timestamp` needs no quotes where nothing else can stand.
var notOperand = set("SELECT FROM WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH UNION INTERSECT EXCEPT MINUS JOIN INNER LEFT RIGHT FULL " +
	"CROSS NATURAL ON USING AS AND OR IN IS LIKE SIMILAR BETWEEN WHEN THEN ELSE END WITH WINDOW QUALIFY DISTINCT BY INTO VALUES " +
	"ESCAPE LATERAL UNNEST CREATE INSERT OUTER SET")

func (n *norm) caseExpr() {
	start := n.next().at
	k := n.open(start)
	node := &Case{}
	operand := !n.is("WHEN")
	if operand {
		n.expr()
		n.emit(",")
	}
	whens := 0
	for n.err == nil && (whens == 0 || n.is("WHEN")) {
		if !n.expect("WHEN") {
			break
		}
		if whens > 0 {
			n.emit(",")
		}
		n.expr()
		n.expect("THEN")
		n.emit(",")
		n.expr()
		whens++
	}
	if n.accept("ELSE") {
		n.emit(",")
		n.expr()
	}
	if !n.accept("END") {
		n.expected("WHEN, ELSE or END of CASE")
	}
	node.At = n.since(start)
	n.close(k, func(args []Expr) Expr {
		if operand {
			node.Operand, args = args[0], args[1:]
		}
		for i := 0; i < whens; i++ {
			node.Whens = append(node.Whens, When{args[2*i], args[2*i+1]})
		}
		if len(args) > 2*whens {
			node.Else = args[2*whens]
		}
		return node
	})
}

func (n *norm) interval() {
	start := n.next().at
	sign := ""
	if n.accept("-") {
		sign = "-"
	} else {
		n.accept("+")
	}
	text, _ := n.str("a string")
	if sign != "" && strings.HasPrefix(text, "-") {
		text, sign = text[1:], ""
	}
	u := n.intervalUnit()
	at := n.since(start)
	n.leaf(&Literal{At: at, Kind: IntervalLiteral, Text: sign + text, Unit: u.String()}, at)
}

func (n *norm) construct(kind string) {
	start := n.next().at
	n.next()
	k := n.open(start)
	count := 0
	if !n.is("]") {
		count = n.exprs()
	}
	n.expect("]")
	if kind == "MAP" && count%2 == 1 && n.err == nil {
		n.failAt(n.since(start), "syntax-error", "MAP[..] needs a value for each key").WithHelp("write MAP[key, value, …]")
	}
	at := n.since(start)
	n.close(k, func(args []Expr) Expr { return &Construct{At: at, Kind: kind, Elems: args} })
}

func (n *norm) cast(try bool) {
	start := n.next().at
	n.next()
	k := n.open(start)
	n.expr()
	if !n.accept("AS") {
		n.expected("AS and a type")
	}
	t := n.dataType()
	n.expect(")")
	at := n.since(start)
	n.close(k, func(a []Expr) Expr { return &Cast{At: at, X: a[0], Type: t, Try: try} })
}

// quantified reads EXISTS (query), and ANY, SOME or ALL (query) behind a comparison.
func (n *norm) quantified(word string) {
	t := n.next()
	open := n.next().at
	k := n.open(t.at)
	n.subquery()
	n.expect(")")
	at, inner := n.since(t.at), n.since(open)
	n.close(k, func(a []Expr) Expr {
		q := a[0].(*subqueryArg).query
		if word == "EXISTS" {
			return &Exists{At: at, Query: q}
		}
		return &Call{At: at, Name: Path{{word, t.at}}, Args: []Expr{&Subquery{At: inner, Query: q}}}
	})
}

// keywordCall reads calls whose arguments are separated by keywords; they become plain calls (see Call).
func (n *norm) keywordCall(word string) {
	name := n.next()
	n.next()
	k := n.open(name.at)
	switch word {
	case "EXTRACT":
		n.unitArg(true)
		if !n.accept("FROM") && !n.accept(",") {
			n.expected("FROM")
		}
		n.emit(",")
		n.expr()
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		n.unitArg(false)
		for i := 0; i < 2; i++ {
			n.expect(",")
			n.emit(",")
			n.expr()
		}
	case "TRIM":
		n.trimArgs()
	case "POSITION":
		n.arithmetic()
		if n.accept("IN") {
			n.emit(",")
			n.expr()
		} else {
			n.restArgs()
		}
	case "SUBSTRING":
		n.expr()
		n.separated("FROM", "FOR")
	case "OVERLAY":
		n.expr()
		n.separated("PLACING", "FROM", "FOR")
	default:
		n.expr()
		if n.accept("TO") {
			n.emit(",")
			n.unitArg(false)
		} else {
			n.restArgs()
		}
	}
	n.expect(")")
	call := &Call{At: n.since(name.at), Name: Path{{name.text, name.at}}}
	n.close(k, func(args []Expr) Expr {
		call.Args = args
		return call
	})
}

// separated reads arguments behind keywords, or behind commas when the first keyword is missing.
func (n *norm) separated(words ...string) {
	if n.is(",") {
		n.restArgs()
		return
	}
	for _, w := range words {
		if n.accept(w) {
			n.emit(",")
			n.expr()
		}
	}
}

func (n *norm) restArgs() {
	for n.accept(",") {
		n.emit(",")
		n.expr()
	}
}

// unitArg turns a unit into a string. EXTRACT knows more fields than there are units.
func (n *norm) unitArg(field bool) {
	t := n.peek(0)
	word := strings.TrimPrefix(strings.ToUpper(t.text), "SQL_TSI_")
	if !timeUnits[word] {
		word = strings.TrimSuffix(word, "S")
	}
	if t.kind != wordToken && t.kind != stringToken || !timeUnits[word] && !(field && extractFields[strings.ToUpper(t.text)]) {
		n.expected("a unit such as YEAR, DAY or MINUTE")
		return
	}
	if !timeUnits[word] {
		word = strings.ToUpper(t.text)
	}
	n.next()
	n.leaf(&Literal{At: t.at, Kind: StringLiteral, Text: word}, t.at)
}

var extractFields = set("DOW ISODOW DOY EPOCH CENTURY DECADE MILLENNIUM ISOYEAR")

func (n *norm) trimArgs() {
	side, at := "BOTH", n.peek(0).at
	given := false
	for _, s := range []string{"BOTH", "LEADING", "TRAILING"} {
		if n.is(s) && !n.isAt(1, ")") && !n.isAt(1, ".") && !n.isAt(1, ",") {
			n.next()
			side, given = s, true
		}
	}
	start := len(n.out)
	sideAt := placeholder(n.keep(&Literal{At: at, Kind: StringLiteral, Text: side}, at))
	if given && n.accept("FROM") {
		n.emit(sideAt)
		n.emit(",")
		n.leaf(&Literal{At: at, Kind: StringLiteral, Text: " "}, at)
		n.emit(",")
		n.expr()
		return
	}
	n.expr()
	if given || n.is("FROM") {
		n.expect("FROM")
		n.out = slices.Insert(n.out, start, []byte(" "+sideAt+" ,")...)
		n.emit(",")
		n.expr()
		return
	}
	n.restArgs()
}

// name reads a column or a function call.
func (n *norm) name() {
	path := n.path("an expression")
	if n.err != nil {
		return
	}
	if n.is("(") {
		n.call(path)
		return
	}
	n.leaf(&ColumnRef{Path: path}, path.Span())
}

// call reads the brackets of a call and what may follow them.
func (n *norm) call(path Path) {
	n.next()
	call := &Call{Name: path}
	k := n.open(path.Span())
	b := &callArgs{norm: n, call: call}
	switch {
	case n.accept("DISTINCT"):
		call.Distinct = true
	case n.is("ALL") && !n.isAt(1, "("):
		n.next()
	}
	name := strings.ToUpper(path.Last())
	switch {
	case len(path) == 1 && (name == "JSON_OBJECT" || name == "JSON_OBJECTAGG"):
		b.jsonPairs()
	case n.is("*") && n.isAt(1, ")"):
		n.next()
		call.Star = true
	case !n.is(")"):
		b.args()
	}
	if strings.HasPrefix(name, "JSON_") {
		b.jsonClauses()
	}
	n.expect(")")
	b.trailers()
	call.At = n.since(path.Span())
	n.close(k, b.build)
}
