package connectortest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// reading checks one read mode.
type reading struct {
	Case
	mode connectors.ReadMode
	key  []int
}

func newReading(c Case, mode connectors.ReadMode) *reading {
	return &reading{Case: c, mode: mode, key: []int{0, 1}}
}

func (r *reading) run(t *testing.T) {
	t.Run("everything_once", r.everythingOnce)
	t.Run("resume_from_every_position", r.resume)
	t.Run("cancel_loses_nothing", r.cancel)
	t.Run("projection", r.projection)
}

// place is a loaded table and how to read it.
type place struct {
	r      *reading
	table  connectors.Table
	loaded Loaded
	limits connectors.Limits
}

func (r *reading) load(t *testing.T) *place {
	t.Helper()
	p := &place{r: r, limits: connectors.Limits{Rows: 13, Bytes: 1 << 20, Wait: 10}}
	p.table = table(r.Columns, r.key, r.mode.When, nil)
	p.table.Mode = r.mode.Name
	log := &Changelog{Columns: r.Columns, Key: r.key, Kinds: r.mode.Emits, Holds: r.Holds, Seed: 11}
	p.loaded = r.Load(t, r.mode, p.table, log)
	p.table.Options = table(r.Columns, r.key, r.mode.When, p.loaded.Options).Options
	if r.Connector.Validate != nil {
		for _, problem := range r.Connector.Validate(p.table, connectors.Reading) {
			if !problem.Warning {
				t.Fatalf("the suite's table is refused: %s%s: %s", problem.Option, problem.Column, problem.Message)
			}
		}
	}
	return p
}

func (p *place) read(t *testing.T, from change.Position) connectors.Read {
	t.Helper()
	mem := checked(t)
	return connectors.Read{Pipeline: "p", Tables: []connectors.TableRead{{Table: p.table, Declared: p.r.Columns}}, From: from, CaughtUp: true,
		Limits: p.limits, Allocator: mem,
		Reject: func(_ context.Context, e *connectors.RowError) error { return e }}
}

// piece is what one Next gave.
type piece struct {
	rows     []Row
	position change.Position
}

// open opens the source after from, or, for the beginning of a mode with a snapshot, copies the snapshot first.
func (p *place) all(t *testing.T, from change.Position) []piece {
	t.Helper()
	read := p.read(t, from)
	var pieces []piece
	if p.r.mode.Snapshot && from == nil {
		pieces, read.From = p.snapshot(t, read)
	}
	src, err := p.r.Connector.OpenSource(t.Context(), read)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return append(pieces, p.drain(t, src, p.r.mode)...)
}

func (p *place) snapshot(t *testing.T, read connectors.Read) ([]piece, change.Position) {
	t.Helper()
	snap, err := p.r.Connector.OpenSnapshot(t.Context(), read, nil)
	if err != nil {
		t.Fatalf("open snapshot: %v", err)
	}
	defer func() { _ = snap.Close() }()
	var pieces []piece
	for _, part := range snap.Partitions() {
		src, err := snap.Open(t.Context(), part)
		if err != nil {
			t.Fatalf("open partition %s: %v", part.ID, err)
		}
		pieces = append(pieces, p.drain(t, src, p.r.mode)...)
	}
	return pieces, snap.Start()
}

func (p *place) drain(t *testing.T, src connectors.Source, mode connectors.ReadMode) []piece {
	t.Helper()
	defer func() {
		if err := src.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var pieces []piece
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			if _, err := src.Next(ctx); !errors.Is(err, io.EOF) {
				t.Errorf("after the end, Next gave %v, want io.EOF again", err)
			}
			return pieces
		}
		if err != nil {
			t.Fatalf("next: %v", err)
		}
		pieces = append(pieces, p.check(t, &b, mode))
		b.Release()
		if pos := pieces[len(pieces)-1].position; pos != nil {
			if err := src.Ack(ctx, pos); err != nil {
				t.Fatalf("ack: %v", err)
			}
		}
	}
}

// check checks the form of a batch and copies it.
func (p *place) check(t *testing.T, b *change.Batch, mode connectors.ReadMode) piece {
	t.Helper()
	out := piece{rows: Rows(b), position: bytes.Clone(b.Position)}
	if b.Record == nil {
		return out
	}
	if !b.Record.Schema().Equal(Schema(p.table.Columns)) {
		t.Fatalf("the batch's schema is %s, want %s", b.Record.Schema(), Schema(p.table.Columns))
	}
	if b.Kinds != nil && len(b.Kinds) != b.Len() {
		t.Fatalf("%d kinds for %d rows", len(b.Kinds), b.Len())
	}
	if b.RowPositions != nil && len(b.RowPositions) != b.Len()*b.RowPositionSize {
		t.Fatalf("%d bytes of row positions for %d rows of %d", len(b.RowPositions), b.Len(), b.RowPositionSize)
	}
	for i := range b.Len() {
		if !mode.Emits.Has(b.Kind(i)) {
			t.Fatalf("kind %s is not in %s", b.Kind(i), mode.Emits)
		}
		if i > 0 && b.At(i) != nil && b.At(i-1).Compare(b.At(i)) > 0 {
			t.Fatalf("row positions go back: %x, %x", b.At(i-1), b.At(i))
		}
	}
	return out
}

// join is every row of the pieces.
func join(pieces []piece) []Row {
	var rows []Row
	for _, p := range pieces {
		rows = append(rows, p.rows...)
	}
	return rows
}

// compare compares rows, or, where changes can be told in several ways, what they lead to.
func (p *place) compare(t *testing.T, when string, got, want []Row) {
	t.Helper()
	if p.r.mode.Snapshot {
		a, b := newState(p.r.key), newState(p.r.key)
		a.apply(got)
		b.apply(want)
		got, want = a.list(), b.list()
	}
	expectSame(t, when, got, want)
}

func (r *reading) everythingOnce(t *testing.T) {
	p := r.load(t)
	pieces := p.all(t, nil)
	if len(join(pieces)) == 0 {
		t.Fatal("nothing was read")
	}
	want := p.loaded.Want
	if want == nil {
		want = join(p.all(t, nil))
	}
	p.compare(t, "first read", join(pieces), want)
}

// resume reads on from each batch's position and expects exactly the rest.
func (r *reading) resume(t *testing.T) {
	p := r.load(t)
	pieces := p.all(t, nil)
	tried := 0
	for i, piece := range pieces {
		if piece.position == nil || p.r.mode.Snapshot && i < len(pieces)-1 {
			continue // a snapshot's partitions are resumed by partition, not by position
		}
		if tried++; tried > 12 && i < len(pieces)-1 {
			continue
		}
		expectSame(t, "the rest", join(p.all(t, piece.position)), join(pieces[i+1:]))
	}
	if tried == 0 && r.mode.Replay {
		t.Fatal("no batch carried a position")
	}
}

// cancel ends the context before every other Next.
func (r *reading) cancel(t *testing.T) {
	p := r.load(t)
	if r.mode.Snapshot {
		t.Log("partitions and streams are cancelled in the connector's own tests")
	}
	want := join(p.all(t, nil))
	if r.mode.Snapshot {
		return
	}
	src, err := r.Connector.OpenSource(t.Context(), p.read(t, nil))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = src.Close() }()
	gone, stop := context.WithCancel(t.Context())
	stop()
	var got []Row
	for n := 0; ; n++ {
		ctx := t.Context()
		if n%2 == 0 {
			ctx = gone
		}
		b, err := src.Next(ctx)
		if errors.Is(err, context.Canceled) && n%2 == 0 {
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("next: %v", err)
		}
		got = append(got, Rows(&b)...)
		b.Release()
	}
	expectSame(t, "with cancelled reads", got, want)
}

// projection reads some of the columns, in another order.
func (r *reading) projection(t *testing.T) {
	p := r.load(t)
	full := join(p.all(t, nil))
	order := []int{len(r.Columns) - 1, 1, 3, 0}
	p.table.Columns = nil
	for _, c := range order {
		p.table.Columns = append(p.table.Columns, r.Columns[c])
	}
	p.table.Key = []int{3, 1}
	for i := range full {
		values := make([]string, len(order))
		for n, c := range order {
			values[n] = full[i].Values[c]
		}
		full[i].Values = values
	}
	got := join(p.all(t, nil))
	p.r = &reading{Case: r.Case, mode: r.mode, key: p.table.Key}
	p.compare(t, "some columns", got, full)
}
