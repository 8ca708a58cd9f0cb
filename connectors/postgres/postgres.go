// Package postgres reads and writes PostgreSQL 12 and later: a first copy by binary COPY, changes by logical replication
// (pgoutput), writes by COPY, INSERT … ON CONFLICT and keyed UPDATE and DELETE.
//
// It must never confirm to the server what the pipeline has not acknowledged, never guess the form or the type of a value,
// and never put a password into an error.
package postgres

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// Connector describes PostgreSQL.
func Connector() *connectors.Connector {
	return &connectors.Connector{
		Name:         "postgres",
		Aliases:      []connectors.Alias{cdcAlias(), jdbcAlias()},
		Doc:          "PostgreSQL: a consistent first copy, then changes by logical replication; transactional writes.",
		Options:      declarations(),
		ReadModes:    readModes(),
		WriteModes:   writeModes(),
		Metadata:     metadataColumns(),
		Endpoint:     func(t connectors.Table) string { return endpoint(t.Options) },
		Validate:     validate,
		Show:         showPosition,
		Preflight:    preflight,
		OpenSnapshot: openSnapshot,
		OpenSource:   openSource,
		OpenSink:     openSink,
		Forget:       forget,
	}
}

// readModes are matched from the first on, so a mode may rely on what the ones above it have taken.
func readModes() []connectors.ReadMode {
	var modes []connectors.ReadMode
	for _, m := range []connectors.ReadMode{
		{Name: "cdc", Snapshot: true, Doc: "A copy of the table, then its changes."},
		{Name: "stream", Doc: "Changes only, from the moment the slot is created."},
	} {
		scan := connectors.When{Option: scanMode.Key, Value: m.Name}
		identity := func(v string) connectors.When { return connectors.When{Option: replicaIdentity.Key, Value: v} }
		changelog := func(v string) connectors.When { return connectors.When{Option: changelogMode.Key, Value: v} }
		add := func(emits change.Kinds, before, doc string, when ...connectors.When) {
			v := m
			v.Replay = true
			v.When = append([]connectors.When{scan}, when...)
			v.Emits, v.BeforeImages, v.Doc = emits, before, m.Doc+" "+doc
			v.KeyedDeletes = emits.Has(change.Delete) && before == "key"
			modes = append(modes, v)
		}
		add(change.Inserts, "none", "Inserts only.", changelog("append"))
		add(change.Inserts, "none", "Without a replica identity the server sends inserts only.", identity("nothing"))
		add(change.Upserts, "none", "Deletes carry the whole row.", identity("full"), changelog("upsert"))
		add(change.All, "full", "Updates and deletes carry the whole old row.", identity("full"))
		add(change.Upserts, "key", "Deletes carry the key; an update that changes the key is a delete and an update.")
	}
	return append(modes, connectors.ReadMode{
		Name: "snapshot", When: []connectors.When{{Option: scanMode.Key, Value: "snapshot"}},
		Emits: change.Inserts, Bounded: true, Snapshot: true, BeforeImages: "none", Replay: true,
		Doc: "A copy of the table as it is when the run begins; needs no replication.",
	})
}

func writeModes() []connectors.WriteMode {
	return []connectors.WriteMode{
		{
			Name: "upsert", Guarantee: "exactly-once",
			Accepts: change.Upserts, Key: connectors.KeyRequired, Class: connectors.Transactional,
			Compacts: true, PartialRows: true, Options: []string{positionsTable.Key},
			Doc: "Inserts, updates and deletes by PRIMARY KEY; the position is in the same transaction.",
		},
		{
			Name: "append", Guarantee: "exactly-once",
			Accepts: change.Inserts, Key: connectors.KeyIgnored, Class: connectors.Transactional,
			Options: []string{positionsTable.Key},
			Doc:     "Inserts only; the position is in the same transaction, so a table without a key takes no repeat either.",
		},
		{
			Name: "upsert", Guarantee: "at-least-once",
			Accepts: change.Upserts, Key: connectors.KeyRequired, Class: connectors.UpsertClass,
			Compacts: true, PartialRows: true,
			Doc: "Inserts, updates and deletes by PRIMARY KEY; a replay writes the same rows again.",
		},
		{
			Name: "append", Guarantee: "at-least-once",
			Accepts: change.Inserts, Key: connectors.KeyIgnored, Class: connectors.AppendOnly,
			Doc: "Inserts only; a replay inserts rows again.",
		},
	}
}

// Keys of metadata columns.
const (
	metaLSN        = "lsn"
	metaTxn        = "txn_id"
	metaCommitTime = "commit_timestamp"
	metaOp         = "op"
	metaTable      = "table"
	metaSchema     = "schema"
	metaDatabase   = "database"
	metaSnapshot   = "snapshot"
	// Flink CDC's names.
	metaOpTime       = "op_ts"
	metaTableName    = "table_name"
	metaSchemaName   = "schema_name"
	metaDatabaseName = "database_name"
	metaRowKind      = "row_kind"
)

func metadataColumns() []connectors.MetadataColumn {
	utc := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	text := arrow.BinaryTypes.String
	return []connectors.MetadataColumn{
		{Key: metaLSN, Type: text, SQL: "STRING", Doc: "Log position of the transaction's commit, such as 0/16B3748; of the copy for a copied row."},
		{Key: metaTxn, Type: arrow.PrimitiveTypes.Int64, SQL: "BIGINT", Doc: "Transaction id; NULL for a copied row."},
		{Key: metaCommitTime, Type: utc, SQL: "TIMESTAMP_LTZ(6)", Doc: "When the transaction was committed; NULL for a copied row."},
		{Key: metaOp, Type: text, SQL: "STRING", Doc: "insert, update or delete; read for a copied row."},
		{Key: metaTable, Type: text, SQL: "STRING", Doc: "Table that the row is read from; the root of a partitioned table."},
		{Key: metaSchema, Type: text, SQL: "STRING", Doc: "Schema of that table."},
		{Key: metaDatabase, Type: text, SQL: "STRING", Doc: "Database of that table."},
		{Key: metaSnapshot, Type: arrow.FixedWidthTypes.Boolean, SQL: "BOOLEAN", Doc: "Whether the row comes from the first copy."},
		{Key: metaOpTime, Type: utc, SQL: "TIMESTAMP_LTZ(3)", Doc: "As commit_timestamp, and 1970-01-01 for a copied row, as in Flink CDC."},
		{Key: metaTableName, Type: text, SQL: "STRING", Doc: "As table, in Flink CDC's spelling."},
		{Key: metaSchemaName, Type: text, SQL: "STRING", Doc: "As schema, in Flink CDC's spelling."},
		{Key: metaDatabaseName, Type: text, SQL: "STRING", Doc: "As database, in Flink CDC's spelling."},
		{Key: metaRowKind, Type: text, SQL: "STRING", Doc: "+I, -U, +U or -D, as in Flink CDC."},
	}
}
