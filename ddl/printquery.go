package ddl

func (p *printer) query(q *Query) {
	if len(q.With) > 0 {
		p.put("WITH ")
		p.list(len(q.With), ", ", func(i int) {
			c := &q.With[i]
			p.put(printName(c.Name.Name), " ")
			if len(c.Columns) > 0 {
				p.put(printIdents(c.Columns), " ")
			}
			p.put("AS ")
			p.bracket(c.Query)
		})
		p.put(" ")
	}
	p.body(q.Body)
	if len(q.OrderBy) > 0 {
		p.put(" ")
		p.orderBy(q.OrderBy)
	}
	if q.Limit != nil {
		p.put(" LIMIT ")
		p.expr(q.Limit, lowest)
	}
	if q.Offset != nil {
		p.put(" OFFSET ")
		p.expr(q.Offset, lowest)
	}
}

func (p *printer) body(b QueryBody) {
	switch x := b.(type) {
	case *Query:
		p.bracket(x)
	case *Values:
		p.put("VALUES ")
		p.list(len(x.Rows), ", ", func(i int) {
			p.put("(")
			p.exprs(x.Rows[i])
			p.put(")")
		})
	case *SetOp:
		p.operand(x.Left, setLevel(x))
		p.put(" ", x.Op, when(x.All, " ALL"), " ")
		p.operand(x.Right, setLevel(x)+1)
	case *Select:
		p.selectBlock(x)
	}
}

func setLevel(b QueryBody) int {
	if s, ok := b.(*SetOp); !ok {
		return 3
	} else if s.Op == "INTERSECT" {
		return 2
	}
	return 1
}

// operand puts brackets around a set operation that binds looser than the one around it.
func (p *printer) operand(b QueryBody, least int) {
	if setLevel(b) >= least {
		p.body(b)
		return
	}
	p.put("(")
	p.body(b)
	p.put(")")
}

func (p *printer) selectBlock(s *Select) {
	p.put("SELECT ")
	for _, h := range s.Hints {
		p.put("/*+ ", h, " */ ")
	}
	p.put(when(s.Distinct, "DISTINCT "))
	p.list(len(s.Items), ", ", func(i int) {
		switch it := &s.Items[i]; {
		case it.Star && len(it.Of) > 0:
			p.put(printPath(it.Of), ".*")
		case it.Star:
			p.put("*")
		default:
			p.expr(it.Expr, lowest)
			if it.Alias.Name != "" {
				p.put(" AS ", printName(it.Alias.Name))
			}
		}
	})
	if s.From != nil {
		p.put(" FROM ")
		p.table(s.From)
	}
	if s.Where != nil {
		p.put(" WHERE ")
		p.expr(s.Where, lowest)
	}
	if len(s.GroupBy) > 0 {
		p.put(" GROUP BY ")
		p.groupItems(s.GroupBy)
	}
	if s.Having != nil {
		p.put(" HAVING ")
		p.expr(s.Having, lowest)
	}
}

func (p *printer) groupItems(items []Expr) {
	p.list(len(items), ", ", func(i int) {
		switch x := items[i].(type) {
		case *Call:
			if len(x.Name) == 1 && x.Name[0].Name == "GROUPING SETS" && bare(x) && len(x.Args) > 0 {
				p.put("GROUPING SETS (")
				p.groupItems(x.Args)
				p.put(")")
				return
			}
		case *Construct:
			if x.Kind == "ROW" && len(x.Elems) != 1 {
				p.put("(")
				p.exprs(x.Elems)
				p.put(")")
				return
			}
		}
		p.expr(items[i], lowest)
	})
}

func (p *printer) table(t TableRef) {
	switch x := t.(type) {
	case *TableName:
		p.put(printPath(x.Name))
		p.hints(x.Hints)
		if x.AsOf != nil {
			p.put(" FOR SYSTEM_TIME AS OF ")
			p.expr(x.AsOf, lowest)
		}
		p.alias(x.Alias, x.Columns)
	case *Derived:
		p.put(when(x.Lateral, "LATERAL "))
		p.bracket(x.Query)
		p.alias(x.Alias, x.Columns)
	case *TableFunction:
		p.tableFunction(x)
		p.alias(x.Alias, x.Columns)
	case *Join:
		p.join(x)
	}
}

func (p *printer) alias(name Ident, columns []Ident) {
	if name.Name == "" {
		return
	}
	p.put(" AS ", printName(name.Name))
	if len(columns) > 0 {
		p.put(printIdents(columns))
	}
}

// tableFunction prints the call with LATERAL TABLE, the spelling that takes columns of the tables before it as arguments.
func (p *printer) tableFunction(f *TableFunction) {
	ordinality := false
	for _, x := range f.Call.Extra {
		ordinality = ordinality || x.Words == "WITH ORDINALITY"
	}
	if unnest := len(f.Call.Name) == 1 && f.Call.Name.Last() == "UNNEST"; unnest || ordinality {
		name := "UNNEST"
		if !unnest {
			name = printPath(f.Call.Name)
		}
		p.generic(f.Call, name)
		p.put(when(ordinality, " WITH ORDINALITY"))
		return
	}
	lateral := "LATERAL "
	for _, a := range f.Call.Args {
		if c, ok := a.(*Call); ok && c.Name.Last() == "TABLE" {
			lateral = ""
		}
	}
	p.put(lateral, "TABLE(")
	p.generic(f.Call, printPath(f.Call.Name))
	p.put(")")
}

func (p *printer) join(j *Join) {
	p.table(j.Left)
	p.put(when(j.Natural, " NATURAL"), when(j.Kind != "INNER", " "+j.Kind), " JOIN ")
	if _, ok := j.Right.(*Join); ok {
		p.put("(")
		p.table(j.Right)
		p.put(")")
	} else {
		p.table(j.Right)
	}
	if j.On != nil {
		p.put(" ON ")
		p.expr(j.On, lowest)
	} else if len(j.Using) > 0 {
		p.put(" USING ", printIdents(j.Using))
	}
}
