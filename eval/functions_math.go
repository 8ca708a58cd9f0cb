package eval

import (
	"crypto/rand"
	"encoding/hex"
	"math"
	mathrand "math/rand/v2"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/ddl"
)

func mathFunctions() []function {
	list := []function{
		{name: "ABS", usage: "ABS(x)", doc: "The value without its sign.", params: []param{aNumber}, least: 1, result: returnsFirst, kernel: absKernel},
		{name: "SIGN", usage: "SIGN(x)", doc: "-1, 0 or 1.", params: []param{aNumber}, least: 1, result: returnsFirst, kernel: signKernel},
		{name: "ROUND", usage: "ROUND(x[, digits])", doc: "x rounded half up to a number of digits behind the point.",
			params: []param{aNumber, anInt}, least: 1, build: buildRound},
		{name: "FLOOR", usage: "FLOOR(x)", doc: "The largest whole number that is not above x; of a moment, FLOOR(x TO unit), the start of its unit.",
			params: []param{anything, aText}, least: 1, build: buildFloor},
		{name: "CEIL", aliases: []string{"CEILING"}, usage: "CEIL(x)", doc: "The smallest whole number that is not below x.",
			params: []param{anything, aText}, least: 1, build: buildFloor},
		{name: "MOD", usage: "MOD(a, b)", doc: "The rest of a / b, with the sign of a.", params: []param{aNumber, aNumber}, least: 2,
			build: func(c *compiler, e *ddl.Call, args []*node) *node {
				return c.arithmetic("%", &ddl.Binary{OpAt: e.At, Op: "%", L: e.Args[0], R: e.Args[1]}, args[0], args[1])
			}},
		{name: "POWER", usage: "POWER(a, b)", doc: "a to the power of b.", params: []param{aDouble, aDouble}, least: 2,
			result: returns(of(ddl.Double)), kernel: plain(func(k *call) {
				out, a, b := makeValues[float64](k.out, k.n), values[float64](k.args[0]), values[float64](k.args[1])
				for i := range out {
					out[i] = math.Pow(a[i], b[i])
				}
			})},
		{name: "PI", usage: "PI()", doc: "The number pi.", build: func(c *compiler, e *ddl.Call, _ []*node) *node {
			return fixedConstant(c, of(ddl.Double), e.At, math.Pi)
		}},
		{name: "E", usage: "E()", doc: "The base of the natural logarithm.", build: func(c *compiler, e *ddl.Call, _ []*node) *node {
			return fixedConstant(c, of(ddl.Double), e.At, math.E)
		}},
		{name: "RAND", usage: "RAND()", doc: "A random number from 0 up to 1.", volatile: true, build: func(c *compiler, e *ddl.Call, _ []*node) *node {
			return c.node(of(ddl.Double), e.At, func(n *node, f *frame, _ mask) *vec {
				out := &f.slots[n.slot].out
				out.valid = nil
				for i := range makeValues[float64](out, f.n) {
					values[float64](out)[i] = mathrand.Float64()
				}
				return out
			})
		}},
		{name: "UUID", usage: "UUID()", doc: "A random UUID.", volatile: true, build: func(c *compiler, e *ddl.Call, _ []*node) *node {
			return c.node(&ddl.Type{Kind: ddl.Char, Length: 36, NotNull: true}, e.At, evalUUID)
		}},
	}
	for _, f := range []struct {
		name, doc string
		f         func(float64) float64
	}{
		{"SQRT", "The square root.", math.Sqrt}, {"EXP", "e to the power of x.", math.Exp}, {"LN", "The natural logarithm.", math.Log},
		{"LOG10", "The logarithm to the base 10.", math.Log10}, {"LOG2", "The logarithm to the base 2.", math.Log2},
		{"SIN", "The sine.", math.Sin}, {"COS", "The cosine.", math.Cos}, {"TAN", "The tangent.", math.Tan},
		{"ASIN", "The arc sine.", math.Asin}, {"ACOS", "The arc cosine.", math.Acos}, {"ATAN", "The arc tangent.", math.Atan},
		{"DEGREES", "Radians as degrees.", func(x float64) float64 { return x * 180 / math.Pi }},
		{"RADIANS", "Degrees as radians.", func(x float64) float64 { return x * math.Pi / 180 }},
	} {
		list = append(list, function{name: f.name, usage: f.name + "(x)", doc: f.doc, params: []param{aDouble}, least: 1,
			result: returns(of(ddl.Double)), kernel: plain(func(k *call) {
				out := makeValues[float64](k.out, k.n)
				for i, x := range values[float64](k.args[0]) {
					out[i] = f.f(x)
				}
			})})
	}
	return list
}

func evalUUID(n *node, f *frame, _ mask) *vec {
	out := &f.slots[n.slot].out
	off, data := out.makeText(f.n)
	var id [16]byte
	for i := range f.n {
		rand.Read(id[:])
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		for j, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
			if j > 0 {
				data = append(data, '-')
			}
			data = hex.AppendEncode(data, part)
		}
		off[i+1] = int32(len(data))
	}
	out.endText(data)
	out.valid = nil
	return out
}

func absKernel(args []*ddl.Type, t *ddl.Type) kernel {
	switch t.Kind {
	case ddl.TinyInt:
		return absIntegers[int8](t)
	case ddl.SmallInt:
		return absIntegers[int16](t)
	case ddl.Int:
		return absIntegers[int32](t)
	case ddl.BigInt:
		return absIntegers[int64](t)
	case ddl.Float:
		return absFloats[float32]
	case ddl.Double:
		return absFloats[float64]
	}
	return func(k *call) {
		out := makeValues[decimal128.Num](k.out, k.n)
		for i, x := range values[decimal128.Num](k.args[0]) {
			out[i] = x.Abs()
		}
	}
}

func absIntegers[T integer](t *ddl.Type) kernel {
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		for i, x := range values[T](k.args[0]) {
			if out[i] = max(x, -x); x < 0 && x == -x {
				k.fail(i, "ABS(%d) is out of range of %s", x, base(t))
			}
		}
	}
}

func absFloats[T float](k *call) {
	out := makeValues[T](k.out, k.n)
	for i, x := range values[T](k.args[0]) {
		out[i] = T(math.Abs(float64(x)))
	}
}

func signKernel(args []*ddl.Type, t *ddl.Type) kernel {
	switch t.Kind {
	case ddl.TinyInt:
		return signs[int8]
	case ddl.SmallInt:
		return signs[int16]
	case ddl.Int:
		return signs[int32]
	case ddl.BigInt:
		return signs[int64]
	case ddl.Float:
		return signs[float32]
	case ddl.Double:
		return signs[float64]
	}
	return func(k *call) {
		out := makeValues[decimal128.Num](k.out, k.n)
		for i, x := range values[decimal128.Num](k.args[0]) {
			v, _, ok := rescale(decimal128.FromI64(int64(x.Sign())), 0, t.Scale, t.Precision)
			if out[i] = v; !ok {
				k.fail(i, "1 is out of range of %s", base(t))
			}
		}
	}
}

func signs[T number](k *call) {
	out := makeValues[T](k.out, k.n)
	for i, x := range values[T](k.args[0]) {
		switch {
		case x > 0:
			out[i] = 1
		case x < 0:
			out[i] = 0
			out[i]--
		default:
			out[i] = x // 0 and NaN
		}
	}
}

// buildRound rounds half up. A constant number of digits also sets the scale of a DECIMAL, as in Flink.
func buildRound(c *compiler, e *ddl.Call, args []*node) *node {
	x := args[0]
	if x.typ.Kind == ddl.Null {
		return c.null(of(ddl.Int), e.At)
	}
	if len(args) == 1 {
		args = append(args, fixedConstant(c, of(ddl.BigInt), e.At, int64(0)))
	}
	t := x.typ
	switch {
	case t.Kind == ddl.Decimal:
		if d := args[1].constant; d != nil && d.valid.has(0) {
			t = roundedType(t, values[int64](d)[0])
		}
		return c.strict(t, e.At, roundDecimals(x.typ.Scale, t), args...)
	case t.Kind == ddl.Float:
		return c.strict(t, e.At, roundFloats[float32], args...)
	case t.Kind == ddl.Double:
		return c.strict(t, e.At, roundFloats[float64], args...)
	}
	// Whole numbers change only left of the point, which DECIMAL does without overflow.
	d := decimalType(20, 0)
	n := c.strict(d, e.At, roundDecimals(0, d), c.implicit(x, d), args[1])
	return c.cast(n, t, e.At, exactly)
}

func roundedType(t *ddl.Type, digits int64) *ddl.Type {
	switch {
	case digits >= int64(t.Scale):
		return decimalType(t.Precision, t.Scale)
	case digits < 0:
		return decimalType(min(38, 1+t.Precision-t.Scale), 0)
	}
	return decimalType(min(38, 1+t.Precision-t.Scale+int(digits)), int(digits))
}

func roundDecimals(scale int, t *ddl.Type) kernel {
	return func(k *call) {
		out := makeValues[decimal128.Num](k.out, k.n)
		digits := values[int64](k.args[1])
		for i, x := range values[decimal128.Num](k.args[0]) {
			m, negative := magnitude(x)
			at := scale // of m
			if d := max(digits[i], -39); d < int64(scale) {
				m, _ = m.scaleDown(scale - int(d))
				at = int(d)
			}
			ok := true
			if at < t.Scale && m != (u128{}) {
				m, ok = m.scaleUp(t.Scale - at)
			}
			out[i] = m.signed(negative)
			if !ok || !m.less(limits[t.Precision]) {
				k.fail(i, "the rounded value is out of range of %s", base(t))
			}
		}
	}
}

// roundFloats rounds the shortest decimal that reads back as the number, as Flink does.
func roundFloats[T float](k *call) {
	out := makeValues[T](k.out, k.n)
	digits := values[int64](k.args[1])
	var buf [512]byte
	for i, x := range values[T](k.args[0]) {
		f := float64(x)
		switch {
		case math.IsNaN(f) || math.IsInf(f, 0) || f == 0 || digits[i] > 340:
			out[i] = x
		case digits[i] == 0 && math.Abs(f) < 1<<52:
			out[i] = T(math.Round(f))
		default:
			out[i] = T(roundText(buf[:0], f, floatSize[T](), int(max(digits[i], -340))))
		}
	}
}

func roundText(buf []byte, f float64, size, digits int) float64 {
	s := strconv.AppendFloat(buf, math.Abs(f), 'f', -1, size)
	point := len(s)
	for i, c := range s {
		if c == '.' {
			point = i
		}
	}
	// The number is 0.d1d2d3... times ten to the point; keep counts the digits that stay.
	all := append(append([]byte{'0'}, s[:point]...), s[min(point+1, len(s)):]...)
	keep := 1 + point + digits
	if keep >= len(all) {
		return f
	}
	if keep < 1 {
		return 0
	}
	up := all[keep] >= '5'
	for i := keep; i < len(all); i++ {
		all[i] = '0'
	}
	for i := keep - 1; up && i >= 0; i-- {
		if all[i] == '9' {
			all[i] = '0'
			continue
		}
		all[i]++
		up = false
	}
	text := strconv.AppendInt(append(all, 'e'), int64(point+1-len(all)), 10)
	r, _ := strconv.ParseFloat(textOf(text), size)
	return math.Copysign(r, f)
}
