package ddl

import "strings"

func isNiladic(c *Call) bool {
	return len(c.Name) == 1 && niladic[strings.ToUpper(c.Name[0].Name)] && bare(c) && len(c.Args) == 0
}

// isQuantified is the ANY (query) behind a comparison.
func isQuantified(c *Call) bool {
	if len(c.Name) != 1 || !bare(c) || len(c.Args) != 1 {
		return false
	}
	_, ok := c.Args[0].(*Subquery)
	switch strings.ToUpper(c.Name[0].Name) {
	case "ANY", "SOME", "ALL":
		return ok
	}
	return false
}

// bare tells whether a call has nothing but positional arguments.
func bare(c *Call) bool {
	return !c.Star && !c.Distinct && c.Filter == nil && c.Over == nil && c.ArgNames == nil && len(c.Extra) == 0
}

// call prints a call where an expression stands.
func (p *printer) call(c *Call) {
	if len(c.Name) == 1 && bare(c) {
		switch name := c.Name[0].Name; {
		case isNiladic(c):
			p.put(name)
			return
		case isQuantified(c):
			p.put(name, " ")
			p.expr(c.Args[0], lowest)
			return
		case keywordCalls[strings.ToUpper(name)]:
			if p.keywordCall(c, strings.ToUpper(name)) {
				return
			}
			p.generic(c, QuoteIdent(name))
			return
		}
	}
	p.generic(c, functionName(c.Name))
}

// functionName prints words such as LEFT, COUNT and MAP as they are: they are functions, too.
func functionName(path Path) string {
	if len(path) != 1 {
		return printPath(path)
	}
	name := path[0].Name
	switch w := strings.ToUpper(name); {
	case keywordCalls[w], w == "CASE", w == "TABLE", w == "NOT", w == "NULL", w == "TRUE", w == "FALSE":
		return QuoteIdent(name)
	case w == "LEFT", w == "RIGHT", w == "IF", w == "COUNT", w == "RANK", w == "DATE", w == "TIME", w == "TIMESTAMP", w == "YEAR", w == "MONTH",
		w == "DAY", w == "HOUR", w == "MINUTE", w == "SECOND", w == "MOD", w == "REGEXP", w == "DESCRIPTOR", w == "CHAR", w == "GROUPING", w == "TRUNCATE":
		return name
	}
	return printName(name)
}

var keywordCalls = set("EXTRACT FLOOR CEIL CEILING TRIM SUBSTRING POSITION OVERLAY TIMESTAMPADD TIMESTAMPDIFF CAST TRY_CAST EXISTS ANY SOME ALL ROW")

// keywordCall prints the calls that separate their arguments by keywords; false when the arguments do not fit.
func (p *printer) keywordCall(c *Call, name string) bool {
	a := c.Args
	between := func(level level, parts ...any) bool {
		p.put(c.Name[0].Name, "(")
		for _, part := range parts {
			switch x := part.(type) {
			case string:
				p.put(x)
			case Expr:
				p.expr(x, level)
			}
		}
		p.put(")")
		return true
	}
	switch {
	case name == "EXTRACT" && len(a) == 2 && isUnit(a[0], true):
		return between(lowest, a[0].(*Literal).Text, " FROM ", a[1])
	case strings.HasPrefix(name, "TIMESTAMP") && len(a) == 3 && isUnit(a[0], false):
		return between(lowest, a[0].(*Literal).Text, ", ", a[1], ", ", a[2])
	case name == "TRIM" && len(a) == 3 && isSide(a[0]):
		return between(lowest, a[0].(*Literal).Text, " ", a[1], " FROM ", a[2])
	case name == "POSITION" && len(a) == 2:
		return between(sumLevel, a[0], " IN ", a[1])
	case name == "OVERLAY" && len(a) == 3:
		return between(lowest, a[0], " PLACING ", a[1], " FROM ", a[2])
	case name == "OVERLAY" && len(a) == 4:
		return between(lowest, a[0], " PLACING ", a[1], " FROM ", a[2], " FOR ", a[3])
	case name == "FLOOR", name == "CEIL", name == "CEILING":
		if len(a) == 2 && isUnit(a[1], false) {
			return between(lowest, a[0], " TO ", a[1].(*Literal).Text)
		}
		return len(a) == 1 && between(lowest, a[0])
	case (name == "TRIM" || name == "SUBSTRING") && len(a) > 0:
		p.generic(c, c.Name[0].Name)
		return true
	}
	return false
}

func isUnit(e Expr, field bool) bool {
	l, ok := e.(*Literal)
	return ok && l.Kind == StringLiteral && (timeUnits[l.Text] || field && extractFields[l.Text])
}

func isSide(e Expr) bool {
	l, ok := e.(*Literal)
	return ok && l.Kind == StringLiteral && (l.Text == "BOTH" || l.Text == "LEADING" || l.Text == "TRAILING")
}

// generic prints name(args) with all clauses.
func (p *printer) generic(c *Call, name string) {
	p.put(name, "(", when(c.Distinct, "DISTINCT "))
	json := strings.ToUpper(c.Name.Last())
	pairs := len(c.Name) == 1 && (json == "JSON_OBJECT" || json == "JSON_OBJECTAGG")
	switch {
	case c.Star:
		p.put("*")
	case pairs:
		p.list(len(c.Args)/2, ", ", func(i int) {
			p.put("KEY ")
			p.expr(c.Args[2*i], lowest)
			p.put(" VALUE ")
			p.expr(c.Args[2*i+1], lowest)
		})
	default:
		p.args(c)
	}
	for _, x := range c.Extra {
		if strings.HasSuffix(x.Words, " NULLS") || x.Words == "WITH ORDINALITY" {
			continue
		}
		p.put(" ")
		p.clause(x)
	}
	p.put(")")
	for _, x := range c.Extra {
		if strings.HasSuffix(x.Words, " NULLS") {
			p.put(" ", x.Words)
		}
	}
	if c.Filter != nil {
		p.put(" FILTER (WHERE ")
		p.expr(c.Filter, lowest)
		p.put(")")
	}
	if c.Over != nil {
		p.put(" OVER ")
		p.window(c.Over)
	}
}

func (p *printer) clause(x CallClause) {
	switch on := strings.TrimPrefix(x.Words, "DEFAULT"); {
	case x.Type != nil:
		p.put(x.Words, " ", printType(x.Type))
	case x.Expr != nil && on != x.Words:
		p.put("DEFAULT ")
		p.expr(x.Expr, lowest)
		p.put(on)
	default:
		p.put(x.Words)
	}
}

func (p *printer) args(c *Call) {
	p.list(len(c.Args), ", ", func(i int) {
		if c.ArgNames != nil && c.ArgNames[i] != "" {
			p.put(printName(c.ArgNames[i]), " => ")
		}
		if t, ok := c.Args[i].(*Call); ok && p.tableArg(t) {
			return
		}
		p.expr(c.Args[i], lowest)
	})
}

// tableArg prints TABLE t [PARTITION BY ..] [ORDER BY ..], which is an argument of a table function only.
func (p *printer) tableArg(c *Call) bool {
	if len(c.Name) != 1 || !strings.EqualFold(c.Name[0].Name, "TABLE") || len(c.Args) != 1 || c.Distinct || c.Star || c.Filter != nil || c.Over != nil {
		return false
	}
	switch c.Args[0].(type) {
	case *ColumnRef, *Subquery:
	default:
		return false
	}
	p.put(c.Name[0].Name, " ")
	p.expr(c.Args[0], lowest)
	for _, words := range []string{"PARTITION BY", "ORDER BY"} {
		sep := " " + words + " ("
		for _, x := range c.Extra {
			if x.Words == words {
				p.put(sep)
				p.expr(x.Expr, lowest)
				sep = ", "
			}
		}
		if sep == ", " {
			p.put(")")
		}
	}
	return true
}

func (p *printer) window(w *Window) {
	p.put("(")
	sep := ""
	if len(w.PartitionBy) > 0 {
		p.put("PARTITION BY ")
		p.exprs(w.PartitionBy)
		sep = " "
	}
	if len(w.OrderBy) > 0 {
		p.put(sep)
		p.orderBy(w.OrderBy)
		sep = " "
	}
	if w.Frame != "" {
		p.put(sep, w.Frame)
	}
	p.put(")")
}

func (p *printer) orderBy(items []OrderItem) {
	p.put("ORDER BY ")
	p.list(len(items), ", ", func(i int) {
		o := &items[i]
		p.expr(o.Expr, lowest)
		p.put(when(o.Desc, " DESC"))
		if o.NullsFirst != nil {
			p.put(" NULLS ", when(*o.NullsFirst, "FIRST"), when(!*o.NullsFirst, "LAST"))
		}
	})
}
