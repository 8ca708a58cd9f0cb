package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// sink writes one table. Write encodes a batch into the buffer that is being filled; one goroutine writes the other
// buffer meanwhile. So a lone change is sent at once, and what comes while a transaction is under way shares the next one.
type sink struct {
	w        connectors.Write
	t        *target
	apply    *applier
	cancel   context.CancelFunc
	resume   change.Position
	rowsMax  int
	bytesMax int
	// rowsGiven: rowsMax is the user's choice.
	rowsGiven bool

	mu       sync.Mutex
	changed  *sync.Cond // of anything below
	fill     *buffer
	spare    *buffer // nil while it is being written
	open     bool    // rows are in a transaction that is not committed
	flushing bool
	finished bool  // a copy that becomes visible in one step has been committed
	err      error // ends the sink
	closed   bool
	ended    chan struct{} // the writer has returned
	bound    []appender    // of the batch that is being encoded
}

// openSink connects, checks the target against the declaration, and under exactly-once claims the position for this run.
func openSink(ctx context.Context, w connectors.Write) (connectors.Sink, error) {
	conn, err := dial(ctx, w.Table.Options, w.Pipeline)
	if err != nil {
		return nil, explainConnect(err)
	}
	s, err := newSink(ctx, conn, w)
	if err != nil {
		_ = conn.Close(ctx) // the first error says more
		return nil, err
	}
	go s.run()
	return s, nil
}

// Write takes a batch. Under the lock: the writer waits at most for the encoding of one batch.
func (s *sink) Write(ctx context.Context, b change.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.wait(ctx, func() bool { return !s.full() }); err != nil {
		return err
	}
	if s.finished && b.Len() > 0 {
		return s.fail(errors.New("rows came after the end of a copy that was made visible in one step"))
	}
	if b.Len() > 0 {
		if err := s.encode(ctx, &b); err != nil {
			return s.fail(err)
		}
	}
	s.note(&b)
	s.changed.Broadcast()
	return nil
}

// full bounds a buffer. A copy is bounded by its bytes unless the user says how many rows: a transaction has to be large
// for its commit not to matter.
func (s *sink) full() bool {
	f := s.fill
	if f.plain && !s.rowsGiven && len(f.arena) < copyBytes {
		return len(f.arena) >= s.bytesMax
	}
	return len(f.ops) >= s.rowsMax || len(f.arena) >= s.bytesMax
}

// copyBytes is how much of a copy one transaction takes.
const copyBytes = 8 << 20

// note keeps where the rows end. In the middle of a stretch that is the position of the last row, if rows have one.
func (s *sink) note(b *change.Batch) {
	f := s.fill
	switch n := b.Len(); {
	case b.Position != nil:
		f.position, f.known, f.whole = append(f.position[:0], b.Position...), true, true
	case n > 0 && b.RowPositions != nil:
		f.position, f.known, f.whole = append(f.position[:0], b.At(n-1)...), true, false
	case n > 0:
		f.known, f.whole = false, false
	}
}

// fail ends the sink: a buffer that lacks a row must never be written.
func (s *sink) fail(err error) error {
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
	return s.err
}

// wait blocks until the condition holds, the sink has ended or ctx ends.
func (s *sink) wait(ctx context.Context, holds func() bool) error {
	if s.err != nil || holds() {
		return s.err
	}
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	for s.err == nil && !holds() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.changed.Wait()
	}
	return s.err
}

// Flush waits until everything is committed.
func (s *sink) Flush(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.w.Once && !s.finished && !s.fill.whole {
		if s.fill.empty() && !s.open && s.spare != nil {
			return nil, nil // nothing came yet
		}
		return nil, s.fail(errors.New("a copy that is made visible in one step was flushed before its end"))
	}
	s.flushing = true
	s.changed.Broadcast()
	err := s.wait(ctx, func() bool { return s.fill.empty() && s.spare != nil && !s.open && (s.finished || !s.w.Once) })
	s.flushing = false
	return nil, err
}

// Position is what the target held when the sink was opened.
func (s *sink) Position() change.Position { return s.resume }

// Close stops the writer. A transaction that is under way may or may not be committed; the position tells the next run.
func (s *sink) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.cancel()
	if s.spare == nil { // the writer is at the server
		s.apply.w.stop()
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	<-s.ended
	return s.apply.w.close()
}

// run is the writer.
func (s *sink) run() {
	defer close(s.ended)
	for {
		b, end := s.take()
		if b == nil {
			return
		}
		err := s.apply.write(b, end)
		s.done(b, end, err)
	}
}

// take waits for work. end: the transaction has to be committed with this buffer, which may be empty.
func (s *sink) take() (b *buffer, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		f := s.fill
		finish := s.flushing && s.w.Once && f.whole && !s.finished
		switch {
		case s.err != nil || s.closed:
			return nil, false
		case !f.empty() || finish || s.open && !s.w.Once && (s.flushing || f.known):
			s.fill, s.spare = s.spare, nil
			if s.w.Once { // the end of the copy is known only to the last buffer
				s.fill.position, s.fill.known, s.fill.whole = append(s.fill.position[:0], f.position...), f.known, f.whole
				return f, finish
			}
			s.changed.Broadcast()
			return f, f.known || s.flushing || s.apply.positions == nil
		}
		s.changed.Wait()
	}
}

func (s *sink) done(b *buffer, end bool, err error) {
	b.reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = b
	s.open = s.apply.open
	s.finished = s.finished || s.w.Once && end && err == nil
	if err != nil && s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
}

// encode appends the rows of a batch to the buffer. A row with a value that does not fit goes to Reject; the others stay.
func (s *sink) encode(ctx context.Context, b *change.Batch) error {
	f, t := s.fill, s.t
	s.bound = s.bound[:0]
	for i := range t.columns {
		s.bound = append(s.bound, t.columns[i].enc.bind(b.Record.Column(t.columns[i].source)))
	}
	at, step := -1, 0
	if b.RowPositions != nil {
		at, step = len(f.at), b.RowPositionSize
		f.at, f.atSize = append(f.at, b.RowPositions...), step
	}
	for i, n := 0, b.Len(); i < n; i++ {
		o := op{kind: b.Kind(i), at: at + i*step}
		if err := s.encodeRow(b, i, &o); err != nil {
			f.arena = f.arena[:o.off]
			var bad *columnError
			if !errors.As(err, &bad) {
				return err
			}
			if err := s.w.Reject(ctx, s.batchError(b, i, bad)); err != nil {
				return err
			}
		}
	}
	clear(s.bound) // they hold the batch
	return nil
}

// columnError is a value that cannot be written. Column is an index in writing order, -1 for the whole row.
type columnError struct {
	column int
	err    error
}

func (e *columnError) Error() string { return e.err.Error() }

var (
	errNullKey    = errors.New("a column of the key is NULL")
	errNotThere   = errors.New("the source did not send the column, and an earlier change of the same stretch deleted the row")
	errNotSent    = errors.New("the source did not send the column of a row that is inserted")
	errRowTooLong = errors.New("the row is larger than 1 GB")
)

func (s *sink) encodeRow(b *change.Batch, row int, o *op) error {
	f, columns := s.fill, len(s.bound)
	o.off = len(f.arena)
	switch o.kind {
	case change.Insert:
	case change.UpdateAfter:
		if f.keys == 0 {
			return fmt.Errorf("an append-only sink got a change of kind %s", o.kind)
		}
	case change.Delete:
		if columns = f.keys; columns == 0 {
			return fmt.Errorf("an append-only sink got a change of kind %s", o.kind)
		}
	default:
		return fmt.Errorf("the sink got a change of kind %s", o.kind)
	}
	f.beginRow(columns)
	for c := range columns {
		if b.Unsent != nil && c >= f.keys && b.Unsent.Has(s.t.columns[c].source, row) {
			if o.kind == change.Insert {
				return &columnError{c, errNotSent}
			}
			f.arena = binary.BigEndian.AppendUint32(f.arena, notSent)
			o.partial = true
			continue
		}
		before := len(f.arena)
		var err error
		if f.arena, err = s.bound[c](f.arena, row); err != nil {
			return &columnError{c, err}
		}
		if c < f.keys && binary.BigEndian.Uint32(f.arena[before:]) == nullSize {
			return &columnError{c, errNullKey}
		}
		if c == f.keys-1 {
			o.key = len(f.arena) - o.off - rowHead
		}
	}
	if len(f.arena)-o.off >= 1<<30 {
		return &columnError{-1, errRowTooLong}
	}
	if !f.add(*o) {
		return &columnError{s.firstUnsent(b, row), errNotThere}
	}
	return nil
}

func (s *sink) firstUnsent(b *change.Batch, row int) int {
	return slices.IndexFunc(s.t.columns, func(c targetColumn) bool { return b.Unsent.Has(c.source, row) })
}
