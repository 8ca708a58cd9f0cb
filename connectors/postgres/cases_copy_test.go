package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

func (x *sourceRig) snapshot(saved []connectors.Partition) connectors.Snapshot {
	x.t.Helper()
	s, err := openSnapshot(x.ctx(), x.read, saved)
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

// as makes the rig connect as another role, which must exist.
func (x *sourceRig) as(role string) {
	for i := range x.read.Tables {
		o := x.read.Tables[i].Options
		e, _ := o.Lookup("url")
		e.Text = strings.Replace(x.url, "postgres@", role+"@", 1)
		x.read.Tables[i].Options = o.With("url", e)
	}
}

// role makes one that goes with the test.
func (x *sourceRig) role(attributes string) string {
	x.t.Helper()
	parts := strings.Split(strings.Split(x.url, "?")[0], "/")
	role := "role_" + parts[len(parts)-1]
	x.exec("create role "+role+" login "+attributes, "revoke create, usage on schema public from public")
	return role
}

func TestC082RightsAllAtOnce(t *testing.T) {
	x := newSourceRig(t, "create table a(id int primary key)", "create table b(id int primary key, v text)", "create table c(id int)")
	role := x.role("")
	x.table("a", "id INT key").table("b", "id INT key; gone STRING; v INT").table("c", "id INT key").table("missing", "id INT key")
	x.as(role)
	err := preflight(x.ctx(), x.read)
	refused(t, err, "alter role "+role+" replication", "grant usage on schema", `grant select on "public"."a" to `+role, `grant select on "public"."b" to `+role,
		`column "gone" does not exist`, `column "v" (INT): text does not fit the declared type; declare STRING`, "public.c has no primary key",
		"public.missing does not exist", "grant create on database", "let the owner run: create publication")
	// A ready-made publication needs no rights beyond use.
	x.exec("create publication ready for table a", "alter role "+role+" replication", "grant usage on schema public to "+role, "grant select on a to "+role, "insert into a values (1)")
	x.read.Tables = nil
	x.table("a", "id INT key", "publication.name", "ready")
	x.as(role)
	if err := preflight(x.ctx(), x.read); err != nil {
		t.Fatal(err)
	}
	x.want(x.copyRows(), "+I 1")
	x.exec("insert into a values (2)")
	x.want(x.caughtUp(), "+I 2")
}

func TestPreflightServer(t *testing.T) {
	srv := pgtest.StartNew(t, "wal_level = replica", "max_replication_slots = 0")
	x := &sourceRig{t: t, url: srv.URL("postgres")}
	x.read.Pipeline = "p"
	x.exec("create table t(id int primary key)", "create unlogged table u(id int primary key)", "create view v as select 1 as id")
	x.table("t", "id INT key").table("u", "id INT key").table("v", "id INT key")
	refused(t, preflight(x.ctx(), x.read), "wal_level is replica", "all 0 replication slots are taken", "public.u is not logged", "public.v is a view")
	x.read.Tables = nil
	x.table("v", "id INT key", "scan.mode", "snapshot").table("u", "id INT key", "scan.mode", "snapshot")
	if err := preflight(x.ctx(), x.read); err != nil {
		t.Error(err)
	}
}

func TestRowSecurityIsNotSilent(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)", "insert into t values (1),(2)")
	role := x.role("")
	x.exec("grant usage on schema public to "+role, "grant select on t to "+role, "alter table t enable row level security", "create policy p on t using (id = 1)")
	x.table("t", "id INT key", "scan.mode", "snapshot")
	x.as(role)
	refused(t, preflight(x.ctx(), x.read), "row security leaves out rows")
	s := x.snapshot(nil)
	defer s.Close()
	src, err := s.Open(x.ctx(), s.Partitions()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if rows, _, err := x.drain(src); errors.Is(err, io.EOF) {
		t.Errorf("copied %q without a word", rows)
	}
}

// TestC085 takes a copy up again: the partitions are the same, and the finished one is not needed.
func TestC085CopyIsTakenUpAgain(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, v int)", "insert into t select i, 0 from generate_series(1,5000) i", "analyze t")
	x.table("t", "id INT key; v INT", "scan.snapshot.rows-per-partition", "1000")
	s := x.snapshot(nil)
	parts := s.Partitions()
	if len(parts) < 4 {
		t.Fatalf("%d partitions", len(parts))
	}
	rows := map[string]string{}
	keep := func(list []string) {
		for _, r := range list {
			f := strings.Fields(r)
			if rows[f[1]] = f[2]; f[0] == "-D" {
				delete(rows, f[1])
			}
		}
	}
	keep(x.copyPartition(s, parts[0]))
	start := s.Start()
	s.Close()
	// Rows move to other pages, also into the part that is done.
	x.exec("update t set v = 1 where id % 7 = 0", "delete from t where id % 11 = 0", "vacuum t", "update t set v = 2 where id % 5 = 0", "insert into t values (9999, 9)")
	x.read.From = start
	s = x.snapshot(parts)
	defer s.Close()
	if !slices.EqualFunc(parts, s.Partitions(), func(a, b connectors.Partition) bool { return a.ID == b.ID && string(a.Range) == string(b.Range) }) || string(s.Start()) != string(start) {
		t.Fatal("other partitions than before, or another start")
	}
	for _, p := range parts[1:] {
		keep(x.copyPartition(s, p))
	}
	keep(x.caughtUp())
	for _, r := range pgtest.Rows(t, x.url, "select id, v from t") {
		if rows[r[0]] != r[1] {
			t.Errorf("row %s: got %q, want %s", r[0], rows[r[0]], r[1])
		}
		delete(rows, r[0])
	}
	if len(rows) > 0 {
		t.Errorf("%d rows too many", len(rows))
	}
}

// TestC085LargeValuesAreNotMissed: a row that moved behind the copy's back is only in the stream, without its large value.
func TestC085LargeValuesAreNotMissed(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, v int, big text)", "alter table t alter big set storage external",
		"insert into t select i, 0, "+largeValue+" from generate_series(1,300) i", "analyze t")
	x.table("t", "id INT key; v INT; big STRING", "scan.snapshot.rows-per-partition", "150")
	s := x.snapshot(nil)
	parts := s.Partitions()
	if len(parts) < 2 {
		t.Fatalf("%d partitions", len(parts))
	}
	s.Close()
	x.read.From = s.Start()
	x.exec("update t set v = 1 where id = 300")
	x.want(shorten(x.caughtUp()), "+U 300 1 BIG")
}

func TestRewrittenTableIsReadWhole(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)", "insert into t select generate_series(1,5000)", "analyze t")
	x.table("t", "id INT key", "scan.snapshot.rows-per-partition", "1000", "scan.mode", "snapshot")
	parts := x.snapshot(nil).Partitions()
	x.exec("vacuum full t")
	s := x.snapshot(parts)
	defer s.Close()
	if rows := x.copyPartition(s, parts[len(parts)-1]); len(rows) != 5000 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestC086SnapshotSessionEnds(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)", "insert into t values (1)")
	x.exec("do $$ begin execute format('alter database %I set idle_in_transaction_session_timeout = ''1s''', current_database()); end $$")
	x.table("t", "id INT key")
	s := x.snapshot(nil)
	defer s.Close()
	x.exec("select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'walsender' and datname = current_database()")
	var err error
	pgtest.Eventually(t, 10e9, "the loss is seen", func() bool {
		var src connectors.Source
		if src, err = s.Open(x.ctx(), s.Partitions()[0]); err == nil {
			src.Close()
		}
		return err != nil
	})
	var final *connectors.PermanentError
	if errors.As(err, &final) || !strings.Contains(err.Error(), "session that kept the snapshot") {
		t.Errorf("%v", err)
	}
	x.read.From = s.Start()
	again := x.snapshot(s.Partitions())
	defer again.Close()
	x.want(x.copyPartition(again, again.Partitions()[0]), "+I 1")
}

// TestC088 copies in parallel while rows move between pages: each key once, in one state.
func TestC088OneSnapshotForAll(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, v int)", "insert into t select i, 0 from generate_series(1,20000) i", "analyze t")
	x.table("t", "id INT key; v INT", "scan.snapshot.rows-per-partition", "2000")
	s := x.snapshot(nil)
	defer s.Close()
	ctx, cancel := context.WithCancel(x.ctx())
	var busy sync.WaitGroup
	busy.Add(1)
	go func() {
		defer busy.Done()
		for ctx.Err() == nil {
			pgtest.Exec(t, x.url, "update t set v = v + 1 where id % 3 = 0", "update t set v = v + 1 where id % 3 = 1")
		}
	}()
	var mu sync.Mutex
	var rows []string
	var copying sync.WaitGroup
	for _, p := range s.Partitions() {
		copying.Add(1)
		go func() {
			defer copying.Done()
			got := x.copyPartition(s, p)
			mu.Lock()
			rows = append(rows, got...)
			mu.Unlock()
		}()
	}
	copying.Wait()
	cancel()
	busy.Wait()
	seen := map[string]bool{}
	for _, r := range rows {
		if f := strings.Fields(r); f[2] != "0" || seen[f[1]] {
			t.Fatalf("row %q", r)
		} else {
			seen[f[1]] = true
		}
	}
	if len(seen) != 20000 {
		t.Errorf("%d rows", len(seen))
	}
}

func TestC089TimeoutsOfTheRole(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, v text)", "insert into t values (1)")
	x.exec("do $$ begin execute format('alter database %I set statement_timeout = ''50ms''', current_database()); execute format('alter database %I set lock_timeout = ''50ms''', current_database()); end $$")
	x.table("t", "id INT key", "scan.mode", "snapshot")
	s := x.snapshot(nil)
	defer s.Close()
	locked, release := make(chan bool), make(chan bool)
	var holding sync.WaitGroup
	holding.Add(1)
	go func() {
		defer holding.Done()
		c, err := dial(context.Background(), x.read.Tables[0].Options, "lock")
		if err != nil {
			t.Error(err)
			close(locked)
			return
		}
		defer c.Close(context.Background())
		c.Exec(context.Background(), "begin; lock table t in access exclusive mode").ReadAll()
		close(locked)
		<-release
	}()
	<-locked
	src, err := s.Open(x.ctx(), s.Partitions()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	pgtest.Eventually(t, 10e9, "the copy waits for the lock, longer than the timeouts", func() bool {
		return pgtest.Rows(t, x.url, "set statement_timeout = 0; select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like 'copy%' and now() - query_start > '200 ms'")[0][0] == "1"
	})
	close(release)
	holding.Wait()
	rows, _, err := x.drain(src)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	x.want(rows, "+I 1")
}

func TestC091NamesOfAllKinds(t *testing.T) {
	x := newSourceRig(t, `create schema "Sales.EU"`, `create table "Sales.EU"."Order Item"("Id" int primary key, "retailerId" text, "a""b" text, "it's\n" text)`,
		`insert into "Sales.EU"."Order Item" values (1,'a','b','c')`)
	x.table(`"Sales.EU"."Order Item"`, `Id INT key; retailerId STRING; a"b STRING; it's\n STRING`)
	if err := preflight(x.ctx(), x.read); err != nil {
		t.Fatal(err)
	}
	x.want(x.copyRows(), "+I 1 a b c")
	x.exec(`update "Sales.EU"."Order Item" set "a""b"='B'`, `delete from "Sales.EU"."Order Item"`)
	x.want(x.caughtUp(), "+U 1 a B c", "-D 1 ~ ~ ~")
}

func TestC092ReservedWords(t *testing.T) {
	x := newSourceRig(t, `create table "user"("group" int primary key, "timestamp" text, "all" text, "default" text, "offset" int)`, `create table "select"("order" int primary key)`,
		`insert into "user" values (1,'a','b','c',2)`, `insert into "select" values (3)`)
	x.table("user", "group INT key; timestamp STRING; all STRING; default STRING; offset INT").table("select", "order INT key")
	x.want(x.copyRows(), "+I 1 a b c 2", "+I 3")
	x.exec(`update "user" set "default"='C'`, `update "select" set "order"=4`)
	rows := x.caughtUp()
	slices.Sort(rows)
	x.want(rows, "+U 1 a b C 2", "+U 4", "-D 3")
}

func TestC094CaseCounts(t *testing.T) {
	x := newSourceRig(t, `create table t(id int primary key, "CONFIG" text, config int)`, `insert into t values (1,'upper',2)`)
	x.table("t", "id INT key; config INT; CONFIG STRING")
	x.want(x.copyRows(), "+I 1 2 upper")
	x.exec(`update t set "CONFIG"='UPPER'`)
	x.want(x.caughtUp(), "+U 1 2 UPPER")
	x.read.Tables = nil
	x.table("t", "ID INT key")
	refused(t, preflight(x.ctx(), x.read), `there is "id", and case counts`)
}

// TestExactHandover copies a table without a key under load, twice, because the first copy was cut off.
func TestExactHandover(t *testing.T) {
	x := newSourceRig(t, "create table t(v int)", "insert into t select generate_series(1,1000)")
	x.table("t", "v INT", "replica-identity", "nothing")
	x.read.Tables[0].ExactHandover = true
	first := x.snapshot(nil)
	first.Close() // the process died
	x.read.From = first.Start()
	ctx, cancel := context.WithCancel(x.ctx())
	var busy sync.WaitGroup
	for w := range 3 {
		busy.Add(1)
		go func() {
			defer busy.Done()
			for i := 0; ctx.Err() == nil; i++ {
				pgtest.Exec(t, x.url, fmt.Sprintf("begin; insert into t values (%d); savepoint a; insert into t values (%d); commit", 10000*(w+1)+2*i, 10000*(w+1)+2*i+1))
			}
		}()
	}
	pgtest.Eventually(t, 10e9, "load", func() bool { return pgtest.Rows(t, x.url, "select count(*) > 1100 from t")[0][0] == "t" })
	again := x.snapshot(first.Partitions())
	pgtest.Eventually(t, 10e9, "more load", func() bool { return pgtest.Rows(t, x.url, "select count(*) > 1200 from t")[0][0] == "t" })
	rows := x.copyPartition(again, again.Partitions()[0])
	again.Close()
	cancel()
	busy.Wait()
	rows = append(rows, x.caughtUp()...)
	var want []string
	for _, r := range pgtest.Rows(t, x.url, "select v from t") {
		want = append(want, "+I "+r[0])
	}
	slices.Sort(rows)
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
}

func TestSnapshotModeNeedsNoReplication(t *testing.T) {
	x := newSourceRig(t, "create table t(id int)", "insert into t values (1),(2)")
	role := x.role("")
	x.exec("grant usage on schema public to "+role, "grant select on t to "+role)
	x.table("t", "id INT", "scan.mode", "snapshot")
	x.as(role)
	if err := preflight(x.ctx(), x.read); err != nil {
		t.Fatal(err)
	}
	x.want(x.copyRows(), "+I 1", "+I 2")
	x.want(x.caughtUp()) // after the copy nothing follows
	x.read.From = nil
	x.want(x.caughtUp(), "+I 1", "+I 2") // without a position the source itself copies
}

func TestStreamModeBeginsNow(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)", "insert into t values (1)")
	x.table("t", "id INT key", "scan.mode", "stream")
	if s, err := openSnapshot(x.ctx(), x.read, nil); s != nil || err != nil {
		t.Fatal(s, err)
	}
	x.want(x.caughtUp())
	x.exec("insert into t values (2)")
	x.want(x.caughtUp(), "+I 2")
}

// TestPushDown: columns and filters reach the copy and, where the replica identity allows it, the publication.
func TestPushDown(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, v text, secret text)", "insert into t values (1,'a','s'),(20,'b','s'),(21,'c','s')")
	x.table("t", "id INT key; v STRING")
	x.read.Tables[0].Where = &connectors.Predicate{Op: ">=", Column: 0, Values: []any{int64(20)}}
	x.want(x.copyRows(), "+I 20 b", "+I 21 c")
	x.exec("insert into t values (2,'x','s'),(22,'d','s')", "update t set id=3 where id=20", "update t set id=30 where id=1")
	x.want(x.caughtUp(), "+I 22 d", "-D 20 ~", "+I 30 a")
	got := pgtest.Rows(t, x.url, "select attnames, rowfilter from pg_publication_tables")
	if got[0][0] != "{id,v}" || got[0][1] != "(id >= 20)" {
		t.Errorf("%q", got)
	}
	// A filter over another column stays with the engine: in the publication it would stop the application's updates.
	y := newSourceRig(t, "create table t(id int primary key, v text)", "insert into t values (1,'a'),(2,'b')")
	y.table("t", "id INT key; v STRING")
	y.read.Tables[0].Where = &connectors.Predicate{Op: "AND", Args: []*connectors.Predicate{
		{Op: "IN", Column: 1, Values: []any{"a", "it's \\"}}, {Op: "IS NOT NULL", Column: 1}}}
	y.want(y.copyRows(), "+I 1 a")
	y.exec("update t set v='z'")
	y.want(y.caughtUp(), "+U 1 z", "+U 2 z")
}
