// Package sqlite reads tables and queries of a SQLite file, and writes tables of one: rows and the position that they came
// from in one transaction.
//
// It must never let SQLite's column affinity change a value: where it would, the table is refused.
package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

var (
	path = option.String("path", "The database file.", option.Required())
	name = option.String("table-name", "The table in the file; by default the name that the table is declared with.")
	text = option.String("query", "A query to read instead of a table. It must give its rows in the same order every time, "+
		"because reading resumes by counting rows.", option.Source())
	busyTimeout = option.Duration("busy-timeout", "How long to wait for a lock that another connection holds.",
		option.Default("5 s"))
	writeMode = option.Enum("sink.write-mode", "upsert: one row per PRIMARY KEY. append: every row is new.",
		[]string{"upsert", "append"}, option.Sink())
	guarantee = option.Enum("sink.delivery-guarantee", "exactly-once: rows and position are one transaction. "+
		"at-least-once: no position is kept.", []string{"exactly-once", "at-least-once"}, option.Default("exactly-once"),
		option.Sink())
	disposition = option.Enum("sink.create-disposition", "Whether a table that is missing is made.",
		[]string{"create-if-needed", "create-never"}, option.Default("create-if-needed"), option.Sink())
)

// Connector reads and writes SQLite files.
func Connector() *connectors.Connector {
	return &connectors.Connector{
		Name: "sqlite",
		Doc:  "Reads and writes tables of a SQLite file.",
		Options: []option.Decl{path.Decl, name.Decl, text.Decl, busyTimeout.Decl, writeMode.Decl, guarantee.Decl,
			disposition.Decl},
		ReadModes: []connectors.ReadMode{{Name: "scan", Emits: change.Inserts, Bounded: true, BeforeImages: "none", Replay: true,
			Doc: "Reads the table or the query once, as it is when reading begins."}},
		WriteModes: []connectors.WriteMode{
			{Name: "upsert", Guarantee: "exactly-once", Accepts: change.Upserts, Key: connectors.KeyRequired,
				Class: connectors.Transactional, PartialRows: true,
				Doc: "Inserts or updates by key, deletes by key; the position is part of the transaction."},
			{Name: "append", Guarantee: "exactly-once", Accepts: change.Inserts, Key: connectors.KeyIgnored,
				Class: connectors.Transactional,
				Doc:   "Inserts every row; the position is part of the transaction."},
			{Name: "upsert", Guarantee: "at-least-once", Accepts: change.Upserts, Key: connectors.KeyRequired,
				Class: connectors.UpsertClass, PartialRows: true,
				Doc: "Inserts or updates by key, deletes by key; a replay applies the same changes again."},
			{Name: "append", Guarantee: "at-least-once", Accepts: change.Inserts, Key: connectors.KeyIgnored,
				Class: connectors.AppendOnly, Doc: "Inserts every row; a replay inserts rows again."},
		},
		Validate:   validate,
		Preflight:  preflight,
		OpenSource: func(ctx context.Context, r connectors.Read) (connectors.Source, error) { return openSource(ctx, r) },
		OpenSink:   func(ctx context.Context, w connectors.Write) (connectors.Sink, error) { return openSink(ctx, w) },
	}
}

// tableName is the table in the file.
func tableName(t *connectors.Table) string {
	if n := name.Get(t.Options); n != "" {
		return n
	}
	return t.Name[strings.LastIndexByte(t.Name, '.')+1:]
}

// quote makes an identifier.
func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func validate(t connectors.Table, role connectors.Role) []connectors.Problem {
	var problems []connectors.Problem
	for _, c := range t.Columns {
		if c.Metadata == "" && storageOf(c.Type) == "" {
			problems = append(problems, connectors.Problem{Column: c.Name, Code: "unsupported-type",
				Message: fmt.Sprintf("SQLite has no type for %s", c.SQL),
				Help:    "write its fields to columns of their own, or cast it to STRING"})
		}
	}
	if role == connectors.Reading && t.Options.Has(text.Key) && t.Options.Has(name.Key) {
		problems = append(problems, connectors.Problem{Option: text.Key, Code: "option-conflict",
			Message: "'query' and 'table-name' exclude each other"})
	}
	if strings.HasPrefix(strings.ToLower(tableName(&t)), "syncsql_positions") {
		problems = append(problems, connectors.Problem{Option: name.Key, Code: "reserved-name",
			Message: "syncsql_positions holds the positions of the pipelines"})
	}
	return problems
}
