package eval

import (
	"bytes"
	"cmp"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/ddl"
)

// compare compiles = <> < <= > >=.
func (c *compiler) compare(op string, at ddl.Span, l, r *node) *node {
	l, r = c.comparable(op, at, l, r)
	if l == nil {
		return nil
	}
	if op == ">" || op == ">=" {
		l, r = r, l
	}
	return c.strict(of(ddl.Boolean), at, comparison(l.typ, r.typ, op), l, r)
}

// comparable brings both sides to one type. DECIMALs keep their own scales: they are compared exactly where a common
// type of 38 digits would lose some.
func (c *compiler) comparable(op string, at ddl.Span, l, r *node) (x, y *node) {
	t := common(l.typ, r.typ)
	if t == nil {
		e := c.mismatch(at, "%s cannot compare %s with %s", op, base(l.typ), base(r.typ))
		if isText(r.typ) {
			e.WithHelp("write CAST(... AS %s) around the right side", base(l.typ))
		} else {
			e.WithHelp("write CAST(... AS %s) around the left side", base(r.typ))
		}
		return nil, nil
	}
	switch {
	case t.Kind == ddl.Null:
		t = of(ddl.Boolean)
	case layoutOf(t) == nestedValues:
		c.mismatch(at, "values of type %s cannot be compared", base(t))
		return nil, nil
	}
	if t.Kind == ddl.Decimal {
		own := func(n *node) *node {
			if n.typ.Kind == ddl.Null {
				return c.null(t, n.at)
			}
			return c.implicit(n, asDecimal(n.typ))
		}
		return own(l), own(r)
	}
	return c.implicit(l, t), c.implicit(r, t)
}

// comparison is the loop of an operator over two columns of one type, which is not nested. > and >= come with swapped sides.
func comparison(l, r *ddl.Type, op string) kernel {
	switch l.Kind {
	case ddl.Boolean:
		return compareBits(op)
	case ddl.TinyInt:
		return ordered[int8](op)
	case ddl.SmallInt:
		return ordered[int16](op)
	case ddl.Int, ddl.Date, ddl.IntervalYearMonth:
		return ordered[int32](op)
	case ddl.BigInt, ddl.Time:
		return ordered[int64](op)
	case ddl.Timestamp, ddl.TimestampLTZ, ddl.IntervalDaySecond:
		return ordered[int64](op)
	case ddl.Float:
		return ordered[float32](op)
	case ddl.Double:
		return ordered[float64](op)
	case ddl.Decimal:
		return compareDecimals(l.Scale, r.Scale, op)
	}
	return compareText(op)
}

func ordered[T cmp.Ordered](op string) kernel {
	switch op {
	case "=", "<>", "!=":
		var flip uint64
		if op != "=" {
			flip = ^uint64(0)
		}
		return func(k *call) {
			a, b := values[T](k.args[0]), values[T](k.args[1])
			out := k.out.makeBits(k.n)
			for w := range out {
				lo := w << 6
				hi := min(lo+64, k.n)
				x, y := a[lo:hi], b[lo:hi]
				y = y[:len(x)]
				var word uint64
				for j := range x {
					word |= bit(x[j] == y[j]) << (j & 63)
				}
				out[w] = word ^ flip
			}
		}
	case "<", ">":
		return func(k *call) {
			a, b := values[T](k.args[0]), values[T](k.args[1])
			out := k.out.makeBits(k.n)
			for w := range out {
				lo := w << 6
				hi := min(lo+64, k.n)
				x, y := a[lo:hi], b[lo:hi]
				y = y[:len(x)]
				var word uint64
				for j := range x {
					word |= bit(x[j] < y[j]) << (j & 63)
				}
				out[w] = word
			}
		}
	}
	return func(k *call) {
		a, b := values[T](k.args[0]), values[T](k.args[1])
		out := k.out.makeBits(k.n)
		for w := range out {
			lo := w << 6
			hi := min(lo+64, k.n)
			x, y := a[lo:hi], b[lo:hi]
			y = y[:len(x)]
			var word uint64
			for j := range x {
				word |= bit(x[j] <= y[j]) << (j & 63)
			}
			out[w] = word
		}
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func compareBits(op string) kernel {
	return func(k *call) {
		a, b := k.args[0].bits, k.args[1].bits
		out := k.out.makeBits(k.n)
		for w := range out {
			x, y := a[w], b[w]
			switch op {
			case "=":
				out[w] = ^(x ^ y)
			case "<>", "!=":
				out[w] = x ^ y
			case "<", ">":
				out[w] = ^x & y
			default:
				out[w] = ^x | y
			}
		}
	}
}

// holds tells what an operator says of a three-way comparison, sides swapped for > and >=.
func holds(op string) (less, equal, greater bool) {
	switch op {
	case "=":
		return false, true, false
	case "<>", "!=":
		return true, false, true
	case "<", ">":
		return true, false, false
	}
	return true, true, false
}

func compareText(op string) kernel {
	if op == "=" || op == "<>" || op == "!=" {
		return func(k *call) {
			a, b := k.args[0], k.args[1]
			out := k.out.makeBits(k.n)
			out.fill(false)
			for i := range k.n {
				out[i>>6] |= bit(bytes.Equal(a.at(i), b.at(i)) == (op == "=")) << (i & 63)
			}
		}
	}
	less, equal, _ := holds(op)
	return func(k *call) {
		a, b := k.args[0], k.args[1]
		out := k.out.makeBits(k.n)
		out.fill(false)
		for i := range k.n {
			order := bytes.Compare(a.at(i), b.at(i))
			out[i>>6] |= bit(order < 0 && less || order == 0 && equal) << (i & 63)
		}
	}
}

func compareDecimals(ls, rs int, op string) kernel {
	less, equal, greater := holds(op)
	return func(k *call) {
		a, b := values[decimal128.Num](k.args[0]), values[decimal128.Num](k.args[1])
		out := k.out.makeBits(k.n)
		out.fill(false)
		for i := range a {
			order := compareScaled(a[i], b[i], ls, rs)
			yes := order < 0 && less || order == 0 && equal || order > 0 && greater
			out[i>>6] |= bit(yes) << (i & 63)
		}
	}
}

// distinct is IS [NOT] DISTINCT FROM: equality in which NULL equals NULL. Never NULL itself.
func (c *compiler) distinct(at ddl.Span, l, r *node, not bool) *node {
	l, r = c.comparable("IS DISTINCT FROM", at, l, r)
	if l == nil {
		return nil
	}
	same := comparison(l.typ, r.typ, "=")
	var flip uint64
	if not {
		flip = ^uint64(0)
	}
	n := c.node(&ddl.Type{Kind: ddl.Boolean, NotNull: true}, at, func(n *node, f *frame, live mask) *vec {
		s := &f.slots[n.slot]
		a, b := n.args[0].eval(f, live), n.args[1].eval(f, live)
		s.call = call{f: f, out: &s.out, args: append(s.call.args[:0], a, b), n: f.n, live: live}
		s.out.valid = nil
		same(&s.call)
		bits := s.out.bits
		for w := range bits {
			av, bv := a.valid.word(w), b.valid.word(w)
			bits[w] = (bits[w]&av&bv | ^av&^bv) ^ flip
		}
		return &s.out
	}, l, r)
	return c.fold(n)
}

// between is lo <= x AND x <= hi, with x evaluated once.
func (c *compiler) between(e *ddl.Between) *node {
	args, ok := c.all(e.X, e.Lo, e.Hi)
	if !ok {
		return nil
	}
	x := c.memo(args[0])
	low, high := c.compare(">=", e.At, x, args[1]), c.compare("<=", e.At, x, args[2])
	if low == nil || high == nil {
		return nil
	}
	n := c.logic("AND", e.At, low, high)
	if e.Not {
		return c.strict(of(ddl.Boolean), e.At, notKernel, n)
	}
	return n
}
