// Package connectors is the contract between the engine and the systems it reads and writes.
//
// A connector never sees SQL, plans or checkpoints. What it can do is data (ReadModes, WriteModes), so that the planner
// decides without opening a connection; what it does is behind Source, Snapshot, Sink and Committer.
package connectors

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/option"
)

// Connector is one system. Plain data; the functions may be nil where a direction is not supported.
type Connector struct {
	Name    string
	Aliases []Alias // other spellings of 'connector' with their own option names
	Doc     string
	Options []option.Decl
	// ReadModes and WriteModes are in order of preference: the first whose conditions hold is the default.
	ReadModes  []ReadMode
	WriteModes []WriteMode
	Metadata   []MetadataColumn
	// Endpoint names the system that a table's options point at. Tables with equal endpoints can be read by one source;
	// it holds no secret. Nil: every table is its own.
	Endpoint func(Table) string
	// Validate checks what a declaration alone cannot: combinations of options, types against the type table of the
	// system. It opens no connection. Role is Reading or Writing.
	Validate func(t Table, role Role) []Problem

	// Show spells a position for people; nil: hexadecimal.
	Show func(change.Position) string

	// Preflight checks the server against the declarations, all at once; the error lists every finding with its fix.
	Preflight func(ctx context.Context, r Read) error
	// OpenSnapshot prepares the first copy of the tables, nil when the system has none. See Snapshot.
	OpenSnapshot func(ctx context.Context, r Read, saved []Partition) (Snapshot, error)
	// OpenSource starts reading changes after r.From. Bounded read modes read everything and end with io.EOF.
	OpenSource func(ctx context.Context, r Read) (Source, error)
	// OpenSink prepares writing one table.
	OpenSink func(ctx context.Context, w Write) (Sink, error)
	// Forget drops what the system keeps for a Throwaway read that has ended (a slot, a publication); nil: nothing is kept.
	Forget func(ctx context.Context, r Read) error
}

// Alias is another spelling of a connector: its name, how its keys map to the connector's own ("" drops a key that has no
// meaning here), and the defaults that come with the name. Translate handles what a map cannot (a url taken apart).
type Alias struct {
	Name      string
	Keys      map[string]string
	Defaults  map[string]string
	Translate func(option.Set) (option.Set, []Problem)
}

// Role is the direction in which a table is used.
type Role uint8

const (
	Reading Role = iota
	Writing
)

// Problem is a mistake in a declaration. Option or Column names the place ("" for the whole table).
type Problem struct {
	Option, Column      string
	Code, Message, Help string
	Warning             bool
}

// When is a condition on a table's options: the option (or its default) has this value.
type When struct{ Option, Value string }

// ReadMode is one way to read.
type ReadMode struct {
	Name    string
	When    []When
	Emits   change.Kinds
	Bounded bool
	// Snapshot: the mode begins with a Snapshot, then streams.
	Snapshot bool
	// KeyedDeletes: a delete carries only the key columns; the others are unsent.
	KeyedDeletes bool
	// BeforeImages says what an update's old row carries: "none", "key", "full".
	BeforeImages string
	// Replay: after a restart the source repeats rows from a kept position; false means it cannot (nothing is kept).
	Replay bool
	Doc    string
}

// KeyRule says what a write mode asks of PRIMARY KEY.
type KeyRule uint8

const (
	KeyIgnored  KeyRule = iota // may be declared, changes nothing
	KeyRequired                // refused without
	KeyForbidden
)

// Class is how a replay is made harmless; see DESIGN.md, delivery classes.
type Class string

const (
	Transactional Class = "transactional"
	TwoPhase      Class = "two_phase"
	SequenceDedup Class = "sequence_dedup"
	UpsertClass   Class = "upsert"
	WindowedDedup Class = "windowed_dedup"
	FileClass     Class = "file"
	AppendOnly    Class = "append_only"
)

// WriteMode is one way to write.
type WriteMode struct {
	Name    string
	When    []When // beside Name against 'sink.write-mode', Guarantee against 'sink.delivery-guarantee'
	Accepts change.Kinds
	Key     KeyRule
	Class   Class
	// Guarantee is the value of 'sink.delivery-guarantee' that selects the mode; "" when the connector has no such option.
	Guarantee string
	// Compacts: only the last change of a key in a batch is applied.
	Compacts bool
	// PartialRows: the sink can leave an unsent column as it is. False means that it replaces whole rows.
	PartialRows bool
	// NeedsBefore: the sink wants -U rows; otherwise the planner drops them.
	NeedsBefore bool
	// Staged: rows become visible only when the checkpoint commits.
	Staged  bool
	Options []string // keys that belong to this mode only
	Doc     string
}

// MetadataColumn is a column that METADATA FROM 'Key' can read (or write, when Writable).
type MetadataColumn struct {
	Key      string
	Type     arrow.DataType
	SQL      string
	Writable bool
	Doc      string
}

// Table is one declared table as a connector sees it.
type Table struct {
	Name    string // as declared, for messages
	Columns []Column
	Key     []int // indexes of the PRIMARY KEY columns in Columns; nil when there is none
	// PartitionedBy are the indexes of PARTITIONED BY columns.
	PartitionedBy []int
	Options       option.Set
	// Mode is the name of the chosen ReadMode or WriteMode; Guarantee the chosen WriteMode's.
	Mode      string
	Guarantee string
}

// Column is one column. Metadata is the metadata key, "" for a physical column.
type Column struct {
	Name     string
	Type     arrow.DataType
	SQL      string // the declared type as text
	Nullable bool
	Metadata string
}

// Read is what a source is opened with: all tables of one pipeline in one system.
type Read struct {
	Pipeline string // the pipeline's name: slots, publications and consumer groups are named after it
	Tables   []TableRead
	// From is the position after which the stream starts; nil for the beginning that the options say.
	From change.Position
	// CaughtUp: end with io.EOF once everything has been delivered that the system held when the source was opened.
	CaughtUp bool
	// Limits close a micro-batch. Zero fields mean the defaults of DefaultLimits.
	Limits Limits
	// Reject is called for a value that cannot be mapped. Nil error: go on without the row. Safe for concurrent use.
	Reject RejectFunc
	// Throwaway: the read of a query, which no later run goes on with. What it keeps at the system has a name of its own,
	// from Pipeline, and goes with Connector.Forget; a position that the user named for a pipeline (a slot) is not touched.
	Throwaway bool
	// Warn is told what the user should know and what does not stop the read. Nil: nobody listens. Safe for concurrent use.
	Warn func(Warning)
	// Allocator makes the batches; nil means memory.DefaultAllocator. Mem reads it.
	Allocator memory.Allocator
}

// Warning is something that happened at the source, such as a truncate that was ignored. Code is kebab-case, for counting.
type Warning struct{ Code, Table, Message string }

// Mem is the allocator for batches.
func (r *Read) Mem() memory.Allocator {
	if r.Allocator == nil {
		return memory.DefaultAllocator
	}
	return r.Allocator
}

// TableRead is one table of a Read. Table.Columns holds only the columns that the pipeline uses, in order; a batch of this
// table has exactly these columns.
type TableRead struct {
	Table
	// Declared are all physical columns of the declaration, in order: what a format without column names, such as CSV,
	// holds in each row.
	Declared []Column
	// Where is a predicate that the source may apply; the engine applies it again.
	Where *Predicate
	// WholeRows: a consumer replaces whole rows or computes with the column, so unsent values must be fetched
	// (or the read fails), as the table's options say.
	WholeRows bool
	// ExactHandover: the sink absorbs no repeats, so the table is one partition and the stream must leave out
	// what the copy already saw. Handover is the position of the finished copy, nil before.
	ExactHandover bool
	Handover      change.Position
}

// Predicate is a condition over columns, simple enough for other systems: Op is one of AND OR NOT = <> < <= > >= IN
// "IS NULL" "IS NOT NULL" LIKE. Column indexes TableRead's columns; Values are Go values of the column's Arrow type
// (bool, int64, float64, string, []byte, decimal text as string, time.Time).
type Predicate struct {
	Op     string
	Column int
	Values []any
	Args   []*Predicate
}

// Limits close a micro-batch, whichever comes first.
type Limits struct {
	Rows  int
	Bytes int64
	Wait  Millis
}

// Millis is a span in milliseconds.
type Millis int64

// DefaultLimits are the limits of a micro-batch: 1,000 rows, 4 MiB, 100 ms. A source that has nothing more closes at once.
var DefaultLimits = Limits{Rows: 1000, Bytes: 4 << 20, Wait: 100}

// Source hands over batches in order. All methods are called from one goroutine, the pipeline's.
type Source interface {
	// Next returns the next batch; the caller owns it. io.EOF follows the last batch of a bounded read. If ctx ends first,
	// Next returns ctx.Err() and may be called again; no row is lost. A *SchemaChange says that the source's schema
	// differs from the declaration. Any other error makes the caller close the source.
	Next(ctx context.Context) (change.Batch, error)
	// Ack says that everything up to and including p is durable in the sinks and in the checkpoint: the system may forget it.
	Ack(ctx context.Context, p change.Position) error
	// Close ends reading. It does not forget the position.
	Close() error
}

// Snapshot is the first copy of the tables of a Read, cut into partitions that do not overlap.
//
// The engine saves Start and Partitions before it reads the first row, reads partitions concurrently, and never reads a
// finished one again. After a crash OpenSnapshot gets the saved partitions and must return the same ones.
type Snapshot interface {
	// Start is where the stream begins; it is durable at the source before OpenSnapshot returns.
	Start() change.Position
	Partitions() []Partition
	// Open reads one partition: a bounded source whose batches carry positions at or below Start, and whose last batch
	// carries the position that TableRead.Handover gets. Safe for concurrent use.
	Open(ctx context.Context, p Partition) (Source, error)
	Close() error
}

// Partition is one part of one table. ID is unique in the snapshot and stable over restarts; Range is the connector's own.
type Partition struct {
	ID    string
	Table int
	Range []byte
	Rows  int64 // estimate, for progress; 0 unknown
}

// Write is what a sink is opened with.
type Write struct {
	Pipeline string // identity in the target, with Sink
	Sink     string // the sink table's name; a snapshot partition's writer appends its ID to Pipeline
	Table    Table  // Columns are those that are written, in the order of the batches
	// Epoch grows with every run of the pipeline. A transactional sink refuses a writer with an older one. A staged sink
	// keeps it with what it stages, and throws away only what older epochs staged: a newer run may be about to save.
	Epoch uint64
	// Token is the last saved token of this sink, nil at first.
	Token []byte
	// Once: rows come from a copy that must be made visible in one step (TableRead.ExactHandover).
	Once   bool
	Limits Limits
	// Reject is called for a row that the system refuses. Nil error: go on without the row. Safe for concurrent use;
	// when it returns, the row is where the policy wants it.
	Reject RejectFunc
}

// RejectFunc applies the declared policy to a row.
type RejectFunc func(ctx context.Context, e *RowError) error

// Sink writes one table. All methods are called from the pipeline's goroutine.
type Sink interface {
	// Write takes the rows of a batch; it borrows the batch and must not keep it. It may return before the rows are
	// written, with a bounded number of requests under way, and blocks when the bound is reached. An error may belong to
	// an earlier batch.
	//
	// A transactional sink makes a batch durable in one step with the batch's Position, or, when that is nil, with the
	// position of its last row. A batch with neither becomes durable together with the next one that has a Position. A
	// batch without rows (Record nil) tells a sink that took rows of a stretch where the stretch ended.
	Write(ctx context.Context, b change.Batch) error
	// Flush returns when all rows taken so far are durable. The token names what is not visible yet, for Committer; nil
	// when everything is visible.
	Flush(ctx context.Context) (token []byte, err error)
	// Position is the position of the last row that the target holds from this pipeline, as the target itself says; nil
	// when it keeps none. Called once after opening: rows at or below it are not written again.
	Position() change.Position
	Close() error
}

// Committer is the one optional interface of a Sink, for classes two_phase. Commit makes visible what token names. It is
// idempotent, also after a crash.
type Committer interface {
	Commit(ctx context.Context, token []byte) error
}

// RowError is one row that could not be mapped or was refused.
type RowError struct {
	Table  string
	Column string // "" when it concerns the whole row
	Reason string
	Kind   change.Kind
	Row    string // the row as a JSON object, for dead letters and messages
	Key    string // the key columns as text, for messages
	At     change.Position
}

func (e *RowError) Error() string {
	s := fmt.Sprintf("table %q", e.Table)
	if e.Key != "" {
		s += " row (" + e.Key + ")"
	}
	if e.Column != "" {
		s += fmt.Sprintf(" column %q", e.Column)
	}
	return s + ": " + e.Reason
}

// SchemaChange ends a read: the table's columns at the source are no longer those that were declared.
type SchemaChange struct {
	Table  string
	What   string // "column c was added", in the user's words
	Added  []Column
	Broken bool // a declared column is gone or has a type that does not fit
}

func (e *SchemaChange) Error() string {
	return fmt.Sprintf("the schema of table %q changed: %s", e.Table, e.What)
}

// PermanentError is an error that a retry cannot cure (a missing right, a lost slot). Everything else is retried.
type PermanentError struct {
	Err  error
	Help string
}

func (e *PermanentError) Error() string {
	if e.Help == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + "\nhelp: " + e.Help
}
func (e *PermanentError) Unwrap() error { return e.Err }

// Permanent marks an error as one that is not retried.
func Permanent(err error, help string) error { return &PermanentError{Err: err, Help: help} }
