package ddl

import "strings"

// create reads everything that starts with CREATE.
func (p *parser) create(start Span) Statement {
	replace := false
	if p.is("OR", "REPLACE") || p.is("OR", "ALTER") {
		p.pos += 2
		replace = true
	}
	temporary := p.accept("TEMPORARY")
	system := temporary && p.accept("SYSTEM")
	t := p.peek(0)
	switch {
	case replace && p.peek(0).kind == wordToken:
		return p.refuseStatement(start, "CREATE OR REPLACE", "use DROP … IF EXISTS and CREATE")
	case p.accept("TABLE"):
		return p.createTable(start, temporary)
	case p.accept("VIEW"):
		return p.createView(start, temporary)
	case p.accept("FUNCTION"):
		return p.createFunction(start, temporary || system)
	case p.is("CATALOG"), p.is("DATABASE"), p.is("SCHEMA"), p.is("MATERIALIZED"), p.is("MODEL"), p.is("CONNECTION"):
		help := ""
		if p.is("CATALOG") || p.is("DATABASE") || p.is("SCHEMA") {
			help = "declare each table with CREATE TABLE"
		}
		return p.refuseStatement(start, "CREATE "+strings.ToUpper(t.text), help)
	}
	e := p.expected("TABLE, VIEW or FUNCTION")
	if t.kind == wordToken {
		if near := Nearest(strings.ToUpper(t.text), []string{"TABLE", "VIEW", "FUNCTION", "CATALOG", "DATABASE", "TEMPORARY"}); near != "" {
			e.WithHelp("did you mean CREATE %s?", near)
		}
	}
	return nil
}

func (p *parser) createTable(start Span, temporary bool) Statement {
	s := &CreateTable{Temporary: temporary, IfNotExists: p.ifNotExists()}
	s.Name = p.path("a table name")
	if p.accept("(") {
		p.tableElements(s)
	}
	p.tableClauses(s)
	if p.err == nil && p.accept("LIKE") {
		s.Like = p.like()
	}
	if p.err == nil && p.accept("AS") {
		s.As = p.parseQuery()
	}
	s.At = p.since(start)
	return s
}

// tableClauses reads COMMENT, DISTRIBUTED, PARTITIONED BY and WITH. Flink fixes their order; nothing is gained by that.
func (p *parser) tableClauses(s *CreateTable) {
	for p.err == nil {
		t := p.peek(0)
		switch {
		case s.Comment == "" && p.accept("COMMENT"):
			s.Comment, _ = p.str("a comment as a string")
		case s.PartitionedBy == nil && p.accept("PARTITIONED"):
			p.expect("BY")
			s.PartitionedBy = p.idents("a column")
		case s.Distribution == nil && (p.is("DISTRIBUTED") || p.is("DISTRIBUTE")):
			p.next()
			s.Distribution = p.distribution(t.at)
		case s.OptionsAt == Span{} && p.accept("WITH"):
			s.Options = p.options()
			s.OptionsAt = p.since(t.at)
		default:
			return
		}
	}
}

// distribution reads [BY [HASH | RANGE] (columns)] INTO n BUCKETS.
func (p *parser) distribution(start Span) *Distribution {
	d := &Distribution{}
	if p.accept("BY") {
		if p.is("HASH") || p.is("RANGE") {
			d.Kind = strings.ToUpper(p.next().text)
		}
		d.Columns = p.idents("a column")
	}
	if p.accept("INTO") {
		d.Buckets = p.integer("the number of buckets", 1<<31-1)
		p.expect("BUCKETS")
	} else if d.Columns == nil {
		p.expected("BY or INTO")
	}
	d.At = p.since(start)
	return d
}

func (p *parser) tableElements(s *CreateTable) {
	if p.is(")") {
		p.next()
		return
	}
	for p.err == nil {
		p.tableElement(s)
		if !p.accept(",") {
			break
		}
		if p.is(")") {
			p.expected("a column after the comma").WithHelp("remove the last comma")
		}
	}
	if p.err == nil && !p.is(")") {
		p.expected(`"," or ")" after the column`)
	}
	p.expect(")")
}

func (p *parser) tableElement(s *CreateTable) {
	t := p.peek(0)
	switch {
	case p.is("WATERMARK", "FOR"):
		if s.Watermark != nil {
			p.failAt(t.at, "duplicate-watermark", "a table has one WATERMARK at most")
			return
		}
		s.Watermark = p.watermark()
	case p.is("PRIMARY", "KEY"), p.is("CONSTRAINT") && !p.startsType(1):
		if p.accept("CONSTRAINT") {
			p.ident("a constraint's name")
		}
		p.primaryKey(s, t.at, nil)
	case p.is("UNIQUE", "("), p.is("UNIQUE", "KEY"):
		p.unsupported(t.at, "UNIQUE", "declare the key as PRIMARY KEY (…) NOT ENFORCED")
	case p.is("PERIOD", "FOR"):
		p.unsupported(t.at, "PERIOD FOR", "")
	default:
		p.column(s)
	}
}

// startsType tells whether a type word stands at n: `constraint STRING` is a column.
func (p *parser) startsType(n int) bool {
	t := p.peek(n)
	return t.kind == wordToken && typeWords[strings.ToUpper(t.text)]
}

func (p *parser) watermark() *Watermark {
	start := p.next().at
	p.next()
	w := &Watermark{Column: p.path("a column")}
	p.expect("AS")
	if p.err == nil {
		w.Expr = p.parseExpr()
	}
	w.At = p.since(start)
	return w
}

// primaryKey reads PRIMARY KEY [(columns)] [[NOT] ENFORCED]; the columns are left out behind a column.
func (p *parser) primaryKey(s *CreateTable, start Span, column *Ident) {
	if !p.is("PRIMARY") {
		p.expected("PRIMARY KEY")
		return
	}
	at := p.peek(0).at
	p.next()
	p.expect("KEY")
	key := &PrimaryKey{Enforced: true}
	if column != nil {
		key.Columns = []Ident{*column}
	} else {
		key.Columns = p.idents("a column")
	}
	if p.accept("NOT") {
		p.expect("ENFORCED")
		key.Enforced = false
	} else {
		p.accept("ENFORCED")
	}
	key.At = p.since(at)
	if p.err == nil && s.PrimaryKey != nil {
		p.failAt(key.At, "duplicate-primary-key", "a table has one PRIMARY KEY at most").
			WithHelp("write all its columns in one: PRIMARY KEY (a, b) NOT ENFORCED")
	}
	s.PrimaryKey = key
}

func (p *parser) column(s *CreateTable) {
	c := Column{Name: p.ident("a column name")}
	if p.err != nil {
		return
	}
	if p.accept("AS") {
		c.Expr = p.parseExpr()
	} else {
		c.Type = p.dataType()
		p.columnClauses(s, &c)
	}
	if p.accept("COMMENT") {
		c.Comment, _ = p.str("a comment as a string")
	}
	c.At = p.since(c.Name.At)
	s.Columns = append(s.Columns, c)
}

func (p *parser) columnClauses(s *CreateTable, c *Column) {
	for p.err == nil {
		t := p.peek(0)
		switch {
		case p.is("PRIMARY"), p.is("CONSTRAINT"):
			if p.accept("CONSTRAINT") {
				p.ident("a constraint's name")
			}
			p.primaryKey(s, t.at, &c.Name)
		case p.is("UNIQUE"):
			p.unsupported(t.at, "UNIQUE", "declare the key as PRIMARY KEY (…) NOT ENFORCED")
		case p.accept("METADATA"):
			c.Metadata, c.Key, c.KeyAt = true, c.Name.Name, c.Name.At
			if p.accept("FROM") {
				c.Key, c.KeyAt = p.str("the metadata key as a string")
			}
			c.Virtual = p.accept("VIRTUAL")
			return
		case p.is("DEFAULT"), p.is("AUTO_INCREMENT"), p.is("REFERENCES"), p.is("CHECK"), p.is("GENERATED"):
			p.unsupported(t.at, strings.ToUpper(t.text)+" in CREATE TABLE", "a computed column is written: name AS expression")
		default:
			return
		}
	}
}

// like reads table [(INCLUDING OPTIONS ...)].
func (p *parser) like() *Like {
	start := p.last().at
	l := &Like{Table: p.path("a table")}
	if p.accept("(") {
		for p.err == nil && !p.is(")") {
			l.Rules = append(l.Rules, p.likeRule())
		}
		p.expect(")")
	}
	l.At = p.since(start)
	return l
}

func (p *parser) likeRule() LikeRule {
	t := p.peek(0)
	if !t.is("INCLUDING") && !t.is("EXCLUDING") && !t.is("OVERWRITING") {
		p.expected("INCLUDING, EXCLUDING or OVERWRITING")
		return LikeRule{}
	}
	p.next()
	f := p.peek(0)
	if f.kind != wordToken || !likeFeatures[strings.ToUpper(f.text)] {
		p.expected("ALL, CONSTRAINTS, DISTRIBUTION, GENERATED, METADATA, OPTIONS, PARTITIONS or WATERMARKS")
		return LikeRule{}
	}
	p.next()
	return LikeRule{At: t.at.Cover(f.at), Strategy: strings.ToUpper(t.text), Feature: strings.ToUpper(f.text)}
}

var likeFeatures = set("ALL CONSTRAINTS DISTRIBUTION GENERATED METADATA OPTIONS PARTITIONS WATERMARKS")

func (p *parser) createView(start Span, temporary bool) Statement {
	s := &CreateView{Temporary: temporary, IfNotExists: p.ifNotExists()}
	s.Name = p.path("a view name")
	if p.is("(") {
		s.Columns = p.viewColumns()
	}
	if p.accept("COMMENT") {
		s.Comment, _ = p.str("a comment as a string")
	}
	p.expect("AS")
	if p.err == nil {
		s.Query = p.parseQuery()
	}
	s.At = p.since(start)
	return s
}

// viewColumns reads (a, b COMMENT '..').
func (p *parser) viewColumns() []Ident {
	var out []Ident
	p.next()
	for p.err == nil {
		out = append(out, p.ident("a column name"))
		if p.accept("COMMENT") {
			p.str("a comment as a string")
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return out
}

// createFunction reads both Flink's form (AS 'class') and the one with parameters and a body.
func (p *parser) createFunction(start Span, temporary bool) Statement {
	s := &CreateFunction{Temporary: temporary, IfNotExists: p.ifNotExists()}
	s.Name = p.path("a function name")
	if p.accept("(") {
		for p.err == nil && !p.is(")") {
			s.Params = append(s.Params, Param{p.ident("a parameter name"), p.dataType()})
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
	}
	for p.err == nil {
		switch {
		case s.Returns == nil && p.accept("RETURNS"):
			s.Returns = p.dataType()
		case s.Language == "" && p.accept("LANGUAGE"):
			s.Language = strings.ToUpper(p.ident("a language").Name)
		case s.Body == "" && p.accept("AS"):
			s.Body, s.BodyAt = p.str("the function's body as a string")
		case p.is("USING"):
			return p.refuseStatement(start, "CREATE FUNCTION … USING JAR", "write the function in this language: CREATE FUNCTION f(x STRING) RETURNS STRING LANGUAGE EXPR AS '…'")
		case s.BodyAt == Span{}:
			p.expected("RETURNS, LANGUAGE or AS")
		default:
			s.At = p.since(start)
			return s
		}
	}
	return s
}
