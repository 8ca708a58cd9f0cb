package exec

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
	"github.com/syncsql/syncsql/planner"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "run this seed alone and print what happened")
	simSeeds = flag.Uint64("sim.seeds", 300, "how many seeds to run")
)

// TestSimulation runs the production pipeline against a world of fakes in which the process dies before and after every
// effect, answers are lost, and a second runner takes over. What the targets hold in the end must be what their delivery
// classes promise.
func TestSimulation(t *testing.T) {
	if *simSeed > 0 {
		var story strings.Builder
		wrong, _ := simulate(t, *simSeed, "", &story)
		t.Log("\n" + story.String())
		for _, v := range wrong {
			t.Error(v)
		}
		return
	}
	shards := uint64(runtime.GOMAXPROCS(0))
	for shard := range shards {
		t.Run(fmt.Sprint("shard_", shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard + 1; seed <= *simSeeds; seed += shards {
				wrong, trace := simulate(t, seed, "", nil)
				again, same := simulate(t, seed, "", nil)
				if trace != same || len(wrong) != len(again) {
					wrong = append(wrong, "two runs of the seed differ")
				}
				if len(wrong) > 0 {
					t.Fatalf("seed %d:\n%s\ngo test ./exec -run TestSimulation -sim.seed=%d", seed, strings.Join(wrong, "\n"), seed)
				}
			}
		})
	}
}

// mutants are orders and omissions that lose or repeat rows. Each is made at the border between the pipeline and the
// world, where its effects show, and each must be caught.
var mutants = map[string]string{
	"ack before save":         "was acknowledged|acknowledged transaction",
	"commit before save":      "not saved",
	"no commit on recovery":   "a gap",
	"leaked batch":            "bytes were not released",
	"position ahead of write": "a gap|the final state",
	"save not fenced":         "goes back|a repeat|a gap|nothing is staged",
	"position forgotten":      "a repeat",
	"copy done too early":     "a gap|the final state",
}

func TestSimulationCatchesMutants(t *testing.T) {
	for mutant, want := range mutants {
		t.Run(strings.ReplaceAll(mutant, " ", "_"), func(t *testing.T) {
			for seed := uint64(1); seed <= 2000; seed++ {
				wrong, _ := simulate(t, seed, mutant, nil)
				for _, v := range wrong {
					for one := range strings.SplitSeq(want, "|") {
						if strings.Contains(v, one) {
							t.Logf("caught with seed %d: %s", seed, v)
							return
						}
					}
				}
			}
			t.Error("not caught")
		})
	}
}

// residues is how many units can run without ever waking at the same nanosecond: the bubble's clock is fake, but which of
// two goroutines that are due at once runs first is not ours to say.
const residues = 512

// simulate runs one seed to its end and returns what was wrong, and the trace.
func simulate(t *testing.T, seed uint64, mutant string, story *strings.Builder) (wrong []string, trace uint64) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(seed, story)
		lives := w.rand.IntN(7)
		for {
			l := w.live(mutant, w.lives < lives)
			err := l.run()
			if l.lasting {
				continue
			}
			if err != nil {
				w.violation("the last run: %v", err)
			} else if !l.eof {
				w.violation("the last run ended before the source did")
			}
			break
		}
		if len(w.wrong) == 0 {
			w.check()
		}
		wrong, trace = w.wrong, w.trace.Sum64()
	})
	return wrong, trace
}

// life is one process: from its start to its end, or its death.
type life struct {
	world   *world
	memory  *memory.CheckedAllocator
	mutant  string
	number  int
	lasting bool // another life follows
	faults  int
	dead    bool
	steps   int
	crashAt int
	stopAt  int
	takeAt  int
	cancel  context.CancelFunc
	eof     bool
	sources []*simSource
	sinks   []*simSink
}

// live draws the fate of the next process.
func (w *world) live(mutant string, troubled bool) *life {
	w.lives++
	l := &life{world: w, mutant: mutant, number: w.lives, lasting: troubled, memory: memory.NewCheckedAllocator(memory.NewGoAllocator())}
	if !troubled {
		return l
	}
	if w.rand.IntN(3) == 0 {
		l.faults = 1
	}
	at := 1 + w.rand.IntN(120)
	switch w.rand.IntN(6) {
	case 0:
		l.stopAt = at
	case 1:
		// A runner that was taken over may still write what it holds, which only some classes withstand.
		if !slices.ContainsFunc(w.plan.sinks, func(s sinkPlan) bool { return s.class == connectors.UpsertClass }) {
			l.takeAt = at
			break
		}
		fallthrough
	default:
		l.crashAt = at
	}
	return l
}

func (l *life) run() error {
	w := l.world
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.cancel = cancel
	o := Options{Store: l.mutateStore(simStore{l}), CaughtUp: true, Step: l.step, Alloc: l.memory}
	err := Run(ctx, l.pipeline(), o)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range l.sources {
		s.forget()
	}
	for _, s := range l.sinks {
		s.vanish()
	}
	if n := l.memory.CurrentAlloc(); n != 0 {
		w.violation("life %d: %d bytes were not released", l.number, n)
	}
	outcome := "done"
	if err != nil {
		outcome = err.Error()
		w.faulted = true
	}
	w.tell("end", outcome, uint64(l.number))
	return err
}

// slot is the unit's share of the clock.
func (l *life) slot(unit string) time.Duration {
	slot := l.number % 4 * 50
	if len(unit) > 1 {
		slot += 1 + int(unit[2]-'0')*4 + int(unit[4]-'0') // "p/table-part"; at most 12 tables
	}
	return time.Duration(2 * slot)
}

// sleep waits at least d, until the clock comes by the unit's slot.
func (l *life) sleep(unit string, d time.Duration) {
	at := time.Since(l.world.began) + d
	at = at - at%residues + residues + l.slot(unit)
	time.Sleep(at - time.Since(l.world.began))
}

// step is where time passes, and where fate strikes.
func (l *life) step(s Step, id uint64) error {
	w := l.world
	l.sleep(s.Unit, 0)
	w.mu.Lock()
	d := time.Duration(w.rand.IntN(4)) * time.Millisecond
	if w.rand.IntN(30) == 0 {
		d *= 400
	}
	w.mu.Unlock()
	l.sleep(s.Unit, d)
	w.mu.Lock()
	if l.dead {
		w.mu.Unlock()
		return errDead
	}
	l.steps++
	when := "before"
	if s.After {
		when = "after"
	}
	w.tell(when, s.Unit+" "+string(s.Effect), id)
	switch l.steps {
	case l.crashAt:
		l.dead = true
		w.tell("crash", "", uint64(l.number))
		w.mu.Unlock()
		return errDead
	case l.stopAt:
		w.tell("stop", "", uint64(l.number))
		w.mu.Unlock()
		time.Sleep(time.Nanosecond) // off the slots, so that the stop's own timers never meet a unit
		l.cancel()
		l.sleep(s.Unit, 0)
		return nil
	case l.takeAt:
		w.tell("taken over", "", uint64(l.number))
		w.faulted = true
		other := w.live(l.mutant, false)
		if w.rand.IntN(2) == 0 {
			other.crashAt = 1 + w.rand.IntN(120)
		}
		w.mu.Unlock()
		err := other.run()
		w.mu.Lock()
		defer w.mu.Unlock()
		if permanent(err) || errors.Is(err, checkpoint.ErrFenced) {
			w.violation("the runner that took over: %v", err)
		}
		return nil
	}
	w.mu.Unlock()
	return nil
}

// pipeline is the plan that the seed decided, with this life's connectors.
func (l *life) pipeline() *planner.Pipeline {
	p := &l.world.plan
	pipeline := &planner.Pipeline{Name: "p", Fingerprint: "f"}
	pipeline.SnapshotParallelism = p.parallel
	pipeline.Source.Connector = &connectors.Connector{Name: "sim", OpenSource: l.mutateSource(l.openSource), OpenSnapshot: l.openSnapshot}
	columns := []connectors.Column{{Name: "key", Type: simSchema.Field(0).Type}, {Name: "id", Type: simSchema.Field(1).Type}}
	for i := range p.tables {
		table := connectors.TableRead{Table: connectors.Table{Name: fmt.Sprint("t", i), Columns: columns, Key: []int{0}}, ExactHandover: p.snapshot && p.exact(i)}
		pipeline.Source.Read.Tables = append(pipeline.Source.Read.Tables, table)
		pipeline.Source.Modes = append(pipeline.Source.Modes, connectors.ReadMode{Name: "cdc", Snapshot: p.snapshot, Emits: change.All, Replay: true})
	}
	for i, s := range p.sinks {
		mode := connectors.WriteMode{Name: "sim", Class: s.class, Accepts: change.All, Staged: s.staged}
		table := connectors.Table{Name: fmt.Sprint("s", i), Columns: columns}
		if s.keyed {
			mode.Key, table.Key = connectors.KeyRequired, []int{0}
		}
		pipeline.Sinks = append(pipeline.Sinks, planner.Sink{
			Connector: &connectors.Connector{Name: "sim", OpenSink: l.mutateSink(l.openSink(i))}, Table: table, Mode: mode,
		})
		for _, feed := range s.feeds {
			pipeline.Routes = append(pipeline.Routes, planner.Route{Table: feed, Sink: i, Emits: change.All, Program: s.program()})
		}
	}
	return pipeline
}

// program is SELECT key, id FROM t WHERE id % 3 <> 0; nil for a sink that takes all rows.
func (s sinkPlan) program() *eval.Program {
	if !s.filter {
		return nil
	}
	scope := &eval.Scope{}
	for i, f := range simSchema.Fields() {
		scope.Columns = append(scope.Columns, eval.Column{Name: f.Name, Type: &ddl.Type{Kind: ddl.BigInt}, Index: i})
	}
	compile := func(e ddl.Expr) *eval.Expr {
		compiled, errs := eval.Compile(e, scope)
		if len(errs) > 0 {
			panic(errs)
		}
		return compiled
	}
	column := func(name string) ddl.Expr { return &ddl.ColumnRef{Path: ddl.Path{{Name: name}}} }
	number := func(text string) ddl.Expr { return &ddl.Literal{Kind: ddl.IntLiteral, Text: text} }
	rest := &ddl.Binary{Op: "%", L: column("id"), R: number("3")}
	p := &eval.Program{RowKinds: true, Filter: compile(&ddl.Binary{Op: "<>", L: rest, R: number("0")})}
	for _, f := range simSchema.Fields() {
		p.Outputs = append(p.Outputs, compile(column(f.Name)))
		p.Rules = append(p.Rules, eval.Rule{Column: f.Name})
	}
	if s.keyed {
		p.Key, p.MissedUpdate, p.KeyedDeletes = []int{0}, eval.MissedDeleted, true
	}
	return p
}
