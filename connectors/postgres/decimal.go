package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// Signs of a binary numeric.
const (
	numNegative = 0x4000
	numNaN      = 0xC000
	numInf      = 0xD000
	numNegInf   = 0xF000
)

// numeric is a binary numeric: digits to the base of 10,000, the first with weight 10,000^weight.
type numeric struct {
	weight int
	sign   uint16
	scale  int // decimal digits after the point, for printing
	digits []byte
}

func parseNumeric(p []byte) (numeric, error) {
	if len(p) < 8 {
		return numeric{}, errLength
	}
	n := int(binary.BigEndian.Uint16(p))
	v := numeric{int(int16(binary.BigEndian.Uint16(p[2:]))), binary.BigEndian.Uint16(p[4:]), int(binary.BigEndian.Uint16(p[6:])), p[8:]}
	if len(v.digits) != 2*n {
		return v, errLength
	}
	return v, nil
}

func (v *numeric) digit(i int) uint64 { return uint64(binary.BigEndian.Uint16(v.digits[2*i:])) }

// special is the name of a value that is not a number, or "".
func (v *numeric) special() string {
	switch v.sign {
	case numNaN:
		return "NaN"
	case numInf:
		return "Infinity"
	case numNegInf:
		return "-Infinity"
	}
	return ""
}

// pow10 holds the powers of ten that fit 128 bits.
var pow10 = func() (t [39]struct{ hi, lo uint64 }) {
	t[0].lo = 1
	for i := 1; i < len(t); i++ {
		hi, lo := bits.Mul64(t[i-1].lo, 10)
		t[i].hi, t[i].lo = t[i-1].hi*10+hi, lo
	}
	return t
}()

func decimalDecoder(t *sourceType, want *arrow.Decimal128Type) (decoder, error) {
	precision, scale := int(want.Precision), int(want.Scale)
	switch t.oid {
	case pgNumeric:
		return func(c *column, p []byte) error {
			v, err := parseNumeric(p)
			if err != nil {
				return err
			}
			return putNumeric(c, &v, precision, scale)
		}, nil
	case pgInt2, pgInt4, pgInt8:
		return func(c *column, p []byte) error {
			v, err := integer(t.oid, p)
			if err != nil {
				return err
			}
			return putScaled(c, v < 0, magnitude(v), 0, precision, scale)
		}, nil
	case pgMoney:
		return func(c *column, p []byte) error {
			v, err := integer(pgInt8, p)
			if err != nil {
				return err
			}
			return putScaled(c, v < 0, magnitude(v), -moneyDigits, precision, scale)
		}, nil
	}
	return nil, misfit(t, want)
}

// moneyDigits are the decimal digits of money under lc_monetary = C, which every session sets.
const moneyDigits = 2

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// putNumeric appends a numeric as a decimal, exactly or not at all.
func putNumeric(c *column, v *numeric, precision, scale int) error {
	if s := v.special(); s != "" {
		return fmt.Errorf("%s is not a DECIMAL", s)
	}
	n := len(v.digits) / 2
	if n == 0 {
		c.put128(0, 0)
		return nil
	}
	exponent := 4 * (v.weight - n + 1)
	if n > 4 {
		return putBigNumeric(c, v, exponent, precision, scale)
	}
	var m uint64
	for i := range n {
		m = m*10000 + v.digit(i)
	}
	return putScaled(c, v.sign == numNegative, m, exponent, precision, scale)
}

var errPrecision = errors.New("the number has more digits than the declared DECIMAL")

// putScaled appends m × 10^exponent.
func putScaled(c *column, negative bool, m uint64, exponent, precision, scale int) error {
	shift := exponent + scale
	var hi, lo uint64
	switch {
	case m == 0:
	case shift < 0:
		if shift < -19 || m%pow10[-shift].lo != 0 {
			return errPrecision
		}
		lo = m / pow10[-shift].lo
	case shift < 20:
		hi, lo = bits.Mul64(m, pow10[shift].lo)
	default:
		if shift > 38 {
			return errPrecision
		}
		over, _ := bits.Mul64(m, pow10[shift].hi)
		hi, lo = bits.Mul64(m, pow10[shift].lo)
		sum, carry := bits.Add64(hi, m*pow10[shift].hi, 0)
		if over != 0 || carry != 0 {
			return errPrecision
		}
		hi = sum
	}
	limit := &pow10[precision]
	if hi > limit.hi || hi == limit.hi && lo >= limit.lo {
		return errPrecision
	}
	if negative {
		lo = -lo
		hi = ^hi
		if lo == 0 {
			hi++
		}
	}
	c.put128(hi, lo)
	return nil
}

// putBigNumeric is the long way for numbers of more than 16 digits.
func putBigNumeric(c *column, v *numeric, exponent, precision, scale int) error {
	m := new(big.Int)
	base, d := big.NewInt(10000), new(big.Int)
	for i := range len(v.digits) / 2 {
		m.Mul(m, base).Add(m, d.SetUint64(v.digit(i)))
	}
	return putBig(c, v.sign == numNegative, m, exponent, precision, scale)
}

func putBig(c *column, negative bool, m *big.Int, exponent, precision, scale int) error {
	if m.Sign() == 0 {
		c.put128(0, 0)
		return nil
	}
	shift := exponent + scale
	switch {
	case shift > 38:
		return errPrecision
	case shift > 0:
		m.Mul(m, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil))
	case shift < -150000: // below any numeric that is not zero
		return errPrecision
	case shift < 0:
		rest := new(big.Int)
		m.QuoRem(m, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-shift)), nil), rest)
		if rest.Sign() != 0 {
			return errPrecision
		}
	}
	if m.BitLen() > 127 {
		return errPrecision
	}
	var b [16]byte
	m.FillBytes(b[:])
	hi, lo := binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
	limit := &pow10[precision]
	if hi > limit.hi || hi == limit.hi && lo >= limit.lo {
		return errPrecision
	}
	if negative {
		lo = -lo
		hi = ^hi
		if lo == 0 {
			hi++
		}
	}
	c.put128(hi, lo)
	return nil
}

// decodeNumericFloat takes a numeric that a double gives back digit for digit; NaN and the infinities pass.
func decodeNumericFloat(c *column, p []byte) error {
	var scratch [64]byte
	text, err := renderNumeric(scratch[:0], p)
	if err != nil {
		return err
	}
	return putFloatText(c, text)
}

func putFloatText(c *column, text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return errors.New("the number does not fit a DOUBLE")
	}
	exact, ok := new(big.Rat).SetString(string(text))
	if ok { // not NaN, not infinite
		short, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', -1, 64))
		if short.Cmp(exact) != 0 {
			return errors.New("the number has more digits than a DOUBLE keeps")
		}
	}
	return putFloat64(c, f)
}
