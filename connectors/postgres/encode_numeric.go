package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Signs of a binary numeric, and what it holds without a limit of its own.
const (
	signNegative = 0x4000
	signNaN      = 0xc000
	signInf      = 0xd000
	signNegInf   = 0xf000

	maxScale = 16383
	maxWhole = 131072 // digits before the point
)

// numericRule is what numeric(p,s) holds; whole < 0 means no limit.
type numericRule struct {
	whole, scale int
	name         string
}

func numericRules(to targetType) numericRule {
	if to.typmod < 4 {
		return numericRule{whole: -1, name: to.name}
	}
	m := to.typmod - 4
	precision, scale := int(m>>16)&0xffff, int(m&0x7ff)
	scale = (scale ^ 1024) - 1024 // a signed number of 11 bits since version 15
	return numericRule{precision - scale, scale, fmt.Sprintf("%s(%d,%d)", to.name, precision, scale)}
}

func (r *numericRule) tooLong() error { return fmt.Errorf("the value is out of range for %s", r.name) }
func (r *numericRule) tooExact() error {
	return fmt.Errorf("the value has more decimals than %s keeps", r.name)
}

// decimalEncoder takes whole numbers and decimals to numeric, and decimals without a fraction to integer types.
func decimalEncoder(from *arrow.Decimal128Type, to targetType) (encoder, bool) {
	scale := int(from.Scale)
	if to.receive != "numeric_recv" {
		e, ok := integerEncoder(to)
		if !ok || scale != 0 || to.receive == "oidrecv" {
			return encoder{}, false
		}
		e.bind = bindDecimalInteger(map[string]int{"int2recv": 2, "int4recv": 4, "int8recv": 8}[to.receive], to.name)
		return e, true
	}
	rule := numericRules(to)
	return encoder{exact: true, bare: true, show: renderNumeric, bind: func(a arrow.Array) appender {
		null := nullsOf(a)
		switch a := a.(type) {
		case *array.Decimal128:
			return decimals(a.Values(), null, scale, rule)
		case *array.Int8:
			return wholes(a.Int8Values(), null, rule)
		case *array.Int16:
			return wholes(a.Int16Values(), null, rule)
		case *array.Int32:
			return wholes(a.Int32Values(), null, rule)
		default:
			return wholes(a.(*array.Int64).Int64Values(), null, rule)
		}
	}}, true
}

func decimals(v []decimal128.Num, null nulls, scale int, rule numericRule) appender {
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		hi, lo, sign := uint64(v[i].HighBits()), v[i].LowBits(), uint16(0)
		if v[i].HighBits() < 0 {
			sign = signNegative
			var borrow uint64
			lo, borrow = bits.Sub64(0, lo, 0)
			hi, _ = bits.Sub64(0, hi, borrow)
		}
		return appendNumeric(dst, hi, lo, sign, scale, &rule)
	}
}

func wholes[T int8 | int16 | int32 | int64](v []T, null nulls, rule numericRule) appender {
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		if v[i] < 0 {
			return appendNumeric(dst, 0, uint64(-int64(v[i])), signNegative, 0, &rule)
		}
		return appendNumeric(dst, 0, uint64(v[i]), 0, 0, &rule)
	}
}

// appendNumeric appends hi:lo / 10^scale. Digits are cut off from the low end, four at a time from the point outwards, so
// nothing has to be multiplied up and nothing can overflow.
func appendNumeric(dst []byte, hi, lo uint64, sign uint16, scale int, rule *numericRule) ([]byte, error) {
	var groups [14]uint16 // the lowest first
	n := 0
	if odd := scale % 4; odd != 0 {
		var r uint64
		hi, lo, r = divide(hi, lo, powers[odd])
		groups[0] = uint16(r * powers[4-odd])
		n = 1
	}
	for hi|lo != 0 {
		var r uint64
		hi, lo, r = divide(hi, lo, 10000)
		groups[n] = uint16(r)
		n++
	}
	weight := n - (scale+3)/4 - 1
	for n > 0 && groups[n-1] == 0 {
		n--
		weight--
	}
	low := 0
	for low < n && groups[low] == 0 {
		low++
	}
	if low == n {
		sign, weight = 0, 0
	} else if rule.whole >= 0 {
		if err := rule.check(weight*4+width(groups[n-1]), (weight-(n-1-low))*4+zeros(groups[low])); err != nil {
			return dst, err
		}
	}
	dst = appendInt32(dst, 8+2*(n-low))
	dst = binary.BigEndian.AppendUint16(dst, uint16(n-low))
	dst = binary.BigEndian.AppendUint16(dst, uint16(int16(weight)))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, uint16(scale))
	for i := n - 1; i >= low; i-- {
		dst = binary.BigEndian.AppendUint16(dst, groups[i])
	}
	return dst, nil
}

var powers = [5]uint64{1, 10, 100, 1000, 10000}

func divide(hi, lo, by uint64) (qhi, qlo, rem uint64) {
	if hi == 0 {
		return 0, lo / by, lo % by
	}
	qhi = hi / by
	qlo, rem = bits.Div64(hi%by, lo, by)
	return qhi, qlo, rem
}

// width is the number of decimal digits of a group.
func width(g uint16) int {
	switch {
	case g >= 1000:
		return 4
	case g >= 100:
		return 3
	case g >= 10:
		return 2
	}
	return 1
}

// zeros is how many decimal digits of a group are zero at its low end.
func zeros(g uint16) int {
	switch {
	case g%10 != 0:
		return 0
	case g%100 != 0:
		return 1
	case g%1000 != 0:
		return 2
	}
	return 3
}

// check compares a value with the rule: whole is its number of digits before the point (negative when it begins with
// zeros after it), last the power of ten of its last digit that is not zero.
func (r *numericRule) check(whole, last int) error {
	if whole > r.whole {
		return r.tooLong()
	}
	if last < -r.scale {
		return r.tooExact()
	}
	return nil
}

func bindDecimalInteger(width int, name string) func(arrow.Array) appender {
	return func(a arrow.Array) appender {
		v, null := a.(*array.Decimal128).Values(), nullsOf(a)
		limit := uint64(1) << (width*8 - 1)
		return func(dst []byte, i int) ([]byte, error) {
			if null.at(i) {
				return appendNull(dst), nil
			}
			n := int64(v[i].LowBits())
			if v[i].HighBits() != n>>63 || uint64(n)+limit > 2*limit-1 && width < 8 {
				return dst, fmt.Errorf("%s is out of range for %s", v[i].ToString(0), name)
			}
			switch dst = appendInt32(dst, width); width {
			case 2:
				return binary.BigEndian.AppendUint16(dst, uint16(n)), nil
			case 4:
				return binary.BigEndian.AppendUint32(dst, uint32(n)), nil
			}
			return binary.BigEndian.AppendUint64(dst, uint64(n)), nil
		}
	}
}

func bindNumericText(rule numericRule) func(arrow.Array) appender {
	return func(a arrow.Array) appender {
		v, null := a.(*array.String), nullsOf(a)
		return func(dst []byte, i int) ([]byte, error) {
			if null.at(i) {
				return appendNull(dst), nil
			}
			return appendNumericText(dst, v.Value(i), &rule)
		}
	}
}

func appendNumericText(dst []byte, s string, rule *numericRule) ([]byte, error) {
	var p decimalText
	if err := p.parse(s); err != nil {
		return dst, err
	}
	if p.special != 0 {
		if p.special != signNaN && rule.whole >= 0 {
			return dst, rule.tooLong()
		}
		return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), uint64(p.special)<<16), nil
	}
	if p.first < 0 { // zero
		dst = append(dst, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0)
		return binary.BigEndian.AppendUint16(dst, uint16(p.scale)), nil
	}
	if rule.whole >= 0 {
		if err := rule.check(p.power(p.first)+1, p.power(p.last)); err != nil {
			return dst, err
		}
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	n, group := 0, 0
	for k := p.first; ; k++ {
		low := floorMod4(p.power(k))
		group += int(p.digit(k)) * int(powers[low])
		if low == 0 || k == p.last {
			dst = binary.BigEndian.AppendUint16(dst, uint16(group))
			n++
			group = 0
		}
		if k == p.last {
			break
		}
	}
	head := dst[start:]
	binary.BigEndian.PutUint32(head, uint32(len(head)-4))
	binary.BigEndian.PutUint16(head[4:], uint16(n))
	binary.BigEndian.PutUint16(head[6:], uint16(int16((p.power(p.first)-floorMod4(p.power(p.first)))/4)))
	binary.BigEndian.PutUint16(head[8:], p.sign)
	binary.BigEndian.PutUint16(head[10:], uint16(p.scale))
	return dst, nil
}

func floorMod4(n int) int { return ((n % 4) + 4) % 4 }

// decimalText is a number as text: digits that may be cut by a point, and a power of ten.
type decimalText struct {
	digits      string // with the point, without sign and exponent
	point       int    // index of the point, len(digits) without
	sign        uint16
	special     uint16 // NaN or an infinity
	exponent    int
	first, last int // indexes of the digits that are not zero; first is -1 for zero
	scale       int
}

var errNumber = errors.New("not a number")

func (p *decimalText) parse(s string) error {
	text := strings.TrimSpace(s)
	rest := text
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		if rest[0] == '-' {
			p.sign = signNegative
		}
		rest = rest[1:]
	}
	if rest != "" && rest[0] > '9' {
		return p.word(text, rest)
	}
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		n, err := strconv.Atoi(rest[i+1:])
		if err != nil || n > maxWhole || n < -maxScale-maxWhole {
			return fmt.Errorf("%q is %w", s, errNumber)
		}
		p.exponent, rest = n, rest[:i]
	}
	p.digits, p.point, p.first = rest, len(rest), -1
	points := 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '.':
			p.point = i
			points++
		case c < '0' || c > '9':
			return fmt.Errorf("%q is %w", s, errNumber)
		case c != '0':
			p.last = i - min(points, 1)
			if p.first < 0 {
				p.first = p.last
			}
		}
	}
	if points > 1 || len(rest) == points {
		return fmt.Errorf("%q is %w", s, errNumber)
	}
	p.scale = max(0, len(rest)-p.point-points-p.exponent)
	if p.scale > maxScale || p.first >= 0 && p.power(p.first) >= maxWhole {
		return fmt.Errorf("%.40q… has more digits than numeric keeps", s)
	}
	return nil
}

func (p *decimalText) word(text, rest string) error {
	switch strings.ToLower(rest) {
	case "nan":
		p.special = signNaN
		if rest != text {
			break
		}
		return nil
	case "infinity", "inf":
		p.special = signInf
		if p.sign != 0 {
			p.special = signNegInf
		}
		return nil
	}
	return fmt.Errorf("%q is %w", text, errNumber)
}

// digit is digit k, counted without the point; power is the power of ten that it stands for.
func (p *decimalText) digit(k int) byte {
	if k >= p.point {
		k++
	}
	return p.digits[k] - '0'
}

func (p *decimalText) power(k int) int { return p.point - 1 - k + p.exponent }
