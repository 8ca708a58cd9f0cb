package postgres

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// textDecoder is the decoder for the text form of a type, as the session settings make the server print it.
func textDecoder(t *sourceType, want arrow.DataType) (decoder, error) {
	switch want := want.(type) {
	case *arrow.StringType:
		switch t.oid {
		case pgBool:
			return func(c *column, p []byte) error {
				b, err := renderBool(c.values, []byte{boolText(p)})
				c.values = b
				c.endText()
				return err
			}, nil
		case pgMoney:
			return func(c *column, p []byte) error { c.putBytes(plainMoney(p)); return nil }, nil
		}
		return func(c *column, p []byte) error { c.putBytes(p); return nil }, nil
	case *arrow.BooleanType:
		if t.oid == pgBool {
			return func(c *column, p []byte) error { c.putBool(boolText(p) == 1); return nil }, nil
		}
	case *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		if integerFits(t.oid, want.ID()) {
			return textInteger(want.ID()), nil
		}
	case *arrow.Float32Type:
		if t.oid == pgFloat4 {
			return func(c *column, p []byte) error {
				f, err := strconv.ParseFloat(string(p), 32)
				if err != nil {
					return err
				}
				return putFloat32(c, float32(f))
			}, nil
		}
	case *arrow.Float64Type:
		switch t.oid {
		case pgFloat4, pgFloat8:
			bits := map[uint32]int{pgFloat4: 32, pgFloat8: 64}[t.oid]
			return func(c *column, p []byte) error {
				f, err := strconv.ParseFloat(string(p), bits)
				if err != nil {
					return err
				}
				return putFloat64(c, f)
			}, nil
		case pgNumeric:
			return putFloatText, nil
		}
	case *arrow.Decimal128Type:
		return textDecimal(t, want)
	case *arrow.BinaryType:
		if t.oid == pgBytea {
			return textBytea, nil
		}
	default:
		if d := textTime(t, want); d != nil {
			return d, nil
		}
	}
	return nil, misfit(t, want)
}

func boolText(p []byte) byte {
	if len(p) > 0 && p[0] == 't' {
		return 1
	}
	return 0
}

// plainMoney takes the currency sign and the group separators of lc_monetary = C out.
func plainMoney(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for _, c := range p {
		if c == '-' || c == '.' || c >= '0' && c <= '9' {
			out = append(out, c)
		}
	}
	return out
}

func textInteger(want arrow.Type) decoder {
	bits := map[arrow.Type]int{arrow.INT16: 16, arrow.INT32: 32, arrow.INT64: 64}[want]
	return func(c *column, p []byte) error {
		v, err := strconv.ParseInt(string(p), 10, bits)
		if err != nil {
			return err
		}
		switch bits {
		case 16:
			c.put16(uint16(v))
		case 32:
			c.put32(uint32(v))
		default:
			c.put64(uint64(v))
		}
		return nil
	}
}

func textDecimal(t *sourceType, want *arrow.Decimal128Type) (decoder, error) {
	precision, scale := int(want.Precision), int(want.Scale)
	switch t.oid {
	case pgNumeric, pgInt2, pgInt4, pgInt8:
		return func(c *column, p []byte) error { return putDecimalText(c, string(p), precision, scale) }, nil
	case pgMoney:
		return func(c *column, p []byte) error { return putDecimalText(c, string(plainMoney(p)), precision, scale) }, nil
	}
	return nil, misfit(t, want)
}

func putDecimalText(c *column, s string, precision, scale int) error {
	switch s {
	case "NaN", "Infinity", "-Infinity":
		return fmt.Errorf("%s is not a DECIMAL", s)
	}
	s, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(s, ".")
	m, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || m.Sign() < 0 {
		return fmt.Errorf("%q is not a number", s)
	}
	return putBig(c, negative, m, -len(fraction), precision, scale)
}

func textBytea(c *column, p []byte) error {
	if len(p) < 2 || p[0] != '\\' || p[1] != 'x' {
		return errors.New("bytea is not in hex form")
	}
	b, err := hex.AppendDecode(c.values, p[2:])
	if err != nil {
		return err
	}
	c.values = b
	c.endText()
	return nil
}

// textTime is nil when the types do not fit, by the same rules as timeDecoder.
func textTime(t *sourceType, want arrow.DataType) decoder {
	switch want := want.(type) {
	case *arrow.Date32Type:
		if t.oid == pgDate {
			return func(c *column, p []byte) error {
				days, err := parseDate(string(p))
				if err != nil {
					return err
				}
				return putDate(c, days)
			}
		}
	case *arrow.Time64Type:
		if t.oid == pgTime {
			scale := unitScale(want.Unit)
			return func(c *column, p []byte) error {
				us, err := parseClock(string(p))
				if err == nil {
					c.put64(uint64(us * scale))
				}
				return err
			}
		}
	case *arrow.TimestampType:
		if t.oid == pgTimestamp && want.TimeZone == "" || t.oid == pgTimestampTZ && want.TimeZone != "" {
			scale := unitScale(want.Unit)
			return func(c *column, p []byte) error {
				us, err := parseTimestamp(string(p))
				if err != nil {
					return err
				}
				return putTimestamp(c, us, scale)
			}
		}
	case *arrow.DurationType:
		if t.oid == pgInterval {
			scale := unitScale(want.Unit)
			return func(c *column, p []byte) error {
				v, err := parseInterval(string(p))
				if err != nil {
					return err
				}
				return putDuration(c, v, scale)
			}
		}
	case *arrow.MonthIntervalType:
		if t.oid == pgInterval {
			return func(c *column, p []byte) error {
				v, err := parseInterval(string(p))
				if err != nil {
					return err
				}
				return putMonths(c, v)
			}
		}
	}
	return nil
}

// parseDate reads an ISO date with an optional era into days since 2000.
func parseDate(s string) (int32, error) {
	switch s {
	case "infinity":
		return math.MaxInt32, nil
	case "-infinity":
		return math.MinInt32, nil
	}
	s, bc := strings.CutSuffix(s, " BC")
	parts := strings.Split(s, "-")
	bad := fmt.Errorf("%q is not a date", s)
	if len(parts) != 3 {
		return 0, bad
	}
	var n [3]int64
	for i, part := range parts {
		v, err := strconv.ParseInt(part, 10, 32)
		if err != nil || v < 0 {
			return 0, bad
		}
		n[i] = v
	}
	if n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 {
		return 0, bad
	}
	if bc {
		n[0] = 1 - n[0]
	}
	days := daysOf(n[0], int(n[1]), int(n[2])) - epochDays
	if days >= math.MaxInt32 || days <= math.MinInt32 {
		return 0, bad
	}
	return int32(days), nil
}

// daysOf is the inverse of civilDate.
func daysOf(year int64, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	yoe := year - era*400
	doy := int64(153*(month-3)+2)/5 + int64(day) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// parseClock reads hours:minutes:seconds.fraction into microseconds; hours may exceed a day in an interval.
func parseClock(s string) (int64, error) {
	bad := fmt.Errorf("%q is not a time", s)
	hms, fraction, _ := strings.Cut(s, ".")
	parts := strings.Split(hms, ":")
	if len(parts) != 3 || len(fraction) > 6 {
		return 0, bad
	}
	var us int64
	for i, part := range parts {
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil || v < 0 || i > 0 && v > 60 || v > math.MaxInt64/3600/1000000 {
			return 0, bad
		}
		us = us*60 + v
	}
	us *= 1000000
	if fraction == "" {
		return us, nil
	}
	f, err := strconv.ParseUint((fraction + "000000")[:6], 10, 32)
	if err != nil {
		return 0, bad
	}
	return us + int64(f), nil
}

// parseTimestamp reads an ISO timestamp in microseconds since 2000; a zone is always UTC, the session says so.
func parseTimestamp(s string) (int64, error) {
	switch s {
	case "infinity":
		return math.MaxInt64, nil
	case "-infinity":
		return math.MinInt64, nil
	}
	rest, bc := strings.CutSuffix(s, " BC")
	date, clock, ok := strings.Cut(rest, " ")
	if !ok {
		return 0, fmt.Errorf("%q is not a timestamp", s)
	}
	if bc {
		date += " BC"
	}
	days, err := parseDate(date)
	if err != nil {
		return 0, err
	}
	us, err := parseClock(strings.TrimSuffix(clock, "+00"))
	if err != nil {
		return 0, err
	}
	if int64(days) > 107000000 || int64(days) < -107000000 {
		return 0, errRange
	}
	return int64(days)*86400*1000000 + us, nil
}

// parseInterval reads what appendInterval prints.
func parseInterval(s string) (interval, error) {
	var v interval
	bad := fmt.Errorf("%q is not an interval", s)
	switch s {
	case "infinity":
		return interval{math.MaxInt64, math.MaxInt32, math.MaxInt32}, nil
	case "-infinity":
		return interval{math.MinInt64, math.MinInt32, math.MinInt32}, nil
	}
	words := strings.Fields(s)
	for i := 0; i < len(words); i++ {
		if strings.Contains(words[i], ":") {
			clock, negative := strings.CutPrefix(strings.TrimPrefix(words[i], "+"), "-")
			us, err := parseClock(clock)
			if err != nil {
				return v, bad
			}
			if negative {
				us = -us
			}
			v.micros = us
			continue
		}
		n, err := strconv.ParseInt(words[i], 10, 32)
		if err != nil || i+1 == len(words) {
			return v, bad
		}
		i++
		switch strings.TrimSuffix(words[i], "s") {
		case "year":
			v.months += int32(n) * 12
		case "mon":
			v.months += int32(n)
		case "day":
			v.days += int32(n)
		default:
			return v, bad
		}
	}
	return v, nil
}

// textListDecoder reads an array as Postgres prints it.
func textListDecoder(item decoder) decoder {
	return func(c *column, p []byte) error {
		s := string(p)
		if strings.HasPrefix(s, "[") {
			bounds, _, _ := strings.Cut(s, "=")
			return fmt.Errorf("the array has the bounds %s, and ARRAY begins at 1", bounds)
		}
		if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
			return fmt.Errorf("%q is not an array", s)
		}
		if strings.HasPrefix(s, "{{") {
			return fmt.Errorf("the array has %d dimensions, and ARRAY holds one", len(s)-len(strings.TrimLeft(s, "{")))
		}
		for rest := s[1:]; rest != "}"; {
			v, quoted, after, err := arrayWord(rest)
			if err != nil {
				return err
			}
			if !quoted && strings.EqualFold(v, "NULL") {
				c.items.null()
			} else if err := item(c.items, []byte(v)); err != nil {
				return fmt.Errorf("element: %w", err)
			}
			rest = after
		}
		c.endList()
		return nil
	}
}

// arrayWord reads one element; after begins behind the comma, or is "}".
func arrayWord(s string) (v string, quoted bool, after string, err error) {
	var b strings.Builder
	i := 0
	if quoted = s[0] == '"'; quoted {
		i = 1
	}
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case quoted && s[i] == '"':
			quotedEnd := i + 1
			if quotedEnd < len(s) && s[quotedEnd] == ',' {
				return b.String(), true, s[quotedEnd+1:], nil
			}
			if s[quotedEnd:] == "}" {
				return b.String(), true, "}", nil
			}
			return "", true, "", fmt.Errorf("%q is not an array element", s)
		case !quoted && s[i] == ',':
			return b.String(), false, s[i+1:], nil
		case !quoted && s[i:] == "}":
			return b.String(), false, "}", nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", quoted, "", fmt.Errorf("%q is not closed", s)
}
