package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// untilError reads the open source until it fails.
func (x *sourceRig) untilError() ([]string, error) {
	x.t.Helper()
	rows, _, err := x.drain(x.source)
	return rows, err
}

func (x *sourceRig) warned(code string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, w := range x.warnings {
		if w.Code == code {
			n++
		}
	}
	return n
}

func (x *sourceRig) slot() string { return ownName(x.read.Pipeline) }

// confirmed is the slot's confirmed_flush_lsn compared with a position: "<", "=" or ">".
func (x *sourceRig) confirmed(at lsn) string {
	x.t.Helper()
	return pgtest.Rows(x.t, x.url, fmt.Sprintf("select case when confirmed_flush_lsn < '%s' then '<' when confirmed_flush_lsn = '%[1]s' then '=' else '>' end from pg_replication_slots where slot_name = '%s'", at, x.slot()))[0][0]
}

func (x *sourceRig) at() lsn {
	x.t.Helper()
	p, err := decodePosition(x.read.From)
	if err != nil {
		x.t.Fatal(err)
	}
	return p.lsn
}

func TestC059AddedColumnIsOneWarning(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, a int, b int)", "insert into t values (1,1,1)")
	x.table("t", "id INT key; a INT") // b is left out, so there is a column list
	x.copyRows()
	x.open()
	x.exec("insert into t values (2,2,2)")
	x.want(x.next(1), "+I 2 2")
	x.exec("alter table t add column c int default 5", "insert into t values (3,3,3,9)", "alter table t alter c set default 6", "insert into t values (4,4,4)")
	x.want(x.next(2), "+I 3 3", "+I 4 4")
	pgtest.Eventually(t, 5*time.Second, "warning", func() bool { return x.warned("column-added") == 1 })
}

func TestC061DroppedColumn(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, a int)")
	x.table("t", "id INT key; a INT")
	x.copyRows()
	x.open()
	x.exec("insert into t values (1,1)")
	x.want(x.next(1), "+I 1 1")
	x.exec("alter table t drop column a cascade", "insert into t values (2)")
	_, err := x.untilError()
	refused(t, err, `column "a" is no longer there`)
	x.close()
	// The rows after the change wait: nothing was confirmed past them.
	_, err = x.tryCaughtUp()
	refused(t, err, `column "a" does not exist`)
}

func TestC062TypeChanges(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, n int, s varchar(10))")
	x.table("t", "id INT key; n BIGINT; s STRING")
	x.copyRows()
	x.open()
	x.exec("insert into t values (1,1,'a')", "alter table t alter n type bigint", "alter table t alter s type varchar(20)", "insert into t values (2,3000000000,'more than ten')")
	x.want(x.next(2), "+I 1 1 a", "+I 2 3000000000 more than ten")
	x.exec("alter table t alter n type numeric", "insert into t values (3,1.5,'x')")
	_, err := x.untilError()
	refused(t, err, `column "n" was integer and now has another type`)
}

func TestC062RecreatedTable(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)", "insert into t values (1)")
	x.table("t", "id INT key")
	x.copyRows()
	x.open()
	x.exec("drop table t", "create table t(id int primary key)", "alter publication "+quoteIdent(x.slot())+" add table t", "insert into t values (2)")
	_, err := x.untilError()
	refused(t, err, "was dropped and created again")
}

func TestC064ReconnectsReportNothing(t *testing.T) {
	x := newSourceRig(t, "create table t(id serial primary key, gone int, v int)", "alter table t drop column gone")
	x.table("t", "id INT key; v INT")
	x.copyRows()
	for i := range 5 {
		x.open()
		x.exec(fmt.Sprintf("insert into t(v) values (%d)", i))
		x.want(x.next(1), fmt.Sprintf("+I %d %d", i+1, i))
		x.exec("select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = '" + x.slot() + "'")
		_, err := x.untilError()
		var changed *connectors.SchemaChange
		if err == nil || errors.As(err, &changed) {
			t.Fatalf("%v", err)
		}
		x.close()
	}
	if len(x.warnings) > 0 {
		t.Errorf("%v", x.warnings)
	}
}

func TestC065DroppedAttributes(t *testing.T) {
	x := newSourceRig(t, "create table t(a int primary key, b text, c int)", "alter table t drop column b", "insert into t values (1,10)")
	x.table("t", "a INT key; c INT")
	x.want(x.copyRows(), "+I 1 10")
	x.exec("insert into t values (2,20)")
	x.want(x.caughtUp(), "+I 2 20")
	y := newSourceRig(t, "create table t(a int)", "alter table t drop column a", "insert into t default values")
	y.table("t", "op STRING from op", "scan.mode", "snapshot")
	y.want(y.copyRows(), "+I read")
}

// TestC067 reads a large transaction while the pipeline is slow: the server is answered meanwhile, and memory is bounded.
func TestC067SlowPipelineKeepsTheConnection(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, v text)")
	x.table("t", "id INT key; v STRING")
	x.copyRows()
	x.exec("do $$ begin execute format('alter database %I set wal_sender_timeout = ''1s''', current_database()); end $$")
	x.exec("insert into t select i, repeat('x', 1000) from generate_series(1,40000) i")
	x.open()
	rows := x.next(1)
	s := x.source.(*stream)
	timer := time.NewTimer(4 * time.Second) // four times the timeout; the server counts in wall time
	<-timer.C
	s.mu.Lock()
	gathered := s.in.bytes
	s.mu.Unlock()
	if gathered > 5<<20 {
		t.Errorf("%d bytes gathered", gathered)
	}
	rows = append(rows, x.next(40000-len(rows))...)
	if len(rows) != 40000 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestC068: while a transaction is half delivered, its commit is not confirmed.
func TestC068HalfATransaction(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key")
	x.copyRows()
	x.read.Limits = connectors.Limits{Rows: 100}
	x.exec("insert into t select generate_series(1,20000)")
	x.open()
	got := x.next(5000)
	if err := x.source.Ack(x.ctx(), x.read.From); err != nil {
		t.Fatal(err)
	}
	x.close()
	p, _ := decodePosition(x.read.From)
	if p.row == 0 {
		t.Fatalf("the transaction is over after %d rows", len(got))
	}
	if c := x.confirmed(p.lsn); c == ">" {
		t.Errorf("confirmed past %s", p)
	}
	rest := x.caughtUp()
	if all := append(got, rest...); len(all) != 20000 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != 20000 {
		t.Errorf("%d and %d rows", len(got), len(rest))
	}
}

func TestC070IdleTablesDoNotPinTheLog(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)", "create table other(v text)")
	x.table("t", "id INT key")
	x.copyRows()
	x.open()
	x.exec("insert into other select repeat(md5(i::text), 30) from generate_series(1,5000) i")
	end := pgtest.Rows(t, x.url, "select pg_current_wal_lsn()")[0][0]
	at, _ := parseLSN(end)
	deadline := time.Now().Add(25 * time.Second)
	for x.confirmed(at-2<<20) == "<" {
		if time.Now().After(deadline) {
			t.Fatalf("not confirmed up to %s", end)
		}
		ctx, cancel := context.WithTimeout(x.ctx(), time.Second)
		b, err := x.source.Next(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		if err != nil || b.Len() > 0 {
			t.Fatalf("%d rows, %v", b.Len(), err)
		}
		if err := x.source.Ack(x.ctx(), b.Position); err != nil {
			t.Fatal(err)
		}
	}
}

func TestC071KeepalivesConfirmNothing(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key")
	x.copyRows()
	start := x.at()
	x.open()
	x.exec("insert into t values (1)")
	x.want(x.next(1), "+I 1")
	s := x.source.(*stream)
	for range 5 { // the server answers each, and moves its slot by what it is told
		if err := s.status(wantReply); err != nil {
			t.Fatal(err)
		}
		x.exec("select pg_switch_wal()")
	}
	if c := x.confirmed(start); c == ">" {
		t.Errorf("confirmed without an acknowledgement")
	}
	x.close()
	x.read.From = position{lsn: start}.bytes()
	x.want(x.caughtUp(), "+I 1")
}

func TestC073LostSlot(t *testing.T) {
	srv := pgtest.StartNew(t, "max_slot_wal_keep_size = 1MB", "min_wal_size = 32MB", "max_wal_size = 32MB")
	x := &sourceRig{t: t, url: srv.URL("postgres")}
	x.read.Pipeline = "p"
	x.exec("create table t(id int primary key)", "create table other(v text)")
	x.table("t", "id INT key")
	x.copyRows()
	for range 4 {
		x.exec("insert into other select repeat(md5(i::text), 30) from generate_series(1,20000) i", "select pg_switch_wal()", "checkpoint")
	}
	_, err := x.tryCaughtUp()
	refused(t, err, "is lost", "max_slot_wal_keep_size", "pg_drop_replication_slot", "syncsql reset")
	x.exec("select pg_drop_replication_slot('syncsql_p')")
	_, err = x.tryCaughtUp()
	refused(t, err, "does not exist any more", "syncsql reset")
}

func TestC073ReasonsName(t *testing.T) {
	for reason, want := range map[string]string{"idle_timeout": "idle_replication_slot_timeout", "wal_removed": "max_slot_wal_keep_size", "rows_removed": "hot_standby_feedback", "wal_level_insufficient": "wal_level", "something": "something"} {
		refused(t, (&slot{plugin: "pgoutput", status: "lost", reason: reason}).usable(""), want)
	}
	refused(t, (&slot{plugin: "pgoutput", status: "lost", conflict: true}).usable(""), "standby")
}

func TestC074SlotInUse(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key", "slot.wait", "300 ms")
	x.copyRows()
	x.open()
	_, err := openSource(x.ctx(), x.read)
	if err == nil || !strings.Contains(err.Error(), "is in use by process") || !strings.Contains(err.Error(), x.read.Pipeline) {
		t.Fatalf("%v", err)
	}
	// One that ends in time is waited for.
	y := x.read
	x.read.Tables = nil
	x.table("t", "id INT key", "slot.wait", "20 s")
	y.Tables = x.read.Tables
	opened := make(chan error, 1)
	go func() {
		s, err := openSource(context.Background(), y)
		if err == nil {
			s.Close()
		}
		opened <- err
	}()
	pgtest.Eventually(t, 10*time.Second, "a second session", func() bool {
		return pgtest.Rows(t, x.url, "select count(*) from pg_stat_activity where application_name like '%"+x.read.Pipeline+"%'")[0][0] >= "3"
	})
	x.close()
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
}

func TestC077SlotAhead(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key")
	x.copyRows()
	x.want(x.caughtUp())
	old := x.read.From
	x.exec("insert into t values (1)", "select pg_replication_slot_advance('"+x.slot()+"', pg_current_wal_lsn())")
	_, err := x.tryCaughtUp()
	p, _ := decodePosition(old)
	refused(t, err, "data gap", p.String(), "syncsql reset")
}

func TestC080LogicalMessages(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key", "heartbeat.interval", "50 ms")
	x.copyRows()
	x.exec("select pg_logical_emit_message(true,'app','x')", "select pg_logical_emit_message(false,'app','x')")
	before := x.at()
	x.want(x.caughtUp())
	if x.at() <= before {
		t.Error("the position did not move")
	}
	x.open()
	lsnOf := func() string { return pgtest.Rows(t, x.url, "select pg_current_wal_lsn()")[0][0] }
	start := lsnOf()
	pgtest.Eventually(t, 10*time.Second, "a heartbeat", func() bool { return lsnOf() != start })
}

func TestC097CleanStopConfirms(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key")
	x.copyRows()
	x.open()
	for i := range 3 {
		x.exec(fmt.Sprintf("insert into t values (%d)", i))
		x.want(x.next(1), fmt.Sprintf("+I %d", i))
	}
	if err := x.source.Ack(x.ctx(), x.read.From); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	x.close()
	if d := time.Since(began); d > time.Second {
		t.Errorf("the stop took %s", d)
	}
	if c := x.confirmed(x.at()); c != "=" {
		t.Errorf("confirmed %s the acknowledged position", c)
	}
	x.want(x.caughtUp())
}

func TestNextCanBeCalledAgain(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key")
	x.copyRows()
	x.open()
	for i := range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if _, err := x.source.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		cancel()
		x.exec(fmt.Sprintf("insert into t values (%d)", i))
		x.want(x.next(1), fmt.Sprintf("+I %d", i))
	}
}

func TestC056PartitionsComeAndGo(t *testing.T) {
	x := newSourceRig(t, "create table ev(id int primary key) partition by range (id)", "create table ev1 partition of ev for values from (0) to (10)")
	x.table("ev", "id INT key")
	x.copyRows()
	x.open()
	x.exec("insert into ev values (1)")
	x.want(x.next(1), "+I 1")
	x.exec("create table ev2(id int primary key)", "insert into ev2 values (10)", "alter table ev attach partition ev2 for values from (10) to (20)",
		"insert into ev values (11)", "alter table ev detach partition ev1", "insert into ev values (12)")
	x.want(x.next(2), "+I 11", "+I 12")
	pgtest.Eventually(t, 5*time.Second, "warnings", func() bool { return x.warned("partition-attached") == 1 && x.warned("partition-detached") == 1 })
}

// TestC076 stops the walsender without closing its connection, as a network that drops all packets would.
func TestC076DeadConnection(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key")
	x.copyRows()
	x.exec("do $$ begin execute format('alter database %I set wal_sender_timeout = ''300ms''', current_database()); end $$")
	x.open()
	pid, _ := strconv.Atoi(pgtest.Rows(t, x.url, "select active_pid from pg_replication_slots where slot_name = '"+x.slot()+"'")[0][0])
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	_, err := x.untilError()
	var final *connectors.PermanentError
	if err == nil || errors.As(err, &final) || !strings.Contains(err.Error(), "no word from the server") {
		t.Fatalf("%v", err)
	}
}

func TestC076TurnedIntoAStandby(t *testing.T) {
	srv := pgtest.StartNew(t)
	x := &sourceRig{t: t, url: srv.URL("postgres")}
	x.read.Pipeline = "p"
	x.exec("create table t(id int primary key)")
	x.table("t", "id INT key")
	x.copyRows()
	if err := os.WriteFile(filepath.Join(srv.Dir, "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	srv.Restart(t)
	if _, err := x.tryCaughtUp(); err == nil || !strings.Contains(err.Error(), "standby") {
		t.Fatalf("%v", err)
	}
	refused(t, preflight(x.ctx(), x.read), "is a standby")
}

func TestDroppedPublicationIsFinal(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)")
	x.table("t", "id INT key")
	x.copyRows()
	x.exec("drop publication "+quoteIdent(x.slot()), "insert into t values (1)")
	_, err := x.tryCaughtUp()
	refused(t, err, "does not exist any more", "must not be dropped", "syncsql reset")
	// Made again by somebody else, it is the server that does not find it.
	x.exec("create publication " + quoteIdent(x.slot()) + " for table t")
	_, err = x.tryCaughtUp()
	refused(t, err, "was made after the changes", "must not be dropped")
}
