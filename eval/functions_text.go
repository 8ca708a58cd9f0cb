package eval

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"unicode"
	"unicode/utf8"

	"github.com/syncsql/syncsql/ddl"
)

func textFunctions() []function {
	text, integer := returns(textType()), returns(of(ddl.Int))
	return []function{
		{name: "UPPER", aliases: []string{"UCASE"}, usage: "UPPER(text)", doc: "The text in capital letters.", params: []param{aText}, least: 1,
			result: text, kernel: plain(mapCase('a', 'z', unicode.ToUpper))},
		{name: "LOWER", aliases: []string{"LCASE"}, usage: "LOWER(text)", doc: "The text in small letters.", params: []param{aText}, least: 1,
			result: text, kernel: plain(mapCase('A', 'Z', unicode.ToLower))},
		{name: "INITCAP", usage: "INITCAP(text)", doc: "The text with the first letter of each word in capitals, the rest in small letters.",
			params: []param{aText}, least: 1, result: text, kernel: plain(eachText(appendInitcap))},
		{name: "TRIM", usage: "TRIM([BOTH | LEADING | TRAILING] [characters FROM] text)", doc: "The text without blanks, or those characters, at its ends.",
			params: []param{aText, aText, aText}, least: 1, build: buildTrim},
		{name: "BTRIM", usage: "BTRIM(text[, characters])", doc: "The text without blanks, or those characters, at both ends.",
			params: []param{aText, aText}, least: 1, result: text, kernel: plain(trimText(true, true))},
		{name: "LTRIM", usage: "LTRIM(text[, characters])", doc: "The text without blanks, or those characters, at its start.",
			params: []param{aText, aText}, least: 1, result: text, kernel: plain(trimText(true, false))},
		{name: "RTRIM", usage: "RTRIM(text[, characters])", doc: "The text without blanks, or those characters, at its end.",
			params: []param{aText, aText}, least: 1, result: text, kernel: plain(trimText(false, true))},
		{name: "SUBSTRING", aliases: []string{"SUBSTR"}, usage: "SUBSTRING(text FROM start [FOR length])",
			doc: "The part of the text from a character on, counted from 1, or from the end when negative.", params: []param{aText, anInt, anInt}, least: 2,
			result: text, kernel: plain(substring), nulls: "NULL when an argument is NULL or the length is negative"},
		{name: "LEFT", usage: "LEFT(text, n)", doc: "The first n characters.", params: []param{aText, anInt}, least: 2, result: text, kernel: plain(leftRight(true))},
		{name: "RIGHT", usage: "RIGHT(text, n)", doc: "The last n characters.", params: []param{aText, anInt}, least: 2, result: text, kernel: plain(leftRight(false))},
		{name: "CHAR_LENGTH", aliases: []string{"CHARACTER_LENGTH", "LENGTH"}, usage: "CHAR_LENGTH(text)", doc: "The number of characters.",
			params: []param{aText}, least: 1, result: integer, kernel: plain(charLength)},
		{name: "OCTET_LENGTH", usage: "OCTET_LENGTH(text)", doc: "The number of bytes.", params: []param{aBinary}, least: 1, result: integer,
			kernel: plain(func(k *call) {
				out := makeValues[int32](k.out, k.n)
				for i := range out {
					out[i] = int32(len(k.args[0].at(i)))
				}
			})},
		{name: "REPLACE", usage: "REPLACE(text, from, to)", doc: "The text with every from replaced by to.", params: []param{aText, aText, aText}, least: 3,
			result: text, kernel: plain(eachText(appendReplaced))},
		{name: "CONCAT", usage: "CONCAT(a, b, ...)", doc: "The arguments joined.", params: []param{aText}, least: 1, many: true, result: text,
			kernel: plain(concatKernel)},
		{name: "CONCAT_WS", usage: "CONCAT_WS(separator, a, b, ...)", doc: "The arguments that are not NULL, joined with a separator.",
			params: []param{aText}, least: 1, many: true, nulls: "NULL when the separator is NULL", build: buildConcatWS},
		{name: "POSITION", usage: "POSITION(part IN text)", doc: "The character at which part first stands, counted from 1; 0 when it does not.",
			params: []param{aText, aText}, least: 2, result: integer, kernel: plain(position)},
		{name: "LOCATE", usage: "LOCATE(part, text[, start])", doc: "The character at which part first stands, from start on; 0 when it does not.",
			params: []param{aText, aText, anInt}, least: 2, result: integer, kernel: plain(position)},
		{name: "INSTR", usage: "INSTR(text, part)", doc: "The character at which part first stands; 0 when it does not.",
			params: []param{aText, aText}, least: 2, result: integer, kernel: plain(func(k *call) {
				k.args[0], k.args[1] = k.args[1], k.args[0]
				position(k)
			})},
		{name: "LPAD", usage: "LPAD(text, length, fill)", doc: "The text brought to a length by filling or cutting on its left side.",
			params: []param{aText, anInt, aText}, least: 3, result: text, kernel: plain(padText(true)), nulls: padNulls},
		{name: "RPAD", usage: "RPAD(text, length, fill)", doc: "The text brought to a length by filling or cutting on its right side.",
			params: []param{aText, anInt, aText}, least: 3, result: text, kernel: plain(padText(false)), nulls: padNulls},
		{name: "REPEAT", usage: "REPEAT(text, n)", doc: "The text n times.", params: []param{aText, anInt}, least: 2, result: text, kernel: plain(repeatText)},
		{name: "REVERSE", usage: "REVERSE(text)", doc: "The characters in reverse order.", params: []param{aText}, least: 1, result: text,
			kernel: plain(eachText(appendReversed))},
		hash("MD5", func(b []byte) []byte { h := md5.Sum(b); return h[:] }),
		hash("SHA1", func(b []byte) []byte { h := sha1.Sum(b); return h[:] }),
		hash("SHA224", func(b []byte) []byte { h := sha256.Sum224(b); return h[:] }),
		hash("SHA256", func(b []byte) []byte { h := sha256.Sum256(b); return h[:] }),
		hash("SHA384", func(b []byte) []byte { h := sha512.Sum384(b); return h[:] }),
		hash("SHA512", func(b []byte) []byte { h := sha512.Sum512(b); return h[:] }),
	}
}

const (
	padNulls = "NULL when an argument is NULL, the length is negative or the fill is empty"
	// textMax bounds what one value may grow to, so that a wrong number in a row cannot take the machine's memory.
	textMax = 16 << 20
)

// eachText is a function that appends one result per row.
func eachText(one func(dst []byte, args []*vec, i int) []byte) kernel {
	return func(k *call) {
		off, data := k.out.makeText(k.n)
		for i := range k.n {
			if !k.skip(i) {
				data = one(data, k.args, i)
			}
			off[i+1] = int32(len(data))
		}
		k.out.endText(data)
	}
}

// mapCase maps letters. A column that is all ASCII is mapped as one run of bytes under its own offsets.
func mapCase(from, to byte, other func(rune) rune) kernel {
	one := eachText(func(dst []byte, args []*vec, i int) []byte {
		for s := args[0].at(i); len(s) > 0; {
			c := s[0]
			if c < utf8.RuneSelf {
				if c-from <= to-from {
					c ^= 0x20
				}
				dst, s = append(dst, c), s[1:]
				continue
			}
			r, size := utf8.DecodeRune(s)
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, c)
			} else {
				dst = utf8.AppendRune(dst, other(r))
			}
			s = s[size:]
		}
		return dst
	})
	return func(k *call) {
		a := k.args[0]
		lo, hi := a.off[0], a.off[k.n]
		if !isASCII(a.raw[lo:hi]) {
			one(k)
			return
		}
		off, data := k.out.makeText(k.n)
		for i, o := range a.off[:k.n+1] {
			off[i] = o - lo
		}
		data = append(data, a.raw[lo:hi]...)
		for i, c := range data {
			if c-from <= to-from {
				data[i] = c ^ 0x20
			}
		}
		k.out.endText(data)
	}
}

func isASCII(s []byte) bool {
	var all byte
	for _, c := range s {
		all |= c
	}
	return all < utf8.RuneSelf
}

func appendInitcap(dst []byte, args []*vec, i int) []byte {
	inside := false
	for s := args[0].at(i); len(s) > 0; {
		r, size := utf8.DecodeRune(s)
		word := unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case word && !inside:
			dst = utf8.AppendRune(dst, unicode.ToUpper(r))
		case word:
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		default:
			dst = append(dst, s[:size]...)
		}
		inside, s = word, s[size:]
	}
	return dst
}

func buildTrim(c *compiler, e *ddl.Call, args []*node) *node {
	left, right := true, true
	if len(args) == 3 {
		if side := args[0].constant; side != nil {
			left, right = string(side.at(0)) != "TRAILING", string(side.at(0)) != "LEADING"
		}
		args = []*node{args[2], args[1]}
	}
	return c.strict(textType(), e.At, trimText(left, right), args...)
}

// trimText cuts blanks, or the characters of the second argument, from the ends.
func trimText(left, right bool) kernel {
	return eachText(func(dst []byte, args []*vec, i int) []byte {
		s, cut := args[0].at(i), []byte(" ")
		if len(args) > 1 {
			cut = args[1].at(i)
		}
		if len(cut) == 1 {
			for left && len(s) > 0 && s[0] == cut[0] {
				s = s[1:]
			}
			for right && len(s) > 0 && s[len(s)-1] == cut[0] {
				s = s[:len(s)-1]
			}
			return append(dst, s...)
		}
		if left {
			s = bytes.TrimLeft(s, textOf(cut))
		}
		if right {
			s = bytes.TrimRight(s, textOf(cut))
		}
		return append(dst, s...)
	})
}

// substring counts characters. The bytes are cut without counting when the text is ASCII up to there.
func substring(k *call) {
	off, data := k.out.makeText(k.n)
	starts := values[int64](k.args[1])
	var lengths []int64
	if len(k.args) > 2 {
		lengths = values[int64](k.args[2])
	}
	for i := range k.n {
		if !k.skip(i) {
			length := int64(1) << 40
			if lengths != nil {
				length = lengths[i]
			}
			if length < 0 {
				k.out.ownValid().clear(i)
			} else {
				data = append(data, cutFrom(k.args[0].at(i), starts[i], length)...)
			}
		}
		off[i+1] = int32(len(data))
	}
	k.out.endText(data)
}

func cutFrom(s []byte, start, length int64) []byte {
	ascii := isASCII(s)
	chars := int64(len(s))
	if !ascii {
		chars = int64(utf8.RuneCount(s))
	}
	switch {
	case start > 0:
		start--
	case start < 0:
		if start += chars; start < 0 {
			return nil
		}
	}
	if start >= chars {
		return nil
	}
	length = min(length, chars-start)
	if ascii {
		return s[start : start+length]
	}
	return cutRunes(s[len(cutRunes(s, int(start))):], int(length))
}

func leftRight(left bool) kernel {
	return eachText(func(dst []byte, args []*vec, i int) []byte {
		s, n := args[0].at(i), values[int64](args[1])[i]
		n = max(n, 0)
		if left {
			return append(dst, cutRunes(s, int(min(n, int64(len(s)))))...)
		}
		chars := int64(utf8.RuneCount(s))
		return append(dst, s[len(cutRunes(s, int(max(0, chars-n)))):]...)
	})
}

func charLength(k *call) {
	a := k.args[0]
	out := makeValues[int32](k.out, k.n)
	if isASCII(a.raw[a.off[0]:a.off[k.n]]) {
		for i := range out {
			out[i] = a.off[i+1] - a.off[i]
		}
		return
	}
	for i := range out {
		out[i] = int32(utf8.RuneCount(a.at(i)))
	}
}

func appendReplaced(dst []byte, args []*vec, i int) []byte {
	s, from, to := args[0].at(i), args[1].at(i), args[2].at(i)
	for len(from) > 0 {
		at := bytes.Index(s, from)
		if at < 0 {
			break
		}
		dst = append(append(dst, s[:at]...), to...)
		s = s[at+len(from):]
	}
	return append(dst, s...)
}

// concat is ||.
func (c *compiler) concat(at ddl.Span, l, r *node) *node {
	for i, a := range []*node{l, r} {
		other := []*node{r, l}[i]
		switch {
		case a.typ.Kind == ddl.Null && isBinary(other.typ):
			return c.null(other.typ, at)
		case a.typ.Kind == ddl.Null && (isText(other.typ) || other.typ.Kind == ddl.Null):
			return c.null(textType(), at)
		case !isText(a.typ) && !isBinary(a.typ):
			c.mismatch(a.at, "|| needs text, found %s", base(a.typ)).WithHelp("write CAST(... AS STRING)")
			return nil
		}
	}
	if isText(l.typ) != isText(r.typ) {
		c.mismatch(at, "|| cannot join %s and %s", base(l.typ), base(r.typ)).WithHelp("write CAST(... AS %s)", base(l.typ))
		return nil
	}
	t := textType()
	if isBinary(l.typ) {
		t = bytesType()
	}
	t.Length = min(l.typ.Length+r.typ.Length, ddl.MaxLength)
	return c.strict(t, at, concatKernel, l, r)
}

func concatKernel(k *call) {
	off, data := k.out.makeText(k.n)
	for i := range k.n {
		for _, a := range k.args {
			data = append(data, a.at(i)...)
		}
		off[i+1] = int32(len(data))
	}
	k.out.endText(data)
}

// buildConcatWS skips NULLs, so it is not strict in the arguments after the separator.
func buildConcatWS(c *compiler, e *ddl.Call, args []*node) *node {
	n := c.node(textType(), e.At, func(n *node, f *frame, live mask) *vec {
		s := &f.slots[n.slot]
		vecs := s.call.args[:0]
		for _, a := range n.args {
			vecs = append(vecs, a.eval(f, live))
		}
		s.call.args = vecs
		out := &s.out
		off, data := out.makeText(f.n)
		for i := range f.n {
			first := true
			for _, v := range vecs[1:] {
				if !v.valid.has(i) {
					continue
				}
				if !first {
					data = append(data, vecs[0].at(i)...)
				}
				data, first = append(data, v.at(i)...), false
			}
			off[i+1] = int32(len(data))
		}
		out.endText(data)
		out.valid = vecs[0].valid
		return out
	}, args...)
	return c.fold(n)
}

// position is POSITION(part IN text) and LOCATE(part, text, start).
func position(k *call) {
	out := makeValues[int32](k.out, k.n)
	for i := range out {
		out[i] = 0
		if k.skip(i) {
			continue
		}
		part, s, skipped := k.args[0].at(i), k.args[1].at(i), 0
		if len(k.args) > 2 {
			start := values[int64](k.args[2])[i]
			if start < 1 || start > int64(len(s))+1 {
				continue
			}
			skipped = int(start) - 1
			s = s[len(cutRunes(s, skipped)):]
		}
		if at := bytes.Index(s, part); at >= 0 {
			out[i] = int32(utf8.RuneCount(s[:at]) + skipped + 1)
		}
	}
}

func padText(left bool) kernel {
	return func(k *call) {
		off, data := k.out.makeText(k.n)
		lengths := values[int64](k.args[1])
		for i := range k.n {
			s, want, fill := k.args[0].at(i), lengths[i], k.args[2].at(i)
			switch {
			case k.skip(i):
			case want < 0 || len(fill) == 0:
				k.out.ownValid().clear(i)
			case want > textMax:
				k.fail(i, "a text of %d characters is too long", want)
			default:
				have := int64(utf8.RuneCount(s))
				if have >= want {
					data = append(data, cutRunes(s, int(want))...)
					break
				}
				if !left {
					data = append(data, s...)
				}
				data = appendFill(data, fill, int(want-have))
				if left {
					data = append(data, s...)
				}
			}
			off[i+1] = int32(len(data))
		}
		k.out.endText(data)
	}
}

// appendFill appends n characters of fill, over and over.
func appendFill(dst, fill []byte, n int) []byte {
	chars := utf8.RuneCount(fill)
	for ; n >= chars; n -= chars {
		dst = append(dst, fill...)
	}
	return append(dst, cutRunes(fill, n)...)
}

func repeatText(k *call) {
	off, data := k.out.makeText(k.n)
	for i, n := range values[int64](k.args[1]) {
		if s := k.args[0].at(i); !k.skip(i) && n > 0 && len(s) > 0 {
			if n > textMax/int64(len(s)) {
				k.fail(i, "the text is too long")
			} else {
				data = append(data, bytes.Repeat(s, int(n))...)
			}
		}
		off[i+1] = int32(len(data))
	}
	k.out.endText(data)
}

func appendReversed(dst []byte, args []*vec, i int) []byte {
	for s := args[0].at(i); len(s) > 0; {
		_, size := utf8.DecodeLastRune(s)
		dst = append(dst, s[len(s)-size:]...)
		s = s[:len(s)-size]
	}
	return dst
}

// hash is a digest in hexadecimal.
func hash(name string, sum func([]byte) []byte) function {
	return function{name: name, usage: name + "(text)", doc: "The " + name + " digest of the bytes, in hexadecimal.",
		params: []param{aBinary}, least: 1, result: returns(textType()),
		kernel: plain(eachText(func(dst []byte, args []*vec, i int) []byte { return hex.AppendEncode(dst, sum(args[0].at(i))) }))}
}
