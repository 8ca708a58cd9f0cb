package connectortest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// Changelog generates changes that fit together: a row is updated or deleted only while it is there, a before-image is the
// row as it was, and an unsent value is one that did not change. The same seed gives the same changes.
//
// Positions are eight bytes, big-endian: the number of rows so far.
type Changelog struct {
	Columns []connectors.Column
	Key     []int // nil: rows have no identity, and only Insert makes sense unless the target keeps a log
	Kinds   change.Kinds
	// Unsent makes updates that leave out values that did not change.
	Unsent bool
	Holds  Holds
	Seed   uint64

	rng  *rand.Rand
	live []row
	next uint64 // key of the next row
	free []uint64
	rows uint64
}

// row is a live row: which version each of its values was drawn from.
type row struct {
	key      uint64
	versions []uint64
}

// Next makes a batch of about so many rows (an update with a before-image is never cut).
func (g *Changelog) Next(mem memory.Allocator, rows int) change.Batch {
	if g.rng == nil {
		g.rng = rand.New(rand.NewPCG(g.Seed, 1))
	}
	bld := array.NewRecordBuilder(mem, Schema(g.Columns))
	defer bld.Release()
	b := change.Batch{RowPositionSize: 8}
	for len(b.Kinds) < rows {
		g.step(bld, &b)
	}
	b.Record = bld.NewRecordBatch()
	b.Position = b.At(len(b.Kinds) - 1)
	b.Bytes = int64(len(b.Kinds)) * 64
	if g.Kinds == change.Inserts {
		b.Kinds = nil // the short form, which every connector must take too
	}
	return b
}

// reset goes back to the first change.
func (g *Changelog) reset() {
	g.rng, g.live, g.free, g.next, g.rows = nil, nil, nil, 0, 0
}

// rowNumber is the number of rows up to a position of a Changelog.
func rowNumber(p change.Position) uint64 { return binary.BigEndian.Uint64(p) }

// slice is rows from to to of a batch, as a batch that has to be released on its own. A slice without rows holds nothing.
func slice(b *change.Batch, from, to int) change.Batch {
	s := change.Batch{RowPositionSize: b.RowPositionSize}
	if from >= to {
		return s
	}
	s.Record = b.Record.NewSlice(int64(from), int64(to))
	if b.Kinds != nil {
		s.Kinds = b.Kinds[from:to]
	}
	s.RowPositions = b.RowPositions[from*b.RowPositionSize : to*b.RowPositionSize]
	s.Position = b.At(to - 1)
	return s
}

// Schema is the Arrow schema of a batch with these columns.
func Schema(cols []connectors.Column) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	return arrow.NewSchema(fields, nil)
}

func (g *Changelog) step(bld *array.RecordBuilder, b *change.Batch) {
	draw := g.rng.IntN(10)
	switch {
	case len(g.live) > 0 && draw < 4 && g.Kinds.Has(change.UpdateAfter):
		g.update(bld, b, g.rng.IntN(len(g.live)))
	case len(g.live) > 0 && draw < 6 && g.Kinds.Has(change.Delete):
		n := g.rng.IntN(len(g.live))
		gone := g.live[n]
		g.live[n] = g.live[len(g.live)-1]
		g.live = g.live[:len(g.live)-1]
		g.free = append(g.free, gone.key)
		g.emit(bld, b, change.Delete, gone)
	default:
		g.insert(bld, b)
	}
}

func (g *Changelog) insert(bld *array.RecordBuilder, b *change.Batch) {
	key := g.next
	if len(g.free) > 0 && g.rng.IntN(2) == 0 { // a key that was deleted comes back
		key = g.free[len(g.free)-1]
		g.free = g.free[:len(g.free)-1]
	} else {
		g.next++
	}
	fresh := row{key: key, versions: make([]uint64, len(g.Columns))}
	for c := range fresh.versions {
		fresh.versions[c] = g.rows
	}
	g.live = append(g.live, fresh)
	g.emit(bld, b, change.Insert, fresh)
}

func (g *Changelog) update(bld *array.RecordBuilder, b *change.Batch, n int) {
	r := &g.live[n]
	if g.Kinds.Has(change.UpdateBefore) {
		g.emit(bld, b, change.UpdateBefore, *r)
	}
	for c := range r.versions {
		if g.rng.IntN(2) == 0 {
			r.versions[c] = g.rows
		} else if g.Unsent && !g.isKey(c) && g.rng.IntN(2) == 0 {
			if b.Unsent == nil {
				b.Unsent = change.NewUnsent(len(g.Columns))
			}
			b.Unsent.Set(c, len(b.Kinds))
		}
	}
	g.emit(bld, b, change.UpdateAfter, *r)
}

func (g *Changelog) isKey(c int) bool {
	for _, k := range g.Key {
		if k == c {
			return true
		}
	}
	return false
}

func (g *Changelog) emit(bld *array.RecordBuilder, b *change.Batch, kind change.Kind, r row) {
	for c, col := range g.Columns {
		field := bld.Field(c)
		if g.isKey(c) {
			appendKey(field, col, r.key)
		} else if !b.Sent(c, len(b.Kinds)) {
			field.AppendNull()
		} else {
			draws := rand.New(rand.NewPCG(g.Seed<<8|uint64(c), r.key<<32|r.versions[c]))
			appendValue(field, col, draws, g.Holds)
		}
	}
	g.rows++
	b.Kinds = append(b.Kinds, kind)
	b.RowPositions = binary.BigEndian.AppendUint64(b.RowPositions, g.rows)
}

// appendKey gives every key number a value of its own, the ends of the type among them.
func appendKey(b array.Builder, c connectors.Column, n uint64) {
	switch b := b.(type) {
	case *array.Int64Builder:
		switch n {
		case 0:
			b.Append(math.MaxInt64)
		case 1:
			b.Append(math.MinInt64)
		default:
			b.Append(int64(n) - 3)
		}
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.StringBuilder:
		b.Append(fmt.Sprintf("%s-%d", [...]string{"EU", "us", "ä", "a'b"}[n%4], n%7))
	default:
		panic("no key generator for " + c.SQL)
	}
}
