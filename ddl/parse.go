// Package ddl turns the text of a script into statements. It has one lexer, one splitter and one recursive-descent parser
// for statements, and hands queries and expressions, rewritten so that no word of the user is left in them, to the TiDB
// parser. Every node and every complaint knows its bytes in the script.
//
// The package must never let a type of the TiDB parser out, never look anything up (names, types of expressions and
// options are checked elsewhere), and never panic on any text.
package ddl

import "strings"

// Parse splits and parses a script. A statement that does not parse is left out and complained about; the others are kept.
// A statement that is recognised and not part of the language is kept as *Unsupported, which carries its own complaint.
func Parse(text string) ([]Statement, Errors) {
	var b block
	var errs Errors
	for _, c := range split(lex(text)) {
		p := newParser(text, c)
		b.read(p)
		if p.err != nil {
			errs = append(errs, p.err)
		}
	}
	if b.set != nil {
		errs = append(errs, Errorf(b.set.At, "unclosed-statement-set", "BEGIN STATEMENT SET is not closed").WithHelp("add END;"))
	}
	_ = errs.Err() // sorts by place
	return b.statements, errs
}

// block gathers statements; between BEGIN STATEMENT SET; and END; it gathers INSERTs into one.
type block struct {
	statements []Statement
	set        *StatementSet // the open one
	broken     bool          // a statement of the open set did not parse
}

func (b *block) read(p *parser) {
	switch {
	case p.err == nil && opensSet(p.tokens):
		if b.set != nil {
			b.broken = true
			p.failAt(p.tokens[0].at, "syntax-error", "a statement set is already open")
			return
		}
		b.set, b.broken = &StatementSet{At: p.tokens[0].at.Cover(p.tokens[2].at)}, false
	case p.err == nil && b.set != nil && closesSet(p.tokens):
		b.set.At = b.set.At.Cover(p.tokens[len(p.tokens)-1].at)
		if len(b.set.Inserts) > 0 {
			b.statements = append(b.statements, b.set)
		} else if !b.broken {
			p.failAt(b.set.At, "empty-statement-set", "the statement set holds no INSERT")
		}
		b.set = nil
	default:
		s := p.whole()
		switch insert, ok := s.(*Insert); {
		case p.err != nil:
			b.broken = true
		case b.set == nil:
			b.statements = append(b.statements, s)
		case ok:
			b.set.Inserts = append(b.set.Inserts, insert)
		default:
			b.broken = true
			p.failAt(s.Span(), "syntax-error", "only INSERT can stand in a statement set").WithHelp("end the set with END;")
		}
	}
}

// ParseQuery parses a query on its own.
func ParseQuery(text string) (*Query, error) {
	return parseOne(text, "a query", (*parser).parseQuery)
}

// ParseExpr parses an expression on its own.
func ParseExpr(text string) (Expr, error) {
	return parseOne(text, "an expression", (*parser).parseExpr)
}

// ParseType parses a data type on its own.
func ParseType(text string) (*Type, error) {
	return parseOne(text, "a type", (*parser).dataType)
}

func parseOne[T any](text, what string, parse func(*parser) T) (T, error) {
	var none T
	chunks := split(lex(text))
	if len(chunks) == 0 {
		return none, Errorf(Span{len(text), len(text)}, "syntax-error", "expected %s, found the end of the text", what)
	}
	p := newParser(text, chunks[0])
	out := parse(p)
	p.end()
	if p.err == nil && len(chunks) > 1 {
		p.failAt(chunks[1].tokens[0].at, "syntax-error", "expected the end of the text, found %s", chunks[1].tokens[0].describe())
	}
	if p.err != nil {
		return none, p.err
	}
	return out, nil
}

// whole parses a statement to its end.
func (p *parser) whole() Statement {
	if p.err != nil {
		return nil
	}
	s := p.statement()
	p.end()
	return s
}

func (p *parser) statement() Statement {
	t := p.peek(0)
	start := t.at
	switch word := strings.ToUpper(t.text); {
	case t.is("("), t.is("SELECT"), t.is("WITH"), t.is("VALUES"):
		if q := p.parseQuery(); q != nil {
			return &SelectStatement{q}
		}
		return nil
	case t.kind != wordToken:
		p.expected("a statement")
		return nil
	default:
		parse, ok := statements(word)
		if !ok {
			p.unknownStatement(t)
			return nil
		}
		p.next()
		return parse(p, start)
	}
}

func statements(word string) (func(*parser, Span) Statement, bool) {
	switch word {
	case "CREATE":
		return (*parser).create, true
	case "DROP":
		return (*parser).drop, true
	case "INSERT":
		return (*parser).insert, true
	case "EXECUTE":
		return (*parser).execute, true
	case "SET":
		return (*parser).set, true
	case "RESET":
		return (*parser).reset, true
	case "SHOW":
		return (*parser).show, true
	case "DESCRIBE", "DESC":
		return (*parser).describe, true
	case "EXPLAIN":
		return (*parser).explain, true
	}
	help, ok := unsupportedStatements[word]
	return func(p *parser, start Span) Statement { return p.refuseStatement(start, word, help) }, ok
}

// refuseStatement reads over a statement that the language leaves out.
func (p *parser) refuseStatement(start Span, what, help string) Statement {
	p.pos = len(p.tokens)
	e := Errorf(start, "unsupported-statement", "%s is not part of the language", what)
	e.Help = help
	return &Unsupported{At: p.since(start), Error: e}
}

// unsupportedStatements are statements of Flink SQL, with what to do instead.
var unsupportedStatements = map[string]string{
	"ALTER":    "drop the object and create it again; nothing is stored but the declaration",
	"USE":      "write names with their catalog and database",
	"LOAD":     "connectors and functions are built in",
	"UNLOAD":   "connectors and functions are built in",
	"ADD":      "connectors and functions are built in",
	"REMOVE":   "connectors and functions are built in",
	"STOP":     "stop the process; it goes on from its checkpoint when it is started again",
	"COMPILE":  "EXPLAIN prints the plan",
	"ANALYZE":  "the planner keeps no statistics",
	"CALL":     "there are no procedures",
	"UPDATE":   "INSERT INTO a table in upsert mode changes rows by their key",
	"DELETE":   "deletes come from the source of a pipeline",
	"TRUNCATE": "empty the table in its own system",
	"BEGIN":    "a statement set starts with BEGIN STATEMENT SET;",
	"END":      "END; closes a statement set that BEGIN STATEMENT SET; has opened",
	"HELP":     "",
	"QUIT":     "",
	"EXIT":     "",
	"CLEAR":    "",
	"SOURCE":   "pass several files on the command line",
}

func (p *parser) unknownStatement(t *token) {
	e := p.failAt(t.at, "syntax-error", "expected a statement, found %s", t.describe())
	if near := nearestWord(t.text, statementStart); near != "" {
		e.WithHelp("did you mean %s?", near)
	}
}
