package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// benchRig has the study's table.
func benchRig(b *testing.B) *sourceRig {
	x := newSourceRig(b, "create table orders(id bigint primary key, customer_id bigint, status text, amount numeric(12,2), note text, created_at timestamptz, updated_at timestamptz)")
	x.table("orders", "id BIGINT key; customer_id BIGINT; status STRING; amount DECIMAL(12,2); note STRING; created_at TIMESTAMP_LTZ(6); updated_at TIMESTAMP_LTZ(6)")
	return x
}

const benchRows = "insert into orders select i, i %% 1000, 'pending', (i %% 100000) / 100.0, repeat('x', 100), now(), now() from generate_series(%d, %d) i"

func (x *sourceRig) count(b *testing.B, next func(context.Context) (int, error)) int {
	b.Helper()
	n := 0
	for {
		k, err := next(context.Background())
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
		n += k
	}
}

// cpu is the time that this process has computed, in nanoseconds: the machine may be busy with something else.
func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// computed is the time that another process has computed, in hundredths of a second.
func computed(pid string) (n int) {
	b, _ := os.ReadFile("/proc/" + pid + "/stat")
	if f := strings.Fields(string(b)); len(f) > 14 {
		user, _ := strconv.Atoi(f[13])
		system, _ := strconv.Atoi(f[14])
		n = user + system
	}
	return n
}

func BenchmarkCopy(b *testing.B) {
	x := benchRig(b)
	x.read.Tables[0].ExactHandover = true // one partition
	const rows = 500000
	x.exec(fmt.Sprintf(benchRows, 1, rows), "analyze orders")
	for b.Loop() {
		s := x.snapshot(nil)
		src, err := s.Open(context.Background(), s.Partitions()[0])
		if err != nil {
			b.Fatal(err)
		}
		began, spent := time.Now(), cpu()
		n := x.count(b, func(ctx context.Context) (int, error) {
			batch, err := src.Next(ctx)
			defer batch.Release()
			return batch.Len(), err
		})
		if n != rows {
			b.Fatalf("%d rows", n)
		}
		b.ReportMetric(rows/time.Since(began).Seconds(), "rows/s")
		b.ReportMetric(float64(cpu()-spent)/rows, "ns-cpu/row")
		src.Close()
		s.Close()
	}
}

func benchStream(b *testing.B, transaction int) {
	x := benchRig(b)
	x.copyRows()
	const rows = 200000
	x.exec("set synchronous_commit = off", fmt.Sprintf("do $$ begin for i in 0..%d loop insert into orders select j, j %% 1000, 'pending', (j %% 100000) / 100.0, repeat('x', 100), now(), now() from generate_series(i * %d + 1, i * %[2]d + %[2]d) j; commit; end loop; end $$", rows/transaction-1, transaction))
	from := x.read.From
	for b.Loop() {
		x.read.From, x.read.CaughtUp = from, true
		began, spent := time.Now(), cpu()
		x.open()
		pid := pgtest.Rows(b, x.url, "select active_pid from pg_replication_slots where slot_name = '"+x.slot()+"'")[0][0]
		n := x.count(b, func(ctx context.Context) (int, error) {
			batch, err := x.source.Next(ctx)
			defer batch.Release()
			return batch.Len(), err
		})
		if n != rows {
			b.Fatalf("%d rows", n)
		}
		b.ReportMetric(float64(computed(pid))*10000/rows, "walsender-µs/row")
		b.ReportMetric(rows/time.Since(began).Seconds(), "rows/s")
		b.ReportMetric(float64(cpu()-spent)/rows, "ns-cpu/row")
		x.close()
	}
}

func BenchmarkStream1(b *testing.B)     { benchStream(b, 1) }
func BenchmarkStream100(b *testing.B)   { benchStream(b, 100) }
func BenchmarkStream10000(b *testing.B) { benchStream(b, 10000) }

// BenchmarkLoneCommit is from the end of a commit to its row at the pipeline, on a quiet stream.
func BenchmarkLoneCommit(b *testing.B) {
	x := benchRig(b)
	x.copyRows()
	x.open()
	c, err := dial(context.Background(), x.read.Tables[0].Options, "writer")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(context.Background())
	var spans []time.Duration
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; b.Loop(); i++ {
		<-tick.C
		if _, err := c.Exec(context.Background(), fmt.Sprintf(benchRows, i, i)).ReadAll(); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		for n := 0; n == 0; {
			batch, err := x.source.Next(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			n = batch.Len()
			batch.Release()
		}
		spans = append(spans, time.Since(began))
	}
	slices.Sort(spans)
	b.ReportMetric(float64(spans[len(spans)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(spans[len(spans)*95/100].Microseconds()), "µs-p95")
}

// BenchmarkDecode is the program's own part: messages to batches, without a server.
func BenchmarkDecode(b *testing.B) {
	s := fuzzSource(b)
	in := newIntake(s, position{})
	for _, m := range [][]byte{relationMessage(s), beginMessage()} {
		if err := in.message(m); err != nil {
			b.Fatal(err)
		}
	}
	row := insertMessage(s, inBinary, nil)[:8]
	row[7] = byte(len(s.tables[0].info.columns))
	values := map[int][]byte{0: make([]byte, 8), 1: []byte("pending"), 2: {0, 2, 0, 0, 0, 0, 0, 2, 0, 12, 0x13, 0x88}, 4: make([]byte, 8), 7: {1}, 17: make([]byte, 100)}
	for i := range s.tables[0].info.columns {
		if v, ok := values[i]; ok {
			row = append(append(row, 'b', 0, 0, 0, byte(len(v))), v...)
		} else {
			row = append(row, 'n')
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := in.message(row); err != nil {
			b.Fatal(err)
		}
		if in.rows >= 10000 {
			for _, p := range in.take() {
				out := p.rows.batch()
				out.Release()
				in.recycle(p.rows)
			}
		}
	}
}
