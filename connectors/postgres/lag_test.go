package postgres

import (
	"testing"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// A batch says when its newest row was committed, and its position reads as the server's.
func TestLag(t *testing.T) {
	x := newSourceRig(t, "create table t (id bigint primary key)")
	x.table("t", "id BIGINT key")
	x.copyRows()
	x.open()
	started := time.Now()
	x.exec("insert into t values (1)")
	b, err := x.source.Next(x.ctx())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	at := time.UnixMicro(b.Committed)
	if b.Len() != 1 || at.Before(started.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("%d rows, committed at %s, inserted at %s", b.Len(), at, started)
	}
	p, err := decodePosition(b.Position)
	if err != nil {
		t.Fatal(err)
	}
	if got := Connector().Show(b.Position); got != p.lsn.String() || p.lsn == 0 {
		t.Errorf("position %q, want %s", got, p.lsn)
	}
	if got := showPosition(change.Position("nonsense")); got != "" {
		t.Errorf("nonsense is shown as %q", got)
	}
}

// A stream that stands still while the server's log grows says how much of it is unread.
func TestBehind(t *testing.T) {
	x := newSourceRig(t, "create table t (id bigint primary key, v text)")
	x.table("t", "id BIGINT key; v STRING")
	x.read.Limits.Rows = 1
	x.copyRows()
	x.open()
	s := x.source.(*stream)
	x.exec("do $$ begin for i in 1..500 loop insert into t values (i, repeat('x', 2000)); commit; end loop; end $$")
	pgtest.Eventually(t, 10*time.Second, "the end of the log is known", func() bool { return s.logEnd.Load() > 0 })
	b, err := x.source.Next(x.ctx())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if b.Len() == 0 || b.Behind < 100_000 {
		t.Errorf("%d rows, %d bytes behind", b.Len(), b.Behind)
	}
	if got := s.behind(lsn(s.logEnd.Load()) + 1); got != 0 {
		t.Errorf("a position after the measured end is %d bytes behind", got)
	}
}
