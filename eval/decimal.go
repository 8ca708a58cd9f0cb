package eval

import (
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/ddl"
)

// u128 is a magnitude.
type u128 struct{ hi, lo uint64 }

func magnitude(n decimal128.Num) (m u128, negative bool) {
	if n.HighBits() < 0 {
		n = n.Negate()
		negative = true
	}
	return u128{uint64(n.HighBits()), n.LowBits()}, negative
}

func (m u128) signed(negative bool) decimal128.Num {
	n := decimal128.New(int64(m.hi), m.lo)
	if negative {
		return n.Negate()
	}
	return n
}

func (m u128) less(o u128) bool { return m.hi < o.hi || m.hi == o.hi && m.lo < o.lo }

// times multiplies by d; ok is false when the product does not fit 127 bits.
func (m u128) times(d uint64) (p u128, ok bool) {
	h1, l1 := bits.Mul64(m.lo, d)
	h2, l2 := bits.Mul64(m.hi, d)
	hi, carry := bits.Add64(h1, l2, 0)
	return u128{hi, l1}, h2 == 0 && carry == 0 && hi < 1<<63
}

func (m u128) over(d uint64) (q u128, r uint64) {
	q.hi, r = m.hi/d, m.hi%d
	q.lo, r = bits.Div64(r, m.lo, d)
	return q, r
}

var pow10u64 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// limits[p] is the smallest magnitude with more than p digits.
var limits = func() (l [39]u128) {
	for p := range l {
		l[p], _ = magnitude(decimal128.GetScaleMultiplier(p))
	}
	return l
}()

// scaleUp multiplies by ten to the k.
func (m u128) scaleUp(k int) (u128, bool) {
	ok := true
	for k > 0 && ok {
		step := min(k, 19)
		m, ok = m.times(pow10u64[step])
		k -= step
	}
	return m, ok
}

// scaleDown divides by ten to the k, rounding half up; exact is false when digits were lost.
func (m u128) scaleDown(k int) (q u128, exact bool) {
	exact = true
	for k > 1 {
		step := min(k-1, 18)
		var r uint64
		m, r = m.over(pow10u64[step])
		exact = exact && r == 0
		k -= step
	}
	if k == 1 {
		var r uint64
		m, r = m.over(10)
		exact = exact && r == 0
		if r >= 5 {
			var carry uint64
			m.lo, carry = bits.Add64(m.lo, 1, 0)
			m.hi += carry
		}
	}
	return m, exact
}

// rescale changes the scale; ok is false when the value does not fit the precision.
func rescale(n decimal128.Num, from, to, precision int) (out decimal128.Num, exact, ok bool) {
	m, negative := magnitude(n)
	exact, ok = true, true
	if to >= from {
		m, ok = m.scaleUp(to - from)
	} else {
		m, exact = m.scaleDown(from - to)
	}
	return m.signed(negative), exact, ok && m.less(limits[precision])
}

// compareScaled compares a of scale ls with b of scale rs exactly.
func compareScaled(a, b decimal128.Num, ls, rs int) int {
	if ls != rs {
		x, xneg := magnitude(a)
		y, yneg := magnitude(b)
		var ok bool
		if ls < rs {
			if x, ok = x.scaleUp(rs - ls); !ok {
				return a.Sign()
			}
		} else if y, ok = y.scaleUp(ls - rs); !ok {
			return -b.Sign()
		}
		a, b = x.signed(xneg), y.signed(yneg)
	}
	return a.Cmp(b)
}

// bigScratch are the temporaries of the slow paths, kept so that they do not allocate per row.
type bigScratch struct{ a, b, r, word big.Int }

var bigPow10 = func() (p [116]*big.Int) {
	ten := big.NewInt(10)
	p[0] = big.NewInt(1)
	for i := 1; i < len(p); i++ {
		p[i] = new(big.Int).Mul(p[i-1], ten)
	}
	return p
}()

func (s *bigScratch) load(dst *big.Int, n decimal128.Num) *big.Int {
	m, negative := magnitude(n)
	dst.SetUint64(m.hi)
	dst.Lsh(dst, 64)
	dst.Or(dst, s.word.SetUint64(m.lo))
	if negative {
		dst.Neg(dst)
	}
	return dst
}

// store rounds v from one scale to another, half up, and checks the precision.
func (s *bigScratch) store(v *big.Int, from, to, precision int) (decimal128.Num, bool) {
	if to > from {
		v.Mul(v, bigPow10[to-from])
	} else if to < from {
		s.quotient(v, bigPow10[from-to])
	}
	if v.CmpAbs(bigPow10[precision]) >= 0 {
		return decimal128.Num{}, false
	}
	return decimal128.FromBigInt(v), true
}

// quotient replaces v by v / d, rounded half up (away from zero).
func (s *bigScratch) quotient(v, d *big.Int) {
	negative := v.Sign()*d.Sign() < 0
	v.QuoRem(v, d, &s.r)
	s.r.Lsh(&s.r, 1)
	if s.r.CmpAbs(d) < 0 {
		return
	}
	if negative {
		v.Sub(v, bigPow10[0])
	} else {
		v.Add(v, bigPow10[0])
	}
}

// decimalArithmetic compiles an operator on two DECIMALs with the result type that Flink derives.
func (c *compiler) decimalArithmetic(op string, at ddl.Span, l, r *node) *node {
	lp, ls, rp, rs := l.typ.Precision, l.typ.Scale, r.typ.Precision, r.typ.Scale
	var t *ddl.Type
	var one func(s *bigScratch, a, b decimal128.Num) (decimal128.Num, bool)
	switch op {
	case "+", "-":
		scale := max(ls, rs)
		t = adjustDecimal(max(lp-ls, rp-rs)+scale+1, scale)
		one = sumOf(op == "-", ls, rs, t)
	case "*":
		t = adjustDecimal(lp+rp+1, ls+rs)
		one = productOf(ls, rs, t)
	case "/":
		scale := max(6, ls+rp+1)
		t = adjustDecimal(lp-ls+rs+scale, scale)
		one = quotientOf(ls, rs, t)
	default:
		t = decimalType(rp, 0)
		if ls > 0 || rs > 0 {
			scale := max(ls, rs)
			t = adjustDecimal(min(lp-ls, rp-rs)+scale, scale)
		}
		one = remainderOf(ls, rs, t)
	}
	divides := op == "/" || op == "%"
	return c.strict(t, at, func(k *call) {
		a, b := values[decimal128.Num](k.args[0]), values[decimal128.Num](k.args[1])
		out := makeValues[decimal128.Num](k.out, k.n)
		a, b = a[:len(out)], b[:len(out)]
		for i := range out {
			if divides && b[i] == (decimal128.Num{}) {
				out[i] = decimal128.Num{}
				k.fail(i, "division by zero")
				continue
			}
			v, ok := one(&k.f.big, a[i], b[i])
			out[i] = v
			if !ok && !k.skip(i) {
				k.fail(i, "%s %s %s is out of range of %s", a[i].ToString(int32(ls)), op, b[i].ToString(int32(rs)), base(t))
			}
		}
	}, l, r)
}

// small reports a value that fits 63 bits, and gives it.
func small(n decimal128.Num) (int64, bool) {
	v := int64(n.LowBits())
	return v, v>>63 == n.HighBits() && v != -1<<63
}

func sumOf(subtract bool, ls, rs int, t *ddl.Type) func(*bigScratch, decimal128.Num, decimal128.Num) (decimal128.Num, bool) {
	scale := max(ls, rs)
	lup, rup := scale-ls, scale-rs
	fast := t.Scale == scale && lup < 19 && rup < 19
	return func(s *bigScratch, a, b decimal128.Num) (decimal128.Num, bool) {
		x, xok := small(a)
		y, yok := small(b)
		if fast && xok && yok {
			p, q := decimal128.FromI64(x), decimal128.FromI64(y)
			if lup > 0 {
				p = p.Mul(decimal128.FromU64(pow10u64[lup]))
			}
			if rup > 0 {
				q = q.Mul(decimal128.FromU64(pow10u64[rup]))
			}
			if subtract {
				q = q.Negate()
			}
			sum := p.Add(q)
			m, _ := magnitude(sum)
			return sum, m.less(limits[t.Precision])
		}
		p, q := s.load(&s.a, a), s.load(&s.b, b)
		p.Mul(p, bigPow10[lup])
		q.Mul(q, bigPow10[rup])
		if subtract {
			p.Sub(p, q)
		} else {
			p.Add(p, q)
		}
		return s.store(p, scale, t.Scale, t.Precision)
	}
}

func productOf(ls, rs int, t *ddl.Type) func(*bigScratch, decimal128.Num, decimal128.Num) (decimal128.Num, bool) {
	fast := t.Scale == ls+rs
	return func(s *bigScratch, a, b decimal128.Num) (decimal128.Num, bool) {
		x, xok := small(a)
		y, yok := small(b)
		if fast && xok && yok {
			hi, lo := bits.Mul64(uint64(max(x, -x)), uint64(max(y, -y)))
			m := u128{hi, lo}
			return m.signed((x < 0) != (y < 0)), m.less(limits[t.Precision])
		}
		p := s.load(&s.a, a)
		p.Mul(p, s.load(&s.b, b))
		return s.store(p, ls+rs, t.Scale, t.Precision)
	}
}

func quotientOf(ls, rs int, t *ddl.Type) func(*bigScratch, decimal128.Num, decimal128.Num) (decimal128.Num, bool) {
	up := t.Scale - ls + rs
	return func(s *bigScratch, a, b decimal128.Num) (decimal128.Num, bool) {
		x, xok := small(a)
		y, yok := small(b)
		if up >= 0 && up < 20 && xok && yok {
			hi, lo := bits.Mul64(uint64(max(x, -x)), pow10u64[up])
			d := uint64(max(y, -y))
			q, r := u128{hi, lo}.over(d)
			if r >= d-r {
				var carry uint64
				q.lo, carry = bits.Add64(q.lo, 1, 0)
				q.hi += carry
			}
			return q.signed((x < 0) != (y < 0)), q.less(limits[t.Precision])
		}
		p, q := s.load(&s.a, a), s.load(&s.b, b)
		if up >= 0 {
			p.Mul(p, bigPow10[up])
		} else {
			q.Mul(q, bigPow10[-up])
		}
		s.quotient(p, q)
		return s.store(p, t.Scale, t.Scale, t.Precision)
	}
}

func remainderOf(ls, rs int, t *ddl.Type) func(*bigScratch, decimal128.Num, decimal128.Num) (decimal128.Num, bool) {
	scale := max(ls, rs)
	return func(s *bigScratch, a, b decimal128.Num) (decimal128.Num, bool) {
		x, xok := small(a)
		y, yok := small(b)
		if ls == rs && xok && yok {
			return decimal128.FromI64(x % y), true
		}
		p, q := s.load(&s.a, a), s.load(&s.b, b)
		p.Mul(p, bigPow10[scale-ls])
		q.Mul(q, bigPow10[scale-rs])
		p.Rem(p, q)
		return s.store(p, scale, t.Scale, t.Precision)
	}
}

func negateDecimals(k *call) {
	out := makeValues[decimal128.Num](k.out, k.n)
	for i, x := range values[decimal128.Num](k.args[0]) {
		out[i] = x.Negate()
	}
}
