package postgres

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
)

// The server's limits, in the units of its binary form.
const (
	minDate      = -2451545
	maxDate      = 2145031948
	minTimestamp = -211813488000000000
	maxTimestamp = 9223371331200000000 - 1
	dayMicros    = 86400 * 1_000_000
)

// Fields of an interval's type modifier.
const (
	intervalYear, intervalMonth                  = 1 << 2, 1 << 1
	intervalHour, intervalMinute, intervalSecond = 1 << 10, 1 << 11, 1 << 12
	intervalFull                                 = 0x7fff
)

// timeEncoder knows dates, times, timestamps and intervals. A timestamp without a zone never goes into a column with one
// or back: what that means would depend on the session.
func timeEncoder(from arrow.DataType, to targetType) (encoder, bool) {
	e := encoder{exact: true}
	switch t := from.(type) {
	case *arrow.Date32Type:
		e.show, e.bind = renderDate, bindDate
		return e, to.receive == "date_recv"
	case *arrow.Time64Type:
		e.show, e.bind = renderTime, bindTime(ticksOf(t.Unit, int(to.typmod)), to)
		return e, to.receive == "time_recv"
	case *arrow.TimestampType:
		want := "timestamp_recv"
		e.show = renderTimestamp
		if t.TimeZone != "" {
			want, e.show = "timestamptz_recv", renderTimestampTZ
		}
		e.bind = bindTimestamp(ticksOf(t.Unit, int(to.typmod)), to)
		return e, to.receive == want
	case *arrow.DurationType:
		e.exact, e.show = false, renderInterval
		fields, precision := intervalModifier(to.typmod)
		e.bind = bindDuration(ticksOf(t.Unit, precision), to)
		const time = intervalHour | intervalMinute | intervalSecond
		return e, to.receive == "interval_recv" && fields&time == time
	case *arrow.MonthIntervalType:
		e.exact, e.show, e.bind = false, renderInterval, bindMonths
		fields, _ := intervalModifier(to.typmod)
		const months = intervalYear | intervalMonth
		return e, to.receive == "interval_recv" && fields&months == months
	}
	return encoder{}, false
}

func intervalModifier(typmod int32) (fields, precision int) {
	if typmod < 0 {
		return intervalFull, -1
	}
	fields, precision = int(typmod>>16)&intervalFull, int(typmod&0xffff)
	if precision == 0xffff {
		precision = -1
	}
	return fields, precision
}

// ticks turns an Arrow time value into microseconds, and refuses what the target's precision would round away.
type ticks struct {
	up   int64 // multiply by, to get microseconds
	down int64 // divide by
	keep int64 // the result must be a multiple of
}

func ticksOf(unit arrow.TimeUnit, precision int) ticks {
	t := ticks{up: 1, down: 1, keep: 1}
	switch unit {
	case arrow.Second:
		t.up = 1_000_000
	case arrow.Millisecond:
		t.up = 1000
	case arrow.Nanosecond:
		t.down = 1000
	}
	for p := precision; p >= 0 && p < 6; p++ {
		t.keep *= 10
	}
	return t
}

func (t ticks) micros(v int64, to *targetType) (int64, error) {
	if t.down > 1 {
		if v%t.down != 0 {
			return 0, fmt.Errorf("%s keeps microseconds, and the value has nanoseconds", to.name)
		}
		v /= t.down
	}
	if t.up > 1 {
		if v > math.MaxInt64/t.up || v < math.MinInt64/t.up {
			return 0, fmt.Errorf("the value is out of range for %s", to.name)
		}
		v *= t.up
	}
	if v%t.keep != 0 {
		return 0, fmt.Errorf("the value has more fractional digits than %s keeps", to.name)
	}
	return v, nil
}

func bindDate(a arrow.Array) appender {
	v, null := a.(*array.Date32).Date32Values(), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		d := int64(v[i])
		switch v[i] {
		case change.DateInfinity, change.DateNegInfinity: // the same extremes in both forms
		default:
			if d -= unixToPostgresDays; d < minDate || d > maxDate {
				return dst, fmt.Errorf("day %d is out of range for date", v[i])
			}
		}
		return binary.BigEndian.AppendUint32(append(dst, 0, 0, 0, 4), uint32(int32(d))), nil
	}
}

func bindTime(t ticks, to targetType) func(arrow.Array) appender {
	return func(a arrow.Array) appender {
		v, null := a.(*array.Time64).Time64Values(), nullsOf(a)
		return func(dst []byte, i int) ([]byte, error) {
			if null.at(i) {
				return appendNull(dst), nil
			}
			m, err := t.micros(int64(v[i]), &to)
			if err != nil {
				return dst, err
			}
			if m < 0 || m > dayMicros {
				return dst, fmt.Errorf("%d microseconds are out of range for time", m)
			}
			return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), uint64(m)), nil
		}
	}
}

func bindTimestamp(t ticks, to targetType) func(arrow.Array) appender {
	return func(a arrow.Array) appender {
		v, null := a.(*array.Timestamp).TimestampValues(), nullsOf(a)
		return func(dst []byte, i int) ([]byte, error) {
			if null.at(i) {
				return appendNull(dst), nil
			}
			m := int64(v[i])
			if v[i] != change.TimestampInfinity && v[i] != change.TimestampNegInfinity {
				var err error
				if m, err = t.micros(m, &to); err != nil {
					return dst, err
				}
				if m < minTimestamp+unixToPostgresMicros {
					return dst, fmt.Errorf("the value is out of range for %s", to.name)
				}
				// The greatest microsecond that Arrow holds is below the server's greatest.
				m -= unixToPostgresMicros
			}
			return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), uint64(m)), nil
		}
	}
}

func bindDuration(t ticks, to targetType) func(arrow.Array) appender {
	return func(a arrow.Array) appender {
		v, null := a.(*array.Duration).DurationValues(), nullsOf(a)
		return func(dst []byte, i int) ([]byte, error) {
			if null.at(i) {
				return appendNull(dst), nil
			}
			m, err := t.micros(int64(v[i]), &to)
			if err != nil {
				return dst, err
			}
			return appendSpan(dst, m, 0), nil
		}
	}
}

func bindMonths(a arrow.Array) appender {
	v, null := a.(*array.MonthInterval).MonthIntervalValues(), nullsOf(a)
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		return appendSpan(dst, 0, int32(v[i])), nil
	}
}

func appendSpan(dst []byte, micros int64, months int32) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 16), uint64(micros))
	return binary.BigEndian.AppendUint32(append(dst, 0, 0, 0, 0), uint32(months))
}
