package eval

import (
	"math/bits"
	"unsafe"
)

// mask is one bit per row, little-endian like Arrow's bitmaps. Nil means every row, which is the common case and free.
// Bits past the last row mean nothing.
type mask []uint64

func words(n int) int { return (n + 63) >> 6 }

func (m mask) has(i int) bool { return m == nil || m[i>>6]&(1<<(i&63)) != 0 }
func (m mask) set(i int)      { m[i>>6] |= 1 << (i & 63) }
func (m mask) clear(i int)    { m[i>>6] &^= 1 << (i & 63) }

// word is the w-th word, all ones for nil.
func (m mask) word(w int) uint64 {
	if m == nil {
		return ^uint64(0)
	}
	return m[w]
}

// count is the number of set bits among the first n.
func (m mask) count(n int) int {
	if m == nil {
		return n
	}
	c := 0
	for w, full := 0, n>>6; w < full; w++ {
		c += bits.OnesCount64(m[w])
	}
	if n&63 != 0 {
		c += bits.OnesCount64(m[n>>6] & (1<<(n&63) - 1))
	}
	return c
}

// any reports whether one of the first n bits is set.
func (m mask) any(n int) bool {
	if m == nil {
		return n > 0
	}
	for w, full := 0, n>>6; w < full; w++ {
		if m[w] != 0 {
			return true
		}
	}
	return n&63 != 0 && m[n>>6]&(1<<(n&63)-1) != 0
}

// grow returns m with room for n bits; the content is undefined.
func (m mask) grow(n int) mask {
	if w := words(n); cap(m) >= w {
		return m[:w]
	}
	return make(mask, words(n), max(words(n), 16))
}

func (m mask) fill(on bool) {
	var x uint64
	if on {
		x = ^uint64(0)
	}
	for i := range m {
		m[i] = x
	}
}

// loadBits copies n bits that start at bit offset of an Arrow bitmap.
func loadBits(dst mask, src []byte, offset, n int) mask {
	dst = dst.grow(n)
	if n == 0 {
		return dst
	}
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)*8)
	from, shift := offset>>3, uint(offset&7)
	size := (n + 7) >> 3
	if shift == 0 {
		copy(out, src[from:from+size])
		return dst
	}
	last := (offset + n - 1) >> 3
	for i := range size {
		b := src[from+i] >> shift
		if from+i < last {
			b |= src[from+i+1] << (8 - shift)
		}
		out[i] = b
	}
	return dst
}

// storeBits writes the first n bits as an Arrow bitmap.
func storeBits(dst []byte, src mask, n int) {
	if n == 0 {
		return
	}
	in := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(src))), len(src)*8)
	copy(dst[:(n+7)>>3], in)
	if n&7 != 0 {
		dst[n>>3] &= 1<<(n&7) - 1
	}
}
