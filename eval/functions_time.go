package eval

import (
	"time"

	"github.com/syncsql/syncsql/ddl"
)

func timeFunctions() []function {
	now := func(name string, t *ddl.Type, bare bool, doc string, aliases ...string) function {
		usage := name + "()"
		if bare {
			usage = name
		}
		return function{name: name, aliases: aliases, usage: usage, doc: doc, volatile: true, bare: bare,
			result: returns(t), build: func(c *compiler, e *ddl.Call, _ []*node) *node { return c.clock(t, e.At) }}
	}
	list := []function{
		now("CURRENT_TIMESTAMP", timeType(ddl.TimestampLTZ, 3), true, "The time at which the batch is evaluated.", "NOW", "PROCTIME", "CURRENT_ROW_TIMESTAMP"),
		now("LOCALTIMESTAMP", timeType(ddl.Timestamp, 3), true, "The time at which the batch is evaluated, on the session zone's clock."),
		now("CURRENT_DATE", of(ddl.Date), true, "The date in the session's time zone."),
		now("CURRENT_TIME", timeType(ddl.Time, 0), true, "The time of day in the session's time zone.", "LOCALTIME"),
		{name: "EXTRACT", usage: "EXTRACT(unit FROM x)", doc: "One field of a date, time or timestamp.",
			params: []param{aText, {"a date, time or timestamp", isDatetime, nil}}, least: 2, build: buildExtract},
		{name: "TO_TIMESTAMP_LTZ", usage: "TO_TIMESTAMP_LTZ(number, digits)",
			doc:    "The instant that many units after 1970; digits is 0 for seconds, 3 for milliseconds, 6 or 9.",
			params: []param{anInt, anInt}, least: 1, build: buildToTimestampLTZ},
		{name: "TO_DATE", usage: "TO_DATE(text)", doc: "The date of a text yyyy-MM-dd.", params: []param{aText}, least: 1,
			build: func(c *compiler, e *ddl.Call, args []*node) *node {
				return c.cast(args[0], of(ddl.Date), e.At, explicit)
			}},
		{name: "TO_TIMESTAMP", usage: "TO_TIMESTAMP(text)", doc: "The timestamp of a text yyyy-MM-dd HH:mm:ss.", params: []param{aText}, least: 1,
			build: func(c *compiler, e *ddl.Call, args []*node) *node {
				return c.cast(args[0], timeType(ddl.Timestamp, 3), e.At, explicit)
			}},
		{name: "TIMESTAMPADD", usage: "TIMESTAMPADD(unit, n, x)", doc: "x moved by n units.",
			params: []param{aText, anInt, aMoment}, least: 3, build: buildTimestampAdd},
		{name: "TIMESTAMPDIFF", usage: "TIMESTAMPDIFF(unit, a, b)", doc: "How many full units b lies after a.",
			params: []param{aText, aMoment, aMoment}, least: 3, build: buildTimestampDiff},
	}
	for _, unit := range []string{"YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK", "HOUR", "MINUTE", "SECOND"} {
		list = append(list, function{name: unit, usage: unit + "(x)", doc: "The same as EXTRACT(" + fieldOf(unit) + " FROM x).",
			params: []param{{"a date, time or timestamp", isDatetime, nil}}, least: 1,
			build: func(c *compiler, e *ddl.Call, args []*node) *node { return c.extract(fieldOf(unit), e.At, args[0]) }})
	}
	return list
}

func fieldOf(name string) string {
	switch name {
	case "DAYOFYEAR":
		return "DOY"
	case "DAYOFMONTH":
		return "DAY"
	case "DAYOFWEEK":
		return "DOW"
	}
	return name
}

// clock is the evaluation's time as a column of one value.
func (c *compiler) clock(t *ddl.Type, at ddl.Span) *node {
	n := c.node(t, at, evalClock)
	n.volatile, n.zoned = true, true
	return n
}

func evalClock(n *node, f *frame, _ mask) *vec {
	if !f.hasNow {
		f.now, f.hasNow = time.Now().UnixMicro(), true
		if f.ctx.Now != nil {
			f.now = f.ctx.Now()
		}
	}
	x := f.now
	if n.typ.Kind != ddl.TimestampLTZ && f.ready() {
		x += f.zone.offsetAt(floorDiv(x, 1e6)) * 1e6
	}
	out := &f.slots[n.slot].out
	out.valid = nil
	if n.typ.Kind == ddl.Date {
		fillWith(makeValues[int32](out, f.n), int32(floorDiv(x, secondsPerDay*1e6)))
		return out
	}
	if n.typ.Kind == ddl.Time {
		x = floorMod(x, secondsPerDay*1e6)
	}
	fillWith(makeValues[int64](out, f.n), x-floorMod(x, grain(n.typ)))
	return out
}

func fillWith[T any](out []T, x T) {
	for i := range out {
		out[i] = x
	}
}

// unitOf reads a unit argument, which the parser hands over as text.
func (c *compiler) unitOf(e *ddl.Call, a *node) (string, bool) {
	if a.constant == nil || !a.constant.valid.has(0) {
		c.fail(a.at, "wrong-arguments", "the unit must be a word such as DAY")
		return "", false
	}
	return bareUnit(string(a.constant.at(0))), true
}

func buildExtract(c *compiler, e *ddl.Call, args []*node) *node {
	unit, ok := c.unitOf(e, args[0])
	if !ok {
		return nil
	}
	return c.extract(unit, e.At, args[1])
}

// instantParts are the fields of a moment.
type instantParts struct {
	day  int64 // since 1970
	sec  int64 // of the day
	nano int64
}

var extractFields = map[string]func(p instantParts) int64{
	"YEAR":        func(p instantParts) int64 { y, _, _ := civil(p.day); return y },
	"QUARTER":     func(p instantParts) int64 { _, m, _ := civil(p.day); return int64(m+2) / 3 },
	"MONTH":       func(p instantParts) int64 { _, m, _ := civil(p.day); return int64(m) },
	"DAY":         func(p instantParts) int64 { _, _, d := civil(p.day); return int64(d) },
	"DOY":         func(p instantParts) int64 { y, _, _ := civil(p.day); return p.day - days(y, 1, 1) + 1 },
	"DOW":         func(p instantParts) int64 { return floorMod(p.day+4, 7) + 1 },
	"ISODOW":      func(p instantParts) int64 { return floorMod(p.day+3, 7) + 1 },
	"WEEK":        func(p instantParts) int64 { _, w := isoWeek(p.day); return w },
	"ISOYEAR":     func(p instantParts) int64 { y, _ := isoWeek(p.day); return y },
	"EPOCH":       func(p instantParts) int64 { return p.day*secondsPerDay + p.sec },
	"DECADE":      func(p instantParts) int64 { y, _, _ := civil(p.day); return floorDiv(y, 10) },
	"CENTURY":     func(p instantParts) int64 { y, _, _ := civil(p.day); return floorDiv(y+99, 100) },
	"MILLENNIUM":  func(p instantParts) int64 { y, _, _ := civil(p.day); return floorDiv(y+999, 1000) },
	"HOUR":        func(p instantParts) int64 { return p.sec / 3600 },
	"MINUTE":      func(p instantParts) int64 { return p.sec / 60 % 60 },
	"SECOND":      func(p instantParts) int64 { return p.sec % 60 },
	"MILLISECOND": func(p instantParts) int64 { return p.nano / 1e6 },
	"MICROSECOND": func(p instantParts) int64 { return p.nano / 1e3 },
	"NANOSECOND":  func(p instantParts) int64 { return p.nano },
}

var clockFields = map[string]bool{"HOUR": true, "MINUTE": true, "SECOND": true, "MILLISECOND": true, "MICROSECOND": true, "NANOSECOND": true}

// isoWeek is the week that ISO 8601 counts: it belongs to the year of its Thursday.
func isoWeek(day int64) (year, week int64) {
	thursday := day - floorMod(day+3, 7) + 3
	y, _, _ := civil(thursday)
	return y, (thursday-days(y, 1, 1))/7 + 1
}

func (c *compiler) extract(unit string, at ddl.Span, x *node) *node {
	field := extractFields[unit]
	if field == nil || x.typ.Kind == ddl.Time && !clockFields[unit] {
		c.fail(at, "wrong-arguments", "%s has no field %s", base(x.typ), unit)
		return nil
	}
	if x.typ.Kind == ddl.Null {
		return c.null(of(ddl.BigInt), at)
	}
	n := c.node(of(ddl.BigInt), at, evalStrict, x)
	n.zoned = n.zoned || x.typ.Kind == ddl.TimestampLTZ
	n.kernel = extractKernel(x.typ, field)
	return c.fold(n)
}

func extractKernel(t *ddl.Type, field func(instantParts) int64) kernel {
	if t.Kind == ddl.Date {
		return func(k *call) {
			out := makeValues[int64](k.out, k.n)
			for i, d := range values[int32](k.args[0]) {
				if out[i] = field(instantParts{day: int64(d)}); d == dateMax || d == dateMin {
					k.fail(i, "an infinite date has no fields")
				}
			}
		}
	}
	unit := perSecond(t)
	return func(k *call) {
		out := makeValues[int64](k.out, k.n)
		local := t.Kind == ddl.TimestampLTZ
		if local && !k.f.ready() {
			clear(out)
			return
		}
		for i, x := range values[int64](k.args[0]) {
			if x == stampMax || x == stampMin {
				out[i] = 0
				k.fail(i, "an infinite timestamp has no fields")
				continue
			}
			sec, rest := floorDiv(x, unit), floorMod(x, unit)
			if local {
				sec += k.f.zone.offsetAt(sec)
			}
			out[i] = field(instantParts{floorDiv(sec, secondsPerDay), floorMod(sec, secondsPerDay), rest * (1e9 / unit)})
		}
	}
}

func buildToTimestampLTZ(c *compiler, e *ddl.Call, args []*node) *node {
	digits := int64(3)
	if len(args) == 2 {
		if args[1].constant == nil || !args[1].constant.valid.has(0) {
			c.fail(args[1].at, "wrong-arguments", "the number of digits must be a constant")
			return nil
		}
		digits = values[int64](args[1].constant)[0]
	}
	if digits != 0 && digits != 3 && digits != 6 && digits != 9 {
		c.fail(args[1].at, "wrong-arguments", "TO_TIMESTAMP_LTZ counts in 0, 3, 6 or 9 digits of a second").
			WithHelp("write 0 for seconds, 3 for milliseconds")
		return nil
	}
	t := timeType(ddl.TimestampLTZ, max(3, int(digits)))
	factor := perSecond(t) / int64(pow10u64[digits])
	return c.strict(t, e.At, func(k *call) {
		out := makeValues[int64](k.out, k.n)
		for i, x := range values[int64](k.args[0]) {
			v, ok := mul64(x, factor)
			if out[i] = v; !ok || v == stampMax || v == stampMin {
				k.fail(i, "%d is out of range of %s", x, base(t))
			}
		}
	}, args[0])
}

func buildTimestampAdd(c *compiler, e *ddl.Call, args []*node) *node {
	unit, ok := c.unitOf(e, args[0])
	if !ok {
		return nil
	}
	u, known := intervalUnits[unit]
	if !known {
		c.fail(args[0].at, "wrong-arguments", "%s is no unit of an interval", unit)
		return nil
	}
	var step *node
	if u.months > 0 {
		step = fixedConstant(c, of(ddl.IntervalYearMonth), args[0].at, int32(u.months))
	} else {
		step = fixedConstant(c, timeType(ddl.IntervalDaySecond, 3), args[0].at, u.seconds*1e6)
	}
	n := &ddl.Binary{OpAt: e.At, Op: "*", L: e.Args[1], R: e.Args[0]}
	by := c.datetimeArithmetic("*", n, step, args[1])
	if by == nil {
		return nil
	}
	x := args[2]
	if x.typ.Kind == ddl.Date && u.months == 0 && u.seconds < secondsPerDay {
		x = c.implicit(x, timeType(ddl.Timestamp, 0))
	}
	if x.typ.Kind == ddl.Null {
		return c.null(timeType(ddl.Timestamp, 3), e.At)
	}
	moved := c.datetimeArithmetic("+", &ddl.Binary{OpAt: e.At, Op: "+", L: e.Args[2], R: e.Args[1]}, x, by)
	if moved != nil && isTimestamp(moved.typ) && moved.typ.Precision > x.typ.Precision {
		return c.cast(moved, x.typ, e.At, exactly)
	}
	return moved
}

// buildTimestampDiff counts full units, towards zero.
func buildTimestampDiff(c *compiler, e *ddl.Call, args []*node) *node {
	unit, ok := c.unitOf(e, args[0])
	if !ok {
		return nil
	}
	u, known := intervalUnits[unit]
	if !known {
		c.fail(args[0].at, "wrong-arguments", "%s is no unit of an interval", unit)
		return nil
	}
	a, b := args[1], args[2]
	if a.typ.Kind == ddl.Null || b.typ.Kind == ddl.Null {
		return c.null(of(ddl.Int), e.At)
	}
	if a.typ.Kind != ddl.TimestampLTZ && b.typ.Kind != ddl.TimestampLTZ {
		t := timeType(ddl.Timestamp, max(a.typ.Precision, b.typ.Precision))
		a, b = c.implicit(a, t), c.implicit(b, t)
	} else if a.typ.Kind == b.typ.Kind {
		t := timeType(ddl.TimestampLTZ, max(a.typ.Precision, b.typ.Precision))
		a, b = c.implicit(a, t), c.implicit(b, t)
	} else {
		c.mismatch(e.At, "TIMESTAMPDIFF cannot compare %s with %s", base(a.typ), base(b.typ)).
			WithHelp("write CAST(... AS %s)", base(a.typ))
		return nil
	}
	return c.strict(of(ddl.Int), e.At, diffKernel(a.typ, u.months, u.seconds), a, b)
}

func diffKernel(t *ddl.Type, months, seconds int64) kernel {
	unit := perSecond(t)
	return func(k *call) {
		out := makeValues[int32](k.out, k.n)
		from, to := values[int64](k.args[0]), values[int64](k.args[1])
		for i := range out {
			a, b := from[i], to[i]
			var n int64
			if months > 0 {
				n = monthsBetween(a, b, unit) / months
			} else {
				diff := b - a
				n = diff / (unit * seconds)
				if (b < a) != (diff < 0) {
					k.fail(i, "the difference is out of range")
				}
			}
			if out[i] = int32(n); int64(out[i]) != n {
				k.fail(i, "the difference is out of range of INT")
			}
		}
	}
}

// monthsBetween counts full months from a to b.
func monthsBetween(a, b, unit int64) int64 {
	day := secondsPerDay * unit
	ad, bd := floorDiv(a, day), floorDiv(b, day)
	ay, am, _ := civil(ad)
	by, bm, _ := civil(bd)
	n := (by-ay)*12 + int64(bm-am)
	// A month is full when moving a by it does not pass b.
	at, rest := addMonths(ad, n), floorMod(a, day)
	late := at > bd || at == bd && rest > floorMod(b, day)
	early := at < bd || at == bd && rest < floorMod(b, day)
	switch {
	case n > 0 && late:
		n--
	case n < 0 && early:
		n++
	}
	return n
}
