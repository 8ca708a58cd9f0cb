package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

const (
	ordersSpec = "id BIGINT; customer_id BIGINT; status STRING; amount DECIMAL(12,2); note STRING; created_at TIMESTAMP_LTZ(6); updated_at TIMESTAMP_LTZ(6)"
	ordersDDL  = "create table t (id bigint primary key, customer_id bigint, status text, amount numeric(12,2), note text, created_at timestamptz, updated_at timestamptz)"
)

const note = "a note of one hundred bytes, which is what an order has on average in this table, more or less: 100."

// orders makes batches of the benchmark's table; next gives the kind and the key of each row.
func (x *sinkRig) orders(rows int, next func() (change.Kind, int64)) change.Batch {
	fields := make([]arrow.Field, len(x.table.Columns))
	for i, c := range x.table.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: true}
	}
	bld := array.NewRecordBuilder(x.mem, arrow.NewSchema(fields, nil))
	defer bld.Release()
	b := change.Batch{RowPositionSize: 8}
	for i := range rows {
		kind, key := next()
		b.Kinds = append(b.Kinds, kind)
		x.at++
		b.RowPositions = binary.BigEndian.AppendUint64(b.RowPositions, x.at)
		bld.Field(0).(*array.Int64Builder).Append(key)
		bld.Field(1).(*array.Int64Builder).Append(key % 1000)
		bld.Field(2).(*array.StringBuilder).Append("shipped")
		bld.Field(3).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i) * 1237))
		bld.Field(4).(*array.StringBuilder).Append(note)
		bld.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + key))
		bld.Field(6).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + int64(i)))
	}
	b.Record = bld.NewRecordBatch()
	b.Position = b.At(rows - 1)
	return b
}

// BenchmarkSinkEncode measures what Write does before it returns: no allocation per row or value.
func BenchmarkSinkEncode(b *testing.B) {
	for _, keys := range []int{0, 1} {
		b.Run(map[int]string{0: "append", 1: "upsert"}[keys], func(b *testing.B) {
			x := newSinkRig(b, keys, ordersSpec, ordersDDL)
			conn, err := dial(context.Background(), x.table.Options, "p")
			if err != nil {
				b.Fatal(err)
			}
			s, err := newSink(context.Background(), conn, connectors.Write{Pipeline: "p", Sink: "t", Table: x.table})
			if err != nil {
				b.Fatal(err)
			}
			defer s.apply.w.close()
			key := int64(0)
			batch := x.orders(1000, func() (change.Kind, int64) { key++; return change.Insert, key })
			defer batch.Release()
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				s.fill.reset()
				if err := s.encode(context.Background(), &batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

// BenchmarkSinkLatency writes lone changes to a server that syncs, and compares with the same insert sent by hand: what is
// between the two is what the sink adds to a commit.
func BenchmarkSinkLatency(b *testing.B) {
	x := newSinkRig(b, 1, ordersSpec, "select 1")
	x.synced(b, ordersDDL, "create table p (id bigint primary key, epoch bigint, position bytea)", "insert into p values (1, 1)")
	key := int64(0)
	b.Run("sink", func(b *testing.B) {
		x.open()
		var took durations
		for b.Loop() {
			batch := x.orders(1, func() (change.Kind, int64) { key++; return change.Insert, key })
			started := time.Now()
			if err := x.sink.Write(context.Background(), batch); err != nil {
				b.Fatal(err)
			}
			x.flush()
			took = append(took, time.Since(started))
			batch.Release()
		}
		took.report(b)
	})
	b.Run("by hand", func(b *testing.B) {
		c, err := dial(context.Background(), x.table.Options, "p")
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close(context.Background())
		if _, err := c.Prepare(context.Background(), "i", "insert into t values ($1, 5, 'shipped', 1.25, '"+note+"', now(), now())", nil); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Prepare(context.Background(), "p", "update p set position = 'abc' where id = 1 and epoch = 1", nil); err != nil {
			b.Fatal(err)
		}
		var took durations
		for b.Loop() {
			key++
			started := time.Now()
			batch := &pgconn.Batch{}
			batch.ExecPrepared("i", [][]byte{fmt.Append(nil, key)}, nil, nil)
			batch.ExecPrepared("p", nil, nil, nil)
			if _, err := c.ExecBatch(context.Background(), batch).ReadAll(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(started))
		}
		took.report(b)
	})
}

// synced moves to a server that syncs, with room for a benchmark.
func (x *sinkRig) synced(b *testing.B, ddl ...string) {
	b.Helper()
	server := pgtest.StartNew(b, "fsync = on", "shared_buffers = 512MB", "max_wal_size = 4GB")
	x.url = server.CreateDB(b)
	x.option("url", x.url)
	pgtest.Exec(b, x.url, ddl...)
}

type durations []time.Duration

func (d durations) report(b *testing.B) {
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(d[len(d)*95/100].Microseconds()), "p95-µs")
}

// mixed is half inserts, four in ten updates, one in ten deletes.
func mixed(r *rand.Rand, top *int64) func() (change.Kind, int64) {
	return func() (change.Kind, int64) {
		switch n := r.IntN(10); {
		case n < 5:
			*top++
			return change.Insert, *top
		case n < 9:
			return change.UpdateAfter, r.Int64N(*top) + 1
		}
		return change.Delete, r.Int64N(*top) + 1
	}
}

// BenchmarkSinkApply writes mixed changes to a table of 200,000 rows, and BenchmarkSinkLoad inserts into an empty one.
func BenchmarkSinkApply(b *testing.B) {
	x := newSinkRig(b, 1, ordersSpec, "select 1")
	x.synced(b, ordersDDL, "insert into t select i, i % 1000, 'shipped', i, '"+note+"', now(), now() from generate_series(1, 200000) i", "vacuum analyze t")
	top := int64(200000)
	x.measure(b, 100_000, mixed(rand.New(rand.NewPCG(1, 2)), &top))
}

func BenchmarkSinkLoad(b *testing.B) {
	for _, keys := range []int{0, 1} {
		b.Run(map[int]string{0: "append", 1: "upsert"}[keys], func(b *testing.B) {
			x := newSinkRig(b, keys, ordersSpec, "select 1")
			x.synced(b, ordersDDL)
			key := int64(0)
			x.measure(b, 400_000, func() (change.Kind, int64) { key++; return change.Insert, key })
		})
	}
}

// measure reports rows a second, and the processor time of the server's session, which other work on the machine disturbs
// less.
func (x *sinkRig) measure(b *testing.B, rows int, next func() (change.Kind, int64)) {
	server := 0.0
	for b.Loop() {
		b.StopTimer()
		var batches []change.Batch
		for n := 0; n < rows; n += 1000 {
			batches = append(batches, x.orders(1000, next))
		}
		x.open()
		pid := x.sink.(*sink).apply.w.pid
		server -= processorSeconds(b, pid)
		b.StartTimer()
		for i := range batches {
			if err := x.sink.Write(context.Background(), batches[i]); err != nil {
				b.Fatal(err)
			}
		}
		x.flush()
		b.StopTimer()
		server += processorSeconds(b, pid)
		for i := range batches {
			batches[i].Release()
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)*float64(rows)/b.Elapsed().Seconds()/1e3, "krows/s")
	b.ReportMetric(server*1e6/float64(b.N)/float64(rows), "server-µs/row")
}

// processorSeconds is what a process has used, from /proc; 0 on systems without it.
func processorSeconds(b *testing.B, pid uint32) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}
