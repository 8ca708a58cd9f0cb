package eval

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/ddl"
)

// writer writes values of one type as text, in the forms of Flink's CAST.
type writer struct {
	t     *ddl.Type
	kids  []*writer // nested types
	zoned bool
	v     *vec
	zone  *zone
}

func (w *writer) compile() bool {
	var inner []*ddl.Type
	switch w.t.Kind {
	case ddl.Array:
		inner = []*ddl.Type{w.t.Elem}
	case ddl.Map:
		inner = []*ddl.Type{w.t.Key, w.t.Elem}
	case ddl.Multiset:
		inner = []*ddl.Type{w.t.Elem, {Kind: ddl.Int, NotNull: true}}
	case ddl.Row:
		for _, f := range w.t.Fields {
			inner = append(inner, f.Type)
		}
	}
	w.zoned = w.t.Kind == ddl.TimestampLTZ
	for _, t := range inner {
		kid := &writer{t: t}
		if !kid.compile() {
			return false
		}
		w.zoned = w.zoned || kid.zoned
		w.kids = append(w.kids, kid)
	}
	return w.t.Kind != ddl.Invalid
}

// on is the writer over one column; nil when the column is not of the declared type.
func (w *writer) on(v *vec, z *zone) *writer {
	one := &writer{t: w.t, v: v, zone: z}
	if len(w.kids) == 0 {
		return one
	}
	for i, kid := range w.kids {
		a := child(v, i)
		if a == nil {
			return nil
		}
		want, err := catalog.ArrowType(kid.t)
		if err != nil {
			return nil
		}
		inner := &vec{}
		if inner.load(kid.t, want, a) != nil {
			return nil
		}
		down := kid.on(inner, z)
		if down == nil {
			return nil
		}
		one.kids = append(one.kids, down)
	}
	return one
}

// append writes row i; a reason says why it has no text.
func (w *writer) append(dst []byte, i int) ([]byte, string) {
	v := w.v
	switch w.t.Kind {
	case ddl.Boolean:
		if v.bits.has(i) {
			return append(dst, "TRUE"...), ""
		}
		return append(dst, "FALSE"...), ""
	case ddl.TinyInt:
		return strconv.AppendInt(dst, int64(values[int8](v)[i]), 10), ""
	case ddl.SmallInt:
		return strconv.AppendInt(dst, int64(values[int16](v)[i]), 10), ""
	case ddl.Int:
		return strconv.AppendInt(dst, int64(values[int32](v)[i]), 10), ""
	case ddl.BigInt:
		return strconv.AppendInt(dst, values[int64](v)[i], 10), ""
	case ddl.Float:
		return appendFloat(dst, float64(values[float32](v)[i]), 32), ""
	case ddl.Double:
		return appendFloat(dst, values[float64](v)[i], 64), ""
	case ddl.Decimal:
		return appendDecimal(dst, values[decimal128.Num](v)[i], w.t.Scale), ""
	case ddl.Char, ddl.Varchar:
		return append(dst, v.at(i)...), ""
	case ddl.BinaryType, ddl.Varbinary:
		if !utf8.Valid(v.at(i)) {
			return dst, "the bytes are no UTF-8 text"
		}
		return append(dst, v.at(i)...), ""
	}
	return w.appendTime(dst, i)
}

func (w *writer) appendTime(dst []byte, i int) ([]byte, string) {
	v := w.v
	switch w.t.Kind {
	case ddl.Date:
		d := values[int32](v)[i]
		if d == dateMax || d == dateMin {
			return dst, "an infinite date has no text"
		}
		return appendDate(dst, int64(d)), ""
	case ddl.Time:
		return appendClock(dst, values[int64](v)[i], w.t), ""
	case ddl.Timestamp, ddl.TimestampLTZ:
		x, unit := values[int64](v)[i], perSecond(w.t)
		if x == stampMax || x == stampMin {
			return dst, "an infinite timestamp has no text"
		}
		day, rest := floorDiv(x, secondsPerDay*unit), floorMod(x, secondsPerDay*unit)
		if w.t.Kind == ddl.TimestampLTZ {
			// Seconds and fraction apart: the sum of an extreme instant and an offset might not fit.
			sec := floorDiv(x, unit)
			sec += w.zone.offsetAt(sec)
			day, rest = floorDiv(sec, secondsPerDay), floorMod(sec, secondsPerDay)*unit+floorMod(x, unit)
		}
		dst = append(appendDate(dst, day), ' ')
		return appendClock(dst, rest, w.t), ""
	case ddl.IntervalYearMonth:
		return appendMonths(dst, int64(values[int32](v)[i])), ""
	case ddl.IntervalDaySecond:
		return appendSpan(dst, values[int64](v)[i], w.t), ""
	}
	return w.appendNested(dst, i)
}

// appendNested writes [a, b], {k=v, k=v} and (a, b), with NULL for NULL.
func (w *writer) appendNested(dst []byte, i int) ([]byte, string) {
	var reason string
	item := func(kid *writer, at int) {
		if !kid.v.valid.has(at) || kid.t.Kind == ddl.Null {
			dst = append(dst, "NULL"...)
			return
		}
		var r string
		if dst, r = kid.append(dst, at); r != "" {
			reason = r
		}
	}
	switch w.t.Kind {
	case ddl.Row:
		dst = append(dst, '(')
		for f, kid := range w.kids {
			if f > 0 {
				dst = append(dst, ", "...)
			}
			item(kid, i)
		}
		dst = append(dst, ')')
	case ddl.Array:
		lo, hi := w.v.arr.(array.ListLike).ValueOffsets(i)
		dst = append(dst, '[')
		for j := lo; j < hi; j++ {
			if j > lo {
				dst = append(dst, ", "...)
			}
			item(w.kids[0], int(j))
		}
		dst = append(dst, ']')
	case ddl.Map, ddl.Multiset:
		lo, hi := w.v.arr.(array.ListLike).ValueOffsets(i)
		dst = append(dst, '{')
		for j := lo; j < hi; j++ {
			if j > lo {
				dst = append(dst, ", "...)
			}
			item(w.kids[0], int(j))
			dst = append(dst, '=')
			item(w.kids[1], int(j))
		}
		dst = append(dst, '}')
	default:
		return append(dst, "NULL"...), ""
	}
	return dst, reason
}

// appendFloat writes as Java does: 1.0, 0.001, 1.0E7, NaN, -Infinity, with the shortest digits that read back.
func appendFloat(dst []byte, f float64, size int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		from := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, size)
		for _, c := range dst[from:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, ".0"...)
	}
	var tmp [32]byte
	s := strconv.AppendFloat(tmp[:0], f, 'e', -1, size)
	e := len(s) - 1
	for s[e] != 'e' {
		e--
	}
	dst = append(dst, s[:e]...)
	if mantissa := e; mantissa == 1 || mantissa == 2 && s[0] == '-' {
		dst = append(dst, ".0"...)
	}
	exponent, _ := strconv.Atoi(string(s[e+1:]))
	return strconv.AppendInt(append(dst, 'E'), int64(exponent), 10)
}

func appendDecimal(dst []byte, n decimal128.Num, scale int) []byte {
	m, negative := magnitude(n)
	if negative {
		dst = append(dst, '-')
	}
	var digits [48]byte
	at := len(digits)
	for m != (u128{}) {
		var r uint64
		if m.hi == 0 {
			m.lo, r = m.lo/10, m.lo%10
		} else {
			m, r = m.over(10)
		}
		at--
		digits[at] = byte('0' + r)
	}
	for len(digits)-at <= scale {
		at--
		digits[at] = '0'
	}
	dst = append(dst, digits[at:len(digits)-scale]...)
	if scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, digits[len(digits)-scale:]...)
	}
	return dst
}

// appendDate writes yyyy-MM-dd; years outside 0000 to 9999 carry a sign, so that no two dates look the same.
func appendDate(dst []byte, d int64) []byte {
	y, m, day := civil(d)
	if y < 0 {
		dst = append(dst, '-')
		y = -y
	} else if y > 9999 {
		dst = append(dst, '+')
	}
	for p := int64(1000); p > y && p > 1; p /= 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, y, 10)
	dst = append(dst, '-', byte('0'+m/10), byte('0'+m%10), '-', byte('0'+day/10), byte('0'+day%10))
	return dst
}

// appendClock writes HH:mm:ss and as many digits of the fraction as the precision has.
func appendClock(dst []byte, x int64, t *ddl.Type) []byte {
	unit := perSecond(t)
	sec := x / unit
	h, m, s := sec/3600, sec/60%60, sec%60
	dst = append(dst, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10), ':', byte('0'+s/10), byte('0'+s%10))
	return appendFraction(dst, x%unit, unit, t.Precision)
}

func appendFraction(dst []byte, x, unit int64, precision int) []byte {
	if precision > 0 {
		dst = append(dst, '.')
	}
	for ; precision > 0; precision-- {
		unit /= 10
		dst = append(dst, byte('0'+x/unit%10))
	}
	return dst
}

func appendMonths(dst []byte, n int64) []byte {
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	} else {
		dst = append(dst, '+')
	}
	dst = strconv.AppendInt(dst, n/12, 10)
	return append(dst, '-', byte('0'+n%12/10), byte('0'+n%12%10))
}

func appendSpan(dst []byte, x int64, t *ddl.Type) []byte {
	sign := byte('+')
	u := uint64(x)
	if x < 0 {
		sign, u = '-', -u
	}
	unit := uint64(perSecond(t))
	dst = strconv.AppendUint(append(dst, sign), u/unit/secondsPerDay, 10)
	dst = append(dst, ' ')
	return appendClock(dst, int64(u%(unit*secondsPerDay)), t)
}

// child is the i-th child column of a nested column, in the row numbers that ValueOffsets gives.
func child(v *vec, i int) arrow.Array {
	switch a := v.arr.(type) {
	case *array.Struct:
		if i < a.NumField() {
			return a.Field(i)
		}
	case *array.Map:
		if i == 0 {
			return a.Keys()
		}
		return a.Items()
	case *array.List:
		return a.ListValues()
	}
	return nil
}
