// Package checkpoint keeps what a pipeline needs to go on after a crash: the source position, the sinks' tokens, the
// partitions of a snapshot.
//
// A store must never report a save before it is durable, and never accept a checkpoint whose ID is not one more than the
// one it holds: that is what keeps two runners from both making progress.
package checkpoint

import (
	"context"
	"errors"
	"time"

	"github.com/syncsql/syncsql/change"
)

// Checkpoint is the whole durable state of one unit: a pipeline, or one partition of its snapshot (named "pipeline/partition").
type Checkpoint struct {
	ID          uint64 // grows by one with every save
	Epoch       uint64 // grows by one with every run
	Fingerprint string
	Position    change.Position   // everything up to here is durable in the sinks
	Tokens      map[string][]byte // per sink: what Commit makes visible
	Done        bool              // a partition that is finished, or a bounded pipeline that reached its end
	// Start and Partitions are set once the snapshot has been prepared; Handovers (by table) as tables finish.
	Start      change.Position
	Partitions []Partition
	Handovers  map[int]change.Position
	Streaming  bool // every partition is finished
	Status     Status
}

// Partition mirrors connectors.Partition.
type Partition struct {
	ID    string
	Table int
	Range []byte
	Rows  int64
	Done  bool
}

// Status is what `syncsql status` shows.
type Status struct {
	State     string // running, stopped, failed, finished
	Phase     string // snapshot, stream
	Guarantee string
	Error     string
	RowsIn    uint64
	RowsOut   uint64
	Rejected  uint64
	LagBytes  int64
	LagMillis int64
	Position  string // for people
	Saved     time.Time
}

// ErrFenced is returned by Save when another runner has saved since.
var ErrFenced = errors.New("another runner has taken over this pipeline")

// ErrNotFound is returned by Load for a name that was never saved.
var ErrNotFound = errors.New("no checkpoint")

// Store keeps checkpoints by name. Safe for concurrent use by the units of one process.
type Store interface {
	Load(ctx context.Context, name string) (Checkpoint, error)
	// Save makes c durable and returns. It fails with ErrFenced unless c.ID is exactly one more than the stored ID
	// (1 for a new name).
	Save(ctx context.Context, name string, c Checkpoint) error
	// List returns the names with a prefix, in order.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete forgets a name and all names below it ("name/...").
	Delete(ctx context.Context, name string) error
	Close() error
}
