package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

func renderInterval(dst, p []byte) ([]byte, error) {
	v, err := parseBinaryInterval(p)
	if err != nil {
		return dst, err
	}
	return appendInterval(dst, v), nil
}

// appendInterval prints as IntervalStyle = postgres does: a part after a negative one has its sign.
func appendInterval(dst []byte, v interval) []byte {
	if v.infinite() {
		if v.micros < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "infinity"...)
	}
	start, before := len(dst), false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if before && n > 0 {
			dst = append(dst, '+')
		}
		dst = append(strconv.AppendInt(dst, n, 10), unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		before = n < 0
	}
	part(int64(v.months/12), " year")
	part(int64(v.months%12), " mon")
	part(int64(v.days), " day")
	if v.micros == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	us := magnitude(v.micros)
	if v.micros < 0 {
		dst = append(dst, '-')
	} else if before {
		dst = append(dst, '+')
	}
	s := us / 1000000
	if s/3600 < 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendUint(dst, s/3600, 10)
	dst = append(dst, ':', byte('0'+s/600%6), byte('0'+s/60%10), ':', byte('0'+s/10%6), byte('0'+s%10))
	return appendFraction(dst, int64(us%1000000))
}

func renderMacaddr(dst, p []byte) ([]byte, error) {
	if len(p) != 6 && len(p) != 8 {
		return dst, errLength
	}
	for i := range p {
		if i > 0 {
			dst = append(dst, ':')
		}
		dst = hex.AppendEncode(dst, p[i:i+1])
	}
	return dst, nil
}

// renderInet prints inet and cidr. The binary form says which of the two it is.
func renderInet(dst, p []byte) ([]byte, error) {
	if len(p) < 4 || len(p) != 4+int(p[3]) {
		return dst, errLength
	}
	addr, ok := netip.AddrFromSlice(p[4:])
	if !ok {
		return dst, errLength
	}
	dst = appendAddress(dst, addr)
	if p[2] != 0 || int(p[1]) != addr.BitLen() {
		dst = strconv.AppendInt(append(dst, '/'), int64(p[1]), 10)
	}
	return dst, nil
}

// appendAddress differs from netip for IPv6 addresses that embed an IPv4 one: Postgres writes ::1.2.3.4 with dots too.
func appendAddress(dst []byte, a netip.Addr) []byte {
	if !a.Is6() || a.Is4In6() {
		return a.AppendTo(dst)
	}
	b := a.As16()
	for _, x := range b[:12] {
		if x != 0 {
			return a.AppendTo(dst)
		}
	}
	if b[12] == 0 && b[13] == 0 { // at least seven words of zeros: ::, ::1, ::abcd
		return a.AppendTo(dst)
	}
	return fmt.Appendf(dst, "::%d.%d.%d.%d", b[12], b[13], b[14], b[15])
}

// renderArray prints an array in binary form as Postgres prints it, with its dimensions and bounds.
func renderArray(dst, p []byte, item renderer) ([]byte, error) {
	a, err := parseArray(p)
	if err != nil {
		return dst, err
	}
	if len(a.dims) == 0 {
		return append(dst, "{}"...), nil
	}
	for _, d := range a.dims {
		if d.lower != 1 {
			dst = appendBounds(dst, a.dims)
			break
		}
	}
	dst, err = renderDimension(dst, &a, a.dims, item)
	if err == nil && len(a.rest) != 0 {
		err = errLength
	}
	return dst, err
}

func appendBounds(dst []byte, dims []dimension) []byte {
	for _, d := range dims {
		dst = fmt.Appendf(dst, "[%d:%d]", d.lower, int64(d.lower)+int64(d.length)-1)
	}
	return append(dst, '=')
}

func renderDimension(dst []byte, a *binaryArray, dims []dimension, item renderer) ([]byte, error) {
	dst = append(dst, '{')
	for i := range dims[0].length {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if len(dims) > 1 {
			dst, err = renderDimension(dst, a, dims[1:], item)
		} else {
			dst, err = renderElement(dst, a, item)
		}
		if err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func renderElement(dst []byte, a *binaryArray, item renderer) ([]byte, error) {
	v, err := a.next()
	if err != nil {
		return dst, err
	}
	if v == nil {
		return append(dst, "NULL"...), nil
	}
	start := len(dst)
	if dst, err = item(dst, v); err != nil || !needsQuotes(dst[start:]) {
		return dst, err
	}
	plain := string(dst[start:])
	dst = append(dst[:start], '"')
	for i := range len(plain) {
		if plain[i] == '"' || plain[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, plain[i])
	}
	return append(dst, '"'), nil
}

func needsQuotes(b []byte) bool {
	if len(b) == 0 || len(b) == 4 && strings.EqualFold(string(b), "NULL") {
		return true
	}
	for _, c := range b {
		switch c {
		case '"', '\\', '{', '}', ',', ' ', '\t', '\n', '\r', '\v', '\f':
			return true
		}
	}
	return false
}

func putFloat64(c *column, f float64) error { c.put64(math.Float64bits(f)); return nil }

func putFloat32(c *column, f float32) error { c.put32(math.Float32bits(f)); return nil }

// bigEndian64 is for values that are rendered from an Arrow column.
func bigEndian64(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func float32From(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

func float64From(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
