package eval

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/ddl"
)

// textOf views bytes as a string without copying; it must not outlive them.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func decimalToFloat[T float](scale int) kernel {
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		var buf [48]byte
		for i, x := range values[decimal128.Num](k.args[0]) {
			// Both numbers are exact in a float64, so one division rounds once.
			if v, ok := small(x); ok && scale <= 22 && v < 1<<53 && v > -1<<53 && floatSize[T]() == 64 {
				out[i] = T(float64(v) / math.Pow10(scale))
				continue
			}
			f, _ := strconv.ParseFloat(textOf(appendDecimal(buf[:0], x, scale)), floatSize[T]())
			out[i] = T(f)
		}
	}
}

// cutText is CAST to VARCHAR(n) or CHAR(n): longer text is cut, and CHAR is filled with blanks.
func cutText(to *ddl.Type) kernel {
	return func(k *call) {
		off, data := k.out.makeText(k.n)
		a := k.args[0]
		for i := range k.n {
			s := a.at(i)
			cut := cutRunes(s, to.Length)
			data = append(data, cut...)
			if to.Kind == ddl.Char {
				for pad := to.Length - utf8.RuneCount(cut); pad > 0 && !k.skip(i); pad-- {
					data = append(data, ' ')
				}
			}
			off[i+1] = int32(len(data))
		}
		k.out.endText(data)
	}
}

// cutRunes is the first n characters.
func cutRunes(s []byte, n int) []byte {
	if len(s) <= n {
		return s
	}
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	return s[:at]
}

func cutBytes(to *ddl.Type) kernel {
	return func(k *call) {
		off, data := k.out.makeText(k.n)
		a := k.args[0]
		for i := range k.n {
			s := a.at(i)
			s = s[:min(len(s), to.Length)]
			data = append(data, s...)
			if to.Kind == ddl.BinaryType {
				for pad := to.Length - len(s); pad > 0 && !k.skip(i); pad-- {
					data = append(data, 0)
				}
			}
			off[i+1] = int32(len(data))
		}
		k.out.endText(data)
	}
}

// toText writes values in Flink's text forms.
func toText(from, to *ddl.Type) (kernel, bool) {
	w := &writer{t: from}
	if !w.compile() {
		return nil, false
	}
	return func(k *call) {
		off, data := k.out.makeText(k.n)
		one := w.on(k.args[0], &k.f.zone)
		if w.zoned && !k.f.ready() {
			one = nil
		}
		for i := range k.n {
			if one != nil && !k.skip(i) {
				from := len(data)
				var reason string
				if data, reason = one.append(data, i); reason != "" {
					k.fail(i, "%s", reason)
				} else if len(data)-from > to.Length && utf8.RuneCount(data[from:]) > to.Length {
					k.fail(i, "%s does not fit %s", data[from:], base(to))
				}
			}
			off[i+1] = int32(len(data))
		}
		k.out.endText(data)
	}, w.zoned
}

// fromText reads values; blanks around them are ignored, as in Flink.
func fromText(to *ddl.Type) (kernel, bool) {
	switch to.Kind {
	case ddl.Boolean:
		return parseBooleans, false
	case ddl.TinyInt:
		return parseIntegers[int8](to), false
	case ddl.SmallInt:
		return parseIntegers[int16](to), false
	case ddl.Int:
		return parseIntegers[int32](to), false
	case ddl.BigInt:
		return parseIntegers[int64](to), false
	case ddl.Float:
		return parseFloats[float32](to), false
	case ddl.Double:
		return parseFloats[float64](to), false
	case ddl.Decimal:
		return parseDecimals(to), false
	case ddl.BinaryType, ddl.Varbinary:
		return cutBytes(to), false
	}
	return parseDatetimes(to)
}

func badText(k *call, i int, to *ddl.Type) {
	s := k.args[0].at(i)
	if len(s) > 64 {
		s = append(append([]byte{}, cutRunes(s, 60)...), "..."...)
	}
	k.fail(i, "%s is no %s", ddl.QuoteString(string(s)), base(to))
}

func parseBooleans(k *call) {
	bits := k.out.makeBits(k.n)
	bits.fill(false)
	for i := range k.n {
		if k.skip(i) {
			continue
		}
		switch s := bytes.TrimSpace(k.args[0].at(i)); {
		case isWord(s, "true"), isWord(s, "t"), isWord(s, "yes"), isWord(s, "y"), isWord(s, "1"):
			bits.set(i)
		case isWord(s, "false"), isWord(s, "f"), isWord(s, "no"), isWord(s, "n"), isWord(s, "0"):
		default:
			badText(k, i, of(ddl.Boolean))
		}
	}
}

func isWord(s []byte, word string) bool { return strings.EqualFold(textOf(s), word) }

func parseIntegers[T integer](to *ddl.Type) kernel {
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		for i := range out {
			out[i] = 0
			if k.skip(i) {
				continue
			}
			v, ok := parseInteger(bytes.TrimSpace(k.args[0].at(i)))
			if out[i] = T(v); !ok || int64(out[i]) != v {
				badText(k, i, to)
			}
		}
	}
}

// parseInteger reads digits with a sign; a fraction of zeros is no loss and is let through.
func parseInteger(s []byte) (int64, bool) {
	if at := bytes.IndexByte(s, '.'); at > 0 {
		for _, c := range s[at+1:] {
			if c != '0' {
				return 0, false
			}
		}
		s = s[:at]
	}
	v, err := strconv.ParseInt(textOf(s), 10, 64)
	return v, err == nil
}

func parseFloats[T float](to *ddl.Type) kernel {
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		for i := range out {
			out[i] = 0
			if k.skip(i) {
				continue
			}
			s := bytes.TrimSpace(k.args[0].at(i))
			if !looksFloat(s) {
				badText(k, i, to)
				continue
			}
			f, err := strconv.ParseFloat(textOf(s), floatSize[T]())
			if out[i] = T(f); err != nil {
				badText(k, i, to)
			}
		}
	}
}

// looksFloat keeps out what Go reads and SQL does not: hexadecimal digits, underscores.
func looksFloat(s []byte) bool {
	if isWord(s, "nan") || isWord(s, "infinity") || isWord(s, "-infinity") || isWord(s, "+infinity") {
		return true
	}
	for _, c := range s {
		if (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' && c != 'e' && c != 'E' {
			return false
		}
	}
	return len(s) > 0
}

func parseDecimals(to *ddl.Type) kernel {
	return func(k *call) {
		out := makeValues[decimal128.Num](k.out, k.n)
		for i := range out {
			out[i] = decimal128.Num{}
			if k.skip(i) {
				continue
			}
			v, _, ok := parseDecimal(bytes.TrimSpace(k.args[0].at(i)), to.Precision, to.Scale)
			if out[i] = v; !ok {
				badText(k, i, to)
			}
		}
	}
}

// parseDecimal reads [+-]digits[.digits][e[+-]digits], rounding half up to the scale.
func parseDecimal(s []byte, precision, scale int) (n decimal128.Num, exact, ok bool) {
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	exponent := 0
	if at := bytes.IndexAny(s, "eE"); at >= 0 {
		e, err := strconv.ParseInt(textOf(s[at+1:]), 10, 32)
		if err != nil || e > 1<<20 || e < -1<<20 {
			return n, false, false
		}
		exponent, s = int(e), s[:at]
	}
	m, digits, round := u128{}, 0, byte(0)
	exact = true
	point := bytes.IndexByte(s, '.')
	whole := len(s)
	if point >= 0 {
		whole = point
	}
	// keep is how many digits of the text, from its first, reach the scale.
	keep := whole + exponent + scale
	for i, c := range s {
		if i == point {
			continue
		}
		if c < '0' || c > '9' {
			return n, false, false
		}
		switch {
		case digits < keep:
			p, fits := m.times(10)
			if !fits {
				return n, false, false
			}
			var carry uint64
			p.lo, carry = bits64(p.lo, uint64(c-'0'))
			p.hi += carry
			m = p
		case digits == keep:
			round = c - '0'
			exact = exact && c == '0'
		default:
			exact = exact && c == '0'
		}
		digits++
	}
	if digits == 0 {
		return n, false, false
	}
	if digits < keep {
		var fits bool
		if m != (u128{}) {
			if m, fits = m.scaleUp(min(keep-digits, 64)); !fits {
				return n, false, false
			}
		}
	}
	if round >= 5 {
		var carry uint64
		m.lo, carry = bits64(m.lo, 1)
		m.hi += carry
	}
	return m.signed(negative), exact, m.less(limits[precision])
}

func bits64(a, b uint64) (sum, carry uint64) {
	sum = a + b
	if sum < a {
		carry = 1
	}
	return sum, carry
}
