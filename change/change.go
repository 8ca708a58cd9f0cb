// Package change is what flows through a pipeline: rows in Arrow columns, the kind of each change, and positions in a source.
//
// It knows nothing of SQL, connectors or checkpoints, and must never interpret a position.
package change

import (
	"bytes"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Kind is what happened to a row.
type Kind uint8

const (
	Insert       Kind = iota // +I
	UpdateBefore             // -U: the row before an update
	UpdateAfter              // +U: the row after an update
	Delete                   // -D
)

func (k Kind) String() string { return [...]string{"+I", "-U", "+U", "-D"}[k] }

// Kinds is a set of kinds.
type Kinds uint8

// Sets that modes declare.
const (
	None    Kinds = 0
	Inserts Kinds = 1 << Insert
	Upserts Kinds = 1<<Insert | 1<<UpdateAfter | 1<<Delete
	All     Kinds = 1<<Insert | 1<<UpdateBefore | 1<<UpdateAfter | 1<<Delete
)

// Of makes a set.
func Of(kinds ...Kind) Kinds {
	var s Kinds
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in s.
func (s Kinds) Has(k Kind) bool { return s&(1<<k) != 0 }

// Minus is s without the kinds of o.
func (s Kinds) Minus(o Kinds) Kinds { return s &^ o }

// String is "[+I -U +U -D]", always in that order.
func (s Kinds) String() string {
	var names []string
	for k := Insert; k <= Delete; k++ {
		if s.Has(k) {
			names = append(names, k.String())
		}
	}
	return "[" + strings.Join(names, " ") + "]"
}

// Position is a place in a source, made and understood by that source alone. The byte order of a source with one log is
// the log's order. Nil is "before everything".
type Position []byte

// Compare orders two positions of one source with a single log.
func (p Position) Compare(o Position) int { return bytes.Compare(p, o) }

// Infinite dates and timestamps. Postgres has them, Arrow does not: they travel as the extreme values of the column's
// integers, and a sink that cannot hold them refuses the row.
const (
	DateInfinity         = arrow.Date32(1<<31 - 1)
	DateNegInfinity      = arrow.Date32(-1 << 31)
	TimestampInfinity    = arrow.Timestamp(1<<63 - 1)
	TimestampNegInfinity = arrow.Timestamp(-1 << 63)
)

// Batch is a run of changes to one table, in the order of the source. One owner at a time; the owner calls Release once.
type Batch struct {
	// Table is the index of the table in the list that the source was opened with.
	Table int
	// Record holds the rows. Nil means no rows: only the position moves.
	Record arrow.RecordBatch
	// Kinds has one kind per row; nil means all Insert.
	Kinds []Kind
	// Unsent marks values that the source did not send (an unchanged TOAST column, the non-key columns of a key-only
	// delete). The value in Record is then NULL and means nothing. Nil means that every value was sent.
	Unsent *Unsent
	// RowPositions holds one position per row, RowPositionSize bytes each, ascending. Nil when the source has none.
	RowPositions    []byte
	RowPositionSize int
	// Position is the source's position after the last row, once every row up to there has been handed over. Nil means
	// that more batches of the same stretch follow (other tables of a transaction): no checkpoint may be taken yet.
	Position Position
	// Bytes is the approximate size of the rows at the source, for metrics and limits.
	Bytes int64
	// Committed is when the newest row was committed at the source, in microseconds since 1970; 0 when that is not known.
	Committed int64
	// Behind is how many bytes of the source's log were still to be read when the batch was made, as far as is known.
	Behind int64
}

// Len is the number of rows.
func (b *Batch) Len() int {
	if b.Record == nil {
		return 0
	}
	return int(b.Record.NumRows())
}

// Kind is the kind of row i.
func (b *Batch) Kind(i int) Kind {
	if b.Kinds == nil {
		return Insert
	}
	return b.Kinds[i]
}

// At is the position of row i, nil when the source has none.
func (b *Batch) At(i int) Position {
	if b.RowPositions == nil {
		return nil
	}
	return b.RowPositions[i*b.RowPositionSize : (i+1)*b.RowPositionSize : (i+1)*b.RowPositionSize]
}

// Sent reports whether the source sent column col of row i.
func (b *Batch) Sent(col, i int) bool { return b.Unsent == nil || !b.Unsent.Has(col, i) }

// Release gives the record back. The batch must not be used afterwards.
func (b *Batch) Release() {
	if b.Record != nil {
		b.Record.Release()
		b.Record = nil
	}
}

// Unsent is a bitmap per column; a column without any mark has a nil bitmap.
type Unsent struct{ columns [][]uint64 }

// NewUnsent makes an empty set for a number of columns.
func NewUnsent(columns int) *Unsent { return &Unsent{columns: make([][]uint64, columns)} }

// Set marks column col of row i.
func (u *Unsent) Set(col, i int) {
	for len(u.columns[col]) <= i>>6 {
		u.columns[col] = append(u.columns[col], 0)
	}
	u.columns[col][i>>6] |= 1 << (i & 63)
}

// Has reports whether column col of row i is marked.
func (u *Unsent) Has(col, i int) bool {
	c := u.columns[col]
	return i>>6 < len(c) && c[i>>6]&(1<<(i&63)) != 0
}

// Any reports whether any row of column col is marked.
func (u *Unsent) Any(col int) bool {
	for _, w := range u.columns[col] {
		if w != 0 {
			return true
		}
	}
	return false
}

// Column returns the marks of one column for reuse in another Unsent (a projection that passes the column through).
func (u *Unsent) Column(col int) []uint64 { return u.columns[col] }

// SetColumn installs marks taken with Column; the words are shared, not copied.
func (u *Unsent) SetColumn(col int, words []uint64) { u.columns[col] = words }
