package eval

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/ddl"
)

// vec is a column of intermediate results: a view of an Arrow column or of a slot's scratch memory. Where a row is NULL the
// value is undefined but safe to read.
type vec struct {
	n     int
	valid mask        // nil: no NULL
	bits  mask        // BOOLEAN
	raw   []byte      // fixed-width values, or the bytes of text
	off   []int32     // text and binary: n+1 offsets into raw
	arr   arrow.Array // nested types, borrowed

	// Owned memory that the fields above may point into.
	fixed     []uint64
	text      []byte
	offsets   []int32
	boolStore mask
	nullStore mask
}

// layout is how values of a type lie in memory.
type layout uint8

const (
	noValues layout = iota // NULL
	bitValues
	fixedValues
	textValues
	nestedValues
)

func layoutOf(t *ddl.Type) layout {
	switch t.Kind {
	case ddl.Null:
		return noValues
	case ddl.Boolean:
		return bitValues
	case ddl.Char, ddl.Varchar, ddl.BinaryType, ddl.Varbinary:
		return textValues
	case ddl.Array, ddl.Map, ddl.Multiset, ddl.Row:
		return nestedValues
	}
	return fixedValues
}

// width is the size of a fixed-width value in bytes.
func width(t *ddl.Type) int {
	switch t.Kind {
	case ddl.TinyInt:
		return 1
	case ddl.SmallInt:
		return 2
	case ddl.Int, ddl.Float, ddl.Date, ddl.IntervalYearMonth:
		return 4
	case ddl.Decimal:
		return 16
	}
	return 8
}

// values views the fixed-width values of v.
func values[T any](v *vec) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v.raw))), v.n)
}

// makeValues gives v room for n fixed-width values in its own memory.
func makeValues[T any](v *vec, n int) []T {
	var zero T
	v.makeFixed(n, int(unsafe.Sizeof(zero)))
	return values[T](v)
}

func (v *vec) makeFixed(n, width int) {
	need := (n*width + 7) >> 3
	if cap(v.fixed) < need || v.fixed == nil {
		v.fixed = make([]uint64, max(need, 64))
	}
	v.fixed = v.fixed[:cap(v.fixed)]
	v.n = n
	v.raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v.fixed))), len(v.fixed)*8)[: n*width : n*width]
}

// makeBits gives v room for n booleans in its own memory.
func (v *vec) makeBits(n int) mask {
	v.n = n
	v.boolStore = v.boolStore.grow(n)
	v.bits = v.boolStore
	return v.bits
}

// makeText starts a text column of n rows: the caller appends to the bytes and calls endText.
func (v *vec) makeText(n int) (off []int32, data []byte) {
	v.n = n
	if cap(v.offsets) < n+1 {
		v.offsets = make([]int32, n+1, max(n+1, 1025))
	}
	v.offsets = v.offsets[:n+1]
	v.offsets[0] = 0
	return v.offsets, v.text[:0]
}

func (v *vec) endText(data []byte) {
	v.text = data
	v.off, v.raw = v.offsets, data
}

// at is the text of row i.
func (v *vec) at(i int) []byte { return v.raw[v.off[i]:v.off[i+1]] }

// ownValid makes the validity writable: a copy of the present one in v's own memory.
func (v *vec) ownValid() mask {
	own := v.nullStore.grow(v.n)
	if v.valid == nil {
		own.fill(true)
	} else if len(own) > 0 && &v.valid[0] != &own[0] {
		copy(own, v.valid)
	}
	v.nullStore, v.valid = own, own
	return own
}

// allNull makes every row NULL.
func (v *vec) allNull(t *ddl.Type, n int) {
	switch layoutOf(t) {
	case bitValues:
		v.makeBits(n).fill(false)
	case fixedValues:
		v.makeFixed(n, width(t))
		clear(v.raw)
	case textValues:
		off, data := v.makeText(n)
		clear(off)
		v.endText(data)
	}
	v.n = n
	v.nullStore = v.nullStore.grow(n)
	v.nullStore.fill(false)
	v.valid = v.nullStore
}

// load views an Arrow column.
func (v *vec) load(t *ddl.Type, want arrow.DataType, a arrow.Array) error {
	lay := layoutOf(t)
	if lay != nestedValues && a.DataType().ID() != want.ID() || lay == fixedValues && !arrow.TypeEqual(a.DataType(), want) {
		return fmt.Errorf("column of type %s where %s is declared as %s", a.DataType(), t, want)
	}
	data := a.Data()
	n, offset := data.Len(), data.Offset()
	v.n, v.valid, v.arr = n, nil, a
	buffers := data.Buffers()
	if lay == noValues {
		v.allNull(t, n)
		return nil
	}
	if a.NullN() > 0 && buffers[0] != nil {
		v.nullStore = loadBits(v.nullStore, buffers[0].Bytes(), offset, n)
		v.valid = v.nullStore
	}
	switch lay {
	case bitValues:
		v.boolStore = loadBits(v.boolStore, buffers[1].Bytes(), offset, n)
		v.bits = v.boolStore
	case fixedValues:
		w := width(t)
		v.raw = bytesOf(buffers[1])[offset*w : (offset+n)*w]
	case textValues:
		v.loadText(buffers, offset, n)
	}
	return nil
}

func (v *vec) loadText(buffers []*memory.Buffer, offset, n int) {
	if n == 0 || buffers[1] == nil || buffers[1].Len() == 0 {
		off, data := v.makeText(n)
		clear(off)
		v.endText(data)
		return
	}
	all := arrow.Int32Traits.CastFromBytes(buffers[1].Bytes())
	v.off, v.raw = all[offset:offset+n+1], bytesOf(buffers[2])
}

func bytesOf(b *memory.Buffer) []byte {
	if b == nil {
		return nil
	}
	return b.Bytes()
}

// build copies v into an Arrow array of its own.
func (v *vec) build(alloc memory.Allocator, dt arrow.DataType, t *ddl.Type) arrow.Array {
	n := v.n
	if layoutOf(t) == noValues {
		return array.NewNull(n)
	}
	nulls := n - v.valid.count(n)
	buffers := make([]*memory.Buffer, 2, 3)
	if nulls > 0 {
		buffers[0] = newBuffer(alloc, (n+7)>>3)
		storeBits(buffers[0].Bytes(), v.valid, n)
	}
	switch layoutOf(t) {
	case bitValues:
		buffers[1] = newBuffer(alloc, (n+7)>>3)
		storeBits(buffers[1].Bytes(), v.bits, n)
	case fixedValues:
		buffers[1] = newBuffer(alloc, n*width(t))
		copy(buffers[1].Bytes(), v.raw)
	case textValues:
		buffers = append(buffers, v.buildText(alloc, buffers))
	}
	data := array.NewData(dt, n, buffers, nil, nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	out := array.MakeFromData(data)
	data.Release()
	return out
}

func (v *vec) buildText(alloc memory.Allocator, buffers []*memory.Buffer) *memory.Buffer {
	first, last := v.off[0], v.off[v.n]
	buffers[1] = newBuffer(alloc, (v.n+1)*4)
	off := arrow.Int32Traits.CastFromBytes(buffers[1].Bytes())
	if first == 0 {
		copy(off, v.off[:v.n+1])
	} else {
		for i, o := range v.off[:v.n+1] {
			off[i] = o - first
		}
	}
	text := newBuffer(alloc, int(last-first))
	copy(text.Bytes(), v.raw[first:last])
	return text
}

func newBuffer(alloc memory.Allocator, size int) *memory.Buffer {
	b := memory.NewResizableBuffer(alloc)
	b.Resize(size)
	return b
}
