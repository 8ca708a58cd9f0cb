package eval

import (
	"bytes"
	"math"

	"github.com/syncsql/syncsql/ddl"
)

// moment is a parsed date and clock.
type moment struct {
	days   int64
	nanos  int64 // of the day
	digits int   // of the fraction, as written
	clock  bool  // a clock was written
	zoned  bool  // a zone was written
	offset int64 // of that zone, in seconds
}

// digitsOf reads 1 to most digits.
func digitsOf(s []byte, most int) (v int64, n int) {
	for n < len(s) && n < most && s[n] >= '0' && s[n] <= '9' {
		v = v*10 + int64(s[n]-'0')
		n++
	}
	return v, n
}

// parseDate reads [+-]yyyy-MM-dd and returns what follows.
func parseDate(s []byte) (d int64, rest []byte, ok bool) {
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	y, n := digitsOf(s, 7)
	if n < 4 || len(s) <= n || s[n] != '-' {
		return 0, nil, false
	}
	s = s[n+1:]
	m, n := digitsOf(s, 2)
	if n == 0 || len(s) <= n || s[n] != '-' {
		return 0, nil, false
	}
	s = s[n+1:]
	day, n := digitsOf(s, 2)
	if negative {
		y = -y
	}
	if n == 0 || m < 1 || m > 12 || day < 1 || int(day) > monthDays(y, int(m)) {
		return 0, nil, false
	}
	d = days(y, int(m), int(day))
	return d, s[n:], d < int64(dateMax) && d > int64(dateMin)
}

// parseClock reads HH:mm[:ss[.fraction]].
func parseClock(s []byte) (nanos int64, digits int, rest []byte, ok bool) {
	h, n := digitsOf(s, 2)
	if n == 0 || h > 23 || len(s) < n+3 || s[n] != ':' {
		return 0, 0, nil, false
	}
	s = s[n+1:]
	m, n := digitsOf(s, 2)
	if n != 2 || m > 59 {
		return 0, 0, nil, false
	}
	s = s[2:]
	nanos = (h*60 + m) * 60 * 1e9
	if len(s) == 0 || s[0] != ':' {
		return nanos, 0, s, true
	}
	sec, n := digitsOf(s[1:], 2)
	if n != 2 || sec > 59 {
		return 0, 0, nil, false
	}
	s = s[3:]
	nanos += sec * 1e9
	if len(s) == 0 || s[0] != '.' {
		return nanos, 0, s, true
	}
	frac, digits := digitsOf(s[1:], 9)
	s = s[1+digits:]
	for len(s) > 0 && s[0] == '0' {
		s = s[1:]
	}
	return nanos + frac*int64(pow10u64[9-digits]), digits, s, digits > 0
}

// parseMoment reads a date, a date with a clock, and where zoned is wanted an offset.
func parseMoment(s []byte, zone bool) (m moment, ok bool) {
	s = bytes.TrimSpace(s)
	if m.days, s, ok = parseDate(s); !ok {
		return m, false
	}
	if len(s) > 0 && (s[0] == ' ' || s[0] == 'T' || s[0] == 't') {
		if m.nanos, m.digits, s, ok = parseClock(bytes.TrimLeft(s[1:], " ")); !ok {
			return m, false
		}
		m.clock = true
	}
	if zone && m.clock {
		s = bytes.TrimLeft(s, " ")
		if m.offset, m.zoned, s, ok = parseOffset(s); !ok {
			return m, false
		}
	}
	return m, len(s) == 0
}

// parseOffset reads Z, +hh, +hhmm, +hh:mm or nothing.
func parseOffset(s []byte) (offset int64, found bool, rest []byte, ok bool) {
	if len(s) == 0 {
		return 0, false, s, true
	}
	if s[0] == 'Z' || s[0] == 'z' {
		return 0, true, s[1:], true
	}
	if s[0] != '+' && s[0] != '-' {
		return 0, false, s, true
	}
	h, n := digitsOf(s[1:], 2)
	if n != 2 || h > 18 {
		return 0, false, nil, false
	}
	rest = s[3:]
	if len(rest) > 0 && rest[0] == ':' {
		rest = rest[1:]
	}
	m, n := digitsOf(rest, 2)
	if n == 1 || m > 59 {
		return 0, false, nil, false
	}
	offset = h*3600 + m*60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true, rest[n:], true
}

// stamp is the moment in the units of a timestamp type, cut to its precision.
func (m moment) stamp(t *ddl.Type, sec int64) (int64, bool) {
	unit := perSecond(t)
	v, ok := mul64(sec, unit)
	if !ok {
		return 0, false
	}
	v, ok = add64(v, m.nanos%1e9/(1e9/unit))
	return v - floorMod(v, grain(t)), ok && v != stampMax && v != stampMin
}

func (m moment) seconds() int64 { return m.days*secondsPerDay + m.nanos/1e9 }

// parseDatetimes is CAST of text to DATE, TIME and timestamps.
func parseDatetimes(to *ddl.Type) (kernel, bool) {
	switch to.Kind {
	case ddl.Date:
		return func(k *call) {
			out := makeValues[int32](k.out, k.n)
			for i := range out {
				out[i] = 0
				if k.skip(i) {
					continue
				}
				m, ok := parseMoment(k.args[0].at(i), false)
				if out[i] = int32(m.days); !ok {
					badText(k, i, to)
				}
			}
		}, false
	case ddl.Time:
		return func(k *call) {
			out := makeValues[int64](k.out, k.n)
			for i := range out {
				out[i] = 0
				if k.skip(i) {
					continue
				}
				nanos, _, rest, ok := parseClock(bytes.TrimSpace(k.args[0].at(i)))
				v := nanos / (1e9 / perSecond(to))
				if out[i] = v - v%grain(to); !ok || len(rest) > 0 {
					badText(k, i, to)
				}
			}
		}, false
	case ddl.Timestamp, ddl.TimestampLTZ:
		return parseStamps(to), to.Kind == ddl.TimestampLTZ
	}
	return nil, false
}

func parseStamps(to *ddl.Type) kernel {
	local := to.Kind == ddl.TimestampLTZ
	return func(k *call) {
		out := makeValues[int64](k.out, k.n)
		if local && !k.f.ready() {
			clear(out)
			return
		}
		for i := range out {
			out[i] = 0
			if k.skip(i) {
				continue
			}
			m, ok := parseMoment(k.args[0].at(i), local)
			sec := m.seconds()
			if m.zoned {
				sec -= m.offset
			} else if local {
				sec = k.f.zone.instant(sec)
			}
			v, fits := m.stamp(to, sec)
			if out[i] = v; !ok || !fits {
				badText(k, i, to)
			}
		}
	}
}

// intervalUnits are the units of INTERVAL, in months or in seconds.
var intervalUnits = map[string]struct {
	months  int64
	seconds int64
}{
	"YEAR": {months: 12}, "QUARTER": {months: 3}, "MONTH": {months: 1}, "WEEK": {seconds: 7 * secondsPerDay},
	"DAY": {seconds: secondsPerDay}, "HOUR": {seconds: 3600}, "MINUTE": {seconds: 60}, "SECOND": {seconds: 1},
}

// parseInterval reads the text of INTERVAL '..' unit [TO unit]: months, or nanoseconds with the digits of the fraction.
func parseInterval(text, first, last string) (months, nanos int64, digits int, ok bool) {
	s := bytes.TrimSpace([]byte(text))
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if intervalUnits[first].months > 0 {
		months, ok = parseMonths(s, first, last)
	} else {
		nanos, digits, ok = parseSpan(s, first, last)
	}
	if negative {
		months, nanos = -months, -nanos
	}
	return months, nanos, digits, ok
}

func parseMonths(s []byte, first, last string) (int64, bool) {
	v, n := digitsOf(s, 9)
	total := v * intervalUnits[first].months
	if n == 0 || total > math.MaxInt32 {
		return 0, false
	}
	s = s[n:]
	if last == "" {
		return total, len(s) == 0
	}
	if first != "YEAR" || last != "MONTH" || len(s) == 0 || s[0] != '-' {
		return 0, false
	}
	m, n := digitsOf(s[1:], 2)
	return total + m, n > 0 && m < 12 && len(s) == n+1 && total+m <= math.MaxInt32
}

var spanOrder = []string{"DAY", "HOUR", "MINUTE", "SECOND"}

// parseSpan reads the fields from first to last: d h:m:s.fraction.
func parseSpan(s []byte, first, last string) (nanos int64, digits int, ok bool) {
	if last == "" {
		last = first
	}
	at, end := -1, -1
	for i, u := range spanOrder {
		if u == first {
			at = i
		}
		if u == last {
			end = i
		}
	}
	if first == "WEEK" && last == first {
		at, end = 0, 0
	}
	if at < 0 || end < at {
		return 0, 0, false
	}
	for i := at; i <= end; i++ {
		most := 2
		if i == at {
			most = 10
		}
		v, n := digitsOf(s, most)
		if n == 0 || i > at && (i == 1 && v > 23 || i > 1 && v > 59) {
			return 0, 0, false
		}
		unit := intervalUnits[spanOrder[i]].seconds
		if first == "WEEK" {
			unit *= 7
		}
		whole, fits := mul64(v, unit*1e9)
		if !fits {
			return 0, 0, false
		}
		if nanos, fits = add64(nanos, whole); !fits {
			return 0, 0, false
		}
		s = s[n:]
		if i < end {
			sep := byte(':')
			if i == 0 {
				sep = ' '
			}
			if len(s) == 0 || s[0] != sep {
				return 0, 0, false
			}
			s = s[1:]
		}
	}
	if last == "SECOND" && len(s) > 1 && s[0] == '.' {
		frac, n := digitsOf(s[1:], 9)
		nanos, digits, s = nanos+frac*int64(pow10u64[9-n]), n, s[1+n:]
	}
	return nanos, digits, len(s) == 0
}
