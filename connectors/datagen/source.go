package datagen

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// position is the last row that was handed over. Its bytes are a version, the change's index, whether the change is whole
// (an update is two rows), and the time that time columns count from: big-endian, so that they sort as the rows do.
type position struct {
	index uint64
	whole bool
	base  int64
}

const (
	positionVersion = 1
	positionSize    = 1 + 8 + 1 + 8
)

func (p position) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, positionVersion), p.index)
	if p.whole {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	return binary.BigEndian.AppendUint64(dst, uint64(p.base))
}

func parsePosition(b []byte) (position, error) {
	if len(b) != positionSize || b[0] != positionVersion || b[9] > 1 {
		return position{}, fmt.Errorf("%x is not a position of datagen", b)
	}
	p := position{index: binary.BigEndian.Uint64(b[1:]), whole: b[9] == 1, base: int64(binary.BigEndian.Uint64(b[10:]))}
	if p.index == math.MaxUint64 {
		return position{}, fmt.Errorf("%x is not a position of datagen", b)
	}
	return p, nil
}

type source struct {
	read    connectors.Read
	schema  *arrow.Schema
	fields  []*field
	seed    uint64
	clock   clock
	changes *changes // nil when every change is an insert
	next    uint64   // index of the next change
	half    bool     // only the second row of the next change is missing
	total   uint64   // changes; MaxUint64 without end

	started time.Time
	from    uint64 // next, when started
	rows    []made
}

func newSource(r connectors.Read, now func() time.Time) (*source, error) {
	t := &r.Tables[0].Table
	s := &source{read: r, seed: uint64(seed.Get(t.Options)), total: math.MaxUint64}
	if t.Options.Has(numberOfRows.Key) {
		s.total = uint64(numberOfRows.Get(t.Options))
	}
	s.total = min(s.total, sequencesEnd(t))
	columns := make([]arrow.Field, len(t.Columns))
	for i, c := range t.Columns {
		f, err := newField(t.Options, c)
		if err != nil {
			return nil, connectors.Permanent(fmt.Errorf("column %q: %w", c.Name, err), "")
		}
		s.fields = append(s.fields, f)
		columns[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	s.schema = arrow.NewSchema(columns, nil)
	s.clock = clock{base: now().UnixMicro(), rate: rowsPerSecond.Get(t.Options)}
	if m := mode.Get(t.Options); m != "insert" {
		s.changes = &changes{seed: s.seed, before: m == "all", keys: int(keys.Get(t.Options)),
			update: updateRatio.Get(t.Options), delete: deleteRatio.Get(t.Options)}
		for n, c := range t.Key {
			s.fields[c].key, s.fields[c].first = true, n == 0
		}
	}
	if s.read.From != nil {
		if err := s.resume(); err != nil {
			return nil, err
		}
	}
	s.started, s.from = time.Now(), s.next
	return s, nil
}

func (s *source) resume() error {
	p, err := parsePosition(s.read.From)
	if err != nil {
		return connectors.Permanent(err, "the checkpoint belongs to another source: reset the pipeline")
	}
	s.clock.base, s.next, s.half = p.base, p.index, !p.whole
	if p.whole {
		s.next++
	}
	if s.changes != nil {
		for i := range s.next {
			s.changes.step(i, func(change.Kind, made) {})
		}
	}
	return nil
}

// sequencesEnd is the number of rows after which the first sequence is used up. It follows from the options, so it also
// counts columns that the pipeline does not read.
func sequencesEnd(t *connectors.Table) uint64 {
	end := uint64(math.MaxUint64)
	for _, key := range t.Options.Keys() {
		name, ok := cutField(key, ".kind")
		if e, _ := t.Options.Lookup(key); !ok || !isSequence(e.Text) {
			continue
		}
		start, ok1 := sequenceBound(t, name, ".start")
		stop, ok2 := sequenceBound(t, name, ".end")
		if ok1 && ok2 && stop >= start {
			end = min(end, uint64(stop-start)+1)
		}
	}
	return end
}

// Next makes the changes that are due by now, and waits for the next one when none is.
func (s *source) Next(ctx context.Context) (change.Batch, error) {
	if s.next >= s.total || s.read.CaughtUp && s.total == math.MaxUint64 {
		return change.Batch{}, io.EOF
	}
	if err := ctx.Err(); err != nil {
		return change.Batch{}, err
	}
	n, err := s.due(ctx)
	if err != nil {
		return change.Batch{}, err
	}
	b := change.Batch{RowPositionSize: positionSize}
	s.rows = s.rows[:0]
	for range n {
		s.decide(&b)
	}
	bld := array.NewRecordBuilder(s.read.Mem(), s.schema)
	defer bld.Release()
	for i, f := range s.fields {
		f.fill(bld.Field(i), s.rows, s.seed, s.clock)
	}
	b.Record = bld.NewRecordBatch()
	b.Position = b.At(len(s.rows) - 1)
	b.Bytes = int64(len(s.rows)) * s.rowBytes()
	return b, nil
}

// decide adds the rows of the next change.
func (s *source) decide(b *change.Batch) {
	if s.changes == nil {
		s.rows = append(s.rows, made{index: s.next})
		b.RowPositions = position{s.next, true, s.clock.base}.appendTo(b.RowPositions)
		s.next++
		return
	}
	s.changes.step(s.next, func(kind change.Kind, m made) {
		if kind == change.UpdateBefore && s.half {
			return
		}
		s.rows = append(s.rows, m)
		b.Kinds = append(b.Kinds, kind)
		b.RowPositions = position{s.next, kind != change.UpdateBefore, s.clock.base}.appendTo(b.RowPositions)
	})
	s.half = false
	s.next++
}

func (s *source) rowBytes() int64 {
	n := int64(0)
	for _, f := range s.fields {
		switch f.column.Type.ID() {
		case arrow.STRING, arrow.BINARY:
			n += int64(f.length)
		default:
			n += 8
		}
	}
	return max(n, 1)
}

// due is the number of changes to make now. A rate makes batches of a hundredth of a second, so that a high one does not
// cost a batch per row and a low one does not make a row late.
func (s *source) due(ctx context.Context) (uint64, error) {
	limit := uint64(max(1, s.read.Limits.Rows))
	if b := s.read.Limits.Bytes; b > 0 {
		limit = max(1, min(limit, uint64(b/s.rowBytes())))
	}
	limit = min(limit, s.total-s.next)
	if s.clock.rate == 0 {
		return limit, nil
	}
	rate := float64(s.clock.rate)
	want := min(limit, max(1, uint64(s.clock.rate/100)))
	done := s.next - s.from
	wait := time.Duration(float64(done+want-1)/rate*float64(time.Second)) - time.Since(s.started)
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-timer.C:
		}
	}
	// At least what was waited for: a timer may fire a fraction early.
	ready := uint64(time.Since(s.started).Seconds()*rate) + 1
	if ready < done+want {
		return want, nil
	}
	return min(limit, ready-done), nil
}

// Ack has nothing to forget.
func (s *source) Ack(context.Context, change.Position) error { return nil }
func (s *source) Close() error                               { return nil }
