package postgres

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/syncsql/syncsql/option"
)

// Where the database is, for both directions.
var (
	hostname = option.String("hostname", "Host name or address of the server.")
	port     = option.Int("port", "Port of the server.", option.Default("5432"), option.Check(checkPort))
	username = option.String("username", "Role to connect as.")
	password = option.String("password", "Password of the role.", option.Secret())
	database = option.String("database-name", "Database to connect to.")
	schema   = option.String("schema-name", "Schema of the table.", option.Default("public"))
	table    = option.String("table-name",
		`Table to read or write: name or schema.name. A part that holds a dot or a quote is written in double quotes: "Sales.EU"."Order Item". Case counts.`,
		option.Required(), option.Check(checkTableName))
	address = option.String("url",
		"Instead of hostname, port, username, password and database-name: postgres://user:password@host:port/database?sslmode=require.",
		option.Secret())
	sslMode = option.Enum("ssl.mode", "How the connection is encrypted and the server verified.",
		[]string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}, option.Default("prefer"))
	sslRoot        = option.String("ssl.root-cert", "File with the certificates that sign the server's, for verify-ca and verify-full.")
	connectTimeout = option.Duration("connect.timeout", "How long connecting may take.", option.Default("30 s"))
)

// How a table is read.
var (
	scanMode = option.Enum("scan.mode", "What is read: cdc (a first copy, then changes), snapshot (the copy only), stream (changes only, from now on).",
		[]string{"cdc", "snapshot", "stream"}, option.Default("cdc"), option.Source())
	replicaIdentity = option.Enum("replica-identity",
		"The REPLICA IDENTITY that the table has; it decides which changes the plan can count on. run verifies it against the server.",
		[]string{"default", "full", "index", "nothing"}, option.Default("default"), option.Source())
	changelogMode = option.Enum("changelog.mode",
		"Which changes are handed on: all that the replica identity gives, upsert (no -U), append (inserts only; updates and deletes are left out).",
		[]string{"all", "upsert", "append"}, option.Default("all"), option.Source())
	slotName = option.String("slot.name",
		"Replication slot to read from; created if it does not exist. Without it a slot is named after the pipeline.",
		option.Source(), option.Check(checkSlotName))
	publicationName = option.String("publication.name",
		"Publication to read; used as it is if it exists. Without it one is kept that holds exactly the pipeline's tables, columns and filters.",
		option.Source())
	slotWait = option.Duration("slot.wait", "How long to wait for a slot that another session holds.",
		option.Default("30 s"), option.Source())
	partitionRows = option.Int("scan.snapshot.rows-per-partition", "Estimated rows in one partition of the first copy.",
		option.Default("500000"), option.Source(), option.Check(checkPositive))
	truncateMode = option.Enum("scan.truncate",
		"What TRUNCATE at the source does: fail stops the pipeline, ignore keeps the rows at the target and warns.",
		[]string{"fail", "ignore"}, option.Default("fail"), option.Source())
	unchangedToast = option.Enum("scan.unchanged-toast",
		"What happens to a large value that an update did not send, when the sink needs the whole row: reselect reads the row again, fail stops.",
		[]string{"reselect", "fail"}, option.Default("reselect"), option.Source())
	heartbeat = option.Duration("heartbeat.interval",
		"Writes a logical message at this interval, so that the slot moves on a server where nothing else is written; 0 is off.",
		option.Default("0"), option.Source())
	publishGenerated = option.Bool("publish.generated",
		"Publish stored generated columns (Postgres 18 and later), so that they can be declared.",
		option.Default("false"), option.Source())
)

// How a table is written.
var (
	writeMode = option.Enum("sink.write-mode",
		"upsert writes and deletes by PRIMARY KEY, append only inserts. Without it: upsert when there is a PRIMARY KEY.",
		[]string{"upsert", "append"}, option.Sink())
	deliveryGuarantee = option.Enum("sink.delivery-guarantee",
		"exactly-once keeps the position in the transaction that writes the rows; at-least-once writes no position.",
		[]string{"exactly-once", "at-least-once"}, option.Default("exactly-once"), option.Sink())
	createDisposition = option.Enum("sink.create-disposition", "Whether a missing table is created from the declaration.",
		[]string{"create-never", "create-if-needed"}, option.Default("create-never"), option.Sink())
	sinkBatchRows = option.Int("sink.batch-rows", "Most rows gathered for one transaction while the last one is being written.",
		option.Default("20000"), option.Sink(), option.Check(checkPositive))
	sinkBatchBytes = option.Bytes("sink.batch-bytes", "Most bytes gathered for one transaction while the last one is being written.",
		option.Default("16 mb"), option.Sink())
	positionsTable = option.String("sink.positions-table",
		"Table in which exactly-once keeps the position of each pipeline; schema-qualified like table-name.",
		option.Default("syncsql_positions"), option.Sink(), option.Check(checkTableName))
	triggers = option.Enum("sink.session-replication-role",
		"replica writes without firing ordinary triggers and foreign keys (needs the right to set it); origin fires them.",
		[]string{"origin", "replica"}, option.Default("origin"), option.Sink())
)

func declarations() []option.Decl {
	return []option.Decl{
		hostname.Decl, port.Decl, username.Decl, password.Decl, database.Decl, schema.Decl, table.Decl, address.Decl,
		sslMode.Decl, sslRoot.Decl, connectTimeout.Decl,
		scanMode.Decl, replicaIdentity.Decl, changelogMode.Decl, slotName.Decl, publicationName.Decl, slotWait.Decl,
		partitionRows.Decl, truncateMode.Decl, unchangedToast.Decl, heartbeat.Decl, publishGenerated.Decl,
		writeMode.Decl, deliveryGuarantee.Decl, createDisposition.Decl, sinkBatchRows.Decl, sinkBatchBytes.Decl,
		positionsTable.Decl, triggers.Decl,
	}
}

func checkPort(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q is not a port number", text)
	}
	return nil
}

func checkPositive(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n < 1 {
		return fmt.Errorf("%d is not positive", n)
	}
	return nil
}

var slotText = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)

func checkSlotName(text string) error {
	if !slotText.MatchString(text) {
		return fmt.Errorf("%q is not a slot name: 1 to 63 lower-case letters, digits and underscores", text)
	}
	return nil
}

func checkTableName(text string) error { _, err := splitName(text); return err }
