package connectortest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// writing checks one write mode.
type writing struct {
	Case
	mode connectors.WriteMode
	key  []int
}

func newWriting(t *testing.T, c Case, mode connectors.WriteMode) *writing {
	w := &writing{Case: c, mode: mode}
	if mode.Key == connectors.KeyRequired {
		w.key = []int{0, 1}
	}
	return w
}

func (w *writing) run(t *testing.T) {
	t.Run("every_kind_and_type", w.everyKindAndType)
	t.Run("empty_batches", w.emptyBatches)
	t.Run("nothing_written", w.nothingWritten)
	t.Run("commit_again_after_reopening", w.commitAgain)
	t.Run("crash_after_flush", func(t *testing.T) { w.crash(t, crashAfterFlush) })
	t.Run("crash_after_write", func(t *testing.T) { w.crash(t, crashAfterWrite) })
	t.Run("crash_before_commit", func(t *testing.T) { w.crash(t, crashBeforeCommit) })
	t.Run("one_bad_row", w.oneBadRow)
	t.Run("bad_row_stops", w.badRowStops)
	if w.mode.PartialRows && w.key != nil {
		t.Run("unsent_columns", w.unsentColumns)
	}
	if w.mode.Class == connectors.Transactional {
		t.Run("older_epoch_is_refused", w.olderEpoch)
	}
	t.Run("copy_in_one_step", w.once)
}

// life is one run of a pipeline against a target: what survives a crash is the saved token and the target.
type life struct {
	w      *writing
	mem    *memory.CheckedAllocator
	table  connectors.Table
	target Target
	log    *Changelog
	wrote  []Row
	all    []change.Batch // for replays
	token  []byte         // saved
	epoch  uint64
	once   bool
	reject connectors.RejectFunc
	sink   connectors.Sink
}

func (w *writing) start(t *testing.T) *life {
	t.Helper()
	l := &life{w: w, mem: checked(t)}
	l.table = table(w.Columns, w.key, w.mode.When, nil)
	l.table.Mode, l.table.Guarantee = w.mode.Name, w.mode.Guarantee
	l.target = w.Target(t, w.mode, l.table)
	l.table.Options = table(w.Columns, w.key, w.mode.When, l.target.Options).Options
	l.log = &Changelog{Columns: w.Columns, Key: w.key, Kinds: w.mode.Accepts, Holds: w.Holds, Seed: 7}
	if w.key == nil {
		l.log.Kinds = w.mode.Accepts // a log: every accepted kind is one more row
	}
	if w.Connector.Validate != nil {
		for _, p := range w.Connector.Validate(l.table, connectors.Writing) {
			if !p.Warning {
				t.Fatalf("the suite's table is refused: %s%s: %s", p.Option, p.Column, p.Message)
			}
		}
	}
	t.Cleanup(func() {
		for i := range l.all {
			l.all[i].Release()
		}
		l.close(t)
	})
	l.open(t)
	return l
}

func (l *life) open(t *testing.T) {
	t.Helper()
	l.close(t)
	l.epoch++
	sink, err := l.openAt(l.epoch)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	l.sink = sink
}

func (l *life) openAt(epoch uint64) (connectors.Sink, error) {
	reject := l.reject
	if reject == nil {
		reject = func(_ context.Context, e *connectors.RowError) error { return e }
	}
	return l.w.Connector.OpenSink(context.Background(), connectors.Write{Pipeline: "p", Sink: "t", Table: l.table,
		Epoch: epoch, Token: l.token, Once: l.once, Limits: connectors.DefaultLimits, Reject: reject})
}

func (l *life) close(t *testing.T) {
	t.Helper()
	if l.sink != nil {
		if err := l.sink.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		l.sink = nil
	}
}

// next makes a batch that is kept for replays, and remembers its rows as written.
func (l *life) next(rows int) change.Batch {
	b := l.log.Next(l.mem, rows)
	l.all = append(l.all, b)
	l.wrote = append(l.wrote, Rows(&b)...)
	return b
}

func (l *life) write(t *testing.T, b change.Batch) {
	t.Helper()
	if err := l.sink.Write(context.Background(), b); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func (l *life) flush(t *testing.T) []byte {
	t.Helper()
	token, err := l.sink.Flush(context.Background())
	if err != nil {
		t.Fatalf("flush: %v", err)
	}
	return bytes.Clone(token) // a store would keep bytes, not the slice
}

func (l *life) commit(t *testing.T) {
	t.Helper()
	if c, ok := l.sink.(connectors.Committer); ok && l.token != nil {
		if err := c.Commit(context.Background(), l.token); err != nil {
			t.Fatalf("commit: %v", err)
		}
	}
}

// checkpoint is flush, save, commit.
func (l *life) checkpoint(t *testing.T) {
	t.Helper()
	l.token = l.flush(t)
	l.commit(t)
}

// want is what the target must hold after the rows.
func (l *life) want(rows []Row) []Row {
	if l.w.key == nil {
		return rows
	}
	s := newState(l.w.key)
	s.apply(rows)
	return s.list()
}

func (l *life) expect(t *testing.T, when string) {
	t.Helper()
	if l.target.Rows != nil {
		expectSame(t, when, l.target.Rows(t), l.want(l.wrote))
	}
}

func (w *writing) everyKindAndType(t *testing.T) {
	l := w.start(t)
	for range 8 {
		before := l.wrote
		l.write(t, l.next(40))
		token := l.flush(t)
		if l.target.Rows != nil && w.mode.Staged {
			expectSame(t, "staged rows before the commit", l.target.Rows(t), l.want(before))
		}
		l.token = token
		l.commit(t)
		l.expect(t, "after the checkpoint")
	}
	l.close(t)
	l.expect(t, "after closing")
}

func (w *writing) emptyBatches(t *testing.T) {
	l := w.start(t)
	l.write(t, change.Batch{Position: change.Position{0, 0, 0, 0, 0, 0, 0, 0}})
	empty := Empty(l.mem, w.Columns)
	l.all = append(l.all, empty)
	l.write(t, empty)
	l.checkpoint(t)
	l.write(t, l.next(5))
	l.write(t, empty)
	l.checkpoint(t)
	l.checkpoint(t) // nothing new
	l.expect(t, "with empty batches")
	l.open(t)
	l.commit(t)
	l.expect(t, "after reopening")
}

func (w *writing) nothingWritten(t *testing.T) {
	l := w.start(t)
	l.close(t)
	l.open(t)
	l.checkpoint(t)
	l.expect(t, "nothing written")
}

func (w *writing) commitAgain(t *testing.T) {
	l := w.start(t)
	l.write(t, l.next(20))
	l.checkpoint(t)
	l.commit(t)
	l.expect(t, "second commit")
	l.open(t)
	l.commit(t)
	l.commit(t)
	l.expect(t, "commit after reopening")
	l.skipKnown(t)
	l.write(t, l.next(20))
	l.checkpoint(t)
	l.expect(t, "rows after a recovery")
}

// skipKnown checks that a transactional sink knows the position of the last row.
func (l *life) skipKnown(t *testing.T) {
	t.Helper()
	if l.w.mode.Class != connectors.Transactional {
		return
	}
	want := l.all[len(l.all)-1].Position
	if got := l.sink.Position(); !bytes.Equal(got, want) {
		t.Fatalf("the target's position is %x, want %x", got, want)
	}
}

type crashPoint int

const (
	crashAfterFlush   crashPoint = iota // the token is lost
	crashAfterWrite                     // nothing was flushed
	crashBeforeCommit                   // the token was saved
)

// crash replays, after a crash, everything since the last checkpoint, in batches of other sizes.
func (w *writing) crash(t *testing.T, at crashPoint) {
	l := w.start(t)
	l.write(t, l.next(10))
	l.checkpoint(t)
	saved := uint64(len(l.wrote))
	for range 3 {
		l.write(t, l.next(15))
	}
	switch at {
	case crashAfterFlush:
		l.flush(t)
	case crashBeforeCommit:
		l.token = l.flush(t)
		saved = uint64(len(l.wrote))
	}
	l.open(t)
	l.commit(t)
	if at == crashBeforeCommit {
		l.expect(t, "commit after the crash")
	}
	l.replay(t, saved)
	l.write(t, l.next(15))
	l.checkpoint(t)
	if l.target.Rows == nil {
		return
	}
	got, want := l.target.Rows(t), l.want(l.wrote)
	if w.mode.Class == connectors.AppendOnly {
		expectAtLeast(t, "after the replay", got, want)
		return
	}
	expectSame(t, "after the replay", got, want)
}

// replay writes every row after the saved position and after the target's own again.
func (l *life) replay(t *testing.T, saved uint64) {
	t.Helper()
	from := saved
	if p := l.sink.Position(); p != nil {
		from = max(from, rowNumber(p))
	}
	again := *l.log
	again.reset()
	var at uint64
	for n := 0; at < uint64(len(l.wrote)); n++ {
		b := again.Next(l.mem, 7+n%5)
		rows := uint64(b.Len())
		to := min(rows, uint64(len(l.wrote))-at)
		skip := min(to, max(from, at)-at)
		if part := slice(&b, int(skip), int(to)); part.Len() > 0 {
			l.write(t, part)
			part.Release()
		}
		b.Release()
		at += rows
	}
}

func (w *writing) unsentColumns(t *testing.T) {
	l := w.start(t)
	l.log.Unsent = true
	for range 4 {
		l.write(t, l.next(60))
		l.checkpoint(t)
		l.expect(t, "unsent columns keep their value")
	}
}

func (w *writing) olderEpoch(t *testing.T) {
	l := w.start(t)
	l.write(t, l.next(10))
	l.checkpoint(t)
	old := l.sink
	l.sink = nil
	defer func() { _ = old.Close() }()
	l.open(t)
	late := l.log.Next(l.mem, 10)
	defer late.Release()
	err := old.Write(context.Background(), late)
	if err == nil {
		_, err = old.Flush(context.Background())
	}
	var permanent *connectors.PermanentError
	if err == nil || !errors.As(err, &permanent) {
		t.Fatalf("a writer with an older epoch got %v, want a permanent error", err)
	}
	l.expect(t, "after the older writer")
	if s, err := l.openAt(l.epoch - 1); err == nil {
		_ = s.Close()
		t.Fatal("opening with an older epoch is not refused")
	}
}

func (w *writing) once(t *testing.T) {
	if !w.mode.Accepts.Has(change.Insert) {
		return
	}
	l := w.start(t)
	l.once = true
	l.log.Kinds = change.Inserts
	l.open(t)
	for range 3 {
		b := l.next(20)
		b.Position = nil // as in a copy that is one unit
		if len(l.all) == 3 {
			b.Position = b.At(b.Len() - 1)
		}
		l.write(t, b)
	}
	l.checkpoint(t)
	l.expect(t, "after the copy")
}
