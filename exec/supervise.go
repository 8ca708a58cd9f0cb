package exec

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/planner"
)

// Supervise runs a pipeline, and runs it again after an error that another attempt can cure: a broken connection, a
// server that restarts. It waits a random time before each attempt, up to a bound that doubles while no checkpoint is
// saved. It returns what Run returns, or the error that stopped the pipeline for good, which it leaves in the pipeline's
// status. Several pipelines are several calls; the end of one means nothing to the others.
func Supervise(ctx context.Context, p *planner.Pipeline, o Options) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	log := o.Logger.With("pipeline", p.Name)
	watch := &watch{Observer: o.Observer, log: log}
	if watch.Observer == nil {
		watch.Observer = nobody{}
	}
	o.Observer = watch
	for attempt := 1; ; attempt++ {
		watch.saved.Store(false)
		r := newRunner(p, o)
		err := r.run(ctx)
		if err == nil || ctx.Err() != nil || r.died.Load() {
			return err
		}
		if watch.saved.Load() {
			attempt = 1
		}
		if permanent(err) || errors.Is(err, checkpoint.ErrFenced) || p.RestartAttempts > 0 && attempt > p.RestartAttempts {
			r.leave(ctx, "failed", err)
			return err
		}
		wait := backoff(attempt, p)
		log.Warn("run again after an error", "attempt", attempt, "wait", wait, "error", err)
		r.leave(ctx, "running", err)
		o.Observer.Note(Event{What: Retry, Unit: p.Name, Err: err, Wait: wait})
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// backoff is a random time below a bound that doubles with each attempt: many pipelines that lost one server do not come
// back in step.
func backoff(attempt int, p *planner.Pipeline) time.Duration {
	bound, most := p.RestartInitialDelay, p.RestartMaxDelay
	if bound <= 0 {
		bound = 200 * time.Millisecond
	}
	if most <= 0 {
		most = 30 * time.Second
	}
	for range attempt - 1 {
		if bound >= most {
			break
		}
		bound *= 2
	}
	return rand.N(min(bound, most)) + 1
}

func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// leave notes an error in the pipeline's status. Only the run that still owns the pipeline may: a save by another would
// fence the owner.
func (r *runner) leave(ctx context.Context, state string, cause error) {
	if r.epoch == 0 || errors.Is(cause, checkpoint.ErrFenced) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Stop)
	defer cancel()
	stored, err := r.Store.Load(ctx, r.plan.Name)
	if err == nil && stored.Epoch == r.epoch {
		r.parent.saved = stored
		next := stored
		next.Status.State = state
		next.Status.Error = cause.Error()
		err = r.parent.save(ctx, End, next)
	}
	if err != nil {
		r.Logger.Warn("the pipeline's status could not be saved", "pipeline", r.plan.Name, "error", err)
	}
}

// watch is the supervisor's ear: it knows whether a run got anywhere, and logs the first row of a table that a policy
// takes out.
type watch struct {
	Observer
	log      *slog.Logger
	saved    atomic.Bool
	rejected sync.Map // of table names
}

func (w *watch) Saved(s Saved) {
	w.saved.Store(true)
	w.Observer.Saved(s)
}

func (w *watch) Note(e Event) {
	if e.What == RowRejected {
		if _, known := w.rejected.LoadOrStore(e.Table, true); !known {
			w.log.Warn("a row was rejected; further ones of this table are only counted", "table", e.Table, "error", e.Err)
		}
	}
	if e.What == Warned {
		w.log.Warn(e.Err.Error(), "table", e.Table)
	}
	w.Observer.Note(e)
}
