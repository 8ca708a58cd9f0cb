package change

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Compactor reduces a batch to one change for each key, for sinks that keep a row per key. Its memory is used again by the
// next call. Not safe for concurrent use.
type Compactor struct {
	slots   map[string]int32 // by key: index in what follows
	numbers map[int64]int32  // the same for a key of one whole number
	last    []int32          // by slot: the row of the last change, -1 while there is none
	existed []bool           // by slot: the first change says that the row was there before the batch
	slotOf  []int32          // by row; -1 for -U
	earlier []int32          // by row: the change of the same key whose values stand where the row has none; -1 for none
	key     []byte
	out     Compacted
}

// Compacted is what is left of a batch: the last change of each key, in the order of these changes. It is valid until the
// Compactor's next call, and as long as the batch.
type Compacted struct {
	Rows []int32
	// Kinds are the outcome for each of Rows: Delete; Insert for a row that appeared in the batch; UpdateAfter for one that
	// was there before (also when it was deleted and inserted again). A replay makes Insert meet a row that is there.
	Kinds   []Kind
	batch   *Batch
	earlier []int32
}

// Compact finds the last change of each key, the columns named by key. -U is left out: the +U after it says all.
func (c *Compactor) Compact(b *Batch, key []int) *Compacted {
	n := b.Len()
	c.reset(n, b.Unsent != nil)
	if n > 0 {
		c.assign(b, key)
	}
	for row := range n {
		slot := c.slotOf[row]
		if slot < 0 {
			continue
		}
		kind, before := b.Kind(row), c.last[slot]
		if before < 0 {
			c.existed[slot] = kind != Insert
		}
		// Only an update builds on what was there; an insert after a delete is a whole row.
		if c.earlier != nil && kind == UpdateAfter && before >= 0 && b.Kind(int(before)) != Delete {
			c.earlier[row] = before
		}
		c.last[slot] = int32(row)
	}
	for row := range n {
		slot := c.slotOf[row]
		if slot < 0 || c.last[slot] != int32(row) {
			continue
		}
		kind := Insert
		if b.Kind(row) == Delete {
			kind = Delete
		} else if c.existed[slot] {
			kind = UpdateAfter
		}
		c.out.Rows = append(c.out.Rows, int32(row))
		c.out.Kinds = append(c.out.Kinds, kind)
	}
	c.out.batch, c.out.earlier = b, c.earlier
	return &c.out
}

// Source is the row that holds the value of column col for the change at index i: the row itself, or an earlier change of
// the key when the row was sent without the column. Sent is false when no change of the batch has the value.
func (c *Compacted) Source(col, i int) (row int, sent bool) {
	row = int(c.Rows[i])
	for !c.batch.Sent(col, row) {
		if c.earlier == nil || c.earlier[row] < 0 {
			return row, false
		}
		row = int(c.earlier[row])
	}
	return row, true
}

func (c *Compactor) reset(rows int, partial bool) {
	clear(c.slots)
	clear(c.numbers)
	c.last, c.existed, c.slotOf = c.last[:0], c.existed[:0], c.slotOf[:0]
	c.out.Rows, c.out.Kinds = c.out.Rows[:0], c.out.Kinds[:0]
	if !partial {
		c.earlier = nil
		return
	}
	c.earlier = c.earlier[:0]
	for range rows {
		c.earlier = append(c.earlier, -1)
	}
}

// assign gives each row the slot of its key.
func (c *Compactor) assign(b *Batch, key []int) {
	columns := b.Record.Columns()
	if len(key) == 1 {
		if number := numbers(columns[key[0]]); number != nil && columns[key[0]].NullN() == 0 {
			c.assignNumbers(b, number)
			return
		}
	}
	if c.slots == nil {
		c.slots = make(map[string]int32, b.Len())
	}
	add := make([]func([]byte, int) []byte, len(key))
	for i, k := range key {
		add[i] = keyBytes(columns[k])
	}
	for row := range b.Len() {
		if b.Kind(row) == UpdateBefore {
			c.slotOf = append(c.slotOf, -1)
			continue
		}
		c.key = c.key[:0]
		for _, f := range add {
			c.key = f(c.key, row)
		}
		slot, ok := c.slots[string(c.key)]
		if !ok {
			slot = c.slot()
			c.slots[string(c.key)] = slot
		}
		c.slotOf = append(c.slotOf, slot)
	}
}

func (c *Compactor) assignNumbers(b *Batch, number func(int) int64) {
	if c.numbers == nil {
		c.numbers = make(map[int64]int32, b.Len())
	}
	for row := range b.Len() {
		if b.Kind(row) == UpdateBefore {
			c.slotOf = append(c.slotOf, -1)
			continue
		}
		n := number(row)
		slot, ok := c.numbers[n]
		if !ok {
			slot = c.slot()
			c.numbers[n] = slot
		}
		c.slotOf = append(c.slotOf, slot)
	}
}

func (c *Compactor) slot() int32 {
	c.last, c.existed = append(c.last, -1), append(c.existed, false)
	return int32(len(c.last) - 1)
}

// keyBytes adds a value to a key, so that equal keys have equal bytes and no two keys run into each other.
func keyBytes(a arrow.Array) func(dst []byte, i int) []byte {
	value := valueBytes(a)
	if a.NullN() == 0 {
		return func(dst []byte, i int) []byte { return value(append(dst, 1), i) }
	}
	return func(dst []byte, i int) []byte {
		if a.IsNull(i) {
			return append(dst, 0)
		}
		return value(append(dst, 1), i)
	}
}

func valueBytes(a arrow.Array) func(dst []byte, i int) []byte {
	if number := numbers(a); number != nil {
		return func(dst []byte, i int) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(number(i))) }
	}
	switch a := a.(type) {
	case *array.String:
		return func(dst []byte, i int) []byte { return appendSized(dst, a.Value(i)) }
	case *array.Binary:
		return func(dst []byte, i int) []byte { return appendSized(dst, a.Value(i)) }
	case *array.Decimal128:
		return func(dst []byte, i int) []byte {
			n := a.Value(i)
			return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, uint64(n.HighBits())), n.LowBits())
		}
	}
	return func(dst []byte, i int) []byte { return appendSized(dst, a.ValueStr(i)) }
}

// numbers reads a column of fixed width as whole numbers; nil for any other.
func numbers(a arrow.Array) func(int) int64 {
	switch a := a.(type) {
	case *array.Int64:
		return a.Value
	case *array.Int32:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int16:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int8:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Date32:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Time64:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Timestamp:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Boolean:
		return func(i int) int64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}
	case *array.Float64:
		return func(i int) int64 { return floatKey(a.Value(i)) }
	case *array.Float32:
		return func(i int) int64 { return floatKey(float64(a.Value(i))) }
	}
	return nil
}

// floatKey makes the zeros one key, and all NaNs one, as databases do.
func floatKey(f float64) int64 {
	if f != f {
		f = math.NaN()
	}
	return int64(math.Float64bits(f + 0))
}

func appendSized[T string | []byte](dst []byte, v T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}
