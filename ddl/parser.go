package ddl

import (
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of brackets, types and operators before an operand, maxTerms the length of one flat chain.
// Both keep a hostile script from exhausting the stack.
const (
	maxDepth = 5000
	maxTerms = 50000
)

// parser is a recursive-descent parser over the tokens of one statement. The first error sticks and moves the parser to
// the end, so that every loop ends and callers need not check after each step.
type parser struct {
	tokens []token
	pos    int
	eof    token
	pairs  []int // the partner of each bracket
	depth  int
	err    *Error
	text   string // the whole script, for statements that keep raw text
}

func newParser(text string, c chunk) *parser {
	p := &parser{tokens: c.tokens, text: text}
	p.eof = token{kind: endToken, at: Span{c.end, c.end}}
	for i := range c.tokens {
		if e := c.tokens[i].err; e != nil {
			p.failWith(e)
			return p
		}
	}
	var e *Error
	if p.pairs, e = pair(c.tokens); e != nil {
		p.failWith(e)
	}
	return p
}

// peek is the next token, n further on; past the end it is the end token.
func (p *parser) peek(n int) *token {
	if p.pos+n < len(p.tokens) {
		return &p.tokens[p.pos+n]
	}
	return &p.eof
}

func (p *parser) next() *token {
	t := p.peek(0)
	if p.pos < len(p.tokens) {
		p.pos++
	}
	return t
}

// last is the token that was read last.
func (p *parser) last() *token {
	if p.pos == 0 {
		return p.peek(0)
	}
	return &p.tokens[p.pos-1]
}

// since is the span from start to the token read last.
func (p *parser) since(start Span) Span { return start.Cover(p.last().at) }

func (p *parser) failWith(e *Error) {
	if p.err == nil {
		p.err = e
	}
	p.pos = len(p.tokens)
}

func (p *parser) failAt(at Span, code, format string, args ...any) *Error {
	e := Errorf(at, code, format, args...)
	p.failWith(e)
	return e
}

// expected fails at the next token.
func (p *parser) expected(what string) *Error {
	t := p.peek(0)
	at := t.at
	if t.kind == endToken && p.pos > 0 && at.Start == at.End {
		at = Span{at.Start, at.Start}
	}
	return p.failAt(at, "syntax-error", "expected %s, found %s", what, t.describe())
}

// unsupported fails with a sentence that names a construct of Flink SQL that the language leaves out.
func (p *parser) unsupported(at Span, what, help string) *Error {
	e := p.failAt(at, "unsupported-syntax", "%s is not part of the language", what)
	if help != "" {
		e.Help = help
	}
	return e
}

// enter guards a level of recursion.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.failAt(p.peek(0).at, "too-deep", "the statement is nested more than %d levels deep", maxDepth)
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// isAt tells whether the tokens from n on are these words or punctuation.
func (p *parser) isAt(n int, words ...string) bool {
	for i, w := range words {
		if !p.peek(n + i).is(w) {
			return false
		}
	}
	return true
}

func (p *parser) is(words ...string) bool { return p.isAt(0, words...) }

func (p *parser) accept(words ...string) bool {
	if !p.is(words...) {
		return false
	}
	p.pos += len(words)
	return true
}

// expect reads the words, or fails at the first that is missing.
func (p *parser) expect(words ...string) bool {
	for _, w := range words {
		if !p.accept(w) {
			p.expected(quoteWord(w))
			return false
		}
	}
	return true
}

func quoteWord(w string) string {
	if isNameStart(rune(w[0])) {
		return w
	}
	return strconv.Quote(w)
}

// ident reads a name. Any word will do where the grammar leaves no doubt; quoting is for the other places.
func (p *parser) ident(what string) Ident {
	t := p.peek(0)
	switch t.kind {
	case wordToken, quotedToken:
		p.pos++
		return Ident{t.text, t.at}
	case stringToken:
		p.expected(what).WithHelp("names are written between backticks, not quotes: %s", QuoteIdent(clip(t.text)))
	default:
		p.expected(what)
	}
	return Ident{}
}

// path reads a dotted name.
func (p *parser) path(what string) Path {
	path := Path{p.ident(what)}
	for p.err == nil && p.accept(".") {
		path = append(path, p.ident("a name after the dot"))
	}
	return path
}

// idents reads (a, b, c).
func (p *parser) idents(what string) []Ident {
	var out []Ident
	if !p.expect("(") {
		return nil
	}
	for {
		out = append(out, p.ident(what))
		if p.err != nil || !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return out
}

func (p *parser) str(what string) (string, Span) {
	t := p.peek(0)
	if t.kind != stringToken {
		p.expected(what)
		return "", Span{}
	}
	p.pos++
	return t.text, t.at
}

// integer reads an unsigned number up to limit.
func (p *parser) integer(what string, limit int) int {
	t := p.peek(0)
	if t.kind != numberToken {
		p.expected(what)
		return 0
	}
	n, err := strconv.Atoi(t.text)
	if err != nil || n > limit {
		p.failAt(t.at, "bad-number", "%s must be a whole number of at most %d", what, limit)
		return 0
	}
	p.pos++
	return n
}

// options reads ('key' = 'value', ...).
func (p *parser) options() []Option {
	var out []Option
	if !p.expect("(") {
		return nil
	}
	if p.accept(")") {
		return nil
	}
	for p.err == nil {
		out = append(out, p.option())
		if !p.accept(",") {
			break
		}
		if p.is(")") {
			p.expected("an option after the comma").WithHelp("remove the last comma")
		}
	}
	if p.err == nil && p.peek(0).kind == stringToken {
		p.expected(`"," or ")"`).WithHelp("options are separated by commas")
	}
	p.expect(")")
	return out
}

func (p *parser) option() Option {
	var o Option
	if t := p.peek(0); t.kind == wordToken || t.kind == quotedToken {
		p.expected("an option's key as a string").WithHelp("write '%s' = '…'", t.text)
		return o
	}
	o.Key, o.KeyAt = p.str("an option's key as a string")
	p.expect("=")
	if t := p.peek(0); p.err == nil && (t.kind == wordToken || t.kind == numberToken) {
		p.expected("the option's value as a string").WithHelp("put the value between single quotes")
		return o
	}
	o.Value, o.ValueAt = p.str("the option's value as a string")
	return o
}

// ifNotExists reads IF NOT EXISTS.
func (p *parser) ifNotExists() bool {
	if p.is("IF", "NOT") {
		return p.expect("IF", "NOT", "EXISTS")
	}
	return false
}

// ifExists reads IF EXISTS.
func (p *parser) ifExists() bool { return p.accept("IF", "EXISTS") }

// end wants the end of the statement; a keyword that starts a statement hints at a missing semicolon.
func (p *parser) end() {
	if p.err != nil || p.pos == len(p.tokens) {
		return
	}
	t := p.peek(0)
	e := p.expected("end of statement")
	if t.kind == wordToken && startsStatement[strings.ToUpper(t.text)] {
		e.WithHelp("a ';' is missing before %s", strings.ToUpper(t.text))
	}
}

// tokenAfter is the index of the first token that starts at or behind an offset.
func (p *parser) tokenAfter(offset int) int {
	lo, hi := 0, len(p.tokens)
	for lo < hi {
		if mid := (lo + hi) / 2; p.tokens[mid].at.Start < offset {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// statementStart are the words a statement can start with.
var statementStart = set("CREATE DROP ALTER INSERT UPSERT EXECUTE BEGIN END SET RESET SHOW DESCRIBE DESC EXPLAIN SELECT WITH VALUES " +
	"USE LOAD UNLOAD ADD REMOVE STOP COMPILE ANALYZE CALL UPDATE DELETE TRUNCATE HELP QUIT EXIT CLEAR SOURCE")

// startsStatement are those of them that mean nothing at the end of another statement.
var startsStatement = set("CREATE DROP ALTER INSERT EXECUTE BEGIN SET RESET SHOW DESCRIBE DESC EXPLAIN SELECT USE STOP")

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
