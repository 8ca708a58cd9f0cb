package postgres

import (
	"testing"

	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// A query's read leaves nothing behind, and does not touch the slot that the user named for a pipeline.
func TestForget(t *testing.T) {
	x := newSourceRig(t, "create table t (id bigint primary key)", "insert into t values (1)")
	pgtest.Exec(t, x.url, "select pg_create_logical_replication_slot('"+ownName(x.read.Pipeline+" named")+"', 'pgoutput')")
	named := ownName(x.read.Pipeline + " named")
	x.table("t", "id BIGINT key", "slot.name", named)
	x.read.Throwaway = true
	held := func() string {
		return pgtest.Rows(t, x.url, "select confirmed_flush_lsn from pg_replication_slots where slot_name = '"+named+"'")[0][0]
	}
	before := held()
	x.copyRows()
	x.open()
	x.exec("insert into t values (2)")
	x.close()
	slots := "select slot_name from pg_replication_slots where database = current_database() order by 1"
	if got := pgtest.Rows(t, x.url, slots); len(got) != 2 {
		t.Fatalf("slots while the query is read: %v", got)
	}
	if err := forget(x.ctx(), x.read); err != nil {
		t.Fatal(err)
	}
	if got := pgtest.Rows(t, x.url, slots); len(got) != 1 || got[0][0] != named {
		t.Errorf("slots %v, want only %s", got, named)
	}
	if got := pgtest.Rows(t, x.url, "select pubname from pg_publication"); len(got) != 0 {
		t.Errorf("publications %v were left", got)
	}
	if after := held(); after != before {
		t.Errorf("the named slot moved from %s to %s", before, after)
	}
	if err := forget(x.ctx(), x.read); err != nil {
		t.Errorf("a second time: %v", err)
	}
	pgtest.Exec(t, x.url, "select pg_drop_replication_slot('"+named+"')")
}
