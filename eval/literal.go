package eval

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/ddl"
)

// literal compiles a constant.
func (c *compiler) literal(e *ddl.Literal) *node {
	switch e.Kind {
	case ddl.NullLiteral:
		return c.null(of(ddl.Null), e.At)
	case ddl.BoolLiteral:
		v := &vec{}
		v.makeBits(1).fill(strings.EqualFold(e.Text, "TRUE"))
		return c.constantNode(&ddl.Type{Kind: ddl.Boolean, NotNull: true}, e.At, v)
	case ddl.IntLiteral:
		return c.integerLiteral(e, e.Text)
	case ddl.DecimalLiteral:
		return c.decimalLiteral(e, e.Text)
	case ddl.DoubleLiteral:
		f, err := strconv.ParseFloat(e.Text, 64)
		if err != nil {
			c.fail(e.At, "bad-literal", "%s is out of range of DOUBLE", e.Text)
			return nil
		}
		return fixedConstant(c, &ddl.Type{Kind: ddl.Double, NotNull: true}, e.At, f)
	case ddl.StringLiteral:
		t := &ddl.Type{Kind: ddl.Char, Length: utf8.RuneCountInString(e.Text), NotNull: true}
		return c.textConstant(t, e.At, e.Text)
	case ddl.BytesLiteral:
		t := &ddl.Type{Kind: ddl.BinaryType, Length: len(e.Text), NotNull: true}
		return c.textConstant(t, e.At, e.Text)
	case ddl.IntervalLiteral:
		return c.intervalLiteral(e)
	}
	return c.datetimeLiteral(e)
}

func fixedConstant[T any](c *compiler, t *ddl.Type, at ddl.Span, value T) *node {
	v := &vec{}
	makeValues[T](v, 1)[0] = value
	return c.constantNode(t, at, v)
}

func (c *compiler) textConstant(t *ddl.Type, at ddl.Span, s string) *node {
	v := &vec{}
	off, data := v.makeText(1)
	data = append(data, s...)
	off[1] = int32(len(data))
	v.endText(data)
	return c.constantNode(t, at, v)
}

// integerLiteral is INT where the number fits, else BIGINT, else DECIMAL.
func (c *compiler) integerLiteral(e *ddl.Literal, text string) *node {
	v, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return c.decimalLiteral(e, text)
	case v >= math.MinInt32 && v <= math.MaxInt32:
		return fixedConstant(c, &ddl.Type{Kind: ddl.Int, NotNull: true}, e.At, int32(v))
	}
	return fixedConstant(c, &ddl.Type{Kind: ddl.BigInt, NotNull: true}, e.At, v)
}

// decimalLiteral has exactly the digits that were written.
func (c *compiler) decimalLiteral(e *ddl.Literal, text string) *node {
	digits := strings.TrimLeft(text, "+-0")
	whole, fraction, _ := strings.Cut(digits, ".")
	t := decimalType(max(len(whole)+len(fraction), 1), len(fraction))
	t.NotNull = true
	if t.Precision <= 38 {
		if v, _, ok := parseDecimal([]byte(text), t.Precision, t.Scale); ok {
			return fixedConstant[decimal128.Num](c, t, e.At, v)
		}
	}
	c.fail(e.At, "bad-literal", "%s has more than the 38 digits of DECIMAL", e.Text).
		WithHelp("write it with an exponent to make it a DOUBLE")
	return nil
}

func (c *compiler) datetimeLiteral(e *ddl.Literal) *node {
	switch e.Kind {
	case ddl.DateLiteral:
		if m, ok := parseMoment([]byte(e.Text), false); ok && !m.clock {
			return fixedConstant(c, &ddl.Type{Kind: ddl.Date, NotNull: true}, e.At, int32(m.days))
		}
		c.fail(e.At, "bad-literal", "%s is no date", ddl.QuoteString(e.Text)).WithHelp("write DATE '2024-12-31'")
	case ddl.TimeLiteral:
		nanos, digits, rest, ok := parseClock([]byte(strings.TrimSpace(e.Text)))
		if ok && len(rest) == 0 {
			t := &ddl.Type{Kind: ddl.Time, Precision: digits, NotNull: true}
			return fixedConstant(c, t, e.At, nanos/(1e9/perSecond(t)))
		}
		c.fail(e.At, "bad-literal", "%s is no time", ddl.QuoteString(e.Text)).WithHelp("write TIME '23:59:59'")
	case ddl.TimestampLiteral:
		m, ok := parseMoment([]byte(e.Text), false)
		t := &ddl.Type{Kind: ddl.Timestamp, Precision: m.digits, NotNull: true}
		if ok {
			if v, fits := m.stamp(t, m.seconds()); fits {
				return fixedConstant(c, t, e.At, v)
			}
		}
		c.fail(e.At, "bad-literal", "%s is no timestamp", ddl.QuoteString(e.Text)).
			WithHelp("write TIMESTAMP '2024-12-31 23:59:59'")
	default:
		c.fail(e.At, "unsupported-expression", "this literal cannot be evaluated")
	}
	return nil
}

// intervalLiteral: the unit may carry precisions, DAY(3) TO SECOND(6), which change nothing.
func (c *compiler) intervalLiteral(e *ddl.Literal) *node {
	first, last, _ := strings.Cut(e.Unit, " TO ")
	first, last = bareUnit(first), bareUnit(last)
	u, known := intervalUnits[first]
	months, nanos, digits, ok := parseInterval(e.Text, first, last)
	switch {
	case !known || !ok:
		c.fail(e.At, "bad-literal", "%s is no INTERVAL of %s", ddl.QuoteString(e.Text), e.Unit).
			WithHelp("write INTERVAL '5' MINUTE or INTERVAL '1 02:03:04' DAY TO SECOND")
		return nil
	case u.months > 0:
		return fixedConstant(c, &ddl.Type{Kind: ddl.IntervalYearMonth, NotNull: true}, e.At, int32(months))
	}
	t := &ddl.Type{Kind: ddl.IntervalDaySecond, Precision: 3, NotNull: true}
	if digits > 3 {
		t.Precision = digits
	}
	return fixedConstant(c, t, e.At, nanos/(1e9/perSecond(t)))
}

func bareUnit(s string) string {
	s, _, _ = strings.Cut(s, "(")
	return strings.ToUpper(strings.TrimSpace(s))
}

// Constant evaluates an expression that reads no column: a literal, or an operation on literals. The value is bool, int64,
// float64, string (text and DECIMAL), []byte or time.Time (DATE, TIMESTAMP and TIMESTAMP_LTZ, in UTC); nil is NULL.
// ok is false for anything else.
func Constant(e *Expr) (value any, ok bool) {
	v := e.root.constant
	if v == nil {
		return nil, false
	}
	if !v.valid.has(0) {
		return nil, true
	}
	switch t := e.Type; t.Kind {
	case ddl.Boolean:
		return v.bits.has(0), true
	case ddl.TinyInt:
		return int64(values[int8](v)[0]), true
	case ddl.SmallInt:
		return int64(values[int16](v)[0]), true
	case ddl.Int:
		return int64(values[int32](v)[0]), true
	case ddl.BigInt:
		return values[int64](v)[0], true
	case ddl.Float:
		return float64(values[float32](v)[0]), true
	case ddl.Double:
		return values[float64](v)[0], true
	case ddl.Decimal:
		return string(appendDecimal(nil, values[decimal128.Num](v)[0], t.Scale)), true
	case ddl.Char, ddl.Varchar:
		return string(v.at(0)), true
	case ddl.BinaryType, ddl.Varbinary:
		return append([]byte{}, v.at(0)...), true
	case ddl.Date:
		return time.Unix(int64(values[int32](v)[0])*secondsPerDay, 0).UTC(), true
	case ddl.Timestamp, ddl.TimestampLTZ:
		x, unit := values[int64](v)[0], perSecond(t)
		return time.Unix(floorDiv(x, unit), floorMod(x, unit)*(1e9/unit)).UTC(), true
	}
	return nil, false
}
