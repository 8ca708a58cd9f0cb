package eval

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// take copies the rows of a column that rows names, in that order; -1 is a NULL row.
func take(alloc memory.Allocator, a arrow.Array, rows []int32) arrow.Array {
	data := takeData(alloc, a.Data(), rows)
	out := array.MakeFromData(data)
	data.Release()
	return out
}

func takeData(alloc memory.Allocator, in arrow.ArrayData, rows []int32) arrow.ArrayData {
	n, offset := len(rows), in.Offset()
	if in.DataType().ID() == arrow.NULL {
		return array.NewData(arrow.Null, n, []*memory.Buffer{nil}, nil, n, 0)
	}
	validity, nulls := takeValidity(alloc, in, rows)
	buffers := []*memory.Buffer{validity}
	var children []arrow.ArrayData
	switch dt := in.DataType().(type) {
	case *arrow.BooleanType:
		bits := newBuffer(alloc, (n+7)>>3)
		clear(bits.Bytes())
		src := bytesOf(in.Buffers()[1])
		for j, i := range rows {
			if i >= 0 && bitutil.BitIsSet(src, offset+int(i)) {
				bitutil.SetBit(bits.Bytes(), j)
			}
		}
		buffers = append(buffers, bits)
	case arrow.FixedWidthDataType:
		buffers = append(buffers, takeFixed(alloc, in, rows, dt.BitWidth()/8))
	case *arrow.StringType, *arrow.BinaryType:
		off, text := takeText(alloc, in, rows)
		buffers = append(buffers, off, text)
	case *arrow.StructType:
		for _, c := range in.Children() {
			// A struct's offset applies to its children.
			children = append(children, takeData(alloc, c, shifted(rows, offset)))
		}
	default:
		off, items := takeLists(alloc, in, rows)
		buffers = append(buffers, off)
		children = append(children, takeData(alloc, in.Children()[0], items))
	}
	out := array.NewData(in.DataType(), n, buffers, children, nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range children {
		c.Release()
	}
	return out
}

func shifted(rows []int32, offset int) []int32 {
	if offset == 0 {
		return rows
	}
	out := make([]int32, len(rows))
	for j, i := range rows {
		out[j] = i
		if i >= 0 {
			out[j] += int32(offset)
		}
	}
	return out
}

func takeValidity(alloc memory.Allocator, in arrow.ArrayData, rows []int32) (*memory.Buffer, int) {
	src := bytesOf(in.Buffers()[0])
	nulls := 0
	for _, i := range rows {
		if i < 0 || src != nil && !bitutil.BitIsSet(src, in.Offset()+int(i)) {
			nulls++
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	out := newBuffer(alloc, (len(rows)+7)>>3)
	clear(out.Bytes())
	for j, i := range rows {
		if i >= 0 && (src == nil || bitutil.BitIsSet(src, in.Offset()+int(i))) {
			bitutil.SetBit(out.Bytes(), j)
		}
	}
	return out, nulls
}

func takeFixed(alloc memory.Allocator, in arrow.ArrayData, rows []int32, width int) *memory.Buffer {
	out := newBuffer(alloc, len(rows)*width)
	src, dst := bytesOf(in.Buffers()[1]), out.Bytes()
	if len(src) > 0 {
		src = src[in.Offset()*width:]
	}
	switch width {
	case 4:
		takeWords(arrow.Uint32Traits.CastFromBytes(dst), arrow.Uint32Traits.CastFromBytes(src), rows)
	case 8:
		takeWords(arrow.Uint64Traits.CastFromBytes(dst), arrow.Uint64Traits.CastFromBytes(src), rows)
	default:
		for j, i := range rows {
			if i >= 0 {
				copy(dst[j*width:(j+1)*width], src[int(i)*width:])
			} else {
				clear(dst[j*width : (j+1)*width])
			}
		}
	}
	return out
}

func takeWords[T uint32 | uint64](dst, src []T, rows []int32) {
	for j, i := range rows {
		if i >= 0 {
			dst[j] = src[i]
		} else {
			dst[j] = 0
		}
	}
}

func takeText(alloc memory.Allocator, in arrow.ArrayData, rows []int32) (off, text *memory.Buffer) {
	off = newBuffer(alloc, (len(rows)+1)*4)
	to := arrow.Int32Traits.CastFromBytes(off.Bytes())
	to[0] = 0
	src := offsetsOf(in)
	size := int32(0)
	for j, i := range rows {
		if i >= 0 && src != nil {
			size += src[i+1] - src[i]
		}
		to[j+1] = size
	}
	text = newBuffer(alloc, int(size))
	from, dst := bytesOf(in.Buffers()[2]), text.Bytes()
	for j, i := range rows {
		if i >= 0 && src != nil {
			copy(dst[to[j]:to[j+1]], from[src[i]:src[i+1]])
		}
	}
	return off, text
}

// takeLists returns the offsets of the chosen lists and the rows of the child that they need.
func takeLists(alloc memory.Allocator, in arrow.ArrayData, rows []int32) (off *memory.Buffer, items []int32) {
	off = newBuffer(alloc, (len(rows)+1)*4)
	to := arrow.Int32Traits.CastFromBytes(off.Bytes())
	to[0] = 0
	src := offsetsOf(in)
	items = []int32{}
	for j, i := range rows {
		if i >= 0 && src != nil {
			for at := src[i]; at < src[i+1]; at++ {
				items = append(items, at)
			}
		}
		to[j+1] = int32(len(items))
	}
	return off, items
}

// offsetsOf are the offsets of text or lists, from the first row on; nil when the column is empty.
func offsetsOf(in arrow.ArrayData) []int32 {
	b := bytesOf(in.Buffers()[1])
	if len(b) == 0 {
		return nil
	}
	return arrow.Int32Traits.CastFromBytes(b)[in.Offset():]
}
