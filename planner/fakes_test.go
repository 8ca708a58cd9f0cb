package planner

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// fakes are connectors of plain data: nothing in them can be opened.
var fakes = []*connectors.Connector{cdc, events, lossy, store, warehouse, queue, journal, setter, void}

var (
	hostname  = option.String("hostname", "Host of the server.", option.Required())
	port      = option.Int("port", "Port of the server.", option.Default("5432"))
	password  = option.String("password", "Password of the user.", option.Secret())
	tableName = option.String("table-name", "Name of the table in the server.", option.Required())
	scanMode  = option.Enum("scan.mode", "How to read.", []string{"cdc", "snapshot"}, option.Default("cdc"), option.Source())
	changelog = option.Enum("changelog.mode", "Which changes to read.", []string{"all", "append"}, option.Default("all"), option.Source())
	identity0 = option.Enum("identity", "What an update carries of the row before.", []string{"default", "full"}, option.Default("default"), option.Source())
)

// cdc is a database that is read by snapshot and log.
var cdc = &connectors.Connector{
	Name:    "cdc",
	Options: []option.Decl{hostname.Decl, port.Decl, password.Decl, tableName.Decl, scanMode.Decl, changelog.Decl, identity0.Decl},
	Aliases: []connectors.Alias{{Name: "old-cdc", Keys: map[string]string{"host": "hostname", "table": "table-name", "debug": ""},
		Defaults: map[string]string{"identity": "full"}}},
	ReadModes: []connectors.ReadMode{
		{Name: "snapshot", When: []connectors.When{{Option: "scan.mode", Value: "snapshot"}}, Emits: change.Inserts, Bounded: true, Snapshot: true, Replay: true, BeforeImages: "none"},
		{Name: "append", When: []connectors.When{{Option: "changelog.mode", Value: "append"}}, Emits: change.Inserts, Snapshot: true, Replay: true, BeforeImages: "none"},
		{Name: "full", When: []connectors.When{{Option: "identity", Value: "full"}}, Emits: change.All, Snapshot: true, Replay: true, BeforeImages: "full"},
		{Name: "cdc", Emits: change.Upserts, Snapshot: true, Replay: true, KeyedDeletes: true, BeforeImages: "key"},
	},
	Metadata: []connectors.MetadataColumn{
		{Key: "lsn", Type: arrow.PrimitiveTypes.Int64, SQL: "BIGINT"},
		{Key: "op", Type: arrow.BinaryTypes.String, SQL: "STRING"},
		{Key: "commit_timestamp", Type: arrow.FixedWidthTypes.Timestamp_us, SQL: "TIMESTAMP_LTZ(6)"},
	},
	Endpoint: func(t connectors.Table) string { return hostname.Get(t.Options) },
	Validate: func(t connectors.Table, _ connectors.Role) []connectors.Problem {
		var out []connectors.Problem
		for _, c := range t.Columns {
			if strings.HasPrefix(c.SQL, "MULTISET") {
				out = append(out, connectors.Problem{Column: c.Name, Code: "unsupported-type", Message: fmt.Sprintf("column %q: this system has no %s", c.Name, c.SQL)})
			}
		}
		if port.Get(t.Options) == 1 {
			out = append(out, connectors.Problem{Option: "port", Message: "port 1 is odd", Warning: true})
		}
		return out
	},
}

// events is an append-only stream; every table is a system of its own.
var events = &connectors.Connector{Name: "events",
	ReadModes: []connectors.ReadMode{{Name: "stream", Emits: change.Inserts, Replay: true, BeforeImages: "none"}}}

// lossy cannot read anything twice.
var lossy = &connectors.Connector{Name: "lossy",
	ReadModes: []connectors.ReadMode{{Name: "stream", Emits: change.Inserts, BeforeImages: "none"}}}

// store is a database that is written in transactions.
var store = &connectors.Connector{Name: "store", WriteModes: []connectors.WriteMode{
	{Name: "upsert", Accepts: change.Upserts, Key: connectors.KeyRequired, Class: connectors.Transactional, Guarantee: "exactly-once", Compacts: true, PartialRows: true},
	{Name: "append", Accepts: change.Inserts, Class: connectors.Transactional, Guarantee: "exactly-once", PartialRows: true},
	{Name: "upsert", Accepts: change.Upserts, Key: connectors.KeyRequired, Class: connectors.UpsertClass, Guarantee: "at-least-once", Compacts: true, PartialRows: true},
	{Name: "append", Accepts: change.Inserts, Class: connectors.AppendOnly, Guarantee: "at-least-once", PartialRows: true},
}}

// warehouse replaces whole rows, or loads files.
var warehouse = &connectors.Connector{Name: "warehouse",
	Options: []option.Decl{option.String("bucket", "Where files are staged.").Decl, option.Duration("staleness", "How old rows may be.").Decl},
	WriteModes: []connectors.WriteMode{
		{Name: "cdc", Accepts: change.Upserts, Key: connectors.KeyRequired, Class: connectors.SequenceDedup, Options: []string{"staleness"}},
		{Name: "load", Accepts: change.Inserts, Class: connectors.TwoPhase, Staged: true, Options: []string{"bucket"}},
	}}

// queue takes rows and forgets them.
var queue = &connectors.Connector{Name: "queue", WriteModes: []connectors.WriteMode{
	{Name: "append", Accepts: change.Inserts, Class: connectors.AppendOnly}}}

// journal keeps every change.
var journal = &connectors.Connector{Name: "journal", WriteModes: []connectors.WriteMode{
	{Name: "envelope", Accepts: change.All, Class: connectors.AppendOnly, NeedsBefore: true}}}

// setter cannot delete.
var setter = &connectors.Connector{Name: "setter",
	ReadModes: []connectors.ReadMode{{Name: "changes", Emits: change.Of(change.Insert, change.UpdateAfter), Replay: true, BeforeImages: "none"}},
	WriteModes: []connectors.WriteMode{
		{Name: "set", Accepts: change.Of(change.Insert, change.UpdateAfter), Key: connectors.KeyRequired, Class: connectors.UpsertClass, PartialRows: true}}}

// void takes everything.
var void = &connectors.Connector{Name: "void", WriteModes: []connectors.WriteMode{
	{Name: "drop", Accepts: change.All, Class: connectors.UpsertClass, PartialRows: true}}}

// result shows what a SELECT gives.
var result = &connectors.Connector{Name: "result", WriteModes: []connectors.WriteMode{
	{Name: "changes", Accepts: change.All, Class: connectors.AppendOnly, NeedsBefore: true}}}
