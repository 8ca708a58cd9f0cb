package connectors

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/change"
)

// Style is how values are spelled as text. The zero value is SQL's: '2024-05-06 07:08:09.123456', with a Z after an instant.
type Style struct {
	// ISO puts a T between date and time.
	ISO bool
}

// Append adds the text of value i of a column to dst. The value must not be NULL.
type Append func(dst []byte, i int) []byte

// Text spells the values of a column as bare text that Style.Parse reads back to the same value. Bytes are base64; arrays,
// maps and rows are JSON.
func (s Style) Text(a arrow.Array) Append {
	switch a := a.(type) {
	case *array.String:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }
	case *array.List, *array.Map, *array.Struct:
		return s.JSON(a)
	case *array.Null:
		return func(dst []byte, _ int) []byte { return dst }
	}
	f, _ := s.scalar(a)
	return f
}

// JSON spells the values of a column as JSON. Every digit of a number is kept; NaN and infinities are strings; bytes are
// base64; a map whose keys are text is an object, any other a list of [key, value].
func (s Style) JSON(a arrow.Array) Append {
	switch a := a.(type) {
	case *array.String:
		return func(dst []byte, i int) []byte { return AppendJSONString(dst, a.Value(i)) }
	case *array.Null:
		return func(dst []byte, _ int) []byte { return append(dst, "null"...) }
	case *array.Map:
		return s.jsonMap(a)
	case *array.List:
		return s.jsonList(a)
	case *array.Struct:
		return s.jsonStruct(a)
	}
	f, quoted := s.scalar(a)
	if !quoted {
		return jsonNumber(f)
	}
	return func(dst []byte, i int) []byte { return append(f(append(dst, '"'), i), '"') }
}

// jsonNumber quotes what is no JSON number: NaN, Infinity, -Infinity.
func jsonNumber(f Append) Append {
	return func(dst []byte, i int) []byte {
		at := len(dst)
		dst = f(dst, i)
		if c := dst[len(dst)-1]; c == 'N' || c == 'y' {
			dst = append(dst, 0, '"')
			copy(dst[at+1:], dst[at:len(dst)-2])
			dst[at] = '"'
		}
		return dst
	}
}

// scalar spells a column of plain values; quoted says that JSON needs quotes around them.
func (s Style) scalar(a arrow.Array) (f Append, quoted bool) {
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return strconv.AppendBool(dst, a.Value(i)) }, false
	case *array.Int8:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(a.Value(i)), 10) }, false
	case *array.Int16:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(a.Value(i)), 10) }, false
	case *array.Int32:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(a.Value(i)), 10) }, false
	case *array.Int64:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, a.Value(i), 10) }, false
	case *array.Float32:
		return func(dst []byte, i int) []byte { return AppendFloat(dst, float64(a.Value(i)), 32) }, false
	case *array.Float64:
		return func(dst []byte, i int) []byte { return AppendFloat(dst, a.Value(i), 64) }, false
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		return func(dst []byte, i int) []byte { return AppendDecimal(dst, a.Value(i), scale) }, false
	case *array.MonthInterval:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(a.Value(i)), 10) }, false
	case *array.Duration:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(a.Value(i)), 10) }, false
	case *array.Binary:
		return func(dst []byte, i int) []byte { return base64.StdEncoding.AppendEncode(dst, a.Value(i)) }, true
	}
	return s.moment(a), true
}

func (s Style) moment(a arrow.Array) Append {
	switch a := a.(type) {
	case *array.Date32:
		return func(dst []byte, i int) []byte { return AppendDate(dst, a.Value(i)) }
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit
		return func(dst []byte, i int) []byte { return appendClock(dst, int64(a.Value(i)), unit) }
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		return func(dst []byte, i int) []byte { return s.AppendTimestamp(dst, a.Value(i), t) }
	}
	panic("no text form for " + a.DataType().String())
}

func (s Style) jsonList(a *array.List) Append {
	f := s.orNull(a.ListValues())
	return func(dst []byte, i int) []byte {
		from, to := a.ValueOffsets(i)
		dst = append(dst, '[')
		for j := from; j < to; j++ {
			if j > from {
				dst = append(dst, ',')
			}
			dst = f(dst, int(j))
		}
		return append(dst, ']')
	}
}

func (s Style) jsonMap(a *array.Map) Append {
	key, item := s.JSON(a.Keys()), s.orNull(a.Items())
	open, pair, mid, next, end := byte('['), "[", ",", "],", "]]"
	if a.Keys().DataType().ID() == arrow.STRING {
		open, pair, mid, next, end = '{', "", ":", ",", "}"
	}
	return func(dst []byte, i int) []byte {
		from, to := a.ValueOffsets(i)
		dst = append(dst, open)
		for j := from; j < to; j++ {
			if j > from {
				dst = append(dst, next...)
			}
			dst = append(key(append(dst, pair...), int(j)), mid...)
			dst = item(dst, int(j))
		}
		if from == to {
			return append(dst, open+2) // the closing bracket, for both kinds
		}
		return append(dst, end...)
	}
}

func (s Style) jsonStruct(a *array.Struct) Append {
	t := a.DataType().(*arrow.StructType)
	names := make([][]byte, t.NumFields())
	fields := make([]Append, t.NumFields())
	for i := range fields {
		names[i] = append(AppendJSONString(nil, t.Field(i).Name), ':')
		fields[i] = s.orNull(a.Field(i))
	}
	return func(dst []byte, i int) []byte {
		dst = append(dst, '{')
		for f := range fields {
			if f > 0 {
				dst = append(dst, ',')
			}
			dst = fields[f](append(dst, names[f]...), i)
		}
		return append(dst, '}')
	}
}

func (s Style) orNull(a arrow.Array) Append {
	f := s.JSON(a)
	return func(dst []byte, i int) []byte {
		if a.IsNull(i) {
			return append(dst, "null"...)
		}
		return f(dst, i)
	}
}

// AppendRow adds row i as a JSON object without the columns that were not sent.
func (s Style) AppendRow(dst []byte, b *change.Batch, i int) []byte {
	dst = append(dst, '{')
	first := true
	for c, col := range b.Record.Columns() {
		if !b.Sent(c, i) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(AppendJSONString(dst, b.Record.ColumnName(c)), ':')
		dst = s.orNull(col)(dst, i)
	}
	return append(dst, '}')
}

// NewRowError describes row i of a batch for Reject. Column may be "".
func NewRowError(t *Table, b *change.Batch, i int, column, reason string) *RowError {
	e := &RowError{Table: t.Name, Column: column, Reason: reason, Kind: b.Kind(i), At: b.At(i)}
	e.Row = string(Style{}.AppendRow(nil, b, i))
	var key []byte
	for n, c := range t.Key {
		if n > 0 {
			key = append(key, ", "...)
		}
		key = append(append(key, t.Columns[c].Name...), '=')
		if col := b.Record.Column(c); col.IsNull(i) {
			key = append(key, "NULL"...)
		} else {
			key = Style{}.Text(col)(key, i)
		}
	}
	e.Key = string(key)
	return e
}

// AppendJSONString adds a JSON string. Bytes that are not UTF-8 become U+FFFD: a STRING never holds any.
func AppendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// AppendFloat adds the shortest text that reads back to the same float: NaN, Infinity and -Infinity by these names.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

// AppendDecimal adds a decimal with exactly scale digits after the point.
func AppendDecimal(dst []byte, n decimal128.Num, scale int32) []byte {
	at := len(dst)
	negative := n.Sign() < 0
	if negative {
		dst = append(dst, '-')
		at++
		n = n.Negate()
	}
	if n.HighBits() == 0 {
		dst = strconv.AppendUint(dst, n.LowBits(), 10)
	} else {
		dst = n.BigInt().Append(dst, 10)
	}
	if scale <= 0 {
		for ; scale < 0; scale++ {
			dst = append(dst, '0')
		}
		return dst
	}
	for len(dst)-at <= int(scale) { // at least one digit before the point
		dst = append(dst, 0)
		copy(dst[at+1:], dst[at:len(dst)-1])
		dst[at] = '0'
	}
	point := len(dst) - int(scale)
	dst = append(dst, 0)
	copy(dst[point+1:], dst[point:len(dst)-1])
	dst[point] = '.'
	return dst
}
