package ddl

import (
	"slices"
	"strings"
)

// tables reads what stands behind FROM.
func (n *norm) tables() {
	n.joins()
	for n.err == nil && n.accept(",") {
		n.emit("JOIN")
		from, at, joined := len(n.out), n.last().at, n.joins()
		if joined {
			// A comma binds looser than JOIN.
			n.out = slices.Insert(n.out, from, []byte(" (")...)
			n.emit(")")
		}
		n.cross(at)
	}
}

// cross ends a join of every pair of rows. TiDB moves the tables of a join without a condition about, so it gets one.
func (n *norm) cross(at Span) {
	n.emit("ON")
	n.leaf(&crossArg{hidden{at}}, at)
}

// joins reads a table and the joins that follow it; it tells whether there was one.
func (n *norm) joins() bool {
	if !n.enter() {
		return false
	}
	defer n.leaveChain(n.terms)
	n.table()
	joined := false
	for ; n.err == nil && n.term(); joined = true {
		start := n.pos
		natural := n.accept("NATURAL")
		kind, cross := "JOIN", false
		switch t := n.peek(0); {
		case t.is("LEFT"), t.is("RIGHT"), t.is("FULL"):
			kind = strings.ToUpper(t.text) + " JOIN"
			n.next()
			n.accept("OUTER")
		case t.is("CROSS"):
			n.next()
			cross = true
		case t.is("INNER"):
			n.next()
		}
		if n.pos == start && !n.is("JOIN") || !n.expect("JOIN") {
			return joined
		}
		if kind == "FULL JOIN" {
			// TiDB takes FULL for an alias; Flink has no STRAIGHT_JOIN.
			kind = "STRAIGHT_JOIN"
		}
		if natural {
			if cross {
				n.unsupported(n.tokens[start].at, "NATURAL CROSS JOIN", "write CROSS JOIN")
			}
			if kind == "STRAIGHT_JOIN" {
				n.unsupported(n.tokens[start].at, "NATURAL FULL JOIN", "name the columns with USING (…)")
			}
			kind = "NATURAL " + kind
		}
		n.emit(kind)
		n.table()
		if cross {
			n.cross(n.tokens[start].at)
		} else if !natural {
			n.joinCondition()
		}
	}
	return joined
}

func (n *norm) joinCondition() {
	switch {
	case n.err != nil:
	case n.accept("ON"):
		n.emit("ON")
		n.expr()
	case n.accept("USING"):
		n.emit("USING (")
		for i, id := range n.idents("a column") {
			if i > 0 {
				n.emit(",")
			}
			n.leaf(&ColumnRef{Path: Path{id}}, id.At)
		}
		n.emit(")")
	default:
		n.expected("ON or USING after the joined table").WithHelp("write CROSS JOIN for every pair of rows")
	}
}

func (n *norm) table() {
	t := n.peek(0)
	lateral := n.is("LATERAL") && (n.isAt(1, "(") || n.isAt(1, "TABLE"))
	if lateral {
		n.next()
	}
	switch {
	case n.is("TABLE", "("):
		n.pos += 2
		n.tableFunction(t.at, true)
	case n.is("UNNEST", "("):
		n.tableFunction(t.at, false)
	case n.is("("):
		if n.queryAt(n.pos + 1) {
			n.derived(t.at, lateral)
			return
		}
		n.next()
		n.emit("(")
		n.tables()
		n.expect(")")
		n.emit(")")
		if k := n.peek(0); n.err == nil && (k.is("AS") || k.kind == quotedToken || k.kind == wordToken && !notAlias[strings.ToUpper(k.text)]) {
			n.expected("the end of the table").WithHelp("a join in brackets has no alias; write (SELECT * FROM … JOIN …) AS name")
		}
	case t.kind == wordToken && notAlias[strings.ToUpper(t.text)]:
		n.expected("a table")
	case t.kind == wordToken || t.kind == quotedToken:
		if n.pathThenCall() {
			n.tableFunction(t.at, false)
			return
		}
		n.tableName()
	case t.kind == stringToken:
		n.expected("a table").WithHelp("names are written between backticks, not quotes: %s", QuoteIdent(clip(t.text)))
	default:
		n.expected("a table")
	}
}

// pathThenCall tells whether a dotted name and an opening bracket come next.
func (n *norm) pathThenCall() bool {
	i := 1
	for n.isAt(i, ".") {
		i += 2
	}
	return n.isAt(i, "(")
}

// tableFunction reads a call in FROM; its arguments are parsed on their own.
func (n *norm) tableFunction(start Span, bracket bool) {
	inner := newNorm(n.parser)
	inner.emit("SELECT")
	from := n.pos
	inner.name()
	f := &TableFunction{}
	if e := inner.bindExpr(); n.err == nil {
		call, ok := e.(*Call)
		if !ok {
			n.pos = from
			n.expected("a call of a table function")
			return
		}
		f.Call = call
	}
	if bracket {
		n.expect(")")
	} else if n.is("WITH", "ORDINALITY") {
		n.pos += 2
		f.Call.Extra = append(f.Call.Extra, CallClause{Words: "WITH ORDINALITY"})
	}
	f.Alias, f.Columns = n.alias()
	f.At = n.since(start)
	n.afterTable()
	n.leaf(f, f.At)
}

func (n *norm) derived(start Span, lateral bool) {
	n.next()
	d := &Derived{Lateral: lateral}
	n.subquery()
	n.expect(")")
	d.Alias, d.Columns = n.alias()
	d.At = n.since(start)
	n.afterTable()
	n.emit("AS")
	n.leaf(d, d.At)
}

func (n *norm) tableName() {
	t := &TableName{}
	start := n.peek(0).at
	t.Name = n.path("a table")
	t.Hints = n.tableHints()
	if n.is("FOR", "SYSTEM_TIME") {
		n.pos += 2
		n.expect("AS", "OF")
		t.AsOf = n.parseExpr()
	}
	t.Alias, t.Columns = n.alias()
	if t.Hints == nil {
		t.Hints = n.tableHints()
	}
	if t.AsOf == nil && n.is("FOR", "SYSTEM_TIME") {
		n.expected("the end of the table").WithHelp("write FOR SYSTEM_TIME AS OF before the alias")
	}
	t.At = n.since(start)
	n.afterTable()
	n.leaf(t, t.At)
}

// alias reads [AS] name [(columns)].
func (n *norm) alias() (Ident, []Ident) {
	var name Ident
	t := n.peek(0)
	switch {
	case n.accept("AS"):
		name = n.ident("an alias after AS")
	case t.kind == quotedToken, t.kind == wordToken && !notAlias[strings.ToUpper(t.text)]:
		name = n.ident("an alias")
	default:
		return name, nil
	}
	if n.is("(") {
		return name, n.idents("a column name")
	}
	return name, nil
}

// afterTable refuses what Flink allows behind a table and the language leaves out.
func (n *norm) afterTable() {
	t := n.peek(0)
	for _, word := range []string{"MATCH_RECOGNIZE", "TABLESAMPLE", "PIVOT", "UNPIVOT"} {
		if t.is(word) {
			n.unsupported(t.at, word, "")
		}
	}
}

// tableHints reads /*+ OPTIONS('key' = 'value') */.
func (p *parser) tableHints() []Option {
	var out []Option
	for p.peek(0).kind == hintToken {
		t := p.next()
		tokens := lex(t.text)
		for i := range tokens {
			shift := t.at.Start + len("/*+")
			tokens[i].at = Span{tokens[i].at.Start + shift, tokens[i].at.End + shift}
			if e := tokens[i].err; e != nil {
				e.Span = tokens[i].at
			}
		}
		inner := newParser(p.text, chunk{tokens: tokens, end: t.at.End - len("*/")})
		if inner.err == nil && !inner.accept("OPTIONS") {
			inner.expected("OPTIONS").WithHelp("a hint behind a table is /*+ OPTIONS('key' = 'value') */")
		}
		out = append(out, inner.options()...)
		inner.end()
		if inner.err != nil {
			p.failWith(inner.err)
		}
	}
	return out
}
