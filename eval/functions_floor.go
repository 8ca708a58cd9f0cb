package eval

import (
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/ddl"
)

// buildFloor is FLOOR and CEIL of numbers and of moments.
func buildFloor(c *compiler, e *ddl.Call, args []*node) *node {
	name := strings.ToUpper(e.Name.Last())
	up := name != "FLOOR"
	x := args[0]
	if len(args) == 2 {
		return c.floorTo(e, up, args)
	}
	switch t := x.typ; {
	case t.Kind == ddl.Null:
		return c.null(of(ddl.Int), e.At)
	case isInteger(t):
		return x
	case t.Kind == ddl.Float:
		return c.strict(t, e.At, floorFloats[float32](up), x)
	case t.Kind == ddl.Double:
		return c.strict(t, e.At, floorFloats[float64](up), x)
	case t.Kind == ddl.Decimal:
		if t.Scale == 0 {
			return x
		}
		to := roundedType(t, 0)
		return c.strict(to, e.At, floorDecimals(t.Scale, to, up), x)
	}
	c.mismatch(x.at, "%s needs a number, found %s", name, base(x.typ)).WithHelp("write %s(x TO DAY) for a moment", name)
	return nil
}

func floorFloats[T float](up bool) kernel {
	round := math.Floor
	if up {
		round = math.Ceil
	}
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		for i, x := range values[T](k.args[0]) {
			out[i] = T(round(float64(x)))
		}
	}
}

func floorDecimals(scale int, to *ddl.Type, up bool) kernel {
	return func(k *call) {
		out := makeValues[decimal128.Num](k.out, k.n)
		for i, x := range values[decimal128.Num](k.args[0]) {
			m, negative := magnitude(x)
			exact := true
			for left := scale; left > 0; left -= min(left, 19) {
				var r uint64
				m, r = m.over(pow10u64[min(left, 19)])
				exact = exact && r == 0
			}
			// Away from zero when the cut went the wrong way.
			if !exact && negative != up {
				if m.lo++; m.lo == 0 {
					m.hi++
				}
			}
			out[i] = m.signed(negative)
			if !m.less(limits[to.Precision]) {
				k.fail(i, "the value is out of range of %s", base(to))
			}
		}
	}
}

// floorTo is FLOOR(x TO unit): the start of the unit that x lies in; CEIL is the start of the next one, unless x is one.
func (c *compiler) floorTo(e *ddl.Call, up bool, args []*node) *node {
	unit, ok := c.unitOf(e, args[1])
	if !ok {
		return nil
	}
	x := args[0]
	u, known := intervalUnits[unit]
	switch {
	case !known:
		c.fail(args[1].at, "wrong-arguments", "%s is no unit of a date or timestamp", unit)
		return nil
	case x.typ.Kind == ddl.Null:
		return c.null(timeType(ddl.Timestamp, 3), e.At)
	case !isTimestamp(x.typ) && x.typ.Kind != ddl.Date:
		c.mismatch(x.at, "%s TO needs a date or timestamp, found %s", strings.ToUpper(e.Name.Last()), base(x.typ))
		return nil
	}
	t := &ddl.Type{Kind: x.typ.Kind, Precision: x.typ.Precision}
	if t.Kind == ddl.Date {
		return c.strict(t, e.At, func(k *call) {
			out := makeValues[int32](k.out, k.n)
			for i, d := range values[int32](k.args[0]) {
				if out[i] = d; d != dateMax && d != dateMin {
					out[i] = int32(floorSeconds(int64(d)*secondsPerDay, 0, unit, u.seconds, up) / secondsPerDay)
				}
			}
		}, x)
	}
	n := c.node(t, e.At, evalStrict, x)
	n.zoned = n.zoned || t.Kind == ddl.TimestampLTZ
	n.kernel = floorStamps(t, unit, u.seconds, up)
	return c.fold(n)
}

func floorStamps(t *ddl.Type, unit string, seconds int64, up bool) kernel {
	per := perSecond(t)
	local := t.Kind == ddl.TimestampLTZ
	return func(k *call) {
		out := makeValues[int64](k.out, k.n)
		if local && !k.f.ready() {
			clear(out)
			return
		}
		for i, x := range values[int64](k.args[0]) {
			if out[i] = x; x == stampMax || x == stampMin {
				continue
			}
			sec, rest := floorDiv(x, per), floorMod(x, per)
			if local {
				sec += k.f.zone.offsetAt(sec)
			}
			sec = floorSeconds(sec, rest, unit, seconds, up)
			if local {
				sec = k.f.zone.instant(sec)
			}
			v, ok := mul64(sec, per)
			if out[i] = v; !ok {
				k.fail(i, "the timestamp is out of range of %s", base(t))
			}
		}
	}
}

// floorSeconds finds the start of a unit on the calendar. rest is the fraction that sec lacks.
func floorSeconds(sec, rest int64, unit string, seconds int64, up bool) int64 {
	day := floorDiv(sec, secondsPerDay)
	months := int64(0)
	var start int64
	switch unit {
	case "WEEK":
		// Weeks start on Sunday, as in Flink.
		start = (day - floorMod(day+4, 7)) * secondsPerDay
	case "YEAR", "QUARTER", "MONTH":
		months = intervalUnits[unit].months
		y, m, _ := civil(day)
		start = days(y, m-(m-1)%int(months), 1) * secondsPerDay
	default:
		start = sec - floorMod(sec, seconds)
	}
	if !up || start == sec && rest == 0 {
		return start
	}
	if months > 0 {
		return addMonths(start/secondsPerDay, months) * secondsPerDay
	}
	return start + seconds
}
