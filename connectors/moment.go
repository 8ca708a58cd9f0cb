package connectors

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
)

// AppendDate adds a date in the proleptic Gregorian calendar. Years outside 0000-9999 carry a sign, as ISO 8601 asks, so
// year -0001 is 2 BC; the infinite dates are "infinity" and "-infinity".
func AppendDate(dst []byte, d arrow.Date32) []byte {
	switch d {
	case change.DateInfinity:
		return append(dst, "infinity"...)
	case change.DateNegInfinity:
		return append(dst, "-infinity"...)
	}
	return appendDays(dst, int64(d))
}

// AppendTimestamp adds a timestamp: with a Z when the type has a time zone, without a fraction when it is zero, else with
// 3, 6 or 9 digits.
func (s Style) AppendTimestamp(dst []byte, v arrow.Timestamp, t *arrow.TimestampType) []byte {
	switch v {
	case change.TimestampInfinity:
		return append(dst, "infinity"...)
	case change.TimestampNegInfinity:
		return append(dst, "-infinity"...)
	}
	day := 86400 * perSecond(t.Unit)
	days, rest := int64(v)/day, int64(v)%day
	if rest < 0 {
		days, rest = days-1, rest+day
	}
	dst = appendDays(dst, days)
	if s.ISO {
		dst = append(dst, 'T')
	} else {
		dst = append(dst, ' ')
	}
	dst = appendClock(dst, rest, t.Unit)
	if t.TimeZone != "" {
		dst = append(dst, 'Z')
	}
	return dst
}

func perSecond(u arrow.TimeUnit) int64 {
	switch u {
	case arrow.Second:
		return 1
	case arrow.Millisecond:
		return 1e3
	case arrow.Microsecond:
		return 1e6
	}
	return 1e9
}

func appendClock(dst []byte, v int64, u arrow.TimeUnit) []byte {
	per := perSecond(u)
	secs, frac := v/per, v%per
	dst = appendPadded(dst, secs/3600, 2)
	dst = appendPadded(append(dst, ':'), secs/60%60, 2)
	dst = appendPadded(append(dst, ':'), secs%60, 2)
	if frac == 0 {
		return dst
	}
	digits := 9
	frac *= 1e9 / per
	for frac%1000 == 0 {
		frac, digits = frac/1000, digits-3
	}
	return appendPadded(append(dst, '.'), frac, digits)
}

func appendPadded(dst []byte, v int64, width int) []byte {
	var tmp [20]byte
	text := strconv.AppendInt(tmp[:0], v, 10)
	for n := len(text); n < width; n++ {
		dst = append(dst, '0')
	}
	return append(dst, text...)
}

func appendDays(dst []byte, days int64) []byte {
	y, m, d := Civil(days)
	switch {
	case y < 0:
		dst = appendPadded(append(dst, '-'), -y, 4)
	case y > 9999:
		dst = appendPadded(append(dst, '+'), y, 4)
	default:
		dst = appendPadded(dst, y, 4)
	}
	dst = appendPadded(append(dst, '-'), m, 2)
	return appendPadded(append(dst, '-'), d, 2)
}

// Civil is the proleptic Gregorian date of a day, counted from 1970-01-01. Year 0 is 1 BC.
func Civil(days int64) (year, month, day int64) {
	days += 719468 // from 0000-03-01: leap days come last in a year that starts in March
	era := floorDiv(days, 146097)
	doe := days - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// Days is the inverse of Civil.
func Days(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := (153*(month-3)+2)/5 + day - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
