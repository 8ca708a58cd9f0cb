package exec_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/memory"
	"github.com/syncsql/syncsql/exec"
	"github.com/syncsql/syncsql/option"
	"github.com/syncsql/syncsql/planner"
)

var columns = []connectors.Column{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, SQL: "BIGINT"},
	{Name: "name", Type: arrow.BinaryTypes.String, SQL: "STRING", Nullable: true},
}

// bench is a memory DB, a state store and a pipeline from table src to table dst.
type bench struct {
	db    *memory.DB
	store checkpoint.Store
	plan  *planner.Pipeline
}

// newBench plans INSERT INTO dst SELECT * FROM src with modes of the memory connector: read and write by name, the latter
// with its guarantee, "upsert exactly-once".
func newBench(read, write string) *bench {
	b := &bench{db: memory.NewDB(), store: checkpoint.NewMemory()}
	c := memory.New(b.db)
	p := &planner.Pipeline{Name: "p", Fingerprint: "f"}
	p.Source.Connector = c
	for _, m := range c.ReadModes {
		if m.Name == read && len(p.Source.Modes) == 0 {
			p.Source.Modes = []connectors.ReadMode{m}
		}
	}
	table := connectors.Table{Name: "src", Columns: columns, Key: []int{0}, Mode: read}
	p.Source.Read = connectors.Read{Pipeline: "p", Tables: []connectors.TableRead{{Table: table}}}
	mode, guarantee, _ := strings.Cut(write, " ")
	for _, m := range c.WriteModes {
		if m.Name == mode && m.Guarantee == guarantee {
			to := connectors.Table{Name: "dst", Columns: columns, Key: []int{0}, Mode: mode, Guarantee: guarantee}
			p.Sinks = []planner.Sink{{Connector: c, Table: to, Mode: m, OnError: planner.OnError{Policy: planner.Fail}}}
		}
	}
	p.Source.Read.Tables[0].ExactHandover = read == "copy-cdc" && mode != "upsert"
	p.Routes = []planner.Route{{Emits: change.All}}
	b.plan = p
	return b
}

func (b *bench) feed(t *testing.T, changes ...memory.Change) {
	t.Helper()
	if err := b.db.Feed("src", []string{"id", "name"}, changes...); err != nil {
		t.Fatal(err)
	}
}

func insert(id int, name any) memory.Change { return memory.Change{Row: []any{id, name}} }

func (b *bench) options() exec.Options { return exec.Options{Store: b.store, CaughtUp: true} }

func (b *bench) run(t *testing.T) {
	t.Helper()
	if err := exec.Run(context.Background(), b.plan, b.options()); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) expect(t *testing.T, table string, want ...string) {
	t.Helper()
	_, rows := b.db.Rows(table)
	var got []string
	for _, r := range rows {
		got = append(got, strings.TrimSpace(fmt.Sprintln(r...)))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", table, got, want)
	}
}

func (b *bench) saved(t *testing.T) checkpoint.Checkpoint {
	t.Helper()
	c, err := b.store.Load(context.Background(), "p")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRunResumes(t *testing.T) {
	for _, write := range []string{"append exactly-once", "append at-least-once", "staged exactly-once", "upsert exactly-once", "upsert at-least-once"} {
		t.Run(strings.ReplaceAll(write, " ", "_"), func(t *testing.T) {
			b := newBench("append", write)
			b.feed(t, insert(1, "a"), insert(2, nil))
			b.run(t)
			b.run(t)
			b.feed(t, insert(3, "c"))
			b.run(t)
			b.expect(t, "dst", "1 a", "2 <nil>", "3 c")
			c := b.saved(t)
			if c.Epoch != 3 || c.Done || c.Status.State != "stopped" || c.Status.Phase != "stream" || c.Status.RowsIn != 3 || c.Status.RowsOut != 3 {
				t.Errorf("checkpoint %+v", c)
			}
			if b.db.Acked("p").Compare(c.Position) != 0 {
				t.Errorf("acknowledged %x, saved %x", b.db.Acked("p"), c.Position)
			}
		})
	}
}

func TestRunBoundedOnce(t *testing.T) {
	b := newBench("snapshot", "append at-least-once")
	b.feed(t, insert(1, "a"))
	b.run(t)
	b.feed(t, insert(2, "b"))
	b.run(t)
	b.expect(t, "dst", "1 a")
	if c := b.saved(t); !c.Done || c.Status.State != "finished" {
		t.Errorf("checkpoint %+v, want a finished one", c)
	}
}

func TestRunCopiesThenStreams(t *testing.T) {
	for _, write := range []string{"append exactly-once", "staged exactly-once", "upsert exactly-once"} {
		t.Run(strings.ReplaceAll(write, " ", "_"), func(t *testing.T) {
			b := newBench("copy-cdc", write)
			if write == "upsert exactly-once" {
				b.plan.Source.Read.Tables[0].Options = option.SetOf(map[string]string{"scan.snapshot.partitions": "3"})
			}
			b.feed(t, insert(1, "a"), insert(2, "b"), insert(3, "c"), memory.Change{Kind: change.Delete, Row: []any{2, "b"}})
			b.run(t)
			b.feed(t, insert(4, "d"))
			b.run(t)
			b.expect(t, "dst", "1 a", "3 c", "4 d")
		})
	}
}

func TestRunRefusesAnotherQuery(t *testing.T) {
	b := newBench("append", "append exactly-once")
	b.run(t)
	b.plan.Fingerprint = "other"
	err := exec.Run(context.Background(), b.plan, b.options())
	var permanent *connectors.PermanentError
	if !errors.As(err, &permanent) || !strings.Contains(err.Error(), "syncsql reset p") || !strings.Contains(err.Error(), "pipeline.name") {
		t.Errorf("error %v, want a permanent one that says what to do", err)
	}
	if c := b.saved(t); c.Fingerprint != "f" || c.Epoch != 1 {
		t.Errorf("the refused run left %+v", c)
	}
}

// TestSourceErrorRepeatsNothing: what was written before the source failed is saved, even for a sink that absorbs nothing.
func TestSourceErrorRepeatsNothing(t *testing.T) {
	b := newBench("append", "append at-least-once")
	b.feed(t, insert(1, "a"))
	good := b.plan.Source.Connector
	failing := *good
	opened := 0
	failing.OpenSource = func(ctx context.Context, r connectors.Read) (connectors.Source, error) {
		s, err := good.OpenSource(ctx, r)
		if opened++; opened == 1 {
			s = failingSource{s}
		}
		return s, err
	}
	b.plan.Source.Connector = &failing
	if err := exec.Supervise(context.Background(), b.plan, b.options()); err != nil {
		t.Fatal(err)
	}
	b.expect(t, "dst", "1 a")
}

// failingSource breaks where the stream would end.
type failingSource struct{ connectors.Source }

func (s failingSource) Next(ctx context.Context) (change.Batch, error) {
	b, err := s.Source.Next(ctx)
	if err != nil {
		err = errors.New("connection reset")
	}
	return b, err
}

func TestPlanWithTwoSinksOfOneTableIsRefused(t *testing.T) {
	b := newBench("append", "append exactly-once")
	b.plan.Sinks = append(b.plan.Sinks, b.plan.Sinks[0])
	if err := exec.Run(context.Background(), b.plan, b.options()); err == nil {
		t.Error("two sinks with one identity were run")
	}
}

func TestRunStopsCleanly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("append", "append at-least-once")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- exec.Run(ctx, b.plan, exec.Options{Store: b.store}) }()
		b.feed(t, insert(1, "a"))
		synctest.Wait()
		b.feed(t, insert(2, "b"))
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		b.run(t)
		b.expect(t, "dst", "1 a", "2 b") // a clean stop repeats nothing, even in a sink that absorbs nothing
	})
}

func TestRunStopsInTime(t *testing.T) {
	for _, hang := range []string{"write", "flush"} {
		t.Run(hang, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench("append", "append at-least-once")
				b.plan.Sinks[0].Connector = hanging(b.plan.Sinks[0].Connector, hang)
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error)
				go func() { done <- exec.Run(ctx, b.plan, exec.Options{Store: b.store}) }()
				b.feed(t, insert(1, "a"))
				synctest.Wait()
				cancel()
				stopped := time.Now()
				<-done
				if took := time.Since(stopped); took > 10*time.Second {
					t.Errorf("the stop took %v", took)
				}
			})
		})
	}
}

// hanging is a connector whose sinks never return from an operation before their context ends.
func hanging(c *connectors.Connector, operation string) *connectors.Connector {
	h := *c
	h.OpenSink = func(ctx context.Context, w connectors.Write) (connectors.Sink, error) {
		s, err := c.OpenSink(ctx, w)
		return hangingSink{s, operation}, err
	}
	return &h
}

type hangingSink struct {
	connectors.Sink
	operation string
}

func (s hangingSink) Write(ctx context.Context, b change.Batch) error {
	if s.operation == "write" {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Sink.Write(ctx, b)
}

func (s hangingSink) Flush(ctx context.Context) ([]byte, error) {
	if s.operation == "flush" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Sink.Flush(ctx)
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("append", "append at-least-once")
		b.plan.MaxRowsPerSecond = 100
		b.plan.Limits.Rows = 7
		for i := range 1000 {
			b.feed(t, insert(i, "x"))
		}
		began := time.Now()
		b.run(t)
		if took := time.Since(began); took < 9800*time.Millisecond || took > 10100*time.Millisecond {
			t.Errorf("1,000 rows at 100 a second took %v", took)
		}
	})
}

func TestFaultsAreRetried(t *testing.T) {
	for _, operation := range memory.Operations {
		for _, after := range []bool{false, true} {
			for _, write := range []string{"append exactly-once", "staged exactly-once"} {
				if operation == "commit" && write == "append exactly-once" {
					continue // it has no commit
				}
				t.Run(fmt.Sprint(operation, "_after_", after, "_", write[:6]), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := newBench("append", write)
						b.feed(t, insert(1, "a"), insert(2, "b"))
						if err := b.db.Fault(operation, 2, after, errors.New("unavailable")); err != nil {
							t.Fatal(err)
						}
						retries := &notes{}
						o := b.options()
						o.Observer = retries
						if err := exec.Supervise(context.Background(), b.plan, o); err != nil {
							t.Fatal(err)
						}
						b.expect(t, "dst", "1 a", "2 b")
						// An operation that was done although it failed may not be needed again.
						if n := retries.count(exec.Retry); n < 1 || n > 2 {
							t.Errorf("%d retries, want 1 or 2", n)
						}
					})
				})
			}
		}
	}
}

// notes keeps events.
type notes struct {
	mu     sync.Mutex
	events []exec.Event
}

func (*notes) Read(int, int, int64)  {}
func (*notes) Wrote(int, int, int64) {}
func (*notes) Saved(exec.Saved)      {}
func (n *notes) Note(e exec.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *notes) count(what exec.What) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e.What == what {
			count++
		}
	}
	return count
}

func TestSuperviseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("append", "append exactly-once")
		b.plan.RestartAttempts = 5
		b.plan.RestartInitialDelay, b.plan.RestartMaxDelay = time.Second, 4*time.Second
		if err := b.db.Fault("open", 1000, false, errors.New("no route to host")); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		seen := &notes{}
		o := b.options()
		o.Observer, o.Logger = seen, slog.New(slog.NewTextHandler(&log, nil))
		began := time.Now()
		err := exec.Supervise(context.Background(), b.plan, o)
		if err == nil || !strings.Contains(err.Error(), "no route to host") {
			t.Fatalf("error %v", err)
		}
		if took := time.Since(began); took > 15*time.Second || seen.count(exec.Retry) != 5 || strings.Count(log.String(), "no route to host") != 5 {
			t.Errorf("%d retries in %v, log:\n%s", seen.count(exec.Retry), took, log.String())
		}
		if c := b.saved(t); c.Status.State != "failed" || !strings.Contains(c.Status.Error, "no route to host") {
			t.Errorf("status %+v", c.Status)
		}
	})
}

func TestSuperviseStopsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("append", "append exactly-once")
		b.plan.RestartInitialDelay, b.plan.RestartMaxDelay = time.Hour, time.Hour
		if err := b.db.Fault("open", 1, false, errors.New("no route to host")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- exec.Supervise(ctx, b.plan, b.options()) }()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestFencedRunnerIsLeftAlone lets a second run take over: the first must end, and must not touch what it has lost.
func TestFencedRunnerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("append", "append at-least-once")
		done := make(chan error)
		go func() { done <- exec.Supervise(context.Background(), b.plan, exec.Options{Store: b.store}) }()
		synctest.Wait()
		b.run(t)
		b.feed(t, insert(1, "a"))
		if err := <-done; !errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("the first runner ended with %v, want ErrFenced", err)
		}
		if c := b.saved(t); c.Epoch != 2 || c.Status.State != "stopped" {
			t.Errorf("checkpoint %+v, want the second run's", c)
		}
	})
}

// TestC002OneBadValueStopsOnePipeline runs few and many pipelines of which one meets a bad value.
func TestC002OneBadValueStopsOnePipeline(t *testing.T) {
	for _, n := range []int{3, 11} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				benches := make([]*bench, n)
				errs := make([]error, n)
				var all sync.WaitGroup
				for i := range n {
					benches[i] = newBench("append", "append exactly-once")
					benches[i].feed(t, insert(1, "NaN"), insert(2, "b"))
					if i == 0 {
						benches[i].plan.Sinks[0].Table.Options = option.SetOf(map[string]string{"sink.refuse": "NaN"})
					}
					all.Go(func() { errs[i] = exec.Supervise(context.Background(), benches[i].plan, benches[i].options()) })
				}
				all.Wait()
				for i, b := range benches {
					if i > 0 {
						b.expect(t, "dst", "1 NaN", "2 b")
						if errs[i] != nil {
							t.Errorf("pipeline %d: %v", i, errs[i])
						}
						continue
					}
					if errs[i] == nil || !strings.Contains(errs[i].Error(), `table "dst" row (id=1)`) || b.saved(t).Status.State != "failed" {
						t.Errorf("pipeline 0: %v, status %+v", errs[i], b.saved(t).Status)
					}
				}
			})
		})
	}
}
