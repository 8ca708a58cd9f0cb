package postgres

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column gathers the values of one column of a batch in Arrow's layout. Arrow's own builders cannot take a value back,
// which is what happens when a later column of the row turns out to be bad.
type column struct {
	typ     arrow.DataType
	width   int // bytes of a value; or bits, text, list
	values  []byte
	offsets []int32 // of text and list: n+1 of them
	valid   []byte  // bitmap; nil while there is no NULL
	n       int
	nulls   int
	items   *column // of a list
	hint    int     // bytes that the last batch needed
}

const (
	widthBits = 0
	widthText = -1
	widthList = -2
)

func newColumn(t arrow.DataType) *column {
	c := &column{typ: t}
	switch t := t.(type) {
	case *arrow.BooleanType:
		c.width = widthBits
	case *arrow.StringType, *arrow.BinaryType:
		c.width = widthText
	case *arrow.ListType:
		c.width = widthList
		c.items = newColumn(t.Elem())
	case arrow.FixedWidthDataType:
		c.width = t.BitWidth() / 8
	}
	c.reset()
	return c
}

// reset begins a new batch; what was gathered before belongs to the arrays made from it.
func (c *column) reset() {
	c.hint = max(c.hint*3/4, len(c.values))
	c.values = make([]byte, 0, max(64, c.hint+c.hint/8))
	if c.width < 0 {
		c.offsets = append(make([]int32, 0, c.n+c.n/8+16), 0)
	}
	c.valid, c.n, c.nulls = nil, 0, 0
	if c.items != nil {
		c.items.reset()
	}
}

// done counts a value that has been appended to values.
func (c *column) done() {
	if c.valid != nil {
		c.mark()
	}
	c.n++
}

func (c *column) mark() {
	if c.n&7 == 0 {
		c.valid = append(c.valid, 0)
	}
	c.valid[c.n>>3] |= 1 << (c.n & 7)
}

// null appends NULL.
func (c *column) null() {
	if c.valid == nil {
		c.valid = make([]byte, (c.n+7)/8, max(64, c.n/4))
		for i := range c.valid {
			c.valid[i] = 0xff
		}
		if c.n&7 != 0 {
			c.valid[c.n>>3] = 1<<(c.n&7) - 1
		}
	}
	if c.n&7 == 0 {
		c.valid = append(c.valid, 0)
	}
	switch {
	case c.width > 0:
		for range c.width {
			c.values = append(c.values, 0)
		}
	case c.width == widthBits:
		if c.n&7 == 0 {
			c.values = append(c.values, 0)
		}
	case c.width == widthText:
		c.offsets = append(c.offsets, int32(len(c.values)))
	default:
		c.offsets = append(c.offsets, int32(c.items.n))
	}
	c.n++
	c.nulls++
}

func (c *column) isNull(i int) bool { return c.valid != nil && c.valid[i>>3]&(1<<(i&7)) == 0 }

func (c *column) put64(v uint64) {
	c.values = binary.LittleEndian.AppendUint64(c.values, v)
	c.done()
}

func (c *column) put32(v uint32) {
	c.values = binary.LittleEndian.AppendUint32(c.values, v)
	c.done()
}

func (c *column) put16(v uint16) {
	c.values = binary.LittleEndian.AppendUint16(c.values, v)
	c.done()
}

func (c *column) put128(hi, lo uint64) {
	c.values = binary.LittleEndian.AppendUint64(c.values, lo)
	c.values = binary.LittleEndian.AppendUint64(c.values, hi)
	c.done()
}

func (c *column) putBool(v bool) {
	if c.n&7 == 0 {
		c.values = append(c.values, 0)
	}
	if v {
		c.values[c.n>>3] |= 1 << (c.n & 7)
	}
	c.done()
}

func (c *column) putBytes(p []byte) {
	c.values = append(c.values, p...)
	c.endText()
}

func (c *column) putString(s string) {
	c.values = append(c.values, s...)
	c.endText()
}

// endText ends a text whose bytes have been appended to values.
func (c *column) endText() {
	c.offsets = append(c.offsets, int32(len(c.values)))
	c.done()
}

// endList ends a list whose items have been appended to items.
func (c *column) endList() {
	c.offsets = append(c.offsets, int32(c.items.n))
	c.done()
}

// truncate takes back everything from value n on, also a value that was begun and not ended.
func (c *column) truncate(n int) {
	for i := n; i < c.n; i++ {
		if c.isNull(i) {
			c.nulls--
		}
	}
	switch {
	case c.width > 0:
		c.values = c.values[:n*c.width]
	case c.width == widthBits:
		c.values = clip(c.values, n)
	case c.width == widthText:
		c.offsets = c.offsets[:n+1]
		c.values = c.values[:c.offsets[n]]
	default:
		c.offsets = c.offsets[:n+1]
		c.items.truncate(int(c.offsets[n]))
	}
	if c.valid != nil {
		c.valid = clip(c.valid, n)
	}
	c.n = min(c.n, n)
}

// clip shortens a bitmap to n bits.
func clip(bits []byte, n int) []byte {
	bits = bits[:(n+7)/8]
	if n&7 != 0 {
		bits[n>>3] &= 1<<(n&7) - 1
	}
	return bits
}

// text is value i of a text column.
func (c *column) text(i int) []byte { return c.values[c.offsets[i]:c.offsets[i+1]] }

// array hands the gathered values over; reset must follow before the next value.
func (c *column) array() arrow.Array {
	data := c.data()
	defer data.Release()
	return array.MakeFromData(data)
}

func (c *column) data() *array.Data {
	var valid *memory.Buffer
	if c.nulls > 0 {
		valid = memory.NewBufferBytes(c.valid)
	}
	switch c.width {
	case widthText:
		buffers := []*memory.Buffer{valid, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.offsets)), memory.NewBufferBytes(c.values)}
		return array.NewData(c.typ, c.n, buffers, nil, c.nulls, 0)
	case widthList:
		items := c.items.data()
		defer items.Release()
		buffers := []*memory.Buffer{valid, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.offsets))}
		return array.NewData(c.typ, c.n, buffers, []arrow.ArrayData{items}, c.nulls, 0)
	}
	return array.NewData(c.typ, c.n, []*memory.Buffer{valid, memory.NewBufferBytes(c.values)}, nil, c.nulls, 0)
}
