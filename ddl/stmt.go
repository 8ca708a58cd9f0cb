package ddl

import "strings"

// insert reads INSERT {INTO | OVERWRITE} target [hint] [PARTITION (..)] [(columns)] query.
func (p *parser) insert(start Span) Statement {
	s := &Insert{}
	switch {
	case p.accept("OVERWRITE"):
		s.Overwrite = true
		p.accept("INTO")
		p.accept("TABLE")
	case p.accept("INTO"):
		p.accept("TABLE")
	default:
		p.expected("INTO or OVERWRITE")
	}
	s.Target = p.path("a table")
	s.Hints = p.tableHints()
	if p.accept("PARTITION") {
		s.Partition = p.partition()
	}
	if p.is("(") && !p.queryAt(p.pos) {
		s.Columns = p.idents("a column")
	}
	if s.Hints == nil {
		s.Hints = p.tableHints()
	}
	if p.err == nil && !p.is("SELECT") && !p.is("WITH") && !p.is("VALUES") && !p.is("(") {
		p.expected("a query")
	}
	s.Query = p.parseQuery()
	if p.is("ON", "CONFLICT") {
		p.unsupported(p.peek(0).at, "ON CONFLICT", "the sink's write mode and its PRIMARY KEY decide what happens to a row that exists")
	}
	s.At = p.since(start)
	return s
}

// partition reads (a = 'x', b).
func (p *parser) partition() []Option {
	var out []Option
	if !p.expect("(") {
		return nil
	}
	for p.err == nil {
		name := p.ident("a column")
		o := Option{Key: name.Name, KeyAt: name.At}
		if p.accept("=") {
			t := p.peek(0)
			if t.kind != stringToken && t.kind != numberToken && t.kind != wordToken {
				p.expected("a value")
				return nil
			}
			p.next()
			o.Value, o.ValueAt = t.text, t.at
			if typed := strings.ToUpper(t.text); t.kind == wordToken && (typed == "DATE" || typed == "TIMESTAMP" || typed == "TIME") {
				o.Value, o.ValueAt = p.str("a string")
			}
		}
		out = append(out, o)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return out
}

// execute reads EXECUTE STATEMENT SET BEGIN .. END, and EXECUTE in front of a statement of its own.
func (p *parser) execute(start Span) Statement {
	switch {
	case p.is("STATEMENT", "SET"):
		return p.statementSet(start)
	case p.is("PLAN"):
		return p.refuseStatement(start, "EXECUTE PLAN", "run the INSERT itself")
	case p.is("INSERT"):
		p.next()
		return p.insert(start)
	case p.is("SELECT"), p.is("WITH"), p.is("VALUES"):
		if q := p.parseQuery(); q != nil {
			return &SelectStatement{q}
		}
		return nil
	}
	p.expected("STATEMENT SET, INSERT or a query")
	return nil
}

func (p *parser) statementSet(start Span) Statement {
	s := &StatementSet{}
	p.expect("STATEMENT", "SET", "BEGIN")
	for p.err == nil && !p.is("END") {
		if p.accept(";") {
			continue
		}
		at := p.peek(0).at
		if !p.accept("INSERT") {
			p.expected("INSERT or END")
			break
		}
		if insert, ok := p.insert(at).(*Insert); ok {
			s.Inserts = append(s.Inserts, insert)
		}
		if p.err == nil && !p.is(";") {
			e := p.expected(`";" after the INSERT`)
			e.WithHelp("every INSERT of a statement set ends with a ';'")
		}
	}
	p.expect("END")
	s.At = p.since(start)
	if p.err == nil && len(s.Inserts) == 0 {
		p.failAt(s.At, "empty-statement-set", "the statement set holds no INSERT")
	}
	return s
}

// set reads SET 'key' = 'value', SET, and the unquoted form of older clients.
func (p *parser) set(start Span) Statement {
	s := &Set{}
	if p.pos == len(p.tokens) {
		s.At = start
		return s
	}
	if p.peek(0).kind == stringToken {
		s.Key, s.KeyAt = p.str("a key")
		p.expect("=")
		if p.err == nil && p.peek(0).kind == stringToken {
			s.Value, s.ValueAt = p.str("a value")
		} else {
			s.Value, s.ValueAt = p.raw("a value")
		}
	} else {
		s.Key, s.KeyAt = p.rawKey()
		p.expect("=")
		s.Value, s.ValueAt = p.raw("a value")
	}
	s.At = p.since(start)
	return s
}

// rawKey reads words, dots and dashes up to the equals sign.
func (p *parser) rawKey() (string, Span) {
	start := p.peek(0).at
	from := p.pos
	for p.pos < len(p.tokens) && !p.is("=") {
		t := p.peek(0)
		apart := p.pos > from && p.last().at.End != t.at.Start
		if apart || t.kind == stringToken || t.kind == punctToken && t.text != "." && t.text != "-" {
			p.expected(`"="`)
			return "", Span{}
		}
		p.next()
	}
	if p.pos == from {
		p.expected("a key")
		return "", Span{}
	}
	at := p.since(start)
	return p.text[at.Start:at.End], at
}

// raw takes the text up to the end of the line.
func (p *parser) raw(what string) (string, Span) {
	if p.err != nil {
		return "", Span{}
	}
	start := p.peek(0)
	if start.kind == endToken {
		p.expected(what)
		return "", Span{}
	}
	p.next()
	for p.pos < len(p.tokens) && !strings.Contains(p.text[p.last().at.End:p.peek(0).at.Start], "\n") {
		if t := p.peek(0); t.kind == wordToken && startsStatement[strings.ToUpper(t.text)] && t.at.Start > p.last().at.End {
			break // a semicolon is missing
		}
		p.next()
	}
	if start == p.last() && (start.kind == stringToken || start.kind == quotedToken) {
		return start.text, start.at
	}
	at := p.since(start.at)
	return p.text[at.Start:at.End], at
}

func (p *parser) reset(start Span) Statement {
	s := &Reset{}
	switch {
	case p.pos == len(p.tokens):
	case p.peek(0).kind == stringToken:
		s.Key, s.KeyAt = p.str("a key")
	default:
		s.Key, s.KeyAt = p.raw("a key")
	}
	s.At = p.since(start)
	return s
}

func (p *parser) describe(start Span) Statement {
	for _, word := range []string{"JOB", "FUNCTION", "CATALOG", "DATABASE"} {
		if p.is(word) && p.peek(1).kind != endToken && !p.isAt(1, ".") {
			return p.refuseStatement(start, "DESCRIBE "+word, "")
		}
	}
	for _, word := range []string{"TABLE", "EXTENDED"} {
		if k := p.peek(1).kind; k == wordToken || k == quotedToken {
			p.accept(word)
		}
	}
	s := &Describe{Name: p.path("a table")}
	s.At = p.since(start)
	return s
}

// explain reads EXPLAIN [PLAN FOR] [details] statement.
func (p *parser) explain(start Span) Statement {
	s := &Explain{}
	p.accept("PLAN", "FOR")
	for p.err == nil {
		t := p.peek(0)
		word := strings.ToUpper(t.text)
		if t.kind != wordToken || !explainDetails[word] {
			break
		}
		p.next()
		s.Details = append(s.Details, word)
		if !p.accept(",") {
			break
		}
	}
	at := p.peek(0).at
	switch {
	case p.is("STATEMENT", "SET"):
		s.Statement = p.statementSet(at)
	case p.is("EXPLAIN"):
		p.expected("INSERT, a statement set or a query")
	default:
		s.Statement = p.statement()
	}
	switch x := s.Statement.(type) {
	case *Insert, *StatementSet, *SelectStatement, nil:
	case *Unsupported:
		p.failWith(x.Error)
	case *CreateTable:
		if x.As == nil {
			p.failAt(at, "syntax-error", "CREATE TABLE has no plan to explain")
		}
	default:
		p.failAt(at, "syntax-error", "expected INSERT, a statement set or a query after EXPLAIN")
	}
	s.At = p.since(start)
	return s
}

var explainDetails = set("ESTIMATED_COST CHANGELOG_MODE JSON_EXECUTION_PLAN PLAN_ADVICE")

func (p *parser) drop(start Span) Statement {
	s := &Drop{}
	if p.accept("TEMPORARY") {
		s.Temporary = true
		p.accept("SYSTEM")
	}
	switch t := p.peek(0); {
	case t.is("TABLE"), t.is("VIEW"), t.is("FUNCTION"), t.is("CATALOG"), t.is("DATABASE"), t.is("SCHEMA"):
		p.next()
		s.What = strings.ToUpper(t.text)
		if s.What == "SCHEMA" {
			s.What = "DATABASE"
		}
	case t.is("MATERIALIZED"), t.is("MODEL"), t.is("CONNECTION"):
		return p.refuseStatement(start, "DROP "+strings.ToUpper(t.text), "")
	default:
		p.expected("TABLE, VIEW, FUNCTION, CATALOG or DATABASE")
	}
	s.IfExists = p.ifExists()
	s.Name = p.path("a name")
	if s.What == "DATABASE" && !p.accept("RESTRICT") && p.is("CASCADE") {
		p.unsupported(p.peek(0).at, "CASCADE", "drop the tables first")
	}
	s.At = p.since(start)
	return s
}

// showNames are the forms of SHOW that name an object, showLists those that list.
var (
	showNames = []string{"CREATE TABLE", "CREATE VIEW", "CREATE CATALOG"}
	showLists = []string{"CURRENT CATALOG", "CURRENT DATABASE", "USER FUNCTIONS", "FULL MODULES", "TABLES", "VIEWS", "COLUMNS", "FUNCTIONS", "CATALOGS",
		"DATABASES", "MODULES", "PARTITIONS", "PROCEDURES", "JARS", "JOBS"}
)

// show reads SHOW what [name] [{FROM | IN} name] [[NOT] LIKE 'pattern'].
func (p *parser) show(start Span) Statement {
	s := &Show{}
	for _, what := range showNames {
		if p.accept(strings.Fields(what)...) {
			s.What = what
			s.Name = p.path("a name")
			s.At = p.since(start)
			return s
		}
	}
	for _, what := range showLists {
		if p.accept(strings.Fields(what)...) {
			s.What = what
			break
		}
	}
	if s.What == "" {
		t := p.peek(0)
		e := p.expected("TABLES, CREATE TABLE or another list to show")
		if t.kind == wordToken {
			if near := Nearest(strings.ToUpper(t.text), showLists); near != "" {
				e.WithHelp("did you mean SHOW %s?", near)
			}
		}
		return nil
	}
	if p.accept("FROM") || p.accept("IN") {
		s.Name = p.path("a name")
	} else if s.What == "PARTITIONS" {
		s.Name = p.path("a table")
	}
	if p.is("ILIKE") || p.is("NOT", "ILIKE") {
		return p.refuseStatement(start, "SHOW … ILIKE", "use LIKE; case counts")
	}
	if p.accept("NOT") {
		s.NotLike = true
		if !p.is("LIKE") {
			p.expected("LIKE")
		}
	}
	if p.accept("LIKE") {
		s.Like, _ = p.str("a pattern as a string")
	}
	s.At = p.since(start)
	return s
}
