package exec

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/planner"
)

// Options are what a run needs beside its plan. Only Store must be set.
type Options struct {
	Store checkpoint.Store
	// CaughtUp ends the run once everything is delivered that the source held when its stream was opened.
	CaughtUp bool
	Observer Observer
	// Step is called before and after every effect, with the ID of the checkpoint that is being made. When it returns an
	// error the process is taken for dead at that point: the run returns that error at once and closes nothing.
	Step func(step Step, id uint64) error
	// Logger is used by Supervise alone.
	Logger *slog.Logger
	// Alloc is what batches are made with; nil means Arrow's default.
	Alloc memory.Allocator
}

// Stop is how long a run may go on after its context has ended: to finish the transaction that is being read, flush and
// save.
const Stop = 10 * time.Second

// Run runs a pipeline until its bounded source ends, or it has caught up (Options.CaughtUp), or ctx ends; then everything
// that was written is saved, and Run returns nil. Any error leaves the last checkpoint as it is: running again goes on
// from there. A *connectors.PermanentError and checkpoint.ErrFenced are not worth trying again.
func Run(ctx context.Context, p *planner.Pipeline, o Options) error {
	return newRunner(p, o).run(ctx)
}

// runner is one run of a pipeline; its units share it.
type runner struct {
	Options
	plan    *planner.Pipeline // with some tables listed apart
	origins []int             // by table of plan: its index in the plan that was given
	rhythm  rhythm
	limit   *limiter
	letters *letters
	parent  unit   // the stream, and the pipeline's own checkpoint
	epoch   uint64 // of this run; 0 until it is saved
	died    atomic.Bool
	flowing atomic.Bool // the stream is being read: a stop has something to finish

	rowsIn, rowsOut, rejected atomic.Uint64
}

// rhythm is when checkpoints are due.
type rhythm struct {
	interval time.Duration // at most this long after the last
	rows     int64         // or after as many rows,
	least    time.Duration // but then not sooner than this
}

func newRunner(p *planner.Pipeline, o Options) *runner {
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Alloc == nil {
		o.Alloc = memory.DefaultAllocator
	}
	p, origins := apart(p)
	r := &runner{Options: o, plan: p, origins: origins, rhythm: rhythmOf(p), limit: newLimiter(p.MaxRowsPerSecond, p.MaxBytesPerSecond)}
	r.letters = &letters{runner: r, open: map[string]*letterbox{}, busy: make(chan struct{}, 1)}
	r.parent = unit{runner: r, name: p.Name}
	return r
}

func rhythmOf(p *planner.Pipeline) rhythm {
	r := rhythm{interval: p.Interval(), rows: p.CheckpointRows}
	if r.rows <= 0 {
		r.rows = 10_000
	}
	r.least = min(r.interval, 500*time.Millisecond)
	return r
}

func (r *runner) run(ctx context.Context) (err error) {
	work, cancel := r.outlive(ctx)
	defer cancel()
	defer r.letters.close(&err)
	if err := oneSinkPerTable(r.plan); err != nil {
		return err
	}
	if finished, err := r.begin(ctx); err != nil || finished {
		return r.unlessStopped(ctx, err)
	}
	read := r.read()
	if preflight := r.plan.Source.Connector.Preflight; preflight != nil {
		if err := preflight(ctx, read); err != nil {
			return r.unlessStopped(ctx, fmt.Errorf("check source: %w", err))
		}
	}
	if err := r.copyTables(ctx, work, read); err != nil {
		return r.unlessStopped(ctx, err)
	}
	if r.copiesOnly() {
		return r.parent.end(work, "finished")
	}
	return r.stream(ctx, work, r.handedOver(read))
}

// unlessStopped turns the error of a run that was stopped before its stream began into a clean end: nothing is lost, the
// unfinished partitions are read again.
func (r *runner) unlessStopped(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || r.died.Load() || !errors.Is(err, ctx.Err()) {
		return err
	}
	if r.epoch > 0 {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), Stop)
		defer cancel()
		return r.parent.end(ending, "stopped")
	}
	return nil
}

// outlive gives a context that goes on for Stop after ctx ends when there is something to finish.
func (r *runner) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopping := context.AfterFunc(ctx, func() {
		if !r.flowing.Load() {
			cancel()
			return
		}
		timer := time.NewTimer(Stop)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-work.Done():
		}
	})
	return work, func() { stopping(); cancel() }
}

// begin loads the checkpoint and saves it with the next epoch, which fences every older runner. It reports whether an
// earlier run has finished the pipeline for good.
func (r *runner) begin(ctx context.Context) (finished bool, err error) {
	for range 100 {
		if finished, err = r.takeOver(ctx); !errors.Is(err, checkpoint.ErrFenced) {
			break
		}
		// The runner that this one takes over from has saved in between.
	}
	return finished, err
}

func (r *runner) takeOver(ctx context.Context) (finished bool, err error) {
	u := &r.parent
	err = r.around(u.name, Load, 0, func() (err error) { u.saved, err = r.Store.Load(ctx, u.name); return })
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return false, fmt.Errorf("load checkpoint: %w", err)
	}
	if err := compatible(&u.saved, r.plan); err != nil {
		return false, err
	}
	if u.saved.Done {
		return true, nil
	}
	r.rowsIn.Store(u.saved.Status.RowsIn)
	r.rowsOut.Store(u.saved.Status.RowsOut)
	r.rejected.Store(u.saved.Status.Rejected)
	next := u.saved
	next.Epoch++
	next.Fingerprint = r.plan.Fingerprint
	next.Status.Error = ""
	next.Status.State = "running"
	err = u.save(ctx, Begin, next)
	if err == nil {
		r.epoch = next.Epoch
	}
	return false, err
}

// oneSinkPerTable refuses a plan in which two sinks have one identity: each would take the other's position for its own.
func oneSinkPerTable(p *planner.Pipeline) error {
	names := map[string]bool{}
	for _, s := range p.Sinks {
		if names[s.Table.Name] {
			return connectors.Permanent(fmt.Errorf("pipeline %q writes table %q through two sinks", p.Name, s.Table.Name), "")
		}
		names[s.Table.Name] = true
	}
	return nil
}

// compatible refuses a checkpoint that was made by another plan.
func compatible(c *checkpoint.Checkpoint, p *planner.Pipeline) error {
	if c.ID == 0 || c.Fingerprint == p.Fingerprint {
		return nil
	}
	return connectors.Permanent(
		fmt.Errorf("pipeline %q: its checkpoint was made by another query: source, tables, sink or key differ", p.Name),
		fmt.Sprintf("run `syncsql reset %s` to start from the beginning, or give this query a name of its own with SET 'pipeline.name'", p.Name))
}

// save writes a checkpoint that no row belongs to.
func (u *unit) save(ctx context.Context, effect Effect, next checkpoint.Checkpoint) error {
	next.ID = u.saved.ID + 1
	next.Status = u.status(next.Status, next.Position)
	if err := u.around(u.name, effect, next.ID, func() error { return u.Store.Save(ctx, u.name, next) }); err != nil {
		return fmt.Errorf("save checkpoint %d: %w", next.ID, err)
	}
	u.saved = next
	return nil
}

// status fills what every checkpoint carries.
func (u *unit) status(s checkpoint.Status, at change.Position) checkpoint.Status {
	s.Guarantee = u.plan.Deliver.Guarantee
	s.RowsIn, s.RowsOut, s.Rejected = u.rowsIn.Load(), u.rowsOut.Load(), u.rejected.Load()
	s.LagBytes, s.LagMillis = u.lag.bytes, u.lag.age.Milliseconds()
	s.Saved = time.Now()
	if show := u.plan.Source.Connector.Show; show != nil && at != nil {
		s.Position = show(at)
	} else {
		s.Position = hex.EncodeToString(at)
	}
	return s
}

// lag is how far the source was ahead when the last batch had been written.
type lag struct {
	bytes int64
	age   time.Duration
}

func (l *lag) note(b *change.Batch) {
	l.bytes = b.Behind
	if b.Committed > 0 {
		l.age = max(0, time.Since(time.UnixMicro(b.Committed)))
	}
}

// read is what the source is opened with.
func (r *runner) read() connectors.Read {
	read := r.plan.Source.Read
	read.CaughtUp = r.CaughtUp
	read.Reject = r.rejectRead
	read.Allocator = r.Alloc
	read.Warn = func(w connectors.Warning) {
		r.Observer.Note(Event{What: Warned, Unit: r.plan.Name, Table: w.Table, Err: errors.New(w.Message)})
	}
	return read
}

// copiesOnly reports whether nothing follows the snapshot.
func (r *runner) copiesOnly() bool {
	for _, m := range r.plan.Source.Modes {
		if !m.Bounded || !m.Snapshot {
			return false
		}
	}
	return len(r.plan.Source.Modes) > 0
}

// bounded reports whether the source ends by itself.
func (r *runner) bounded() bool {
	for _, m := range r.plan.Source.Modes {
		if !m.Bounded {
			return false
		}
	}
	return len(r.plan.Source.Modes) > 0
}

// stream opens sinks and source where the checkpoint left them and runs the loop to its end.
func (r *runner) stream(ctx, work context.Context, read connectors.Read) (err error) {
	u := &r.parent
	u.saved.Status.Phase = "stream"
	defer u.close(&err)
	if err := u.openSinks(work, everyTable); err != nil {
		return r.unlessStopped(ctx, err)
	}
	read.From = u.saved.Position
	u.position = append(u.position[:0], u.saved.Position...)
	err = r.around(u.name, OpenSource, u.saved.ID+1, func() (err error) {
		u.source, err = r.plan.Source.Connector.OpenSource(work, read)
		return
	})
	if err != nil {
		return r.unlessStopped(ctx, fmt.Errorf("open source: %w", err))
	}
	r.Observer.Note(Event{What: StreamStarted, Unit: u.name})
	r.flowing.Store(true)
	if err := ctx.Err(); err != nil {
		return r.unlessStopped(ctx, err)
	}
	err = u.loop(ctx, work)
	switch {
	case errors.Is(err, io.EOF):
		return u.finish(work)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return u.stop(work)
	case u.broken && u.fresh && !u.midway:
		// The source failed, or its schema changed; what came before was right and need not be read again.
		if saving := u.checkpoint(work, u.saved); saving != nil {
			return errors.Join(err, saving)
		}
	}
	return err
}

// finish takes the checkpoint after the last batch.
func (u *unit) finish(ctx context.Context) error {
	next := u.saved
	next.Done = u.bounded()
	next.Status.State = "stopped"
	if next.Done {
		next.Status.State = "finished"
	} else if u.midway {
		return errors.New("the source ended in the middle of a transaction")
	}
	return u.checkpoint(ctx, next)
}

// stop takes the last checkpoint before the process leaves. Sinks that absorb no repeats may hold rows of a stretch that
// has not ended, so it is read to its end first, if that comes in time; otherwise the last checkpoint stands.
func (u *unit) stop(ctx context.Context) error {
	tail, cancel := context.WithTimeout(ctx, Stop/2)
	defer cancel()
	for u.midway {
		b, err := u.source.Next(tail)
		if err == nil {
			err = u.take(ctx, b)
		}
		if err != nil && u.died.Load() {
			return err
		}
		if err != nil {
			return u.end(ctx, "stopped")
		}
	}
	next := u.saved
	next.Status.State = "stopped"
	return u.checkpoint(ctx, next)
}

// end saves a last status without touching the sinks.
func (u *unit) end(ctx context.Context, state string) error {
	next := u.saved
	next.Status.State = state
	next.Done = state == "finished"
	return u.save(ctx, End, next)
}
