package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// refusesToOpen checks that the sink does not open, for good, and says so.
func (x *sinkRig) refusesToOpen(want ...string) {
	x.t.Helper()
	err := x.tryOpen()
	var permanent *connectors.PermanentError
	if !errors.As(err, &permanent) {
		x.t.Fatalf("opening gave %v, want a permanent error", err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			x.t.Errorf("the error does not say %q:\n%v", w, err)
		}
	}
}

const everyColumn = "id BIGINT; b BOOLEAN; s SMALLINT; i INT; f FLOAT; d DOUBLE; n DECIMAL(10,2); v VARCHAR(20); c CHAR(4); t STRING; " +
	"y BYTES; e DATE; m TIME(6); p TIMESTAMP(3); z TIMESTAMP_LTZ(6); l ARRAY<INT>; x ARRAY<DECIMAL(5,1)>"

func TestSinkMissingTable(t *testing.T) {
	x := newSinkRig(t, 1, everyColumn)
	x.refusesToOpen(`create table "public"."t" (`, `"n" numeric(10,2)`, `primary key ("id")`, "create-if-needed")
	x.option(createDisposition.Key, "create-if-needed")
	x.open()
	x.write(ins(1))
	x.flush()
	x.holds(`select string_agg(format_type(atttypid, atttypmod), '; ' order by attnum) from pg_attribute
		where attrelid = 't'::regclass and attnum > 0`,
		"bigint; boolean; smallint; integer; real; double precision; numeric(10,2); character varying(20); character(4); text; "+
			"bytea; date; time(6) without time zone; timestamp(3) without time zone; timestamp(6) with time zone; integer[]; numeric(5,1)[]")
	x.open() // the table is there now
	x.write(ins(2))
	x.flush()
	x.holds("select count(*) from t", "2")
}

func TestSinkMissingSchema(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT")
	x.option("table-name", "nowhere.t")
	x.option(createDisposition.Key, "create-if-needed")
	x.refusesToOpen(`create schema "nowhere"`)
}

func TestSinkMissingIndex(t *testing.T) {
	x := newSinkRig(t, 2, "a BIGINT; b BIGINT", "create table t (a bigint, b bigint)")
	x.refusesToOpen("no unique index", `alter table "public"."t" add primary key ("a", "b")`)
	pgtest.Exec(t, x.url, "create unique index on t (a)", "create unique index on t (a, b) where a > 0", "create unique index on t (a, (b + 1))")
	x.refusesToOpen("no unique index")
	pgtest.Exec(t, x.url, "alter table t add unique (b, a) deferrable")
	x.refusesToOpen("deferrable", "create unique index")
	pgtest.Exec(t, x.url, "create unique index on t (b, a)")
	x.open()
}

func TestSinkNotATable(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create view t as select 1::bigint as id")
	x.refusesToOpen("not a table")
}

func TestSinkMissingRights(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT", "create table t (id bigint primary key)", "drop role if exists sink_reader", "create role sink_reader login")
	t.Cleanup(func() { pgtest.Exec(t, x.url, "drop owned by sink_reader", "drop role sink_reader") })
	x.option("username", "sink_reader")
	x.refusesToOpen("create the positions table", "create table if not exists", "'sink.delivery-guarantee' to 'at-least-once'")
	x.table.Guarantee = "at-least-once"
	x.open()
	b := x.batch(ins(1))
	defer b.Release()
	if err := x.sink.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	var permanent *connectors.PermanentError
	if err := x.tryFlush(); !errors.As(err, &permanent) || !strings.Contains(err.Error(), "grant select, insert") {
		t.Fatalf("flush: %v", err)
	}
	x.discard()
	x.option(triggers.Key, "replica")
	x.refusesToOpen("session_replication_role")
}

func TestSinkSessionReplicationRole(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; p BIGINT", "create table t (id bigint primary key, p bigint references t)")
	x.option(triggers.Key, "replica")
	x.open()
	x.write(ins(1, 5))
	x.flush()
	x.holds("select * from t", "1|5")
	x.option(triggers.Key, "origin")
	x.open()
	x.write(ins(2, 6), ins(3, 2), ins(7, 7))
	x.flush()
	if len(x.refused) != 2 || !strings.Contains(x.refused[0].Reason, "foreign key") {
		t.Fatalf("refused %v", x.refused)
	}
}

// A table that changes under a running sink stops it for good.
func TestSinkTableChanges(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; s STRING", "create table t (id bigint primary key, s text)")
	x.open()
	x.write(ins(1, "a"))
	x.flush()
	pgtest.Exec(t, x.url, "alter table t drop column s")
	b := x.batch(ins(2, "b"))
	defer b.Release()
	if err := x.sink.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	var permanent *connectors.PermanentError
	if err := x.tryFlush(); !errors.As(err, &permanent) {
		t.Fatalf("flush: %v", err)
	}
	x.discard()
}

func TestSinkWrongPassword(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)")
	x.option("database-name", "no_such_database")
	x.refusesToOpen("no_such_database")
}
