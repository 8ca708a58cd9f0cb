package connectortest

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

const badRow = 4

func (w *writing) oneBadRow(t *testing.T) {
	column, put := w.badValue()
	if put == nil {
		t.Log("the system holds every value that the suite knows")
		return
	}
	l := w.start(t)
	var rejected []*connectors.RowError
	l.reject = func(_ context.Context, e *connectors.RowError) error {
		rejected = append(rejected, e)
		return nil
	}
	l.log.Kinds = change.Inserts
	l.open(t)
	b := l.badBatch(column, put)
	l.wrote = append(l.wrote[:badRow], l.wrote[badRow+1:]...)
	l.write(t, b)
	l.checkpoint(t)
	if len(rejected) != 1 {
		t.Fatalf("Reject was called %d times, want once: %v", len(rejected), rejected)
	}
	e := rejected[0]
	if e.Table != "t" || e.Reason == "" || !strings.HasPrefix(e.Row, "{") || e.Kind != change.Insert {
		t.Errorf("the row error does not say enough: %+v", e)
	}
	if w.key != nil && e.Key == "" {
		t.Errorf("the row error has no key: %+v", e)
	}
	l.expect(t, "the rows beside the bad one")
}

func (w *writing) badRowStops(t *testing.T) {
	column, put := w.badValue()
	if put == nil {
		return
	}
	l := w.start(t)
	stop := errors.New("policy says stop")
	l.reject = func(context.Context, *connectors.RowError) error { return stop }
	l.log.Kinds = change.Inserts
	l.open(t)
	l.write(t, l.next(10))
	l.checkpoint(t)
	good := len(l.wrote)
	b := l.badBatch(column, put)
	err := l.sink.Write(context.Background(), b)
	if err == nil {
		_, err = l.sink.Flush(context.Background())
	}
	if !errors.Is(err, stop) {
		t.Fatalf("write and flush returned %v, want the policy's error", err)
	}
	l.wrote = l.wrote[:good]
	l.open(t)
	l.commit(t)
	if l.target.Rows != nil && w.mode.Class != connectors.AppendOnly && w.key == nil {
		l.expect(t, "after the stop")
	}
}

// badBatch is ten inserted rows, one with a value that the system cannot hold.
func (l *life) badBatch(column int, put func(array.Builder)) change.Batch {
	b := l.next(10)
	cols := append([]arrow.Array(nil), b.Record.Columns()...)
	replaced := replaceOne(l.mem, cols[column], put)
	defer replaced.Release()
	cols[column] = replaced
	bad := array.NewRecordBatch(b.Record.Schema(), cols, b.Record.NumRows())
	b.Record.Release()
	b.Record = bad
	l.all[len(l.all)-1] = b
	return b
}

func replaceOne(mem memory.Allocator, a arrow.Array, put func(array.Builder)) arrow.Array {
	bld := array.NewBuilder(mem, a.DataType())
	defer bld.Release()
	for i := range a.Len() {
		switch a := a.(type) {
		case *array.Float64:
			appendOr(bld.(*array.Float64Builder).Append, a.Value(i), a.IsNull(i), i, bld, put)
		case *array.String:
			appendOr(bld.(*array.StringBuilder).Append, a.Value(i), a.IsNull(i), i, bld, put)
		case *array.Date32:
			appendOr(bld.(*array.Date32Builder).Append, a.Value(i), a.IsNull(i), i, bld, put)
		}
	}
	return bld.NewArray()
}

func appendOr[T any](add func(T), v T, null bool, i int, b array.Builder, put func(array.Builder)) {
	switch {
	case i == badRow:
		put(b)
	case null:
		b.AppendNull()
	default:
		add(v)
	}
}

// badValue chooses a value that the system cannot hold, as Holds says, and a column for it.
func (w *writing) badValue() (column int, put func(array.Builder)) {
	for i, c := range w.Columns[2:] {
		column = i + 2
		switch c.Type.ID() {
		case arrow.FLOAT64:
			if !w.Holds.NaN {
				return column, func(b array.Builder) { b.(*array.Float64Builder).Append(math.NaN()) }
			}
			if !w.Holds.Infinity {
				return column, func(b array.Builder) { b.(*array.Float64Builder).Append(math.Inf(1)) }
			}
		case arrow.STRING:
			if !w.Holds.NUL {
				return column, func(b array.Builder) { b.(*array.StringBuilder).Append("\x00") }
			}
		case arrow.DATE32:
			if !w.Holds.InfiniteTimes {
				return column, func(b array.Builder) { b.(*array.Date32Builder).Append(change.DateInfinity) }
			}
			if !w.Holds.FarYears {
				return column, func(b array.Builder) {
					b.(*array.Date32Builder).Append(arrow.Date32(connectors.Days(-849, 7, 4)))
				}
			}
		}
	}
	return 0, nil
}
