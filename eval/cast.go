package eval

import (
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/ddl"
)

// castMode is who asked for a conversion.
type castMode uint8

const (
	explicit castMode = iota // CAST: fractions are rounded or cut as SQL says; what is out of range is a row error
	trying                   // TRY_CAST: as CAST, but NULL instead of a row error
	exactly                  // not written by the user: any loss is a row error
)

func (c *compiler) castExpr(e *ddl.Cast) *node {
	x := c.expr(e.X)
	if x == nil {
		return nil
	}
	mode := explicit
	if e.Try {
		mode = trying
	}
	return c.cast(x, e.Type, e.At, mode)
}

// implicit converts to a type that common found.
func (c *compiler) implicit(x *node, t *ddl.Type) *node { return c.cast(x, t, x.at, exactly) }

// cast converts x to a type.
func (c *compiler) cast(x *node, t *ddl.Type, at ddl.Span, mode castMode) *node {
	if x.typ.Kind == ddl.Null {
		return c.castNull(x, t, at)
	}
	if x.typ.Equal(t) {
		return x
	}
	if sameStorage(x.typ, t, mode) {
		r := *x
		r.typ = t
		return &r
	}
	k, zoned := castKernel(x.typ, t, mode)
	if k == nil {
		c.castRefused(x.typ, t, at)
		return nil
	}
	n := c.node(t, at, evalStrict, x)
	n.kernel, n.try = k, mode == trying
	n.zoned = n.zoned || zoned
	return c.fold(n)
}

func (c *compiler) castNull(x *node, t *ddl.Type, at ddl.Span) *node {
	if layoutOf(t) == nestedValues {
		c.fail(at, "unsupported-expression", "NULL of type %s cannot be made", base(t))
		return nil
	}
	if x.constant != nil || t.Kind == ddl.Null {
		return c.null(t, at)
	}
	return c.strict(t, at, func(k *call) { k.out.allNull(t, k.n) }, x)
}

func (c *compiler) castRefused(from, to *ddl.Type, at ddl.Span) {
	e := c.mismatch(at, "%s cannot be cast to %s", base(from), base(to))
	switch {
	case isNumeric(from) && isTimestamp(to):
		e.WithHelp("write TO_TIMESTAMP_LTZ(x, 0) for seconds or TO_TIMESTAMP_LTZ(x, 3) for milliseconds since 1970")
	case from.Kind == ddl.Time && isTimestamp(to):
		e.WithHelp("a TIME has no date: build the text of a timestamp and cast that")
	}
}

// sameStorage reports types whose values are the same bytes, so that a column passes uncopied.
func sameStorage(from, to *ddl.Type, mode castMode) bool {
	switch {
	case isText(from) && isText(to):
		return mode == exactly || to.Kind == ddl.Varchar && from.Length <= to.Length
	case isBinary(from) && isBinary(to):
		return mode == exactly || to.Kind == ddl.Varbinary && from.Length <= to.Length
	case from.Kind == to.Kind && (isDatetime(from) || from.Kind == ddl.IntervalDaySecond):
		return from.Precision <= to.Precision && (from.Precision > 6) == (to.Precision > 6)
	case from.Kind == ddl.IntervalYearMonth && to.Kind == ddl.IntervalYearMonth:
		return true
	case from.Kind == ddl.Decimal && to.Kind == ddl.Decimal:
		return false // the Arrow type holds the precision
	}
	return mode == exactly && layoutOf(from) == nestedValues && from.Kind == to.Kind && implicitNested(from, to)
}

// castKernel finds the loop of a conversion; nil when there is none. zoned: it depends on the session's time zone.
func castKernel(from, to *ddl.Type, mode castMode) (k kernel, zoned bool) {
	switch {
	case isText(from) && isText(to):
		return cutText(to), false
	case isBinary(from) && isBinary(to):
		return cutBytes(to), false
	case isText(to):
		return toText(from, to)
	case isText(from):
		return fromText(to)
	case isInteger(from) || isFloat(from):
		return castNumber(from, to), false
	case from.Kind == ddl.Boolean:
		return castBoolean(to), false
	case from.Kind == ddl.Decimal:
		return castDecimal(from, to, mode), false
	case isDatetime(from):
		return castDatetime(from, to)
	case from.Kind == ddl.IntervalDaySecond && to.Kind == ddl.IntervalDaySecond:
		return castUnits(from, to), false
	}
	return nil, false
}

func castNumber(from, to *ddl.Type) kernel {
	switch from.Kind {
	case ddl.TinyInt:
		return castInteger[int8](to)
	case ddl.SmallInt:
		return castInteger[int16](to)
	case ddl.Int:
		return castInteger[int32](to)
	case ddl.BigInt:
		return castInteger[int64](to)
	case ddl.Float:
		return castFloat[float32](to)
	}
	return castFloat[float64](to)
}

func castInteger[F integer](to *ddl.Type) kernel {
	switch to.Kind {
	case ddl.Boolean:
		return toBoolean[F]()
	case ddl.TinyInt:
		return narrow[F, int8](to)
	case ddl.SmallInt:
		return narrow[F, int16](to)
	case ddl.Int:
		return narrow[F, int32](to)
	case ddl.BigInt:
		return widen[F, int64]
	case ddl.Float:
		return widen[F, float32]
	case ddl.Double:
		return widen[F, float64]
	case ddl.Decimal:
		return func(k *call) {
			out := makeValues[decimal128.Num](k.out, k.n)
			for i, x := range values[F](k.args[0]) {
				v, _, ok := rescale(decimal128.FromI64(int64(x)), 0, to.Scale, to.Precision)
				if out[i] = v; !ok {
					k.fail(i, "%d is out of range of %s", x, base(to))
				}
			}
		}
	}
	return nil
}

type number interface{ integer | float }

func widen[F, T number](k *call) {
	out := makeValues[T](k.out, k.n)
	in := values[F](k.args[0])
	in = in[:len(out)]
	for i := range out {
		out[i] = T(in[i])
	}
}

func narrow[F, T integer](to *ddl.Type) kernel {
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		for i, x := range values[F](k.args[0]) {
			out[i] = T(x)
			if F(out[i]) != x {
				k.fail(i, "%d is out of range of %s", x, base(to))
			}
		}
	}
}

func toBoolean[F number]() kernel {
	return func(k *call) {
		bits := k.out.makeBits(k.n)
		bits.fill(false)
		for i, x := range values[F](k.args[0]) {
			if x != 0 {
				bits.set(i)
			}
		}
	}
}

func castFloat[F float](to *ddl.Type) kernel {
	switch to.Kind {
	case ddl.Boolean:
		return toBoolean[F]()
	case ddl.TinyInt:
		return truncate[F, int8](to)
	case ddl.SmallInt:
		return truncate[F, int16](to)
	case ddl.Int:
		return truncate[F, int32](to)
	case ddl.BigInt:
		return truncate[F, int64](to)
	case ddl.Float:
		return func(k *call) {
			out := makeValues[float32](k.out, k.n)
			for i, x := range values[F](k.args[0]) {
				out[i] = float32(x)
				if math.IsInf(float64(out[i]), 0) && !math.IsInf(float64(x), 0) {
					k.fail(i, "%v is out of range of FLOAT", x)
				}
			}
		}
	case ddl.Double:
		return widen[F, float64]
	case ddl.Decimal:
		return func(k *call) {
			out := makeValues[decimal128.Num](k.out, k.n)
			var buf [32]byte
			for i, x := range values[F](k.args[0]) {
				v, _, ok := parseDecimal(appendFloat(buf[:0], float64(x), floatSize[F]()), to.Precision, to.Scale)
				if out[i] = v; !ok {
					k.fail(i, "%v is out of range of %s", x, base(to))
				}
			}
		}
	}
	return nil
}

func floatSize[F float]() int {
	var f F
	return int(unsafe.Sizeof(f)) * 8
}

// truncate cuts the fraction, as CAST asks for.
func truncate[F float, T integer](to *ddl.Type) kernel {
	var t T
	limit := math.Ldexp(1, int(unsafe.Sizeof(t))*8-1)
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		for i, x := range values[F](k.args[0]) {
			y := math.Trunc(float64(x))
			if !(y >= -limit && y < limit) {
				out[i] = 0
				k.fail(i, "%v is out of range of %s", x, base(to))
				continue
			}
			out[i] = T(y)
		}
	}
}

func castBoolean(to *ddl.Type) kernel {
	switch to.Kind {
	case ddl.TinyInt:
		return fromBoolean[int8]
	case ddl.SmallInt:
		return fromBoolean[int16]
	case ddl.Int:
		return fromBoolean[int32]
	case ddl.BigInt:
		return fromBoolean[int64]
	case ddl.Float:
		return fromBoolean[float32]
	case ddl.Double:
		return fromBoolean[float64]
	case ddl.Decimal:
		return func(k *call) {
			out := makeValues[decimal128.Num](k.out, k.n)
			for i := range out {
				v, _, ok := rescale(decimal128.FromU64(bit(k.args[0].bits.has(i))), 0, to.Scale, to.Precision)
				if out[i] = v; !ok {
					k.fail(i, "1 is out of range of %s", base(to))
				}
			}
		}
	}
	return nil
}

func fromBoolean[T number](k *call) {
	out := makeValues[T](k.out, k.n)
	for i := range out {
		out[i] = T(bit(k.args[0].bits.has(i)))
	}
}

func castDecimal(from, to *ddl.Type, mode castMode) kernel {
	scale := from.Scale
	switch to.Kind {
	case ddl.Decimal:
		return func(k *call) {
			out := makeValues[decimal128.Num](k.out, k.n)
			for i, x := range values[decimal128.Num](k.args[0]) {
				v, exact, ok := rescale(x, scale, to.Scale, to.Precision)
				out[i] = v
				if !ok || mode == exactly && !exact {
					k.fail(i, "%s does not fit %s exactly", x.ToString(int32(scale)), base(to))
				}
			}
		}
	case ddl.TinyInt:
		return decimalToInteger[int8](scale, to, mode)
	case ddl.SmallInt:
		return decimalToInteger[int16](scale, to, mode)
	case ddl.Int:
		return decimalToInteger[int32](scale, to, mode)
	case ddl.BigInt:
		return decimalToInteger[int64](scale, to, mode)
	case ddl.Float:
		return decimalToFloat[float32](scale)
	case ddl.Double:
		return decimalToFloat[float64](scale)
	case ddl.Boolean:
		return func(k *call) {
			bits := k.out.makeBits(k.n)
			bits.fill(false)
			for i, x := range values[decimal128.Num](k.args[0]) {
				if x != (decimal128.Num{}) {
					bits.set(i)
				}
			}
		}
	}
	return nil
}

// decimalToInteger cuts the fraction, as Flink's CAST does.
func decimalToInteger[T integer](scale int, to *ddl.Type, mode castMode) kernel {
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		for i, x := range values[decimal128.Num](k.args[0]) {
			m, negative := magnitude(x)
			exact := true
			for left := scale; left > 0; left -= min(left, 19) {
				var r uint64
				m, r = m.over(pow10u64[min(left, 19)])
				exact = exact && r == 0
			}
			whole := m.signed(negative)
			out[i] = T(whole.LowBits())
			if decimal128.FromI64(int64(out[i])) != whole || mode == exactly && !exact {
				k.fail(i, "%s is out of range of %s", x.ToString(int32(scale)), base(to))
			}
		}
	}
}
