package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"
)

// renderer appends the text that Postgres prints for a value in binary form.
type renderer func(dst, p []byte) ([]byte, error)

// newRenderer is errNeedsText for a type whose binary form is not known here.
func newRenderer(types typeSet, t *sourceType) (renderer, error) {
	if textual(t) {
		return func(dst, p []byte) ([]byte, error) { return append(dst, p...), nil }, nil
	}
	if r, ok := renderers[t.oid]; ok {
		return r, nil
	}
	if t.elem == 0 || t.kind != 'b' {
		return nil, errNeedsText
	}
	elem, _ := types.resolve(t.elem, -1)
	if elem == nil || elem.oid == pgMoney { // within an array money keeps its currency sign
		return nil, errNeedsText
	}
	item, err := newRenderer(types, elem)
	if err != nil {
		return nil, err
	}
	if elem.oid == pgBool { // an array prints t and f, a bool cast to text prints true and false
		item = func(dst, p []byte) ([]byte, error) {
			if len(p) != 1 {
				return dst, errLength
			}
			return append(dst, "ft"[p[0]&1]), nil
		}
	}
	return func(dst, p []byte) ([]byte, error) { return renderArray(dst, p, item) }, nil
}

var renderers = map[uint32]renderer{
	pgBool:        renderBool,
	pgBytea:       renderBytea,
	pgInt2:        renderInteger(pgInt2),
	pgInt4:        renderInteger(pgInt4),
	pgInt8:        renderInteger(pgInt8),
	pgOID:         renderInteger(pgOID),
	pgXID:         renderInteger(pgOID),
	pgCID:         renderInteger(pgOID),
	pgXID8:        renderXID8,
	pgTID:         renderTID,
	pgCIDR:        renderInet,
	pgInet:        renderInet,
	pgFloat4:      renderFloat4,
	pgFloat8:      renderFloat8,
	pgMacaddr:     renderMacaddr,
	pgMacaddr8:    renderMacaddr,
	pgMoney:       renderMoney,
	pgDate:        renderDate,
	pgTime:        renderTime,
	pgTimestamp:   renderTimestamp,
	pgTimestampTZ: renderTimestampTZ,
	pgInterval:    renderInterval,
	pgTimeTZ:      renderTimeTZ,
	pgBit:         renderBit,
	pgVarbit:      renderBit,
	pgNumeric:     renderNumeric,
	pgUUID:        renderUUID,
	pgLSN:         renderLSN,
	pgJSONB:       renderJSONB,
}

func renderBool(dst, p []byte) ([]byte, error) {
	if len(p) != 1 {
		return dst, errLength
	}
	return strconv.AppendBool(dst, p[0] != 0), nil
}

func renderBytea(dst, p []byte) ([]byte, error) {
	return hex.AppendEncode(append(dst, `\x`...), p), nil
}

func renderInteger(oid uint32) renderer {
	return func(dst, p []byte) ([]byte, error) {
		v, err := integer(oid, p)
		if err != nil {
			return dst, err
		}
		return strconv.AppendInt(dst, v, 10), nil
	}
}

func renderXID8(dst, p []byte) ([]byte, error) {
	if len(p) != 8 {
		return dst, errLength
	}
	return strconv.AppendUint(dst, binary.BigEndian.Uint64(p), 10), nil
}

func renderTID(dst, p []byte) ([]byte, error) {
	if len(p) != 6 {
		return dst, errLength
	}
	return fmt.Appendf(dst, "(%d,%d)", binary.BigEndian.Uint32(p), binary.BigEndian.Uint16(p[4:])), nil
}

func renderLSN(dst, p []byte) ([]byte, error) {
	if len(p) != 8 {
		return dst, errLength
	}
	return lsn(binary.BigEndian.Uint64(p)).appendText(dst), nil
}

func renderJSONB(dst, p []byte) ([]byte, error) {
	if len(p) < 1 || p[0] != 1 {
		return dst, errLength
	}
	return append(dst, p[1:]...), nil
}

func renderUUID(dst, p []byte) ([]byte, error) {
	if len(p) != 16 {
		return dst, errLength
	}
	for i, cut := range [...]int{4, 6, 8, 10, 16} {
		from := 0
		if i > 0 {
			from = [...]int{4, 6, 8, 10}[i-1]
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, p[from:cut])
	}
	return dst, nil
}

func renderBit(dst, p []byte) ([]byte, error) {
	if len(p) < 4 || len(p) != 4+(int(binary.BigEndian.Uint32(p))+7)/8 {
		return dst, errLength
	}
	for i := range int(binary.BigEndian.Uint32(p)) {
		dst = append(dst, '0'+p[4+i>>3]>>(7-i&7)&1)
	}
	return dst, nil
}

func renderMoney(dst, p []byte) ([]byte, error) {
	v, err := integer(pgInt8, p)
	if err != nil {
		return dst, err
	}
	if v < 0 {
		dst = append(dst, '-')
	}
	m := magnitude(v)
	dst = strconv.AppendUint(dst, m/100, 10)
	return append(dst, '.', byte('0'+m/10%10), byte('0'+m%10)), nil
}

// appendShortest prints like Postgres does since version 12: the shortest digits that give the value back, in scientific
// form outside of 1e-4 to 10^digits.
func appendShortest(dst []byte, f float64, bits, digits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, '0')
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	exponent, _ := strconv.Atoi(string(dst[indexByte(dst[start:], 'e')+start+1:]))
	if exponent >= -4 && exponent < digits {
		dst = strconv.AppendFloat(dst[:start], f, 'f', -1, bits)
	}
	return dst
}

func indexByte(b []byte, c byte) int {
	for i := range b {
		if b[i] == c {
			return i
		}
	}
	return -1
}

func renderFloat4(dst, p []byte) ([]byte, error) {
	if len(p) != 4 {
		return dst, errLength
	}
	return appendShortest(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(p))), 32, 6), nil
}

func renderFloat8(dst, p []byte) ([]byte, error) {
	if len(p) != 8 {
		return dst, errLength
	}
	return appendShortest(dst, math.Float64frombits(binary.BigEndian.Uint64(p)), 64, 15), nil
}

func renderNumeric(dst, p []byte) ([]byte, error) {
	v, err := parseNumeric(p)
	if err != nil {
		return dst, err
	}
	if s := v.special(); s != "" {
		return append(dst, s...), nil
	}
	if v.sign == numNegative {
		dst = append(dst, '-')
	}
	n := len(v.digits) / 2
	at := func(i int) uint64 { // the digit group with weight 10000^-i
		if j := v.weight + i; j >= 0 && j < n {
			return v.digit(j)
		}
		return 0
	}
	if v.weight < 0 {
		dst = append(dst, '0')
	}
	for w := v.weight; w >= 0; w-- {
		if w == v.weight {
			dst = strconv.AppendUint(dst, at(-w), 10)
		} else {
			dst = appendGroup(dst, at(-w))
		}
	}
	if v.scale == 0 {
		return dst, nil
	}
	dst = append(dst, '.')
	end := len(dst) + v.scale
	for i := 1; len(dst) < end; i++ {
		dst = appendGroup(dst, at(i))
	}
	return dst[:end], nil
}

func appendGroup(dst []byte, d uint64) []byte {
	return append(dst, byte('0'+d/1000), byte('0'+d/100%10), byte('0'+d/10%10), byte('0'+d%10))
}

func renderDate(dst, p []byte) ([]byte, error) {
	if len(p) != 4 {
		return dst, errLength
	}
	days := int32(binary.BigEndian.Uint32(p))
	switch days {
	case math.MaxInt32:
		return append(dst, "infinity"...), nil
	case math.MinInt32:
		return append(dst, "-infinity"...), nil
	}
	dst, bc := appendDate(dst, int64(days))
	return append(dst, bc...), nil
}

// appendDate prints days since 2000; the era follows a time, so it is returned.
func appendDate(dst []byte, days int64) (_ []byte, era string) {
	y, m, d := civilDate(days + epochDays)
	if y <= 0 {
		y = 1 - y
		era = " BC"
	}
	for limit := int64(1000); y < limit && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, y, 10)
	return append(dst, '-', byte('0'+m/10), byte('0'+m%10), '-', byte('0'+d/10), byte('0'+d%10)), era
}

// civilDate turns days since 1970 into a date of the proleptic Gregorian calendar; year 0 is 1 BC.
func civilDate(days int64) (year int64, month, day int) {
	z := days + 719468
	era := z / 146097
	if z < 0 {
		era = (z - 146096) / 146097
	}
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

func renderTime(dst, p []byte) ([]byte, error) {
	if len(p) != 8 {
		return dst, errLength
	}
	return appendClock(dst, int64(binary.BigEndian.Uint64(p))), nil
}

// appendClock prints microseconds of a day.
func appendClock(dst []byte, us int64) []byte {
	s := us / 1000000
	dst = append(dst, byte('0'+s/36000), byte('0'+s/3600%10), ':', byte('0'+s/600%6), byte('0'+s/60%10), ':', byte('0'+s/10%6), byte('0'+s%10))
	return appendFraction(dst, us%1000000)
}

// appendFraction prints microseconds without trailing zeros.
func appendFraction(dst []byte, us int64) []byte {
	if us == 0 {
		return dst
	}
	dst = append(dst, '.')
	for div := int64(100000); us > 0; div /= 10 {
		dst = append(dst, byte('0'+us/div))
		us %= div
	}
	return dst
}

func renderTimestamp(dst, p []byte) ([]byte, error) { return appendTimestamp(dst, p, "") }

func renderTimestampTZ(dst, p []byte) ([]byte, error) { return appendTimestamp(dst, p, "+00") }

func appendTimestamp(dst, p []byte, zone string) ([]byte, error) {
	if len(p) != 8 {
		return dst, errLength
	}
	us := int64(binary.BigEndian.Uint64(p))
	switch us {
	case math.MaxInt64:
		return append(dst, "infinity"...), nil
	case math.MinInt64:
		return append(dst, "-infinity"...), nil
	}
	const day = int64(24 * time.Hour / time.Microsecond)
	days := us / day
	if us %= day; us < 0 {
		us += day
		days--
	}
	dst, era := appendDate(dst, days)
	dst = append(append(appendClock(append(dst, ' '), us), zone...), era...)
	return dst, nil
}

func renderTimeTZ(dst, p []byte) ([]byte, error) {
	if len(p) != 12 {
		return dst, errLength
	}
	dst = appendClock(dst, int64(binary.BigEndian.Uint64(p)))
	west := int64(int32(binary.BigEndian.Uint32(p[8:])))
	sign := byte('+')
	if west > 0 {
		sign = '-'
	} else {
		west = -west
	}
	dst = append(dst, sign, byte('0'+west/36000), byte('0'+west/3600%10))
	if rest := west % 3600; rest != 0 {
		dst = append(dst, ':', byte('0'+rest/600), byte('0'+rest/60%10))
		if rest%60 != 0 {
			dst = append(dst, ':', byte('0'+rest%60/10), byte('0'+rest%60%10))
		}
	}
	return dst, nil
}
