package eval

import (
	"github.com/syncsql/syncsql/ddl"
)

// datetimeArithmetic compiles + - * with dates, times, timestamps and intervals.
func (c *compiler) datetimeArithmetic(op string, e *ddl.Binary, l, r *node) *node {
	if op == "+" && isInterval(l.typ) && isDatetime(r.typ) || op == "*" && isInterval(r.typ) {
		l, r = r, l
	}
	switch {
	case l.typ.Kind == ddl.Null:
		if op == "-" || op == "+" {
			return c.null(r.typ, e.Span())
		}
	case r.typ.Kind == ddl.Null:
		return c.null(l.typ, e.Span())
	case isDatetime(l.typ) && isInterval(r.typ) && (op == "+" || op == "-"):
		return c.shift(op, e, l, r)
	case l.typ.Kind == r.typ.Kind && isInterval(l.typ) && (op == "+" || op == "-"):
		t := timeType(l.typ.Kind, max(l.typ.Precision, r.typ.Precision))
		k := integerKernel[int64](op, t)
		if t.Kind == ddl.IntervalYearMonth {
			k = integerKernel[int32](op, t)
		}
		return c.strict(t, e.Span(), k, c.implicit(l, t), c.implicit(r, t))
	case isInterval(l.typ) && isInteger(r.typ) && op == "*":
		if l.typ.Kind == ddl.IntervalYearMonth {
			return c.strict(l.typ, e.Span(), integerKernel[int32](op, l.typ), l, c.cast(r, of(ddl.Int), r.at, exactly))
		}
		return c.strict(l.typ, e.Span(), integerKernel[int64](op, l.typ), l, c.implicit(r, of(ddl.BigInt)))
	}
	err := c.mismatch(e.Span(), "%s cannot join %s and %s", op, base(l.typ), base(r.typ))
	switch {
	case isDatetime(l.typ) && isDatetime(r.typ):
		err.WithHelp("write TIMESTAMPDIFF(SECOND, a, b) for the time between two moments")
	case isDatetime(l.typ) && isNumeric(r.typ):
		err.WithHelp("write %s INTERVAL '1' DAY", op)
	}
	return nil
}

// shift moves a moment by an interval.
func (c *compiler) shift(op string, e *ddl.Binary, l, r *node) *node {
	sign := int64(1)
	if op == "-" {
		sign = -1
	}
	t := &ddl.Type{Kind: l.typ.Kind, Precision: l.typ.Precision}
	if r.typ.Kind == ddl.IntervalYearMonth {
		if t.Kind == ddl.Time {
			c.mismatch(e.Span(), "a TIME has no months").WithHelp("write INTERVAL '1' HOUR")
			return nil
		}
		k, zoned := shiftMonths(t, sign)
		n := c.node(t, e.Span(), evalStrict, l, r)
		n.kernel, n.zoned = k, n.zoned || zoned
		return c.fold(n)
	}
	if t.Kind == ddl.Date {
		if wholeDays(r) {
			return c.strict(t, e.Span(), shiftDate(r.typ, sign), l, r)
		}
		// A part of a day makes a timestamp of a date.
		t = timeType(ddl.Timestamp, 0)
		l = c.implicit(l, t)
	}
	t.Precision = max(t.Precision, spanDigits(r))
	l = c.implicit(l, t)
	r = c.implicit(r, timeType(ddl.IntervalDaySecond, max(t.Precision, r.typ.Precision)))
	if (r.typ.Precision > 6) != (t.Precision > 6) {
		// The interval counts finer units than the result needs; it was written with more digits than it has.
		r = c.cast(r, timeType(ddl.IntervalDaySecond, t.Precision), r.at, exactly)
	}
	return c.strict(t, e.Span(), shiftSpan(t, sign), l, r)
}

// wholeDays reports a constant interval of full days. One that is not known beforehand counts as such, and is checked row
// by row.
func wholeDays(r *node) bool {
	if r.constant == nil || !r.constant.valid.has(0) {
		return true
	}
	return values[int64](r.constant)[0]%(secondsPerDay*perSecond(r.typ)) == 0
}

// spanDigits is how many digits of a second an interval needs.
func spanDigits(r *node) int {
	if r.constant == nil || !r.constant.valid.has(0) {
		return r.typ.Precision
	}
	x, unit := values[int64](r.constant)[0], perSecond(r.typ)
	digits := 0
	for x%unit != 0 {
		unit /= 10
		digits++
	}
	return digits
}

func shiftDate(interval *ddl.Type, sign int64) kernel {
	day := secondsPerDay * perSecond(interval)
	return func(k *call) {
		out := makeValues[int32](k.out, k.n)
		by := values[int64](k.args[1])
		for i, d := range values[int32](k.args[0]) {
			out[i] = d
			if d == dateMax || d == dateMin {
				continue
			}
			to := int64(d) + sign*(by[i]/day)
			out[i] = int32(to)
			if by[i]%day != 0 {
				k.fail(i, "a DATE moves by whole days only")
			} else if to >= int64(dateMax) || to <= int64(dateMin) {
				k.fail(i, "the date is out of range")
			}
		}
	}
}

func shiftSpan(t *ddl.Type, sign int64) kernel {
	day := secondsPerDay * perSecond(t)
	return func(k *call) {
		out := makeValues[int64](k.out, k.n)
		by := values[int64](k.args[1])
		for i, x := range values[int64](k.args[0]) {
			if t.Kind == ddl.Time {
				out[i] = floorMod(x+sign*(by[i]%day), day)
				continue
			}
			out[i] = x
			if x == stampMax || x == stampMin {
				continue
			}
			to, ok := add64(x, sign*by[i])
			if out[i] = to; !ok || to == stampMax || to == stampMin {
				k.fail(i, "the timestamp is out of range of %s", base(t))
			}
		}
	}
}

func shiftMonths(t *ddl.Type, sign int64) (kernel, bool) {
	if t.Kind == ddl.Date {
		return func(k *call) {
			out := makeValues[int32](k.out, k.n)
			by := values[int32](k.args[1])
			for i, d := range values[int32](k.args[0]) {
				out[i] = d
				if d == dateMax || d == dateMin {
					continue
				}
				to := addMonths(int64(d), sign*int64(by[i]))
				if out[i] = int32(to); to >= int64(dateMax) || to <= int64(dateMin) {
					k.fail(i, "the date is out of range")
				}
			}
		}, false
	}
	local := t.Kind == ddl.TimestampLTZ
	return func(k *call) {
		out := makeValues[int64](k.out, k.n)
		if local && !k.f.ready() {
			clear(out)
			return
		}
		by := values[int32](k.args[1])
		for i, x := range values[int64](k.args[0]) {
			out[i] = x
			if x == stampMax || x == stampMin {
				continue
			}
			to, ok := moveMonths(x, sign*int64(by[i]), t, k.f, local)
			if out[i] = to; !ok {
				k.fail(i, "the timestamp is out of range of %s", base(t))
			}
		}
	}, local
}

// moveMonths moves a timestamp on its calendar, which for TIMESTAMP_LTZ is that of the session's zone.
func moveMonths(x, months int64, t *ddl.Type, f *frame, local bool) (int64, bool) {
	unit := perSecond(t)
	sec, rest := floorDiv(x, unit), floorMod(x, unit)
	if local {
		sec += f.zone.offsetAt(sec)
	}
	sec = addMonths(floorDiv(sec, secondsPerDay), months)*secondsPerDay + floorMod(sec, secondsPerDay)
	if local {
		sec = f.zone.instant(sec)
	}
	to, ok := mul64(sec, unit)
	if !ok {
		return 0, false
	}
	to, ok = add64(to, rest)
	return to, ok && to != stampMax && to != stampMin
}
