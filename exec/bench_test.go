package exec_test

import (
	"context"
	"encoding/binary"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/exec"
)

// BenchmarkLoop is what the loop costs for one batch, source, query and sink left out.
func BenchmarkLoop(b *testing.B) {
	bench := newBench("append", "append at-least-once")
	bld := array.NewRecordBuilder(arrowmemory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "id", Type: columns[0].Type}}, nil))
	for i := range 1000 {
		bld.Field(0).(*array.Int64Builder).Append(int64(i))
	}
	s := &repeating{record: bld.NewRecordBatch(), left: b.N}
	bench.plan.Source.Connector = &connectors.Connector{OpenSource: func(context.Context, connectors.Read) (connectors.Source, error) { return s, nil }}
	bench.plan.Sinks[0].Connector = forgetful(bench.plan.Sinks[0].Connector)
	b.ReportAllocs()
	b.ResetTimer()
	if err := exec.Run(context.Background(), bench.plan, bench.options()); err != nil {
		b.Fatal(err)
	}
}

// repeating hands over one record again and again.
type repeating struct {
	record   arrow.RecordBatch
	left     int
	position [8]byte
}

func (s *repeating) Next(context.Context) (change.Batch, error) {
	if s.left == 0 {
		return change.Batch{}, io.EOF
	}
	s.left--
	s.record.Retain()
	binary.BigEndian.PutUint64(s.position[:], ^uint64(s.left))
	return change.Batch{Record: s.record, Position: s.position[:]}, nil
}

func (*repeating) Ack(context.Context, change.Position) error { return nil }
func (*repeating) Close() error                               { return nil }
