package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
	"github.com/syncsql/syncsql/option"
)

// cutter passes connections on to the server and cuts one after a number of bytes in one direction: what was sent before
// arrives, what the server answers afterwards is lost.
type cutter struct {
	listener net.Listener
	server   string
	sent     atomic.Int64 // bytes to the server until the cut; negative: no cut
	answered atomic.Int64 // bytes from the server until the cut
}

func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{listener: l, server: server}
	c.off()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(conn)
		}
	}()
	return c
}

func (c *cutter) off() { c.sent.Store(-1); c.answered.Store(-1) }

func (c *cutter) serve(client net.Conn) {
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		client.Close()
		return
	}
	done := make(chan struct{}, 2)
	go func() { c.pass(server, client, &c.sent); done <- struct{}{} }()
	go func() { c.pass(client, server, &c.answered); done <- struct{}{} }()
	<-done
	client.Close()
	server.Close()
	<-done
}

func (c *cutter) pass(to io.Writer, from io.Reader, left *atomic.Int64) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if limit := left.Load(); limit >= 0 {
			if int64(n) > limit {
				left.Store(0)
				_, _ = to.Write(buf[:limit])
				return
			}
			left.Add(int64(-n))
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// through makes the sink connect by way of the cutter.
func (x *sinkRig) through(t *testing.T) *cutter {
	u, err := url.Parse(x.url)
	if err != nil {
		t.Fatal(err)
	}
	c := newCutter(t, u.Host)
	u.Host = c.listener.Addr().String()
	x.option("url", u.String())
	return c
}

// journal is a source: every change that was made, and what a run that starts after a position reads.
type journal struct {
	changes []sinkRow
}

// TestSinkCuts cuts the connection at random points, before, inside and after commits, again and again. After each cut the
// next run goes on after the position that the target holds. In the end nothing is missing and nothing is there twice.
func TestSinkCuts(t *testing.T) {
	for _, c := range []struct {
		name, guarantee string
		keys            int
	}{{"upsert", "exactly-once", 2}, {"append", "exactly-once", 0}, {"upsert", "at-least-once", 2}} {
		t.Run(c.name+" "+c.guarantee, func(t *testing.T) {
			key := ", primary key (a, b)"
			if c.keys == 0 {
				key = ""
			}
			x := newSinkRig(t, c.keys, "a BIGINT; b STRING; n INT; s STRING", "create table t (s text, n int, b text, a bigint"+key+")")
			x.table.Guarantee = c.guarantee
			x.option(sinkBatchRows.Key, "150")
			cut := x.through(t)
			r := rand.New(rand.NewPCG(5, uint64(len(t.Name()))))
			m := &model{rand: r, rows: map[string][]any{}, few: 120, make: func(key int, r *rand.Rand) []any {
				return []any{key / 3, fmt.Sprintf("k%d", key%3), r.IntN(1000), strings.Repeat("s", r.IntN(200))}
			}}
			if c.keys > 0 {
				m.big = []int{3}
			}
			var j journal
			for range 15000 {
				if c.keys > 0 {
					j.changes = append(j.changes, m.next())
					continue
				}
				values := m.make(len(j.changes), r)
				m.rows[fmt.Sprint(len(j.changes))] = values
				j.changes = append(j.changes, ins(values...))
			}
			cuts := x.replay(&j, cut, r)
			t.Logf("%d cuts", cuts)
			if cuts < 20 {
				t.Errorf("only %d cuts: the test does not reach what it is for", cuts)
			}
			x.same(m)
		})
	}
}

// replay feeds the journal until all of it is there, cutting the connection every now and then.
func (x *sinkRig) replay(j *journal, cut *cutter, r *rand.Rand) (cuts int) {
	flushed := uint64(0)
	for {
		cut.off()
		x.discard()
		x.open()
		at := max(flushed, x.position())
		if at == uint64(len(j.changes)) {
			return cuts
		}
		if cuts < 60 {
			if r.IntN(2) == 0 {
				cut.sent.Store(r.Int64N(20_000))
			} else {
				cut.answered.Store(r.Int64N(800))
			}
		}
		var err error
		for err == nil && at < uint64(len(j.changes)) {
			n := min(1+r.IntN(90), len(j.changes)-int(at))
			x.at = at
			b := x.batch(j.changes[at : at+uint64(n)]...)
			if at += uint64(n); r.IntN(3) == 0 && at < uint64(len(j.changes)) {
				b.Position = nil // the middle of a transaction
			}
			err = x.sink.Write(context.Background(), b)
			b.Release()
			if err == nil && (b.Position != nil && r.IntN(4) == 0 || at == uint64(len(j.changes))) {
				if err = x.tryFlush(); err == nil {
					flushed = at
				}
			}
		}
		if err != nil {
			cuts++
			var permanent *connectors.PermanentError
			if errors.As(err, &permanent) {
				x.t.Fatalf("a cut connection is not retried: %v", err)
			}
		}
	}
}

// discard closes a sink whose connection may be gone.
func (x *sinkRig) discard() {
	if x.sink != nil {
		_ = x.sink.Close() // the connection may have been cut
		x.sink = nil
	}
}

// TestSinkServerGone stops the server under a running sink, as a power cut would.
func TestSinkServerGone(t *testing.T) {
	server := pgtest.StartNew(t, "fsync = on")
	x := newSinkRig(t, 1, "id BIGINT; s STRING", "select 1")
	x.url = server.CreateDB(t)
	x.option("url", x.url)
	pgtest.Exec(t, x.url, "create table t (id bigint primary key, s text)")
	x.open()
	x.write(ins(1, "a"), ins(2, "b"))
	x.flush()
	x.write(upd(1, "c"))
	server.Restart(t)
	b := x.batch(upd(2, "lost"))
	err := x.sink.Write(context.Background(), b)
	b.Release()
	if err == nil {
		err = x.tryFlush()
	}
	if err == nil {
		t.Fatal("the server was gone and nobody noticed")
	}
	x.discard()
	x.open()
	switch x.position() {
	case 2:
		x.holds("select * from t order by 1", "1|a", "2|b")
	case 3:
		x.holds("select * from t order by 1", "1|c", "2|b")
	default:
		t.Fatalf("position %d", x.position())
	}
}

// TestSinkTerminated ends the session on the server while the sink is idle: the next write says so, and may be retried.
func TestSinkTerminated(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)")
	x.open()
	x.write(ins(1))
	x.flush()
	pgtest.Exec(t, x.url, fmt.Sprintf("select pg_terminate_backend(%d)", x.sink.(*sink).apply.w.pid))
	b := x.batch(ins(2))
	defer b.Release()
	err := x.sink.Write(context.Background(), b)
	if err == nil {
		err = x.tryFlush()
	}
	var permanent *connectors.PermanentError
	if err == nil || errors.As(err, &permanent) {
		t.Fatalf("got %v, want an error that is retried", err)
	}
	x.discard()
}

// TestSinkBackpressure blocks Write on a server that does not answer, and ends it with its context.
func TestSinkBackpressure(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT", "create table t (id bigint primary key)")
	x.option(sinkBatchRows.Key, "10")
	x.open()
	release := lockTable(t, x.url)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	var err error
	written := 0
	for ; err == nil && written < 100; written++ {
		b := x.batch(ins(2*written), ins(2*written+1))
		err = x.sink.Write(ctx, b)
		b.Release()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("after %d batches: %v", written, err)
	}
	if _, err := x.sink.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("flush: %v", err)
	}
	release()
	x.flush() // the sink goes on: the batch that was not taken can be written again
	x.holds("select count(*) from t", fmt.Sprint(2*(written-1)))
}

func lockTable(t *testing.T, url string) (release func()) {
	t.Helper()
	x, err := dial(context.Background(), option.SetOf(map[string]string{"url": url}), "blocker")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Exec(context.Background(), "begin; lock table t").ReadAll(); err != nil {
		t.Fatal(err)
	}
	return func() { x.Close(context.Background()) }
}

// TestSinkCloseUnderway closes a sink that waits for the server.
func TestSinkCloseUnderway(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT", "create table t (id bigint primary key)")
	x.open()
	release := lockTable(t, x.url)
	x.write(ins(1))
	started := time.Now()
	x.discard()
	if time.Since(started) > 20*time.Second {
		t.Fatal("closing waited for the server")
	}
	release()
	x.open()
	if p := x.position(); p != 0 && p != 1 {
		t.Fatalf("position %d", p)
	}
	x.holds("select count(*) from t", fmt.Sprint(x.position()))
}

// TestSinkManyPositions keeps sinks and pipelines apart in one positions table.
func TestSinkManyPositions(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)", `create schema "Po s"`)
	x.option(positionsTable.Key, `"Po s".kept`)
	x.open()
	x.write(ins(1))
	x.flush()
	ctx := context.Background()
	w := connectors.Write{Pipeline: "p/part", Sink: "t", Table: x.table, Epoch: 1}
	other, err := openSink(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.Position() != nil {
		t.Fatal("another pipeline's position")
	}
	b := x.batch(ins(2))
	b.Position = change.Position("elsewhere")
	defer b.Release()
	if err := other.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	x.holds(`select pipeline, sink, position from "Po s".kept order by 1`,
		`p|t|\x0000000000000001`, fmt.Sprintf(`p/part|t|\x%x`, "elsewhere"))
}

// TestSinkWaitsItsTurn opens a sink without positions while a session of the run before still waits for the server: what
// that one sent comes first.
func TestSinkWaitsItsTurn(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; s STRING", "create table t (id bigint primary key, s text)")
	x.table.Guarantee = "at-least-once"
	x.open()
	old := x.sink.(*sink)
	x.sink = nil
	release := lockTable(t, x.url)
	b := x.batch(ins(1, "older"))
	if err := old.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b.Release()
	pid := fmt.Sprint(old.apply.w.pid)
	pgtest.Eventually(t, 20*time.Second, "the old run waits for the lock", func() bool {
		return pgtest.Rows(t, x.url, "select coalesce(wait_event_type, '') from pg_stat_activity where pid = "+pid)[0][0] == "Lock"
	})
	_ = old.Close() // its session still waits
	opened := make(chan error)
	go func() { opened <- x.tryOpen() }()
	pgtest.Eventually(t, 20*time.Second, "the new run waits its turn", func() bool {
		return pgtest.Rows(t, x.url, "select count(*) from pg_stat_activity where wait_event = 'advisory'")[0][0] == "1"
	})
	release()
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	x.write(ins(1, "newer"))
	x.flush()
	x.holds("select s from t", "newer")
}

// TestSinkStaleEpoch keeps an older run from committing even what it had sent before the newer one opened.
func TestSinkStaleEpoch(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)")
	x.open()
	old := x.sink.(*sink)
	x.sink = nil
	release := lockTable(t, x.url)
	b := x.batch(ins(1))
	if err := old.Write(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	b.Release()
	pid := fmt.Sprint(old.apply.w.pid)
	pgtest.Eventually(t, 20*time.Second, "the old run waits for the lock", func() bool {
		return slices.Equal(pgtest.Rows(t, x.url, "select coalesce(wait_event_type, '') from pg_stat_activity where pid = "+pid)[0], []string{"Lock"})
	})
	y := *x
	y.sink = nil
	y.table.Options = y.table.Options.With("table-name", option.Entry{Text: "u"})
	pgtest.Exec(t, x.url, "create table u (id bigint)")
	y.open() // claims the row of the same pipeline and sink
	release()
	if _, err := old.Flush(context.Background()); err == nil || !strings.Contains(err.Error(), "another runner") {
		t.Fatalf("the old run got %v", err)
	}
	y.holds("select count(*) from t", "0")
	y.close()
	_ = old.Close()
}
