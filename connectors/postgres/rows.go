package postgres

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
)

// rowBuffer gathers the rows of one table until they are handed over.
type rowBuffer struct {
	table     *tableRead
	columns   []*column
	kinds     []change.Kind
	mixed     bool // some kind is not +I
	unsent    *change.Unsent
	positions []byte
	n         int
	bytes     int64
	again     []int // rows that must be read again for what they lack
}

func newRowBuffer(t *tableRead) *rowBuffer {
	b := &rowBuffer{table: t, columns: make([]*column, len(t.Columns))}
	for i := range t.Columns {
		b.columns[i] = newColumn(t.Columns[i].Type)
	}
	return b
}

// end completes a row whose columns have been appended.
func (b *rowBuffer) end(k change.Kind, at position, size int) {
	b.kinds = append(b.kinds, k)
	b.mixed = b.mixed || k != change.Insert
	b.positions = at.append(b.positions)
	b.n++
	b.bytes += int64(size)
}

// drop takes back a row that was begun.
func (b *rowBuffer) drop() {
	for _, c := range b.columns {
		c.truncate(b.n)
	}
}

func (b *rowBuffer) markUnsent(col int) {
	if b.unsent == nil {
		b.unsent = change.NewUnsent(len(b.columns))
	}
	b.unsent.Set(col, b.n)
}

// batch hands the rows over and leaves the buffer empty.
func (b *rowBuffer) batch() change.Batch {
	arrays := make([]arrow.Array, len(b.columns))
	for i, c := range b.columns {
		arrays[i] = c.array()
	}
	out := change.Batch{
		Table: b.table.index, Record: array.NewRecordBatch(b.table.schema, arrays, int64(b.n)),
		Unsent: b.unsent, RowPositions: b.positions, RowPositionSize: positionSize, Bytes: b.bytes,
	}
	if b.mixed {
		out.Kinds = b.kinds
	}
	for i, c := range b.columns {
		arrays[i].Release()
		c.reset()
	}
	if b.mixed {
		b.kinds = make([]change.Kind, 0, cap(b.kinds))
	}
	b.kinds = b.kinds[:0]
	b.positions = make([]byte, 0, cap(b.positions))
	b.n, b.bytes, b.mixed, b.unsent, b.again = 0, 0, false, nil, b.again[:0]
	return out
}

// transaction is what the metadata columns tell about a row.
type transaction struct {
	commit lsn
	time   int64 // microseconds since 1970
	xid    uint32
	copied bool
}

// metadata appends the metadata columns of a row.
func (b *rowBuffer) metadata(tx *transaction, k change.Kind) {
	for _, i := range b.table.metadata {
		c := b.columns[i]
		switch b.table.Columns[i].Metadata {
		case metaLSN:
			c.values = tx.commit.appendText(c.values)
			c.endText()
		case metaTxn:
			if tx.copied {
				c.null()
			} else {
				c.put64(uint64(tx.xid))
			}
		case metaCommitTime:
			if tx.copied {
				c.null()
			} else {
				c.put64(uint64(tx.time))
			}
		case metaOpTime:
			c.put64(uint64(tx.time))
		case metaOp:
			c.putString(operation(tx, k))
		case metaRowKind:
			c.putString(k.String())
		case metaTable, metaTableName:
			c.putString(b.table.at.table)
		case metaSchema, metaSchemaName:
			c.putString(b.table.at.schema)
		case metaDatabase, metaDatabaseName:
			c.putString(b.table.database)
		case metaSnapshot:
			c.putBool(tx.copied)
		}
	}
}

func operation(tx *transaction, k change.Kind) string {
	switch {
	case tx.copied:
		return "read"
	case k == change.Insert:
		return "insert"
	case k == change.Delete:
		return "delete"
	}
	return "update"
}
