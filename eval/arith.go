package eval

import (
	"math"

	"github.com/syncsql/syncsql/ddl"
)

// arithmetic compiles + - * / %.
func (c *compiler) arithmetic(op string, e *ddl.Binary, l, r *node) *node {
	if l.typ.Kind == ddl.Null && r.typ.Kind == ddl.Null {
		return c.null(of(ddl.Int), e.Span())
	}
	if isInterval(l.typ) || isInterval(r.typ) || isDatetime(l.typ) || isDatetime(r.typ) {
		return c.datetimeArithmetic(op, e, l, r)
	}
	if l.typ.Kind == ddl.Null {
		l = c.null(r.typ, l.at)
	}
	if r.typ.Kind == ddl.Null {
		r = c.null(l.typ, r.at)
	}
	if !isNumeric(l.typ) || !isNumeric(r.typ) {
		err := c.mismatch(e.Span(), "%s needs numbers, found %s and %s", op, base(l.typ), base(r.typ))
		if op == "+" && isText(l.typ) && isText(r.typ) {
			err.WithHelp("write || to join text")
		} else if isText(l.typ) || isText(r.typ) {
			err.WithHelp("write CAST(... AS DECIMAL(p, s)) around the text")
		}
		return nil
	}
	return c.numeric(op, e.Span(), l, r)
}

// numeric is arithmetic on two numbers, with Flink's result types.
func (c *compiler) numeric(op string, at ddl.Span, l, r *node) *node {
	if isExact(l.typ) && isExact(r.typ) && (l.typ.Kind == ddl.Decimal || r.typ.Kind == ddl.Decimal) {
		return c.decimalArithmetic(op, at, c.implicit(l, asDecimal(l.typ)), c.implicit(r, asDecimal(r.typ)))
	}
	t := commonNumeric(l.typ, r.typ)
	n := c.strict(t, at, numericKernel(op, t), c.implicit(l, t), c.implicit(r, t))
	if op == "%" && isInteger(t) && !r.typ.Equal(t) {
		return c.implicitDown(n, of(r.typ.Kind))
	}
	return n
}

// implicitDown narrows an integer that is known to fit.
func (c *compiler) implicitDown(n *node, t *ddl.Type) *node { return c.cast(n, t, n.at, exactly) }

func numericKernel(op string, t *ddl.Type) kernel {
	switch t.Kind {
	case ddl.TinyInt:
		return integerKernel[int8](op, t)
	case ddl.SmallInt:
		return integerKernel[int16](op, t)
	case ddl.Int:
		return integerKernel[int32](op, t)
	case ddl.BigInt:
		return integerKernel[int64](op, t)
	case ddl.Float:
		return floatKernel[float32](op)
	}
	return floatKernel[float64](op)
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64
}

type float interface{ ~float32 | ~float64 }

func integerKernel[T integer](op string, t *ddl.Type) kernel {
	switch op {
	case "+":
		return addIntegers[T](t)
	case "-":
		return subtractIntegers[T](t)
	case "*":
		return multiplyIntegers[T](t)
	case "/":
		return divideIntegers[T](t)
	}
	return func(k *call) {
		a, b := values[T](k.args[0]), values[T](k.args[1])
		out := makeValues[T](k.out, k.n)
		for i := range out {
			if b[i] == 0 {
				out[i] = 0
				k.fail(i, "division by zero")
				continue
			}
			out[i] = a[i] % b[i]
		}
	}
}

func addIntegers[T integer](t *ddl.Type) kernel {
	return func(k *call) {
		a, b := values[T](k.args[0]), values[T](k.args[1])
		out := makeValues[T](k.out, k.n)
		a, b = a[:len(out)], b[:len(out)]
		for i := range out {
			x, y := a[i], b[i]
			sum := x + y
			out[i] = sum
			if (x^sum)&(y^sum) < 0 {
				k.fail(i, "%d + %d is out of range of %s", x, y, base(t))
			}
		}
	}
}

func subtractIntegers[T integer](t *ddl.Type) kernel {
	return func(k *call) {
		a, b := values[T](k.args[0]), values[T](k.args[1])
		out := makeValues[T](k.out, k.n)
		a, b = a[:len(out)], b[:len(out)]
		for i := range out {
			x, y := a[i], b[i]
			diff := x - y
			out[i] = diff
			if (x^y)&(x^diff) < 0 {
				k.fail(i, "%d - %d is out of range of %s", x, y, base(t))
			}
		}
	}
}

func multiplyIntegers[T integer](t *ddl.Type) kernel {
	return func(k *call) {
		a, b := values[T](k.args[0]), values[T](k.args[1])
		out := makeValues[T](k.out, k.n)
		a, b = a[:len(out)], b[:len(out)]
		for i := range out {
			x, y := a[i], b[i]
			out[i] = x * y
			if overflows(x, y) {
				k.fail(i, "%d * %d is out of range of %s", x, y, base(t))
			}
		}
	}
}

// overflows reports whether x * y does not fit their type. Small factors, the common case, need no division.
func overflows[T integer](x, y T) bool {
	a, b := int64(x), int64(y)
	if int64(int32(a)) == a && int64(int32(b)) == b {
		p := a * b
		return int64(T(p)) != p
	}
	if a == 0 || b == 0 {
		return false
	}
	p := a * b
	return p/b != a || a == -1 && b == math.MinInt64 || b == -1 && a == math.MinInt64
}

func divideIntegers[T integer](t *ddl.Type) kernel {
	return func(k *call) {
		a, b := values[T](k.args[0]), values[T](k.args[1])
		out := makeValues[T](k.out, k.n)
		a, b = a[:len(out)], b[:len(out)]
		for i := range out {
			x, y := a[i], b[i]
			if y == 0 {
				out[i] = 0
				k.fail(i, "division by zero")
				continue
			}
			out[i] = x / y
			if y == -1 && x < 0 && x == -x {
				k.fail(i, "%d / -1 is out of range of %s", x, base(t))
			}
		}
	}
}

// floatKernel follows IEEE 754, as Flink does: a division by zero is an infinity or NaN.
func floatKernel[T float](op string) kernel {
	var f func(out, a, b []T)
	switch op {
	case "+":
		f = func(out, a, b []T) {
			for i := range out {
				out[i] = a[i] + b[i]
			}
		}
	case "-":
		f = func(out, a, b []T) {
			for i := range out {
				out[i] = a[i] - b[i]
			}
		}
	case "*":
		f = func(out, a, b []T) {
			for i := range out {
				out[i] = a[i] * b[i]
			}
		}
	case "/":
		f = func(out, a, b []T) {
			for i := range out {
				out[i] = a[i] / b[i]
			}
		}
	default:
		f = func(out, a, b []T) {
			for i := range out {
				out[i] = T(math.Mod(float64(a[i]), float64(b[i])))
			}
		}
	}
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		f(out, values[T](k.args[0])[:len(out)], values[T](k.args[1])[:len(out)])
	}
}

// negate is unary minus.
func (c *compiler) negate(at ddl.Span, x *node) *node {
	var k kernel
	switch t := x.typ; t.Kind {
	case ddl.Null:
		return c.null(of(ddl.Int), at)
	case ddl.TinyInt:
		k = negateIntegers[int8](t)
	case ddl.SmallInt:
		k = negateIntegers[int16](t)
	case ddl.Int, ddl.IntervalYearMonth:
		k = negateIntegers[int32](t)
	case ddl.BigInt, ddl.IntervalDaySecond:
		k = negateIntegers[int64](t)
	case ddl.Float:
		k = negateFloats[float32]
	case ddl.Double:
		k = negateFloats[float64]
	case ddl.Decimal:
		k = negateDecimals
	default:
		c.mismatch(at, "- needs a number, found %s", base(t))
		return nil
	}
	return c.strict(x.typ, at, k, x)
}

func negateIntegers[T integer](t *ddl.Type) kernel {
	return func(k *call) {
		out := makeValues[T](k.out, k.n)
		for i, x := range values[T](k.args[0]) {
			out[i] = -x
			if x < 0 && x == -x {
				k.fail(i, "-(%d) is out of range of %s", x, base(t))
			}
		}
	}
}

func negateFloats[T float](k *call) {
	out := makeValues[T](k.out, k.n)
	for i, x := range values[T](k.args[0]) {
		out[i] = -x
	}
}
