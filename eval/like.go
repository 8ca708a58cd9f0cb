package eval

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/syncsql/syncsql/ddl"
)

// like compiles x [NOT] LIKE pattern [ESCAPE e] and SIMILAR TO. A constant pattern is compiled once.
func (c *compiler) like(e *ddl.LikeExpr) *node {
	args, ok := c.all(e.X, e.Pattern)
	escape := rune(-1)
	if e.Escape != nil {
		esc := c.expr(e.Escape)
		if esc == nil {
			return nil
		}
		if esc.constant == nil || !isText(esc.typ) || utf8.RuneCount(esc.constant.at(0)) != 1 {
			c.fail(esc.at, "wrong-arguments", "ESCAPE needs one character")
			return nil
		}
		escape, _ = utf8.DecodeRune(esc.constant.at(0))
	}
	if !ok {
		return nil
	}
	for i, a := range args {
		if a.typ.Kind == ddl.Null {
			args[i] = c.null(textType(), a.at)
		} else if !isText(a.typ) {
			c.mismatch(a.at, "LIKE needs text, found %s", base(a.typ)).WithHelp("write CAST(... AS STRING)")
			return nil
		}
	}
	compile := compileLike
	if e.Similar {
		compile = compileSimilar
	}
	var n *node
	if p := args[1]; p.constant != nil && p.constant.valid.has(0) {
		match, err := compile(string(p.constant.at(0)), escape)
		if err != "" {
			c.fail(p.at, "wrong-arguments", "%s", err)
			return nil
		}
		n = c.strict(of(ddl.Boolean), e.At, likeKernel(match), args[0])
	} else {
		n = c.strict(of(ddl.Boolean), e.At, likeEach(compile, escape), args...)
	}
	if e.Not {
		return c.strict(of(ddl.Boolean), e.At, notKernel, n)
	}
	return n
}

type matcher func(s []byte) bool

func likeKernel(match matcher) kernel {
	return func(k *call) {
		bits := k.out.makeBits(k.n)
		bits.fill(false)
		a := k.args[0]
		for i := range k.n {
			bits[i>>6] |= bit(match(a.at(i))) << (i & 63)
		}
	}
}

// likeEach compiles a pattern per row, again only when it differs from the row before.
func likeEach(compile func(string, rune) (matcher, string), escape rune) kernel {
	return func(k *call) {
		bits := k.out.makeBits(k.n)
		bits.fill(false)
		var pattern []byte
		var match matcher
		var bad string
		for i := range k.n {
			if k.skip(i) {
				continue
			}
			if p := k.args[1].at(i); match == nil && bad == "" || !bytes.Equal(p, pattern) {
				pattern = p
				match, bad = compile(string(p), escape)
			}
			if bad != "" {
				k.fail(i, "%s", bad)
				continue
			}
			bits[i>>6] |= bit(match(k.args[0].at(i))) << (i & 63)
		}
	}
}

// piece of a LIKE pattern between two %: literal text with _ as wild.
type piece struct {
	text []rune // wild marks any character
	lit  []byte // the text when it has no wild
}

const wild = rune(-1)

// compileLike splits a pattern at its %. Patterns without _ are compared as bytes.
func compileLike(pattern string, escape rune) (matcher, string) {
	var pieces []piece
	var cur []rune
	percents, wilds := 0, 0
	flush := func() {
		p := piece{text: cur}
		p.lit = []byte(string(cur))
		pieces = append(pieces, p)
		cur = nil
	}
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == escape:
			i++
			if i == len(runes) || runes[i] != '%' && runes[i] != '_' && runes[i] != escape {
				return nil, "in a LIKE pattern the escape character must stand before %, _ or itself"
			}
			cur = append(cur, runes[i])
		case r == '%':
			percents++
			flush()
		case r == '_':
			wilds++
			cur = append(cur, wild)
		default:
			cur = append(cur, r)
		}
	}
	flush()
	if wilds > 0 {
		return func(s []byte) bool { return matchPieces(pieces, s) }, ""
	}
	first, last := pieces[0].lit, pieces[len(pieces)-1].lit
	middle := pieces[1:max(1, len(pieces)-1)]
	switch {
	case percents == 0:
		return func(s []byte) bool { return bytes.Equal(s, first) }, ""
	case percents == 1 && len(last) == 0:
		return func(s []byte) bool { return bytes.HasPrefix(s, first) }, ""
	case percents == 1 && len(first) == 0:
		return func(s []byte) bool { return bytes.HasSuffix(s, last) }, ""
	case percents == 2 && len(first) == 0 && len(last) == 0:
		needle := middle[0].lit
		return func(s []byte) bool { return bytes.Contains(s, needle) }, ""
	}
	return func(s []byte) bool {
		if len(s) < len(first)+len(last) || !bytes.HasPrefix(s, first) || !bytes.HasSuffix(s, last) {
			return false
		}
		s = s[len(first) : len(s)-len(last)]
		for _, m := range middle {
			at := bytes.Index(s, m.lit)
			if at < 0 {
				return false
			}
			s = s[at+len(m.lit):]
		}
		return true
	}, ""
}

// matchPieces matches pieces with wild characters: each as far left as it goes, the last at the end.
func matchPieces(pieces []piece, s []byte) bool {
	size, ok := matchAt(pieces[0].text, s)
	if !ok {
		return false
	}
	if len(pieces) == 1 {
		return size == len(s)
	}
	s = s[size:]
	for _, p := range pieces[1 : len(pieces)-1] {
		for {
			if size, ok = matchAt(p.text, s); ok {
				s = s[size:]
				break
			}
			if len(s) == 0 {
				return false
			}
			_, step := utf8.DecodeRune(s)
			s = s[step:]
		}
	}
	last := pieces[len(pieces)-1].text
	for skip := utf8.RuneCount(s) - len(last); skip > 0; skip-- {
		_, step := utf8.DecodeRune(s)
		s = s[step:]
	}
	size, ok = matchAt(last, s)
	return ok && size == len(s)
}

// matchAt matches text at the start of s and returns how many bytes it took.
func matchAt(text []rune, s []byte) (size int, ok bool) {
	for _, r := range text {
		got, n := utf8.DecodeRune(s[size:])
		if n == 0 || r != wild && got != r {
			return 0, false
		}
		size += n
	}
	return size, true
}

// compileSimilar turns a SQL regular expression into Go's: % and _ are wild, | * + ? ( ) { } [ ] mean what they do.
func compileSimilar(pattern string, escape rune) (matcher, string) {
	var b strings.Builder
	b.WriteString("(?s)^(?:")
	class := false
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == escape:
			i++
			if i == len(runes) {
				return nil, "a SIMILAR TO pattern cannot end with its escape character"
			}
			b.WriteString(regexp.QuoteMeta(string(runes[i])))
		case class:
			class = r != ']'
			if r == '\\' {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case r == '[':
			class = true
			b.WriteRune(r)
		case r == '%':
			b.WriteString(".*")
		case r == '_':
			b.WriteByte('.')
		case strings.ContainsRune(`.^$\`, r):
			b.WriteString(regexp.QuoteMeta(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(")$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, "the SIMILAR TO pattern " + ddl.QuoteString(pattern) + " is no regular expression"
	}
	return re.Match, ""
}
