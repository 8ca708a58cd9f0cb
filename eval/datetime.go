package eval

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/ddl"
)

const (
	secondsPerDay = 86400
	dateMax       = int32(change.DateInfinity)
	dateMin       = int32(change.DateNegInfinity)
	stampMax      = int64(change.TimestampInfinity)
	stampMin      = int64(change.TimestampNegInfinity)
)

// perSecond is how many units of the type's Arrow column make a second.
func perSecond(t *ddl.Type) int64 {
	if t.Precision > 6 {
		return 1_000_000_000
	}
	return 1_000_000
}

// grain is the smallest step that the type's precision allows, in its units.
func grain(t *ddl.Type) int64 {
	digits := 6
	if t.Precision > 6 {
		digits = 9
	}
	return int64(pow10u64[digits-t.Precision])
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 {
	r := a % b
	if r < 0 {
		r += b
	}
	return r
}

// mul64 multiplies a positive factor; ok is false on overflow.
func mul64(a, factor int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(max(a, -a)), uint64(factor))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if a < 0 {
		return -int64(lo), true
	}
	return int64(lo), true
}

func add64(a, b int64) (int64, bool) {
	s := a + b
	return s, (a^s)&(b^s) >= 0
}

// civil turns days since 1970 into a date of the proleptic Gregorian calendar; year 0 is 1 BC.
func civil(days int64) (year int64, month, day int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp) + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// days is the inverse of civil.
func days(year int64, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	mp := int64(month+9) % 12
	doy := (153*mp+2)/5 + int64(day) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func monthDays(year int64, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// addMonths moves a date; a day that the month does not have becomes its last.
func addMonths(d int64, months int64) int64 {
	y, m, day := civil(d)
	total := y*12 + int64(m-1) + months
	y, m = floorDiv(total, 12), int(floorMod(total, 12))+1
	return days(y, m, min(day, monthDays(y, m)))
}

// zone is the session's time zone with the stretch of equal offset that was used last.
type zone struct {
	name     string
	loc      *time.Location
	from, to int64
	offset   int64
}

// ready loads the session's zone; false stops the batch.
func (f *frame) ready() bool {
	name := f.ctx.Zone
	if f.zone.loc != nil && f.zone.name == name {
		return true
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		f.stop(fmt.Errorf("time zone of 'table.local-time-zone': %w", err))
		return false
	}
	f.zone = zone{name: name, loc: loc}
	return true
}

// offsetAt is the zone's offset at an instant, in seconds.
func (z *zone) offsetAt(instant int64) int64 {
	if instant >= z.from && instant < z.to {
		return z.offset
	}
	t := time.Unix(instant, 0).In(z.loc)
	_, off := t.Zone()
	start, end := t.ZoneBounds()
	z.from, z.to, z.offset = math.MinInt64, math.MaxInt64, int64(off)
	if !start.IsZero() {
		z.from = start.Unix()
	}
	if !end.IsZero() {
		z.to = end.Unix()
	}
	return z.offset
}

// instant finds when a local clock shows a time. A time that the clock shows twice is the first; one that it skips is
// moved by the length of the gap, both as in Java.
func (z *zone) instant(local int64) int64 {
	before := z.offsetAt(local - secondsPerDay)
	first := local - before
	if after := z.offsetAt(first); after != before {
		if second := local - after; z.offsetAt(second) == after {
			return second
		}
	}
	return first
}

// castDatetime converts between DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ.
func castDatetime(from, to *ddl.Type) (kernel, bool) {
	switch {
	case from.Kind == to.Kind:
		return castUnits(from, to), false
	case from.Kind == ddl.Date && isTimestamp(to):
		return dateToStamp(to), to.Kind == ddl.TimestampLTZ
	case isTimestamp(from) && isDatetime(to):
		return castStamp(from, to), from.Kind == ddl.TimestampLTZ || to.Kind == ddl.TimestampLTZ
	}
	return nil, false
}

// castUnits changes the precision within one kind: finer is exact, coarser is cut towards the past as Flink does.
func castUnits(from, to *ddl.Type) kernel {
	up, step := int64(1), grain(to)
	down := int64(1)
	if perSecond(from) < perSecond(to) {
		up = 1000
	} else if perSecond(from) > perSecond(to) {
		down = 1000
	}
	return func(k *call) {
		out := makeValues[int64](k.out, k.n)
		for i, x := range values[int64](k.args[0]) {
			if x == stampMax || x == stampMin {
				out[i] = x
				continue
			}
			y, ok := mul64(floorDiv(x, down), up)
			if out[i] = y - floorMod(y, step); !ok {
				k.fail(i, "the value is out of range of %s, which counts nanoseconds in 64 bits", base(to))
			}
		}
	}
}

func dateToStamp(to *ddl.Type) kernel {
	unit := perSecond(to)
	return func(k *call) {
		out := makeValues[int64](k.out, k.n)
		local := to.Kind == ddl.TimestampLTZ
		if local && !k.f.ready() {
			clear(out)
			return
		}
		for i, d := range values[int32](k.args[0]) {
			if d == dateMax || d == dateMin {
				out[i] = stampMax
				if d == dateMin {
					out[i] = stampMin
				}
				continue
			}
			sec := int64(d) * secondsPerDay
			if local {
				sec = k.f.zone.instant(sec)
			}
			v, ok := mul64(sec, unit)
			if out[i] = v; !ok {
				k.fail(i, "the date is out of range of %s", base(to))
			}
		}
	}
}

// castStamp converts TIMESTAMP and TIMESTAMP_LTZ to DATE, TIME and each other, through the session's zone.
func castStamp(from, to *ddl.Type) kernel {
	unit := perSecond(from)
	var change func(x int64, z *zone) int64
	if from.Kind == ddl.TimestampLTZ {
		change = func(x int64, z *zone) int64 { return x + z.offsetAt(floorDiv(x, unit))*unit }
	} else if to.Kind == ddl.TimestampLTZ {
		change = func(x int64, z *zone) int64 {
			sec := floorDiv(x, unit)
			return x + (z.instant(sec)-sec)*unit
		}
	}
	units := castUnits(&ddl.Type{Kind: to.Kind, Precision: from.Precision}, to)
	return func(k *call) {
		if change != nil && !k.f.ready() {
			k.out.makeFixed(k.n, width(to))
			clear(k.out.raw)
			return
		}
		in := values[int64](k.args[0])
		if to.Kind == ddl.Date {
			stampToDate(k, in, unit, change)
			return
		}
		out := makeValues[int64](k.out, k.n)
		for i, x := range in {
			infinite := x == stampMax || x == stampMin
			if infinite && to.Kind == ddl.Time {
				k.fail(i, "an infinite timestamp has no time")
			}
			if change != nil && !infinite {
				x = change(x, &k.f.zone)
			}
			if to.Kind == ddl.Time {
				x = floorMod(x, secondsPerDay*unit)
			}
			out[i] = x
		}
		again := vec{n: k.n, raw: k.out.raw}
		inner := call{f: k.f, out: k.out, args: []*vec{&again}, n: k.n, live: k.live, try: k.try}
		units(&inner)
	}
}

func stampToDate(k *call, in []int64, unit int64, change func(int64, *zone) int64) {
	out := makeValues[int32](k.out, k.n)
	for i, x := range in {
		switch {
		case x == stampMax:
			out[i] = dateMax
		case x == stampMin:
			out[i] = dateMin
		default:
			if change != nil {
				x = change(x, &k.f.zone)
			}
			out[i] = int32(floorDiv(x, secondsPerDay*unit))
		}
	}
}
