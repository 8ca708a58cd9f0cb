package ddl

import "strings"

// callArgs reads what stands in and behind the brackets of a call. Everything that holds an expression becomes an
// argument of the one generic call that TiDB sees; fill remembers where each belongs.
type callArgs struct {
	*norm
	call  *Call
	count int
	fill  []func(Expr)
}

func (b *callArgs) build(args []Expr) Expr {
	for i, set := range b.fill {
		set(args[i])
	}
	return b.call
}

// slot starts the next argument; set puts it where it belongs in the tree.
func (b *callArgs) slot(set func(Expr)) {
	if b.count > 0 {
		b.emit(",")
	}
	b.count++
	b.fill = append(b.fill, set)
}

func (b *callArgs) arg(name string) {
	i := len(b.call.Args)
	b.call.Args = append(b.call.Args, nil)
	b.call.ArgNames = append(b.call.ArgNames, name)
	b.slot(func(e Expr) { b.call.Args[i] = e })
}

// args reads the arguments of an ordinary call, with names (=>) and TABLE arguments.
func (b *callArgs) args() {
	named := false
	for b.err == nil {
		name := ""
		if k := b.peek(0).kind; (k == wordToken || k == quotedToken) && b.isAt(1, "=>") {
			name = b.next().text
			b.next()
			named = true
		}
		b.arg(name)
		if b.is("TABLE") && !b.isAt(1, ".") && !b.isAt(1, ",") && !b.isAt(1, ")") {
			b.tableArg()
		} else {
			b.expr()
		}
		if !b.accept(",") {
			break
		}
	}
	if !named {
		b.call.ArgNames = nil
	}
}

// tableArg reads TABLE t [PARTITION BY ..] [ORDER BY ..]; it becomes a call named TABLE.
func (b *callArgs) tableArg() {
	name := b.next()
	table := &Call{Name: Path{{name.text, name.at}}}
	k := b.open(name.at)
	inner := &callArgs{norm: b.norm, call: table}
	if b.is("(") && b.queryAt(b.pos+1) {
		inner.arg("")
		b.bracket()
	} else {
		bracket := b.accept("(")
		inner.arg("")
		path := b.path("a table")
		b.leaf(&ColumnRef{Path: path}, path.Span())
		if bracket {
			b.expect(")")
		}
	}
	table.ArgNames = nil
	for _, words := range []string{"PARTITION BY", "ORDER BY"} {
		if !b.accept(strings.Fields(words)...) {
			continue
		}
		bracket := b.is("(") && b.endsTableArg(b.pairs[b.pos]+1)
		if bracket {
			b.next()
		}
		for b.err == nil {
			inner.clause(words)
			if b.is(",") && (!bracket && b.startsArg(1)) || !b.accept(",") {
				break
			}
		}
		if bracket {
			b.expect(")")
		}
	}
	table.At = b.since(name.at)
	b.close(k, inner.build)
}

// endsTableArg tells whether brackets that end before token i hold the whole list.
func (b *callArgs) endsTableArg(i int) bool {
	t := b.at(i)
	return t.is(",") || t.is(")") || t.is("ORDER")
}

// startsArg tells whether a comma ends the PARTITION BY of a table argument: a named argument or DESCRIPTOR follows.
func (b *callArgs) startsArg(n int) bool {
	return b.isAt(n+1, "=>") || b.isAt(n, "DESCRIPTOR", "(") || b.isAt(n, "INTERVAL")
}

// clause reads an expression into Extra.
func (b *callArgs) clause(words string) {
	i := len(b.call.Extra)
	b.call.Extra = append(b.call.Extra, CallClause{Words: words})
	b.slot(func(e Expr) { b.call.Extra[i].Expr = e })
	b.expr()
}

// word notes a clause without an expression.
func (b *callArgs) word(words string) { b.call.Extra = append(b.call.Extra, CallClause{Words: words}) }

// jsonPairs reads the arguments of JSON_OBJECT and JSON_OBJECTAGG: KEY k VALUE v, k VALUE v or k : v.
func (b *callArgs) jsonPairs() {
	for b.err == nil && !b.is(")") && !b.isNullClause() {
		if b.is("KEY") && !b.isAt(1, "VALUE") && !b.isAt(1, ":") && !b.isAt(1, ".") && !b.isAt(1, "(") {
			b.next()
		}
		b.arg("")
		b.expr()
		if !b.accept("VALUE") && !b.accept(":") && !b.accept(",") {
			b.expected("VALUE")
			return
		}
		b.arg("")
		b.expr()
		if !b.accept(",") {
			break
		}
	}
	b.call.ArgNames = nil
}

func (b *callArgs) isNullClause() bool {
	return b.is("NULL", "ON", "NULL") || b.is("ABSENT", "ON", "NULL")
}

// jsonClauses reads what follows the arguments of a JSON function.
func (b *callArgs) jsonClauses() {
	for b.err == nil && !b.is(")") {
		switch {
		case b.accept("RETURNING"):
			b.call.Extra = append(b.call.Extra, CallClause{Words: "RETURNING", Type: b.dataType()})
		case b.is("DEFAULT"):
			b.next()
			b.clause("DEFAULT")
			b.onWords("DEFAULT", len(b.call.Extra)-1)
		case b.is("WITH"), b.is("WITHOUT"):
			b.wrapper()
		case b.is("NULL"), b.is("ERROR"), b.is("ABSENT"), b.is("TRUE"), b.is("FALSE"), b.is("UNKNOWN"), b.is("EMPTY"):
			words := strings.ToUpper(b.next().text)
			if words == "EMPTY" {
				if b.is("ARRAY") || b.is("OBJECT") {
					words += " " + strings.ToUpper(b.next().text)
				}
			}
			b.word(words)
			b.onWords(words, len(b.call.Extra)-1)
		default:
			b.expected(`")" or a clause of the JSON function`)
		}
	}
}

// onWords completes a clause with ON EMPTY, ON ERROR or ON NULL.
func (b *callArgs) onWords(words string, i int) {
	b.expect("ON")
	for _, w := range []string{"EMPTY", "ERROR", "NULL"} {
		if b.accept(w) {
			b.call.Extra[i].Words = words + " ON " + w
			return
		}
	}
	b.expected("EMPTY, ERROR or NULL after ON")
}

func (b *callArgs) wrapper() {
	words := strings.ToUpper(b.next().text)
	for b.is("CONDITIONAL") || b.is("UNCONDITIONAL") || b.is("ARRAY") {
		if w := strings.ToUpper(b.next().text); w != "ARRAY" {
			words += " " + w
		}
	}
	b.expect("WRAPPER")
	b.word(words + " WRAPPER")
}

// trailers reads what may stand behind a call.
func (b *callArgs) trailers() {
	for b.err == nil {
		switch {
		case b.is("FILTER") && b.isAt(1, "("):
			b.next()
			b.next()
			b.expect("WHERE")
			b.slot(func(e Expr) { b.call.Filter = e })
			b.expr()
			b.expect(")")
		case b.is("WITHIN", "GROUP"):
			b.unsupported(b.peek(0).at, "WITHIN GROUP", "")
		case b.is("IGNORE", "NULLS"), b.is("RESPECT", "NULLS"):
			b.word(strings.ToUpper(b.next().text) + " NULLS")
			b.next()
		case b.is("OVER"):
			b.next()
			if b.is("(") {
				b.call.Over = &Window{}
				b.window(b.call.Over)
			} else {
				b.windowUses = append(b.windowUses, windowUse{b.call, b.ident("a window's name")})
			}
		default:
			return
		}
	}
}

// window reads (PARTITION BY .. ORDER BY .. frame) into w, its expressions as further arguments of the call.
func (b *callArgs) window(w *Window) {
	start := b.next().at
	if b.accept("PARTITION") {
		b.expect("BY")
		for b.err == nil {
			i := len(w.PartitionBy)
			w.PartitionBy = append(w.PartitionBy, nil)
			b.slot(func(e Expr) { w.PartitionBy[i] = e })
			b.expr()
			if !b.accept(",") {
				break
			}
		}
	}
	if b.accept("ORDER") {
		b.expect("BY")
		for b.err == nil {
			i := len(w.OrderBy)
			w.OrderBy = append(w.OrderBy, OrderItem{})
			b.slot(func(e Expr) { w.OrderBy[i] = e.(*orderArg).item })
			b.orderItem()
			if !b.accept(",") {
				break
			}
		}
	}
	if b.is("ROWS") || b.is("RANGE") {
		w.Frame = b.frame()
	}
	b.expect(")")
	w.At = b.since(start)
}

// frame reads a window frame and returns it in a canonical spelling.
func (b *callArgs) frame() string {
	words := strings.ToUpper(b.next().text)
	if !b.accept("BETWEEN") {
		return words + " " + b.frameBound()
	}
	lower := b.frameBound()
	b.expect("AND")
	return words + " BETWEEN " + lower + " AND " + b.frameBound()
}

func (b *callArgs) frameBound() string {
	if b.accept("CURRENT") {
		b.expect("ROW")
		return "CURRENT ROW"
	}
	size := ""
	switch t := b.peek(0); {
	case b.accept("UNBOUNDED"):
		size = "UNBOUNDED"
	case t.kind == numberToken:
		size = b.next().text
	case b.accept("INTERVAL"):
		text, _ := b.str("a string")
		size = "INTERVAL " + QuoteString(text) + " " + b.intervalUnit().String()
	default:
		b.expected("CURRENT ROW, UNBOUNDED, a number or an INTERVAL")
		return ""
	}
	for _, side := range []string{"PRECEDING", "FOLLOWING"} {
		if b.accept(side) {
			return size + " " + side
		}
	}
	b.expected("PRECEDING or FOLLOWING")
	return ""
}
