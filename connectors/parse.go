package connectors

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/change"
)

// Parse appends the value that a text spells, exactly, or returns an error and appends nothing.
type Parse func(text string) error

// Parser reads the form that Style.Text writes into the builder of one column. Both separators of date and time are
// accepted. Nil for arrays, maps and rows. The text is not kept.
func Parser(b array.Builder) Parse {
	switch b := b.(type) {
	case *array.StringBuilder:
		return func(s string) error { b.Append(s); return nil }
	case *array.BooleanBuilder:
		return func(s string) error { return parsed(b.Append, ParseBool, s) }
	case *array.Int8Builder:
		return func(s string) error { return parseInt(s, 8, func(v int64) { b.Append(int8(v)) }) }
	case *array.Int16Builder:
		return func(s string) error { return parseInt(s, 16, func(v int64) { b.Append(int16(v)) }) }
	case *array.Int32Builder:
		return func(s string) error { return parseInt(s, 32, func(v int64) { b.Append(int32(v)) }) }
	case *array.Int64Builder:
		return func(s string) error { return parseInt(s, 64, b.Append) }
	case *array.MonthIntervalBuilder:
		return func(s string) error { return parseInt(s, 32, func(v int64) { b.Append(arrow.MonthInterval(v)) }) }
	case *array.DurationBuilder:
		return func(s string) error { return parseInt(s, 64, func(v int64) { b.Append(arrow.Duration(v)) }) }
	case *array.Float32Builder:
		return func(s string) error { return parseFloat(s, 32, func(v float64) { b.Append(float32(v)) }) }
	case *array.Float64Builder:
		return func(s string) error { return parseFloat(s, 64, b.Append) }
	}
	return parserOfRest(b)
}

func parserOfRest(b array.Builder) Parse {
	switch b := b.(type) {
	case *array.Decimal128Builder:
		t := b.Type().(*arrow.Decimal128Type)
		return func(s string) error {
			n, err := ParseDecimal(s, t.Precision, t.Scale)
			if err == nil {
				b.Append(n)
			}
			return err
		}
	case *array.BinaryBuilder:
		return func(s string) error {
			v, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				return fmt.Errorf("%q is not base64", s)
			}
			b.Append(v)
			return nil
		}
	case *array.Date32Builder:
		return func(s string) error { return parsed(b.Append, ParseDate, s) }
	case *array.Time64Builder:
		unit := b.Type().(*arrow.Time64Type).Unit
		return func(s string) error {
			v, err := parseClock(s, unit)
			if err == nil {
				b.Append(arrow.Time64(v))
			}
			return err
		}
	case *array.TimestampBuilder:
		t := b.Type().(*arrow.TimestampType)
		return func(s string) error {
			v, err := ParseTimestamp(s, t)
			if err == nil {
				b.Append(v)
			}
			return err
		}
	}
	return nil
}

func parsed[T any](add func(T), parse func(string) (T, error), s string) error {
	v, err := parse(s)
	if err == nil {
		add(v)
	}
	return err
}

// ParseBool reads true or false, in any case.
func ParseBool(s string) (bool, error) {
	switch {
	case strings.EqualFold(s, "true"):
		return true, nil
	case strings.EqualFold(s, "false"):
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

func parseInt(s string, bits int, add func(int64)) error {
	v, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return fmt.Errorf("%q is not a whole number of %d bits", s, bits)
	}
	add(v)
	return nil
}

// parseFloat takes the float nearest to a decimal text, which is what the text of a float means; out of range is an error.
func parseFloat(s string, bits int, add func(float64)) error {
	v, err := strconv.ParseFloat(s, bits)
	if err != nil || strings.ContainsAny(s, "xX_") {
		return fmt.Errorf("%q is not a floating-point number of %d bits", s, bits)
	}
	add(v)
	return nil
}

// ParseDecimal reads digits with an optional point and exponent. A value that does not fit without rounding is an error.
func ParseDecimal(s string, precision, scale int32) (decimal128.Num, error) {
	bad := func(why string) (decimal128.Num, error) {
		return decimal128.Num{}, fmt.Errorf("%q %s DECIMAL(%d, %d)", s, why, precision, scale)
	}
	digits, exponent, negative, ok := splitDecimal(s)
	if !ok {
		return bad("is not a number for")
	}
	shift := int(scale) + exponent
	for shift < 0 && len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits, shift = digits[:len(digits)-1], shift+1
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return decimal128.Num{}, nil
	}
	if shift < 0 {
		return bad("has more digits after the point than")
	}
	if len(digits)+shift > int(precision) {
		return bad("has too many digits for")
	}
	if total := len(digits) + shift; total <= 18 {
		n, _ := strconv.ParseInt(digits, 10, 64)
		for ; shift > 0; shift-- {
			n *= 10
		}
		if negative {
			n = -n
		}
		return decimal128.FromI64(n), nil
	}
	v, _ := new(big.Int).SetString(digits+strings.Repeat("0", shift), 10)
	if negative {
		v.Neg(v)
	}
	return decimal128.FromBigInt(v), nil
}

// splitDecimal takes a number apart: its value is digits × 10^exponent.
func splitDecimal(s string) (digits string, exponent int, negative, ok bool) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		n, err := strconv.ParseInt(s[e+1:], 10, 16)
		if err != nil {
			return "", 0, false, false
		}
		exponent, s = int(n), s[:e]
	}
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" && frac == "" {
		return "", 0, false, false
	}
	for _, part := range []string{whole, frac} {
		for i := 0; i < len(part); i++ {
			if part[i] < '0' || part[i] > '9' {
				return "", 0, false, false
			}
		}
	}
	if frac == "" {
		return whole, exponent, negative, true
	}
	return whole + frac, exponent - len(frac), negative, true
}

// ParseDate reads what AppendDate writes.
func ParseDate(s string) (arrow.Date32, error) {
	switch s {
	case "infinity":
		return change.DateInfinity, nil
	case "-infinity":
		return change.DateNegInfinity, nil
	}
	days, rest, ok := cutDate(s)
	if !ok || rest != "" || days <= math.MinInt32 || days >= math.MaxInt32 {
		return 0, fmt.Errorf("%q is not a date such as 2024-05-06", s)
	}
	return arrow.Date32(days), nil
}

func cutDate(s string) (days int64, rest string, ok bool) {
	sign, long := int64(1), false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		long, s = true, s[1:]
	}
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n < 4 || n > 4 && !long || n > 7 || len(s) < n+6 || s[n] != '-' || s[n+3] != '-' {
		return 0, "", false
	}
	y, ok1 := number(s[:n])
	m, ok2 := number(s[n+1 : n+3])
	d, ok3 := number(s[n+4 : n+6])
	days = Days(sign*y, m, d)
	if !ok1 || !ok2 || !ok3 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, "", false
	}
	if _, month, _ := Civil(days); month != m { // 30 February
		return 0, "", false
	}
	return days, s[n+6:], true
}

func number(s string) (int64, bool) {
	var v int64
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		v = v*10 + int64(s[i]-'0')
	}
	return v, s != ""
}

// ParseTimestamp reads what Style.AppendTimestamp writes. An instant needs a Z or an offset such as +02:00; a timestamp
// without time zone must have none.
func ParseTimestamp(s string, t *arrow.TimestampType) (arrow.Timestamp, error) {
	switch s {
	case "infinity":
		return change.TimestampInfinity, nil
	case "-infinity":
		return change.TimestampNegInfinity, nil
	}
	days, rest, ok := cutDate(s)
	if !ok || rest == "" || rest[0] != ' ' && rest[0] != 'T' {
		return 0, fmt.Errorf("%q is not a timestamp such as '2024-05-06 07:08:09.123456'", s)
	}
	clock, offset, zoned, ok := cutZone(rest[1:])
	if !ok || zoned != (t.TimeZone != "") {
		return 0, fmt.Errorf("%q: an instant ends with Z or an offset, a timestamp without time zone has none", s)
	}
	v, err := parseClock(clock, t.Unit)
	if err != nil {
		return 0, fmt.Errorf("%q is not a timestamp: %w", s, err)
	}
	total, ok := scale(days*86400-offset, perSecond(t.Unit), v)
	if !ok || total == math.MaxInt64 || total == math.MinInt64 {
		return 0, fmt.Errorf("%q is out of range for %s", s, t)
	}
	return arrow.Timestamp(total), nil
}

// scale is secs × per + rest, where 0 <= rest < 86400 × per; false when it leaves 64 bits.
func scale(secs, per, rest int64) (int64, bool) {
	if secs < 0 {
		secs, rest = secs+86400, rest-86400*per // so that the product never leaves the range when the sum does not
	}
	product := secs * per
	sum := product + rest
	return sum, product/per == secs && (rest < 0) == (sum < product)
}

func cutZone(s string) (clock string, offset int64, zoned, ok bool) {
	if strings.HasSuffix(s, "Z") {
		return s[:len(s)-1], 0, true, true
	}
	i := strings.IndexAny(s, "+-")
	if i < 0 {
		return s, 0, false, true
	}
	zone := strings.Replace(s[i+1:], ":", "", 1)
	if len(zone) == 2 {
		zone += "00"
	}
	n, ok := number(zone)
	if !ok || len(zone) != 4 || n/100 > 18 || n%100 > 59 {
		return "", 0, false, false
	}
	offset = (n/100*60 + n%100) * 60
	if s[i] == '-' {
		offset = -offset
	}
	return s[:i], offset, true, true
}

// parseClock reads HH:MM[:SS[.fffffffff]].
func parseClock(s string, unit arrow.TimeUnit) (int64, error) {
	bad := func() (int64, error) { return 0, fmt.Errorf("%q is not a time such as 07:08:09.123456", s) }
	body, frac, dotted := strings.Cut(s, ".")
	if len(body) == 5 && !dotted {
		body += ":00"
	}
	if len(body) != 8 || body[2] != ':' || body[5] != ':' || dotted && (frac == "" || len(frac) > 9) {
		return bad()
	}
	h, ok1 := number(body[:2])
	m, ok2 := number(body[3:5])
	sec, ok3 := number(body[6:])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || sec > 59 {
		return bad()
	}
	nanos := int64(0)
	if dotted {
		n, ok := number(frac)
		if !ok {
			return bad()
		}
		for range 9 - len(frac) {
			n *= 10
		}
		nanos = n
	}
	per := perSecond(unit)
	if nanos%(1e9/per) != 0 {
		return 0, fmt.Errorf("%q has more fractional digits than the column", s)
	}
	return (h*3600+m*60+sec)*per + nanos/(1e9/per), nil
}
