package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
)

// copyTables takes the first copy of the tables, unless it is taken. Start and partitions are saved before a row is read;
// each partition is a unit of its own, read from its beginning until it is Done; then the stream has its position.
func (r *runner) copyTables(ctx, work context.Context, read connectors.Read) (err error) {
	u := &r.parent
	open := r.plan.Source.Connector.OpenSnapshot
	if u.saved.Streaming || open == nil || !slices.ContainsFunc(r.plan.Source.Modes, snapshots) {
		return nil
	}
	read.From = u.saved.Start
	var snapshot connectors.Snapshot
	err = r.around(u.name, OpenSource, u.saved.ID+1, func() (err error) {
		snapshot, err = open(ctx, read, savedPartitions(&u.saved))
		return
	})
	if err != nil {
		return fmt.Errorf("open snapshot: %w", err)
	}
	if snapshot == nil {
		return nil
	}
	defer func() {
		if r.died.Load() {
			return
		}
		if closing := snapshot.Close(); closing != nil && err == nil {
			err = fmt.Errorf("close snapshot: %w", closing)
		}
	}()
	if err := r.prepare(ctx, snapshot); err != nil {
		return err
	}
	if err := r.copyPartitions(ctx, work, snapshot); err != nil {
		return err
	}
	next := u.saved
	next.Streaming = true
	next.Position = next.Start
	next.Partitions = nil // there may be thousands, and every checkpoint of the stream would carry them
	next.Status.Phase = "stream"
	return u.save(work, HandOver, next)
}

func snapshots(m connectors.ReadMode) bool { return m.Snapshot }

func savedPartitions(c *checkpoint.Checkpoint) []connectors.Partition {
	var saved []connectors.Partition
	for _, p := range c.Partitions {
		saved = append(saved, connectors.Partition{ID: p.ID, Table: p.Table, Range: p.Range, Rows: p.Rows})
	}
	return saved
}

// prepare saves where the stream will begin and what has to be copied. A snapshot that is taken up again must have the
// partitions that were saved: the finished ones are not read again, so others would leave a gap.
func (r *runner) prepare(ctx context.Context, snapshot connectors.Snapshot) error {
	u := &r.parent
	parts := snapshot.Partitions()
	ids := map[string]bool{}
	for _, p := range parts {
		if ids[p.ID] {
			return connectors.Permanent(fmt.Errorf("the source gives two parts of its snapshot the ID %q", p.ID), "")
		}
		ids[p.ID] = true
	}
	if u.saved.Start != nil {
		same := slices.EqualFunc(parts, u.saved.Partitions, func(a connectors.Partition, b checkpoint.Partition) bool {
			return a.ID == b.ID && a.Table == b.Table
		})
		if !same {
			return connectors.Permanent(errors.New("the source cuts its snapshot otherwise than before"),
				fmt.Sprintf("run `syncsql reset %s` and copy again", u.name))
		}
		return nil
	}
	next := u.saved
	// Never nil: a nil Start would read as "not prepared".
	next.Start = append(change.Position{}, snapshot.Start()...)
	next.Partitions = make([]checkpoint.Partition, len(parts))
	for i, p := range parts {
		next.Partitions[i] = checkpoint.Partition{ID: p.ID, Table: p.Table, Range: p.Range, Rows: p.Rows}
	}
	next.Status.Phase = "snapshot"
	return u.save(ctx, Prepare, next)
}

// copied is the outcome of one partition.
type copied struct {
	index    int
	handover change.Position
	err      error
}

// copyPartitions runs the unfinished partitions, a few at a time, and keeps the pipeline's checkpoint: it alone writes
// it. The first error ends the others.
func (r *runner) copyPartitions(ctx, work context.Context, snapshot connectors.Snapshot) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var unread []int
	for i, p := range r.parent.saved.Partitions {
		if !p.Done {
			unread = append(unread, i)
		}
	}
	r.Observer.Note(Event{What: SnapshotStarted, Unit: r.plan.Name, Parts: len(r.parent.saved.Partitions), Done: len(r.parent.saved.Partitions) - len(unread)})
	parallel := r.plan.SnapshotParallelism
	if parallel <= 0 {
		parallel = 2
	}
	results := make(chan copied)
	running := 0
	var failed error
	for running > 0 || len(unread) > 0 && failed == nil {
		for failed == nil && running < parallel && len(unread) > 0 {
			index, part := unread[0], savedPartitions(&r.parent.saved)[unread[0]]
			unread = unread[1:]
			running++
			go func() {
				handover, err := r.copyPartition(ctx, work, snapshot, part)
				results <- copied{index, handover, err}
			}()
		}
		done := <-results
		running--
		if failed == nil {
			if failed = done.err; failed == nil {
				failed = r.noteCopied(work, done)
			}
			if failed != nil {
				cancel()
			}
		}
	}
	return failed
}

// noteCopied marks a partition in the pipeline's checkpoint, and saves that when a table is complete, or to show progress.
func (r *runner) noteCopied(ctx context.Context, done copied) error {
	u := &r.parent
	next := u.saved
	next.Partitions = slices.Clone(next.Partitions)
	next.Partitions[done.index].Done = true
	table := next.Partitions[done.index].Table
	next.Handovers = maps.Clone(next.Handovers)
	if next.Handovers == nil {
		next.Handovers = map[int]change.Position{}
	}
	if done.handover.Compare(next.Handovers[table]) > 0 {
		next.Handovers[table] = done.handover
	}
	complete := !slices.ContainsFunc(next.Partitions, func(p checkpoint.Partition) bool { return p.Table == table && !p.Done })
	if !complete && time.Since(u.saved.Status.Saved) < r.rhythm.interval {
		u.saved.Partitions, u.saved.Handovers = next.Partitions, next.Handovers // the partition's own checkpoint has it
		return nil
	}
	return u.save(ctx, HandOver, next)
}

// copyPartition is a unit that is read from its beginning to its end and saved once, at the end.
func (r *runner) copyPartition(ctx, work context.Context, snapshot connectors.Snapshot, part connectors.Partition) (handover change.Position, err error) {
	u := &unit{runner: r, name: r.plan.Name + "/" + part.ID, wholeOnly: true}
	table := r.plan.Source.Read.Tables[part.Table]
	if err := u.beginPartition(ctx); err != nil {
		return nil, fmt.Errorf("partition %s: %w", part.ID, err)
	}
	defer u.close(&err)
	if u.saved.Done && len(u.saved.Tokens) == 0 {
		return u.saved.Position, nil
	}
	if err := u.openSinks(ctx, part.Table); err != nil {
		return nil, err
	}
	if u.saved.Done {
		return u.saved.Position, nil // its tokens are committed now
	}
	if table.ExactHandover && len(u.sinks) == 1 && u.sinks[0].Position() != nil {
		// The process died between the target's commit of the copy and the save of ours. Not a word to the sink: an empty
		// flush could pass for an empty copy.
		next := u.finished()
		next.Position = slices.Clone(u.sinks[0].Position())
		return next.Position, u.save(work, Save, next)
	}
	r.Observer.Note(Event{What: PartitionStarted, Unit: u.name, Table: table.Name, Rows: part.Rows})
	err = u.around(u.name, OpenSource, u.saved.ID+1, func() (err error) { u.source, err = snapshot.Open(ctx, part); return })
	if err != nil {
		return nil, fmt.Errorf("open partition %s: %w", part.ID, err)
	}
	if err := u.loop(ctx, ctx); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("copy table %q: %w", table.Name, err)
	}
	r.Observer.Note(Event{What: PartitionDone, Unit: u.name, Table: table.Name, Rows: u.rows})
	return slices.Clone(u.position), u.checkpoint(work, u.finished())
}

// beginPartition loads the partition's checkpoint and, unless it is done, saves it with this run's epoch. That must come
// before its sinks are opened: an older run that is still busy could otherwise save a token whose rows they have dropped.
func (u *unit) beginPartition(ctx context.Context) error {
	for {
		err := u.around(u.name, Load, 0, func() (err error) { u.saved, err = u.Store.Load(ctx, u.name); return })
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return fmt.Errorf("load checkpoint: %w", err)
		}
		if u.saved.Done {
			return nil
		}
		if u.saved.Epoch > u.epoch {
			return checkpoint.ErrFenced
		}
		next := u.saved
		next.Epoch, next.Fingerprint = u.epoch, u.plan.Fingerprint
		next.Status.State, next.Status.Phase = "running", "snapshot"
		if err := u.save(ctx, Begin, next); !errors.Is(err, checkpoint.ErrFenced) {
			return err
		}
		// The older run has saved in between; it may be done.
	}
}

// finished is the last checkpoint of a partition.
func (u *unit) finished() checkpoint.Checkpoint {
	next := u.saved
	next.Done = true
	next.Status.State = "finished"
	return next
}

// handedOver fills in where the stream takes over from the finished copies.
func (r *runner) handedOver(read connectors.Read) connectors.Read {
	read.Tables = slices.Clone(read.Tables)
	for table, p := range r.parent.saved.Handovers {
		if table < len(read.Tables) && read.Tables[table].ExactHandover {
			read.Tables[table].Handover = p
		}
	}
	return read
}
