// Package memory keeps tables in the process: for tests, examples and scripts that need no server. A DB outlives the
// pipelines that use it, as a server would.
//
// It must never be slow to tell a mistake: a change that a table cannot take is an error, not a guess.
package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

var (
	tableName = option.String("table-name", "The table's name in memory; the declared name when it is left out. Two declarations with one name are one table.")
	scanMode  = option.Enum("scan.mode", "append reads a table that only grows, cdc every change from the first on, copy-cdc a copy and then every change, snapshot the rows as they are now.",
		[]string{"append", "cdc", "copy-cdc", "snapshot"}, option.Default("append"), option.Source())
	changelogMode = option.Enum("changelog.mode", "all reads the row before an update too, upsert only the row after it.",
		[]string{"all", "upsert"}, option.Default("all"), option.Source())
	partitions = option.Int("scan.snapshot.partitions", "The number of parts that the copy of copy-cdc is cut into.",
		option.Default("1"), option.Source())
	writeMode = option.Enum("sink.write-mode", "upsert keeps a row per key, append adds rows, changelog adds and takes away whole rows, staged adds rows that a checkpoint makes visible.",
		[]string{"upsert", "append", "changelog", "staged"}, option.Sink())
	guarantee = option.Enum("sink.delivery-guarantee", "exactly-once keeps the position with the rows.",
		[]string{"exactly-once", "at-least-once"}, option.Sink())
	refuse = option.String("sink.refuse", "A value that the table refuses in any column, to try out policies for row errors.", option.Sink())
)

// New makes the connector of a DB.
func New(db *DB) *connectors.Connector {
	return &connectors.Connector{
		Name:       "memory",
		Doc:        "Tables in the memory of the process, for tests and examples.",
		Options:    []option.Decl{tableName.Decl, scanMode.Decl, changelogMode.Decl, partitions.Decl, writeMode.Decl, guarantee.Decl, refuse.Decl},
		ReadModes:  readModes,
		WriteModes: writeModes,
		Metadata: []connectors.MetadataColumn{
			{Key: "lsn", Type: arrow.PrimitiveTypes.Int64, SQL: "BIGINT", Doc: "The number of the change, from 1."},
			{Key: "op", Type: arrow.BinaryTypes.String, SQL: "STRING", Doc: "The kind of the change: +I, -U, +U or -D."},
		},
		// All tables share one log, so one source can read any of them.
		Endpoint: func(connectors.Table) string { return "memory" },
		Validate: validate,
		OpenSource: func(ctx context.Context, r connectors.Read) (connectors.Source, error) {
			return openSource(ctx, db, r)
		},
		OpenSnapshot: func(ctx context.Context, r connectors.Read, saved []connectors.Partition) (connectors.Snapshot, error) {
			return openSnapshot(ctx, db, r, saved)
		},
		OpenSink: func(ctx context.Context, w connectors.Write) (connectors.Sink, error) {
			return openSink(ctx, db, w)
		},
	}
}

var readModes = []connectors.ReadMode{
	{Name: "append", When: []connectors.When{{Option: "scan.mode", Value: "append"}}, Emits: change.Inserts, BeforeImages: "none",
		Replay: true, Doc: "every row that was added, from the first on"},
	{Name: "cdc", When: []connectors.When{{Option: "scan.mode", Value: "cdc"}, {Option: "changelog.mode", Value: "all"}},
		Emits: change.All, BeforeImages: "full", Replay: true, Doc: "every change from the first on"},
	{Name: "cdc", When: []connectors.When{{Option: "scan.mode", Value: "cdc"}, {Option: "changelog.mode", Value: "upsert"}},
		Emits: change.Upserts, BeforeImages: "none", Replay: true, Doc: "every change from the first on, without the rows before updates"},
	{Name: "copy-cdc", When: []connectors.When{{Option: "scan.mode", Value: "copy-cdc"}, {Option: "changelog.mode", Value: "all"}},
		Emits: change.All, BeforeImages: "full", Replay: true, Snapshot: true, Doc: "the rows as they are, then every change"},
	{Name: "copy-cdc", When: []connectors.When{{Option: "scan.mode", Value: "copy-cdc"}, {Option: "changelog.mode", Value: "upsert"}},
		Emits: change.Upserts, BeforeImages: "none", Replay: true, Snapshot: true, Doc: "the rows as they are, then every change without the rows before updates"},
	{Name: "snapshot", When: []connectors.When{{Option: "scan.mode", Value: "snapshot"}}, Emits: change.Inserts, BeforeImages: "none",
		Bounded: true, Replay: true, Doc: "the rows as they are when the read begins"},
}

var writeModes = []connectors.WriteMode{
	{Name: "upsert", Accepts: change.Upserts, Key: connectors.KeyRequired, Class: connectors.Transactional, Guarantee: "exactly-once",
		PartialRows: true, Doc: "a row per key; rows and position in one step"},
	{Name: "append", Accepts: change.Inserts, Class: connectors.AppendOnly, Guarantee: "at-least-once", Doc: "adds rows"},
	{Name: "append", Accepts: change.Inserts, Class: connectors.Transactional, Guarantee: "exactly-once", Doc: "adds rows; rows and position in one step"},
	{Name: "upsert", Accepts: change.Upserts, Key: connectors.KeyRequired, Class: connectors.UpsertClass, Guarantee: "at-least-once",
		PartialRows: true, Doc: "a row per key"},
	{Name: "changelog", Accepts: change.All, Class: connectors.Transactional, Guarantee: "exactly-once", NeedsBefore: true,
		Doc: "adds rows and takes equal ones away; rows and position in one step"},
	{Name: "staged", Accepts: change.Inserts, Class: connectors.TwoPhase, Guarantee: "exactly-once", Staged: true,
		Doc: "adds rows that a checkpoint makes visible"},
}

// name is the table's name in the DB. A declared name may be qualified (catalog.database.table); the last part counts.
func name(t connectors.Table) string {
	if n := tableName.Get(t.Options); n != "" {
		return n
	}
	return t.Name[strings.LastIndexByte(t.Name, '.')+1:]
}

func validate(t connectors.Table, role connectors.Role) []connectors.Problem {
	if role == connectors.Reading && partitions.Get(t.Options) < 1 {
		return []connectors.Problem{{Option: partitions.Key, Code: "bad-option", Message: "the copy has at least one part"}}
	}
	return nil
}

func refused(t *connectors.Table, b *change.Batch, row int, value string) *connectors.RowError {
	return connectors.NewRowError(t, b, row, "", fmt.Sprintf("the value %q is refused", value))
}
