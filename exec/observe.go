package exec

import "time"

// Observer hears what a run does. The methods are called on the data path, by several goroutines during a snapshot: they
// must only count.
type Observer interface {
	// Read is called once for each batch: rows and bytes of a table of the plan's source, by its index there.
	Read(table, rows int, bytes int64)
	// Wrote is called once for each batch and sink that took it, by the sink's index in the plan.
	Wrote(sink, rows int, bytes int64)
	// Saved is called after each checkpoint.
	Saved(Saved)
	// Note is called for what is rare.
	Note(Event)
}

// Saved is one checkpoint of the stream or of a partition.
type Saved struct {
	Unit string
	ID   uint64
	At   time.Time
	Took time.Duration
	// LagBytes is how much of the source's log was still to be read, and Lag how old the newest row was when it had been
	// written, if the source knows: both are 0 otherwise.
	LagBytes int64
	Lag      time.Duration
}

// Event is something rare. What says which fields are set.
type Event struct {
	What  What
	Unit  string        // the pipeline, or the partition "pipeline/id"
	Table string        // RowRejected: the row's table; partitions: the source table
	Rows  int64         // PartitionStarted: the estimate, 0 unknown; PartitionDone: what was read
	Err   error         // RowRejected, Retry, Warned
	Wait  time.Duration // Retry: until the next attempt
	Parts int           // SnapshotStarted: number of partitions
	Done  int           // SnapshotStarted: of which an earlier run finished
}

// What names an Event.
type What string

const (
	SnapshotStarted  What = "snapshot started"
	PartitionStarted What = "partition started"
	PartitionDone    What = "partition done"
	StreamStarted    What = "stream started"
	RowRejected      What = "row rejected" // and skipped or written to the dead-letter table
	Retry            What = "retry"
	Warned           What = "warned" // by the source: what the user should know and what stops nothing
)

// nobody observes nothing.
type nobody struct{}

func (nobody) Read(int, int, int64)  {}
func (nobody) Wrote(int, int, int64) {}
func (nobody) Saved(Saved)           {}
func (nobody) Note(Event)            {}

// Effect is one thing that a run does to the world outside.
type Effect string

const (
	Load       Effect = "load"        // read the checkpoint
	Begin      Effect = "begin"       // save it with the next epoch
	Prepare    Effect = "prepare"     // save the snapshot's start and partitions
	OpenSource Effect = "open-source" // of the stream or of a partition
	OpenSink   Effect = "open-sink"
	Recommit   Effect = "recommit" // commit a token of the loaded checkpoint
	Write      Effect = "write"
	Flush      Effect = "flush"
	Save       Effect = "save"
	Commit     Effect = "commit"
	Ack        Effect = "ack"
	HandOver   Effect = "hand-over" // save that tables of the snapshot are finished
	End        Effect = "end"       // save the last status
)

// Step is the moment before or after an effect.
type Step struct {
	Unit   string // the pipeline, or the partition "pipeline/id"
	Effect Effect
	After  bool
}

// around runs one effect between its two steps. An error of the hook means that the process died there.
func (r *runner) around(unit string, effect Effect, id uint64, do func() error) error {
	if r.Step == nil {
		return do()
	}
	if err := r.Step(Step{Unit: unit, Effect: effect}, id); err != nil {
		r.died.Store(true)
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := r.Step(Step{Unit: unit, Effect: effect, After: true}, id); err != nil {
		r.died.Store(true)
		return err
	}
	return nil
}
