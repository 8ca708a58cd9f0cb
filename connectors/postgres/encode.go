package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// appender appends the value of one row: four bytes of length, then the bytes; length -1 is NULL. COPY, array elements and
// parameters all have this form, so a value is encoded once, whatever statement carries it. An error is about the value.
type appender func(dst []byte, row int) ([]byte, error)

// encoder makes the values of one column in the form that its target type receives.
type encoder struct {
	// text: the bytes are the value's text, because the type has no binary form that is made here. Such a column cannot
	// be in a binary COPY, and an array of it is an array of text.
	text bool
	// exact: values that the server holds for equal have equal bytes, so that a key can be compared without the server.
	exact bool
	// list: an array; unnest would take it apart.
	list bool
	// show prints an encoded value, for messages and dead letters: when the server refuses a row, its Arrow columns are gone.
	show renderer
	bare bool // what show prints can stand in JSON without quotes
	bind func(arrow.Array) appender
}

// targetType is a type of the target, domains already reduced to what they are based on.
type targetType struct {
	oid     uint32 // as the column has it: a domain's own
	base    uint32 // what a domain is based on, else the same
	array   uint32 // the array type of base, 0 when there is none
	name    string // as the server writes it, quoted and qualified
	receive string // the function that reads its binary form
	typmod  int32  // -1 without
	elem    *targetType
	// blurred: the type's collation can hold different texts for equal.
	blurred bool
}

const (
	unixToPostgresDays   = 10957 // 2000-01-01
	unixToPostgresMicros = unixToPostgresDays * 86400 * 1_000_000
)

var (
	errNUL  = errors.New("a text in Postgres cannot hold the character NUL")
	errUTF8 = errors.New("the text is not valid UTF-8")
)

func appendNull(dst []byte) []byte { return append(dst, 0xff, 0xff, 0xff, 0xff) }

func appendInt32(dst []byte, v int) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(int32(v)))
}

// nulls is a column's validity, as cheap to ask as possible.
type nulls struct {
	bits   []byte
	offset int
}

func nullsOf(a arrow.Array) nulls {
	if a.NullN() == 0 {
		return nulls{}
	}
	return nulls{a.NullBitmapBytes(), a.Data().Offset()}
}

func (n nulls) at(i int) bool {
	if n.bits == nil {
		return false
	}
	i += n.offset
	return n.bits[i>>3]&(1<<(i&7)) == 0
}

// newEncoder finds the way from an Arrow type to a type of the server.
func newEncoder(from arrow.DataType, to targetType) (encoder, error) {
	switch from.ID() {
	case arrow.NULL:
		return encoder{exact: true, list: to.elem != nil, show: showText, bind: func(arrow.Array) appender {
			return func(dst []byte, _ int) ([]byte, error) { return appendNull(dst), nil }
		}}, nil
	case arrow.LIST:
		return listEncoder(from.(*arrow.ListType), to)
	case arrow.STRING:
		return textEncoder(to)
	}
	if e, ok := scalarEncoder(from, to); ok {
		return e, nil
	}
	return encoder{}, fmt.Errorf("a value of type %s does not fit %s exactly", from, to.name)
}

func scalarEncoder(from arrow.DataType, to targetType) (encoder, bool) {
	id := from.ID()
	switch {
	case id == arrow.INT8 || id == arrow.INT16 || id == arrow.INT32 || id == arrow.INT64:
		return integerEncoder(to)
	case id == arrow.BOOL && to.receive == "boolrecv":
		return encoder{exact: true, bare: true, show: renderBool, bind: bindBool}, true
	case id == arrow.FLOAT32 && to.receive == "float4recv":
		return encoder{bare: true, show: renderFloat4, bind: bindFloat32}, true
	case id == arrow.FLOAT32 && to.receive == "float8recv":
		return encoder{bare: true, show: renderFloat8, bind: bindFloat32As64}, true
	case id == arrow.FLOAT64 && to.receive == "float8recv":
		return encoder{bare: true, show: renderFloat8, bind: bindFloat64}, true
	case id == arrow.FLOAT64 && to.receive == "float4recv":
		return encoder{bare: true, show: renderFloat4, bind: bindFloat64As32}, true
	case id == arrow.DECIMAL128:
		return decimalEncoder(from.(*arrow.Decimal128Type), to)
	case id == arrow.BINARY && to.receive == "bytearecv":
		return encoder{exact: true, show: renderBytea, bind: bindBinary}, true
	}
	return timeEncoder(from, to)
}

func integerEncoder(to targetType) (encoder, bool) {
	e := encoder{exact: true, bare: true, show: renderInteger(to.base)}
	switch to.receive {
	case "int8recv":
		e.bind = bindIntegers(8, math.MinInt64, math.MaxInt64, to.name)
	case "int4recv":
		e.bind = bindIntegers(4, math.MinInt32, math.MaxInt32, to.name)
	case "int2recv":
		e.bind = bindIntegers(2, math.MinInt16, math.MaxInt16, to.name)
	case "oidrecv":
		e.bind = bindIntegers(4, 0, math.MaxUint32, to.name)
	case "numeric_recv":
		return decimalEncoder(&arrow.Decimal128Type{Precision: 19}, to)
	default:
		return encoder{}, false
	}
	return e, true
}

func bindIntegers(width int, low, high int64, name string) func(arrow.Array) appender {
	return func(a arrow.Array) appender {
		switch a := a.(type) {
		case *array.Int8:
			return integers(a.Int8Values(), nullsOf(a), width, low, high, name)
		case *array.Int16:
			return integers(a.Int16Values(), nullsOf(a), width, low, high, name)
		case *array.Int32:
			return integers(a.Int32Values(), nullsOf(a), width, low, high, name)
		default:
			return integers(a.(*array.Int64).Int64Values(), nullsOf(a), width, low, high, name)
		}
	}
}

func integers[T int8 | int16 | int32 | int64](v []T, null nulls, width int, low, high int64, name string) appender {
	if width == 8 {
		return func(dst []byte, i int) ([]byte, error) {
			if null.at(i) {
				return appendNull(dst), nil
			}
			return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), uint64(int64(v[i]))), nil
		}
	}
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		n := int64(v[i])
		if n < low || n > high {
			return dst, fmt.Errorf("%d is out of range for %s", n, name)
		}
		if width == 4 {
			return binary.BigEndian.AppendUint32(append(dst, 0, 0, 0, 4), uint32(n)), nil
		}
		return binary.BigEndian.AppendUint16(append(dst, 0, 0, 0, 2), uint16(n)), nil
	}
}

func bindBool(a arrow.Array) appender {
	v, null := a.(*array.Boolean), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		switch {
		case null.at(i):
			return appendNull(dst), nil
		case v.Value(i):
			return append(dst, 0, 0, 0, 1, 1), nil
		}
		return append(dst, 0, 0, 0, 1, 0), nil
	}
}

func bindFloat32(a arrow.Array) appender {
	v, null := a.(*array.Float32).Float32Values(), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		return binary.BigEndian.AppendUint32(append(dst, 0, 0, 0, 4), math.Float32bits(v[i])), nil
	}
}

func bindFloat32As64(a arrow.Array) appender {
	v, null := a.(*array.Float32).Float32Values(), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), math.Float64bits(float64(v[i]))), nil
	}
}

func bindFloat64(a arrow.Array) appender {
	v, null := a.(*array.Float64).Float64Values(), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), math.Float64bits(v[i])), nil
	}
}

func bindFloat64As32(a arrow.Array) appender {
	v, null := a.(*array.Float64).Float64Values(), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		f := float32(v[i])
		if float64(f) != v[i] && !math.IsNaN(v[i]) {
			return dst, fmt.Errorf("%v cannot be held by real exactly", v[i])
		}
		return binary.BigEndian.AppendUint32(append(dst, 0, 0, 0, 4), math.Float32bits(f)), nil
	}
}

func bindBinary(a arrow.Array) appender {
	v, null := a.(*array.Binary), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		b := v.Value(i)
		return append(appendInt32(dst, len(b)), b...), nil
	}
}

// textEncoder takes a text to a type: as it is where the type receives text, in binary where that is exact, else as the
// text that the server's own input function reads.
func textEncoder(to targetType) (encoder, error) {
	e := encoder{exact: !to.blurred, show: showText}
	switch to.receive {
	case "textrecv", "varcharrecv", "citextrecv":
		// Types of extensions that receive text, such as citext, may compare in their own way.
		e.exact = e.exact && (to.base == typeText || to.base == typeVarchar)
		e.bind = bindText(textRules{limit: int(to.typmod) - 4, name: to.name})
	case "bpcharrecv":
		e.bind = bindText(textRules{limit: int(to.typmod) - 4, padded: true, name: to.name})
	case "namerecv":
		e.bind = bindText(textRules{limit: -1, bytes: 63, name: to.name})
	case "json_recv", "xml_recv":
		e.exact = false
		e.bind = bindText(textRules{limit: -1, name: to.name})
	case "enum_recv":
		e.bind = bindText(textRules{limit: -1, name: to.name})
	case "jsonb_recv":
		e.exact, e.bare, e.show = false, true, renderJSONB
		e.bind = bindText(textRules{limit: -1, prefix: true, name: to.name})
	case "uuid_recv":
		e.show, e.bind = renderUUID, bindUUID
	case "numeric_recv":
		e.exact, e.bare, e.show = false, true, renderNumeric
		e.bind = bindNumericText(numericRules(to))
	default:
		e.text, e.exact = true, false
		e.bind = bindText(textRules{limit: -1, name: to.name})
	}
	return e, nil
}

// Types of parameters.
const (
	typeBytea     = 17
	typeInt8      = 20
	typeText      = 25
	typeVarchar   = 1043
	typeTextArray = 1009
)

// textRules are what a text type asks. Lengths are checked here, because the server cuts off blanks that are too many.
type textRules struct {
	limit  int  // characters, negative for none
	bytes  int  // bytes, 0 for none
	padded bool // blanks at the end mean nothing
	prefix bool // a version byte goes before the text, as jsonb has it
	name   string
}

func bindText(r textRules) func(arrow.Array) appender {
	return func(a arrow.Array) appender {
		v, null := a.(*array.String), nullsOf(a)
		return func(dst []byte, i int) ([]byte, error) {
			if null.at(i) {
				return appendNull(dst), nil
			}
			s := v.Value(i)
			if r.padded && r.limit >= 0 {
				s = strings.TrimRight(s, " ")
			}
			if err := r.check(s); err != nil {
				return dst, err
			}
			if r.prefix {
				return append(append(appendInt32(dst, len(s)+1), 1), s...), nil
			}
			return append(appendInt32(dst, len(s)), s...), nil
		}
	}
}

func (r *textRules) check(s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return errNUL
	}
	if !utf8.ValidString(s) {
		return errUTF8
	}
	if r.limit >= 0 && len(s) > r.limit {
		if n := utf8.RuneCountInString(s); n > r.limit {
			return fmt.Errorf("%d characters are too many for %s(%d)", n, r.name, r.limit)
		}
	}
	if r.bytes > 0 && len(s) > r.bytes {
		return fmt.Errorf("%d bytes are too many for %s", len(s), r.name)
	}
	return nil
}

func bindUUID(a arrow.Array) appender {
	v, null := a.(*array.String), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		s := v.Value(i)
		out, ok := appendUUID(append(dst, 0, 0, 0, 16), s)
		if !ok {
			return dst, fmt.Errorf("%q is not a uuid", s)
		}
		return out, nil
	}
}

// appendUUID reads 32 hexadecimal digits, with hyphens in their usual places or without any.
func appendUUID(dst []byte, s string) ([]byte, bool) {
	hyphens := len(s) == 36
	if !hyphens && len(s) != 32 {
		return dst, false
	}
	for i := 0; i < len(s); {
		if hyphens && (i == 8 || i == 13 || i == 18 || i == 23) {
			if s[i] != '-' {
				return dst, false
			}
			i++
			continue
		}
		h, l := hexDigit(s[i]), hexDigit(s[i+1])
		if h > 15 || l > 15 {
			return dst, false
		}
		dst = append(dst, h<<4|l)
		i += 2
	}
	return dst, true
}

func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

func showText(dst, p []byte) ([]byte, error) { return append(dst, p...), nil }
