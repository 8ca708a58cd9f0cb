package ddl

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	endToken    tokenKind = iota
	wordToken             // a bare word, keyword or name
	quotedToken           // `name`
	stringToken           // '..'
	bytesToken            // x'..'
	numberToken
	punctToken
	hintToken // /*+ .. */
	badToken  // carries its own error
)

// token is one lexeme. Text is the source text for words, numbers and punctuation, and the value for everything in quotes.
type token struct {
	kind tokenKind
	at   Span
	text string
	err  *Error // badToken only
}

// is tells whether the token is the bare word (given in upper case) or the punctuation.
func (t *token) is(s string) bool {
	switch t.kind {
	case punctToken:
		return t.text == s
	case wordToken:
		return len(t.text) == len(s) && strings.EqualFold(t.text, s)
	}
	return false
}

// describe names the token in an error.
func (t *token) describe() string {
	switch t.kind {
	case endToken:
		return "the end of the statement"
	case stringToken, bytesToken:
		return "a string"
	case numberToken:
		return "the number " + clip(t.text)
	case hintToken:
		return "a hint"
	case wordToken, punctToken, quotedToken:
		return strconv.Quote(clip(t.text))
	}
	return "text"
}

func clip(s string) string {
	const limit = 40
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// lexer follows the rules of Flink's parser: `--` and `//` start a comment, /* */ does not nest, /*+ */ is a hint, quotes
// are doubled and a backslash is plain text. What Flink has no token for becomes a badToken, so that no rule of the
// TiDB lexer can ever give it a meaning.
type lexer struct {
	text string
	pos  int
	out  []token
}

func lex(text string) []token {
	l := &lexer{text: text, out: make([]token, 0, len(text)/5+1)}
	if e, n := encodingError(text); e != nil {
		return []token{{kind: badToken, at: e.Span, err: e}}
	} else if n > 0 {
		l.pos = n
	}
	for l.pos < len(l.text) {
		l.next()
	}
	return l.out
}

// encodingError recognises UTF-16 text and tells how many bytes of a UTF-8 byte order mark to skip.
func encodingError(text string) (*Error, int) {
	utf16 := strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") ||
		len(text) >= 4 && (text[0] == 0) != (text[1] == 0) && (text[2] == 0) != (text[3] == 0)
	if utf16 {
		return Errorf(Span{0, min(2, len(text))}, "bad-encoding", "the text is UTF-16, expected UTF-8").
			WithHelp("save the script as UTF-8"), 0
	}
	if strings.HasPrefix(text, "\ufeff") {
		return nil, 3
	}
	return nil, 0
}

func (l *lexer) add(kind tokenKind, start int, text string) {
	l.out = append(l.out, token{kind: kind, at: Span{start, l.pos}, text: text})
}

func (l *lexer) bad(at Span, code, format string, args ...any) *Error {
	e := Errorf(at, code, format, args...)
	l.out = append(l.out, token{kind: badToken, at: at, err: e})
	return e
}

func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.text) {
		return l.text[l.pos+n]
	}
	return 0
}

func (l *lexer) next() {
	c := l.text[l.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		l.pos++
	case c == '-' && l.peek(1) == '-', c == '/' && l.peek(1) == '/':
		l.lineComment()
	case c == '/' && l.peek(1) == '*':
		l.blockComment()
	case c == '\'':
		l.quoted(stringToken, l.pos, "string")
	case c == '`':
		l.quoted(quotedToken, l.pos, "name")
	case c >= '0' && c <= '9', c == '.' && isDigit(l.peek(1)) && !l.afterOperand():
		l.number()
	case c < utf8.RuneSelf && isNameStart(rune(c)):
		l.word()
	case c < utf8.RuneSelf:
		l.punct(c)
	default:
		l.wide()
	}
}

// afterOperand tells whether a dot here is a field access (a.1 is not a number's start).
func (l *lexer) afterOperand() bool {
	if len(l.out) == 0 {
		return false
	}
	t := &l.out[len(l.out)-1]
	return t.at.End == l.pos && (t.kind == wordToken || t.kind == quotedToken || t.is("]") || t.is(")"))
}

func isDigit(c byte) bool     { return c >= '0' && c <= '9' }
func isNameStart(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) }
func isNamePart(r rune) bool {
	return isNameStart(r) || r >= '0' && r <= '9' || r >= utf8.RuneSelf && (unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r))
}

func (l *lexer) lineComment() {
	if i := strings.IndexByte(l.text[l.pos:], '\n'); i >= 0 {
		l.pos += i + 1
	} else {
		l.pos = len(l.text)
	}
}

func (l *lexer) blockComment() {
	start := l.pos
	end := strings.Index(l.text[l.pos+2:], "*/")
	hint := l.peek(2) == '+'
	if end < 0 {
		l.pos = len(l.text)
		l.bad(Span{start, start + 2}, "unclosed-comment", "comment is not closed").WithHelp("add */ where the comment ends")
		return
	}
	l.pos += 2 + end + 2
	if hint && end > 0 {
		l.add(hintToken, start, l.text[start+3:l.pos-2])
	}
}

// quoted reads from the opening quote at l.pos; start is where the token starts, before a prefix such as N or U&.
func (l *lexer) quoted(kind tokenKind, start int, what string) {
	quote := l.text[l.pos]
	open := l.pos
	from := l.pos + 1
	doubled := false
	for i := from; ; {
		j := strings.IndexByte(l.text[i:], quote)
		if j < 0 {
			l.pos = len(l.text)
			l.bad(Span{open, open + 1}, "unclosed-"+what, "%s is not closed", what).WithHelp("add a closing %c; inside, write it twice", quote)
			return
		}
		i += j + 1
		if i < len(l.text) && l.text[i] == quote {
			doubled = true
			i++
			continue
		}
		l.pos = i
		break
	}
	value := l.text[from : l.pos-1]
	if doubled {
		q := string(quote)
		value = strings.ReplaceAll(value, q+q, q)
	}
	if i := strings.IndexByte(value, 0); i >= 0 {
		l.bad(Span{start, l.pos}, "bad-character", "%s contains a NUL character (U+0000)", what)
		return
	}
	if !utf8.ValidString(value) {
		l.bad(Span{start, l.pos}, "bad-encoding", "%s is not valid UTF-8", what)
		return
	}
	if kind == quotedToken && value == "" {
		l.bad(Span{start, l.pos}, "syntax-error", "a name must not be empty")
		return
	}
	l.add(kind, start, value)
}

func (l *lexer) number() {
	start := l.pos
	digits := func() {
		for isDigit(l.peek(0)) {
			l.pos++
		}
	}
	digits()
	if l.peek(0) == '.' {
		l.pos++
		digits()
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		n := 1
		if s := l.peek(1); s == '+' || s == '-' {
			n = 2
		}
		if isDigit(l.peek(n)) {
			l.pos += n
			digits()
		}
	}
	l.add(numberToken, start, l.text[start:l.pos])
}

func (l *lexer) word() {
	start := l.pos
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		if c < utf8.RuneSelf {
			if !isNamePart(rune(c)) {
				break
			}
			l.pos++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.text[l.pos:])
		if r == utf8.RuneError || !isNamePart(r) {
			break
		}
		l.pos += n
	}
	text := l.text[start:l.pos]
	switch {
	case l.peek(0) == '\'':
		l.prefixed(start, text)
	case l.peek(0) == '&' && l.peek(1) == '\'' && (text == "U" || text == "u"):
		l.pos++
		l.unicodeString(start)
	default:
		l.add(wordToken, start, text)
	}
}

// prefixed is a string right behind a word: N'..', x'..' or the forms of other databases.
func (l *lexer) prefixed(start int, prefix string) {
	switch strings.ToUpper(prefix) {
	case "N":
		l.quoted(stringToken, start, "string")
	case "X":
		n := len(l.out)
		l.quoted(bytesToken, start, "string")
		t := &l.out[n]
		if t.kind != bytesToken {
			return
		}
		raw, err := hex.DecodeString(t.text)
		if err != nil {
			l.out = l.out[:n]
			l.bad(t.at, "bad-literal", "x'..' needs an even number of hexadecimal digits")
			return
		}
		t.text = string(raw)
	case "E", "B", "R", "Q", "U":
		n := len(l.out)
		l.quoted(stringToken, start, "string")
		if t := l.out[n]; t.kind == stringToken {
			l.out = l.out[:n]
			l.bad(t.at, "unsupported-literal", "%s'..' strings do not exist in this language", prefix).
				WithHelp("write '..'; a backslash is plain text; U&'\\00e4' writes a character by its code point")
		}
	default:
		l.add(wordToken, start, prefix)
	}
}

// unicodeString reads U&'..' and decodes \XXXX, \+XXXXXX and \\.
func (l *lexer) unicodeString(start int) {
	n := len(l.out)
	l.quoted(stringToken, start, "string")
	t := &l.out[n]
	if t.kind != stringToken || !strings.Contains(t.text, `\`) {
		return
	}
	var b strings.Builder
	for s := t.text; s != ""; {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if strings.HasPrefix(s, `\`) {
			b.WriteByte('\\')
			s = s[1:]
			continue
		}
		width := 4
		if strings.HasPrefix(s, "+") {
			s, width = s[1:], 6
		}
		if len(s) >= width {
			if r, err := strconv.ParseUint(s[:width], 16, 32); err == nil && utf8.ValidRune(rune(r)) && r != 0 {
				b.WriteRune(rune(r))
				s = s[width:]
				continue
			}
		}
		l.out = l.out[:n]
		l.bad(t.at, "bad-literal", `in U&'..' a backslash starts \XXXX or \+XXXXXX with the code point of a character`)
		return
	}
	t.text = b.String()
}

func (l *lexer) punct(c byte) {
	start := l.pos
	if start+1 < len(l.text) {
		switch l.text[start : start+2] {
		case "<>", "!=", "<=", ">=", "||", "=>":
			l.pos += 2
			l.add(punctToken, start, l.text[start:l.pos])
			return
		}
	}
	l.pos++
	if strings.IndexByte("()[],.;+-*/%=<>{}:?", c) >= 0 {
		l.add(punctToken, start, l.text[start:l.pos])
		return
	}
	at := Span{start, l.pos}
	switch c {
	case '"':
		l.doubleQuoted(start)
	case 0:
		l.bad(at, "bad-character", "NUL character (U+0000)").WithHelp("remove it; is this a text file?")
	case '#':
		l.bad(at, "bad-character", `unexpected "#"`).WithHelp("a comment starts with -- or is put between /* and */")
	case '&', '|', '!':
		l.bad(at, "bad-character", "unexpected %q", string(c)).WithHelp("the logical operators are AND, OR and NOT")
	default:
		if c < ' ' || c == 0x7f {
			l.bad(at, "bad-character", "control character U+%04X", c).WithHelp("remove it")
			return
		}
		l.bad(at, "bad-character", "unexpected %q", string(c))
	}
}

func (l *lexer) doubleQuoted(start int) {
	line := l.text[start+1:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	if i := strings.IndexByte(line, '"'); i >= 0 {
		l.pos = start + 1 + i + 1
	}
	l.bad(Span{start, l.pos}, "bad-quote", "double quotes are not used in this language").
		WithHelp("write names between backticks (`name`) and strings between single quotes ('text')")
}

// wide is a character outside ASCII: a letter starts a word, everything else is refused by its code point.
func (l *lexer) wide() {
	r, n := utf8.DecodeRuneInString(l.text[l.pos:])
	if r == utf8.RuneError && n == 1 {
		l.pos++
		l.bad(Span{l.pos - 1, l.pos}, "bad-encoding", "byte 0x%02X is not valid UTF-8", l.text[l.pos-1]).WithHelp("save the script as UTF-8")
		return
	}
	if isNameStart(r) {
		l.word()
		return
	}
	at := Span{l.pos, l.pos + n}
	l.pos += n
	name, help := wideName(r)
	l.bad(at, "bad-character", "unexpected %s (U+%04X)", name, r).WithHelp("%s", help)
}

func wideName(r rune) (name, help string) {
	switch r {
	case 0xA0, 0x2007, 0x202F, 0x3000, 0x2003, 0x2002, 0x2009:
		return "non-breaking or wide space", "replace it by an ordinary space"
	case 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x200E, 0x200F:
		return "invisible character", "remove it"
	case 0x2018, 0x2019, 0x201A, 0x2032:
		return "typographic quote", "replace it by an ordinary single quote (')"
	case 0x201C, 0x201D, 0x201E, 0x2033:
		return "typographic quote", "replace it by an ordinary quote: ' around strings, ` around names"
	case 0x2013, 0x2014, 0x2212:
		return "typographic dash", "replace it by an ordinary minus (-)"
	case 0xFF0C, 0xFF1B, 0xFF08, 0xFF09:
		return "full-width punctuation", "replace it by the ordinary character"
	}
	return "character " + strconv.QuoteRune(r), "put names with special characters between backticks"
}
