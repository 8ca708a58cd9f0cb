package datagen

import (
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// draws is a stream of random words that follows from a seed, a column and an index.
type draws uint64

func drawsOf(seed, salt, index uint64) draws {
	return draws(mix(mix(seed^salt) + index*0x9e3779b97f4a7c15))
}

func (d *draws) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mix(uint64(*d))
}

// mix is the finaliser of splitmix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *draws) unit() float64 { return float64(d.next()>>11) / (1 << 53) }

// made is one row to make: the change whose values it has, and the number of its key.
type made struct {
	index uint64
	key   uint64
}

// clock is what the values of time columns follow from.
type clock struct {
	base int64 // microseconds since 1970: when the first row was made
	rate int64 // rows per second, 0 for none
}

func (c clock) at(index uint64) int64 {
	if c.rate == 0 {
		return c.base
	}
	rate := uint64(c.rate)
	return c.base + int64(index/rate*1e6+index%rate*1e6/rate)
}

// fill appends the column's value of every row.
func (f *field) fill(b array.Builder, rows []made, seed uint64, now clock) {
	b.Reserve(len(rows))
	add := func(*draws, uint64) {}
	if !f.sequence && !f.first {
		add = f.adder(b, now)
	}
	var d draws // outside of the loop: a call through a function value would move it to the heap for every row
	for _, r := range rows {
		index := r.index
		if f.key {
			index = r.key
		}
		d = drawsOf(seed, f.salt, index)
		switch {
		case f.nullRate > 0 && !f.key && d.unit() < f.nullRate:
			b.AppendNull()
		case f.first || f.sequence:
			n := f.start + int64(index)
			f.number(b, n)
		default:
			add(&d, index)
		}
	}
}

// number appends a whole number: of a sequence, or of a key.
func (f *field) number(b array.Builder, n int64) {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(n))
	case *array.Int16Builder:
		b.Append(int16(n))
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Int64Builder:
		b.Append(n)
	case *array.Float32Builder:
		b.Append(float32(n))
	case *array.Float64Builder:
		b.Append(float64(n))
	case *array.StringBuilder:
		var tmp [20]byte
		b.BinaryBuilder.Append(strconv.AppendInt(tmp[:0], n, 10))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(n).IncreaseScaleBy(b.Type().(*arrow.Decimal128Type).Scale))
	}
}

// adder appends one random value.
func (f *field) adder(b array.Builder, now clock) func(d *draws, index uint64) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return func(d *draws, _ uint64) { b.Append(d.next()&1 == 0) }
	case *array.Float32Builder:
		return func(d *draws, _ uint64) { b.Append(float32(f.float(d))) }
	case *array.Float64Builder:
		return func(d *draws, _ uint64) { b.Append(f.float(d)) }
	case *array.StringBuilder:
		return f.texts(b)
	case *array.BinaryBuilder:
		return f.blobs(b)
	case *array.Decimal128Builder:
		if !f.low.IsInt64() || !f.high.IsInt64() {
			return func(d *draws, _ uint64) { b.Append(decimal128.FromBigInt(f.wide(d))) }
		}
	}
	if add := f.wholes(b); add != nil {
		return add
	}
	return f.moments(b, now)
}

func (f *field) float(d *draws) float64 {
	u := d.unit()
	return f.lowF*(1-u) + f.highF*u
}

// wholes draws evenly between two bounds that fit in 64 bits.
func (f *field) wholes(b array.Builder) func(d *draws, index uint64) {
	var put func(v int64)
	switch b := b.(type) {
	case *array.Int8Builder:
		put = func(v int64) { b.Append(int8(v)) }
	case *array.Int16Builder:
		put = func(v int64) { b.Append(int16(v)) }
	case *array.Int32Builder:
		put = func(v int64) { b.Append(int32(v)) }
	case *array.Int64Builder:
		put = b.Append
	case *array.Decimal128Builder:
		put = func(v int64) { b.Append(decimal128.FromI64(v)) }
	case *array.MonthIntervalBuilder:
		put = func(v int64) { b.Append(arrow.MonthInterval(v)) }
	case *array.DurationBuilder:
		scale := int64(1e3)
		if b.Type().(*arrow.DurationType).Unit == arrow.Nanosecond {
			scale = 1e6
		}
		put = func(v int64) { b.Append(arrow.Duration(v * scale)) }
	default:
		return nil
	}
	low := f.low.Int64()
	span := uint64(f.high.Int64()-low) + 1 // 0: all 64 bits
	return func(d *draws, _ uint64) {
		v := d.next()
		if span != 0 {
			v %= span
		}
		put(low + int64(v))
	}
}

// wide draws between bounds that may need more than 64 bits.
func (f *field) wide(d *draws) *big.Int {
	span := new(big.Int).Sub(f.high, f.low)
	span.Add(span, big.NewInt(1))
	v := new(big.Int).SetUint64(d.next())
	for range span.BitLen() / 64 {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(d.next()))
	}
	return v.Mod(v, span).Add(v, f.low)
}

func (f *field) size(d *draws) int {
	if f.varLen {
		return 1 + int(d.next()%uint64(f.length))
	}
	return f.length
}

// texts draws hexadecimal digits, as Flink does.
func (f *field) texts(b *array.StringBuilder) func(d *draws, _ uint64) {
	const digits = "0123456789abcdef"
	var buf []byte
	return func(d *draws, _ uint64) {
		n := f.size(d)
		buf = buf[:0]
		for len(buf) < n {
			w := d.next()
			for range min(16, n-len(buf)) {
				buf = append(buf, digits[w&15])
				w >>= 4
			}
		}
		b.BinaryBuilder.Append(buf)
	}
}

func (f *field) blobs(b *array.BinaryBuilder) func(d *draws, _ uint64) {
	var buf []byte
	return func(d *draws, _ uint64) {
		n := f.size(d)
		buf = buf[:0]
		for len(buf) < n {
			w := d.next()
			for range min(8, n-len(buf)) {
				buf = append(buf, byte(w))
				w >>= 8
			}
		}
		b.Append(buf)
	}
}

const day = int64(86400e6)

func (f *field) moments(b array.Builder, now clock) func(d *draws, index uint64) {
	digits := 6
	if n := declaredLength(f.column.SQL); n > 0 || len(f.column.SQL) > 0 && f.column.SQL[len(f.column.SQL)-1] == ')' {
		digits = min(n, 6)
	}
	round := int64(1)
	for range 6 - digits {
		round *= 10
	}
	at := func(index uint64) int64 { v := now.at(index); return v - v%round }
	switch b := b.(type) {
	case *array.Date32Builder:
		return func(_ *draws, index uint64) { b.Append(arrow.Date32(at(index) / day)) }
	case *array.Time64Builder:
		scale := int64(1)
		if b.Type().(*arrow.Time64Type).Unit == arrow.Nanosecond {
			scale = 1e3
		}
		return func(_ *draws, index uint64) { b.Append(arrow.Time64(at(index) % day * scale)) }
	case *array.TimestampBuilder:
		scale := int64(1)
		if b.Type().(*arrow.TimestampType).Unit == arrow.Nanosecond {
			scale = 1e3
		}
		return func(d *draws, index uint64) {
			v := now.at(index)
			if f.maxPast > 0 {
				v -= int64(d.next() % uint64(f.maxPast+1))
			}
			b.Append(arrow.Timestamp((v - v%round) * scale))
		}
	}
	return nil
}
