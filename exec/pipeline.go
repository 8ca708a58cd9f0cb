// Package exec runs a plan: it reads batches, evaluates them, writes them, and takes checkpoints.
//
// It must never acknowledge or commit what is not saved, never interpret a position, and never have more than one
// goroutine between a source and its sinks.
package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
)

// unit is one source, the sinks it feeds and the checkpoint of both: the stream of a pipeline, or one partition of its
// snapshot. One goroutine runs it.
type unit struct {
	*runner
	name      string
	saved     checkpoint.Checkpoint
	source    connectors.Source
	sinks     []*sink
	routes    [][]target // by table: where its rows go
	wholeOnly bool       // no checkpoint before the end

	position  change.Position // of the last batch that was written whole
	midway    bool            // rows were written after position: the stretch that they belong to has not ended
	broken    bool            // the source ended the loop, not a sink
	fresh     bool            // position moved since the last checkpoint
	lag       lag
	rows      int64           // written since the last checkpoint
	last      time.Time       // when the last checkpoint was taken
	quiet     context.Context // ends when the next checkpoint is due; nil while nothing is there to save
	stopQuiet context.CancelFunc
}

// loop is the data path: read, evaluate, write, and take a checkpoint when one is due. It returns io.EOF at the end of a
// bounded read and the error of read when that ends; what was written since the last checkpoint is then for the caller to
// save. Sinks and source work under work, which outlives read by the time that a stop may take.
func (u *unit) loop(read, work context.Context) error {
	u.last = time.Now()
	defer u.forgetQuiet()
	for {
		b, err := u.next(read)
		switch {
		case err == nil:
			if err := u.take(work, b); err != nil {
				return err
			}
		case !u.wentQuiet(read, err):
			u.broken = true
			return err
		}
		if u.due() {
			if err := u.checkpoint(work, u.saved); err != nil {
				return err
			}
		}
	}
}

// next waits for the rate limit, then for a batch, and no longer than until the next checkpoint is due: a quiet stream is
// saved too.
func (u *unit) next(read context.Context) (change.Batch, error) {
	if u.fresh && !u.midway && !u.wholeOnly {
		if u.quiet == nil {
			u.quiet, u.stopQuiet = context.WithDeadline(read, u.last.Add(u.rhythm.interval))
		}
		read = u.quiet
	}
	if err := u.limit.wait(read); err != nil {
		return change.Batch{}, err
	}
	return u.source.Next(read)
}

// wentQuiet reports whether err only says that the next checkpoint is due.
func (u *unit) wentQuiet(read context.Context, err error) bool {
	return u.quiet != nil && u.quiet.Err() != nil && read.Err() == nil && errors.Is(err, context.DeadlineExceeded)
}

// take writes a batch, gives it back, and then notes that everything up to its position was written.
func (u *unit) take(ctx context.Context, b change.Batch) error {
	err := u.write(ctx, b)
	rows := b.Len()
	b.Release() // Invariant 6: here and only here, written or not.
	if err != nil {
		return err
	}
	u.rows += int64(rows)
	u.limit.take(rows, b.Bytes)
	u.lag.note(&b)
	// Invariant 3: the position moves after the write, and only with a batch that has one.
	if u.midway = b.Position == nil; !u.midway {
		// A keepalive that repeats the position is nothing to save.
		u.fresh = u.fresh || rows > 0 || b.Position.Compare(u.position) != 0
		u.position = append(u.position[:0], b.Position...)
	}
	return nil
}

// due decides the rhythm: after the interval, or earlier when many rows have come, but not so often that a fast stream
// drains its sinks and syncs the state store all the time.
func (u *unit) due() bool {
	if !u.fresh || u.midway || u.wholeOnly {
		return false
	}
	since := time.Since(u.last)
	return since >= u.rhythm.interval || u.rows >= u.rhythm.rows && since >= u.rhythm.least
}

// checkpoint makes everything that was written durable and lets the source forget it. Law 1: flush, save, commit, ack, in
// that order, here and nowhere else. The fields of next that this function does not set are saved as they are.
func (u *unit) checkpoint(ctx context.Context, next checkpoint.Checkpoint) error {
	started := time.Now()
	next.ID = u.saved.ID + 1
	if u.fresh {
		next.Position = append(change.Position{}, u.position...)
	}
	next.Tokens = nil
	for _, s := range u.sinks {
		var token []byte
		err := u.around(u.name, Flush, next.ID, func() (err error) { token, err = s.Flush(ctx); return })
		if err != nil {
			return fmt.Errorf("flush table %q: %w", s.plan.Table.Name, err)
		}
		if token != nil {
			if next.Tokens == nil {
				next.Tokens = make(map[string][]byte, len(u.sinks))
			}
			next.Tokens[s.plan.Table.Name] = token
		}
	}
	next.Status = u.status(next.Status, next.Position)
	// Invariant 1: nothing below happens unless this is durable. A save whose answer is lost ends the run: only loading
	// tells whether it was applied.
	if err := u.around(u.name, Save, next.ID, func() error { return u.Store.Save(ctx, u.name, next) }); err != nil {
		return fmt.Errorf("save checkpoint %d: %w", next.ID, err)
	}
	u.saved = next
	for _, s := range u.sinks {
		if err := u.commit(ctx, Commit, s, next.ID, next.Tokens[s.plan.Table.Name]); err != nil {
			return err
		}
	}
	if u.fresh && u.source != nil {
		if err := u.around(u.name, Ack, next.ID, func() error { return u.source.Ack(ctx, next.Position) }); err != nil {
			return fmt.Errorf("acknowledge checkpoint %d: %w", next.ID, err)
		}
	}
	u.fresh, u.rows, u.last = false, 0, time.Now()
	u.forgetQuiet()
	u.Observer.Saved(Saved{Unit: u.name, ID: next.ID, At: u.last, Took: u.last.Sub(started), LagBytes: u.lag.bytes, Lag: u.lag.age})
	return nil
}

// commit makes visible what a saved token names. Invariant 2: it may be the second time.
func (u *unit) commit(ctx context.Context, effect Effect, s *sink, id uint64, token []byte) error {
	c, ok := s.Sink.(connectors.Committer)
	if !ok || token == nil {
		return nil
	}
	if err := u.around(u.name, effect, id, func() error { return c.Commit(ctx, token) }); err != nil {
		return fmt.Errorf("commit table %q: %w", s.plan.Table.Name, err)
	}
	return nil
}

func (u *unit) forgetQuiet() {
	if u.quiet != nil {
		u.stopQuiet()
		u.quiet = nil
	}
}
