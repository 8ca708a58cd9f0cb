package ddl

import "strings"

// selectField is an item of SELECT whose expression is still to be bound. Every item has one; the first also carries
// what the AST has no place for.
type selectField struct {
	item  SelectItem
	block *Select
}

// cteMark is one query of WITH; at is the place of the word WITH.
type cteMark struct {
	cte CTE
	at  Span
}

// limitMark is the place of LIMIT, OFFSET or FETCH with its number.
type limitMark struct {
	at   Span
	expr Expr // nil: none
}

// query reads [WITH ..] body [ORDER BY ..] [LIMIT ..].
func (n *norm) query() {
	if !n.enter() {
		return
	}
	defer n.leaveChain(n.terms)
	if n.is("WITH") {
		n.with()
	}
	n.queryTerm()
	for n.err == nil {
		t := n.peek(0)
		if !t.is("UNION") && !t.is("EXCEPT") && !t.is("INTERSECT") && !t.is("MINUS") {
			break
		}
		if !n.term() {
			return
		}
		n.next()
		op := strings.ToUpper(t.text)
		if op == "MINUS" {
			op = "EXCEPT"
		}
		if n.accept("ALL") {
			op += " ALL"
		} else {
			n.accept("DISTINCT")
		}
		n.emit(op)
		n.queryTerm()
	}
	if n.is("ORDER", "BY") {
		n.pos += 2
		n.emit("ORDER BY")
		n.orderItems()
	}
	n.limits()
}

func (n *norm) with() {
	start := n.next().at
	if n.is("RECURSIVE") && !n.isAt(1, "AS") && !n.isAt(1, "(") {
		n.unsupported(n.peek(0).at, "WITH RECURSIVE", "")
	}
	n.emit("WITH")
	for n.err == nil {
		mark := &cteMark{at: start}
		mark.cte.Name = n.ident("a name for the query")
		if n.is("(") {
			mark.cte.Columns = n.idents("a column name")
		}
		n.leaf(mark, mark.cte.Name.At)
		n.expect("AS")
		if !n.is("(") {
			n.expected(`"(" and a query`)
			return
		}
		n.next()
		n.emit("AS")
		n.subquery()
		n.expect(")")
		if !n.accept(",") {
			break
		}
		n.emit(",")
	}
}

// queryTerm reads SELECT, VALUES or a query in brackets. The latter two become a SELECT of one generic call, so that
// neither TiDB's own VALUES nor its rules for brackets play a part.
func (n *norm) queryTerm() {
	t := n.peek(0)
	switch {
	case t.is("SELECT"):
		n.selectBlock()
	case t.is("VALUES"):
		n.values()
	case t.is("("):
		n.next()
		n.emit("SELECT")
		k := n.open(t.at)
		n.subquery()
		n.expect(")")
		at := n.since(t.at)
		n.close(k, func(a []Expr) Expr { return &bodyArg{hidden{at}, bracketBody(a[0].(*subqueryArg).query)} })
	case t.is("TABLE"):
		n.unsupported(t.at, "TABLE as a query", "write SELECT * FROM the table")
	case t.is("WITH"):
		n.expected("SELECT").WithHelp("put the query with its WITH between brackets")
	default:
		n.expected("SELECT, VALUES or a query in brackets")
	}
}

// bracketBody drops brackets that change nothing.
func bracketBody(q *Query) QueryBody {
	if q.With == nil && q.OrderBy == nil && q.Limit == nil && q.Offset == nil {
		return q.Body
	}
	return q
}

func (n *norm) values() {
	start := n.next().at
	n.emit("SELECT")
	k := n.open(start)
	for n.err == nil {
		row := n.peek(0).at
		r := n.open(row)
		n.accept("ROW")
		switch {
		case n.is("(") && !n.queryAt(n.pos+1):
			n.next()
			n.exprs()
			n.expect(")")
		default:
			n.expr()
		}
		n.close(r, rowBuilder(n.since(row)))
		if !n.accept(",") {
			break
		}
		n.emit(",")
	}
	at := n.since(start)
	n.close(k, func(args []Expr) Expr {
		v := &Values{At: at}
		for _, a := range args {
			v.Rows = append(v.Rows, a.(*Construct).Elems)
		}
		return &bodyArg{hidden{at}, v}
	})
}

func (n *norm) selectBlock() {
	outer := n.windowUses
	n.windowUses = nil
	block := &Select{}
	start := n.next().at
	n.emit("SELECT")
	for n.peek(0).kind == hintToken {
		block.Hints = append(block.Hints, strings.TrimSpace(n.next().text))
	}
	if n.accept("DISTINCT") {
		block.Distinct = true
		n.emit("DISTINCT")
	} else if n.is("ALL") {
		n.next()
	}
	for first := true; n.err == nil; first = false {
		f := &selectField{}
		if first {
			f.block = block
		}
		n.selectItem(f)
		if !n.accept(",") {
			break
		}
		n.emit(",")
	}
	if n.accept("FROM") {
		n.emit("FROM")
		n.tables()
	} else if n.is("WHERE") || n.is("GROUP", "BY") || n.is("HAVING") {
		n.expected("FROM")
	}
	if n.accept("WHERE") {
		n.emit("WHERE")
		n.expr()
	}
	if n.is("GROUP", "BY") {
		n.pos += 2
		n.emit("GROUP BY")
		n.groupItems()
	}
	if n.accept("HAVING") {
		n.emit("HAVING")
		n.expr()
	}
	n.windows()
	if n.is("QUALIFY") {
		n.unsupported(n.peek(0).at, "QUALIFY", "put the query into FROM and filter outside with WHERE")
	}
	block.At = n.since(start)
	n.windowUses = outer
}

// selectItem reads one item; its alias placeholder is always emitted, because it carries the item's place.
func (n *norm) selectItem(f *selectField) {
	start := n.peek(0).at
	if n.is("FROM") {
		n.expected("an expression").WithHelp("SELECT needs at least one column, and no comma after the last one")
		return
	}
	if of, ok := n.star(); ok {
		f.item.Star, f.item.Of = true, of
		n.leaf(&starArg{hidden{n.since(start)}}, start)
	} else {
		n.expr()
		switch t := n.peek(0); {
		case n.accept("AS"):
			f.item.Alias = n.ident("an alias after AS")
		case t.kind == quotedToken, t.kind == wordToken && !notAlias[strings.ToUpper(t.text)]:
			f.item.Alias = n.ident("an alias")
		case t.kind == stringToken:
			n.expected(`"," or FROM`).WithHelp("an alias is a name: %s", QuoteIdent(clip(t.text)))
		}
	}
	f.item.At = n.since(start)
	n.emit("AS")
	n.leaf(f, f.item.At)
}

// star reads * or t.*.
func (n *norm) star() (Path, bool) {
	i := 0
	for n.peek(i).kind == wordToken || n.peek(i).kind == quotedToken {
		if !n.isAt(i+1, ".") {
			return nil, false
		}
		i += 2
	}
	if !n.isAt(i, "*") {
		return nil, false
	}
	var of Path
	for ; i > 0; i -= 2 {
		of = append(of, n.ident("a table"))
		n.next()
	}
	n.next()
	return of, true
}

// notAlias are words that end an operand or a table, so they are no alias without AS or backticks.
var notAlias = set("SELECT FROM WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH UNION INTERSECT EXCEPT MINUS JOIN INNER LEFT RIGHT FULL CROSS " +
	"NATURAL ON USING AS AND OR NOT IN IS LIKE SIMILAR BETWEEN CASE WHEN THEN ELSE END WITH WINDOW QUALIFY FOR TABLESAMPLE " +
	"MATCH_RECOGNIZE PIVOT UNPIVOT ESCAPE INTO VALUES SET CREATE INSERT DROP ALTER EXECUTE BEGIN OUTER LATERAL OVER FILTER WITHIN " +
	"OVERLAPS COLLATE SUBMULTISET PRECEDES SUCCEEDS STRAIGHT_JOIN EXPLAIN SHOW DESCRIBE BY DISTINCT ALL")

func (n *norm) groupItems() {
	for n.err == nil {
		n.groupItem()
		if !n.accept(",") {
			break
		}
		n.emit(",")
	}
}

func (n *norm) groupItem() {
	t := n.peek(0)
	switch {
	case n.is("GROUPING", "SETS", "("):
		n.pos += 3
		k := n.open(t.at)
		n.groupItems()
		n.expect(")")
		call := &Call{At: n.since(t.at), Name: Path{{"GROUPING SETS", t.at}}}
		n.close(k, func(args []Expr) Expr {
			call.Args = args
			return call
		})
	case n.is("(", ")"):
		n.pos += 2
		at := n.since(t.at)
		n.leaf(&Construct{At: at, Kind: "ROW"}, at)
	default:
		n.expr()
	}
}

// windows reads WINDOW w AS (..) and hands the definitions to the calls that use them.
func (n *norm) windows() {
	defs := map[string]*Window{}
	if n.accept("WINDOW") {
		for n.err == nil {
			name := n.ident("a window's name")
			n.expect("AS")
			if !n.is("(") {
				n.expected(`"("`)
				return
			}
			defs[name.Name] = n.parseWindow()
			if !n.accept(",") {
				break
			}
		}
	}
	for _, use := range n.windowUses {
		w := defs[use.name.Name]
		if w == nil {
			n.failAt(use.name.At, "unknown-window", "window %q is not defined", use.name.Name).
				WithHelp("add WINDOW %s AS (…) behind the query's conditions, or write OVER (…)", use.name.Name)
			return
		}
		use.call.Over = w
	}
}

// parseWindow parses a window specification on its own.
func (p *parser) parseWindow() *Window {
	n := newNorm(p)
	w := &Window{}
	n.emit("SELECT")
	k := n.open(n.peek(0).at)
	b := &callArgs{norm: n, call: &Call{}}
	b.window(w)
	n.close(k, b.build)
	n.bindExpr()
	return w
}

func (n *norm) orderItems() {
	for n.err == nil {
		n.orderItem()
		if !n.accept(",") {
			break
		}
		n.emit(",")
	}
}

// orderItem reads expr [ASC | DESC] [NULLS FIRST | LAST] into a generic call.
func (n *norm) orderItem() {
	start := n.peek(0).at
	k := n.open(start)
	n.expr()
	arg := &orderArg{}
	if n.accept("DESC") {
		arg.item.Desc = true
	} else {
		n.accept("ASC")
	}
	if n.accept("NULLS") {
		first := n.is("FIRST")
		if !first && !n.is("LAST") {
			n.expected("FIRST or LAST after NULLS")
		}
		n.next()
		arg.item.NullsFirst = &first
	}
	arg.at = n.since(start)
	n.close(k, func(a []Expr) Expr {
		arg.item.Expr = a[0]
		return arg
	})
}

// limits reads LIMIT, OFFSET and FETCH. TiDB sees the numbers of the marks.
func (n *norm) limits() {
	var limit, offset *limitMark
	for n.err == nil {
		start := n.peek(0).at
		switch {
		case limit == nil && n.accept("LIMIT"):
			limit = &limitMark{}
			if n.is("ALL") {
				n.next()
			} else {
				limit.expr = n.count()
			}
			if n.is(",") {
				n.unsupported(n.peek(0).at, "LIMIT offset, count", "write LIMIT count OFFSET offset")
			}
			limit.at = n.since(start)
		case offset == nil && n.accept("OFFSET"):
			offset = &limitMark{expr: n.count()}
			if n.is("ROW") || n.is("ROWS") {
				n.next()
			}
			offset.at = n.since(start)
		case limit == nil && n.accept("FETCH"):
			if !n.accept("FIRST") {
				n.expect("NEXT")
			}
			limit = &limitMark{expr: n.count()}
			if !n.accept("ROW") {
				n.expect("ROWS")
			}
			n.expect("ONLY")
			limit.at = n.since(start)
		default:
			n.emitLimits(limit, offset)
			return
		}
	}
}

func (n *norm) emitLimits(limit, offset *limitMark) {
	if limit == nil && offset == nil {
		return
	}
	if limit == nil {
		limit = &limitMark{at: offset.at}
	}
	number := func(m *limitMark) string {
		s := placeholder(n.keep(m, m.at))
		return s[2 : len(s)-1]
	}
	n.emit("LIMIT")
	n.emit(number(limit))
	if offset != nil {
		n.emit("OFFSET")
		n.emit(number(offset))
	}
}

func (n *norm) count() Expr {
	t := n.peek(0)
	if t.kind != numberToken || strings.ContainsAny(t.text, ".eE") {
		n.expected("a whole number")
		return nil
	}
	n.next()
	return &Literal{At: t.at, Kind: IntLiteral, Text: t.text}
}
