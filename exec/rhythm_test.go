package exec_test

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/exec"
)

// TestRhythm checks when checkpoints are taken: at once after a change on a quiet stream, never without anything to save,
// and on a busy one neither late nor all the time.
func TestRhythm(t *testing.T) {
	tests := []struct {
		name  string
		write string
		rows  int           // at once; -1: batches that repeat the position
		every time.Duration // how often
		total time.Duration
		want  [2]int // at least, at most
	}{
		{"quiet", "append at-least-once", 1, time.Hour, 150 * time.Minute, [2]int{2, 2}},
		{"slow", "append at-least-once", 10, 100 * time.Millisecond, 20 * time.Second, [2]int{9, 11}},
		{"fast", "append at-least-once", 2000, 10 * time.Millisecond, 10 * time.Second, [2]int{18, 21}},
		{"staged", "staged exactly-once", 10, 10 * time.Millisecond, 5 * time.Second, [2]int{45, 51}},
		{"keepalives", "append at-least-once", 0, 10 * time.Millisecond, 20 * time.Second, [2]int{9, 11}},
		{"idle", "append at-least-once", -1, 10 * time.Millisecond, 20 * time.Second, [2]int{1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench("append", tt.write)
				b.plan.Source.Connector = ticking(tt.rows, tt.every)
				b.plan.Sinks[0].Connector = forgetful(b.plan.Sinks[0].Connector)
				ctx, cancel := context.WithTimeout(context.Background(), tt.total)
				defer cancel()
				saves := 0
				o := exec.Options{Store: b.store, Step: func(s exec.Step, _ uint64) error {
					if s.Effect == exec.Save && s.After && ctx.Err() == nil {
						saves++
					}
					return nil
				}}
				if err := exec.Run(ctx, b.plan, o); err != nil {
					t.Fatal(err)
				}
				if saves < tt.want[0] || saves > tt.want[1] {
					t.Errorf("%d checkpoints, want %d to %d", saves, tt.want[0], tt.want[1])
				}
			})
		})
	}
}

// ticking is a connector whose source hands over rows at regular times for ever.
func ticking(rows int, every time.Duration) *connectors.Connector {
	bld := array.NewRecordBuilder(arrowmemory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: columns[0].Type}, {Name: "name", Type: columns[1].Type, Nullable: true}}, nil))
	for i := range rows {
		bld.Field(0).(*array.Int64Builder).Append(int64(i))
		bld.Field(1).AppendNull()
	}
	t := &ticker{every: every, step: 1}
	if rows < 0 {
		t.step = 0
	}
	if rows > 0 {
		t.record = bld.NewRecordBatch()
	}
	return &connectors.Connector{Name: "ticking", OpenSource: func(context.Context, connectors.Read) (connectors.Source, error) {
		t.next = time.Now().Add(every)
		return t, nil
	}}
}

type ticker struct {
	record arrow.RecordBatch
	every  time.Duration
	next   time.Time
	n      uint64
	step   uint64
}

func (s *ticker) Next(ctx context.Context) (change.Batch, error) {
	timer := time.NewTimer(time.Until(s.next))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return change.Batch{}, ctx.Err()
	case <-timer.C:
	}
	s.next = s.next.Add(s.every)
	s.n += s.step
	b := change.Batch{Record: s.record, Position: binary.BigEndian.AppendUint64(nil, s.n)}
	if s.record != nil {
		s.record.Retain()
	}
	return b, nil
}

func (*ticker) Ack(context.Context, change.Position) error { return nil }
func (*ticker) Close() error                               { return nil }

// forgetful is a connector whose sinks take rows and keep none.
func forgetful(c *connectors.Connector) *connectors.Connector {
	f := *c
	f.OpenSink = func(ctx context.Context, w connectors.Write) (connectors.Sink, error) {
		s, err := c.OpenSink(ctx, w)
		return forgetfulSink{s}, err
	}
	return &f
}

type forgetfulSink struct{ connectors.Sink }

func (forgetfulSink) Write(context.Context, change.Batch) error { return nil }
