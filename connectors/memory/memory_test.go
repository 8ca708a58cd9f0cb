package memory_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
	"github.com/syncsql/syncsql/connectors/memory"
	"github.com/syncsql/syncsql/option"
)

func TestConnector(t *testing.T) {
	db := memory.NewDB()
	connectortest.Run(t, connectortest.Case{
		Connector: memory.New(db),
		Holds: connectortest.Holds{NaN: true, Infinity: true, NegativeZero: true, NUL: true, InfiniteTimes: true,
			FarYears: true},
		Target: func(t *testing.T, mode connectors.WriteMode, table connectors.Table) connectortest.Target {
			return connectortest.Target{
				Options: map[string]string{"table-name": t.Name(), "sink.write-mode": mode.Name},
				Rows:    func(t *testing.T) []connectortest.Row { return rowsOf(t, db, t.Name(), table.Columns) },
			}
		},
		Load: func(t *testing.T, mode connectors.ReadMode, table connectors.Table, log *connectortest.Changelog) connectortest.Loaded {
			return load(t, db, mode, table, log)
		},
		SkipMode: func(name, guarantee string) string {
			if name == "changelog" {
				return "the mode takes rows away that the suite expects to see; TestChangelog"
			}
			return ""
		},
	})
}

// rowsOf reads a table with a bounded read.
func rowsOf(t *testing.T, db *memory.DB, name string, columns []connectors.Column) []connectortest.Row {
	t.Helper()
	return drain(t, db, connectors.Table{Name: "t", Columns: columns, Mode: "snapshot",
		Options: option.SetOf(map[string]string{"table-name": name, "scan.mode": "snapshot"})})
}

func drain(t *testing.T, db *memory.DB, table connectors.Table) (rows []connectortest.Row) {
	t.Helper()
	mem := arrowmemory.NewCheckedAllocator(arrowmemory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	src, err := memory.New(db).OpenSource(context.Background(), connectors.Read{Pipeline: "check", CaughtUp: true, Allocator: mem,
		Tables: []connectors.TableRead{{Table: table}},
		Reject: func(_ context.Context, e *connectors.RowError) error { return e }})
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, err := src.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, connectortest.Rows(&b)...)
		b.Release()
	}
}

// load feeds the changes of a log: the text of each value, as a script would.
func load(t *testing.T, db *memory.DB, mode connectors.ReadMode, table connectors.Table, log *connectortest.Changelog) connectortest.Loaded {
	name := t.Name()
	var names []string
	for _, c := range table.Columns {
		names = append(names, c.Name)
	}
	var want []connectortest.Row
	for range 3 {
		b := log.Next(arrowmemory.NewGoAllocator(), 50)
		want = append(want, connectortest.Rows(&b)...)
		for i := range b.Len() {
			row := make([]any, len(names))
			for c := range names {
				col := b.Record.Column(c)
				switch {
				case !b.Sent(c, i):
					row[c] = memory.Unsent
				case col.IsValid(i):
					row[c] = string(connectors.Style{}.Text(col)(nil, i))
				}
			}
			if err := db.Feed(name, names, memory.Change{Kind: b.Kind(i), Row: row}); err != nil {
				t.Fatal(err)
			}
		}
		b.Release()
	}
	return connectortest.Loaded{Options: map[string]string{"table-name": name}, Want: want}
}

var idName = []connectors.Column{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, SQL: "BIGINT"},
	{Name: "name", Type: arrow.BinaryTypes.String, SQL: "STRING", Nullable: true},
}

func feed(t *testing.T, db *memory.DB, changes ...memory.Change) {
	t.Helper()
	if err := db.Feed("t", []string{"id", "name"}, changes...); err != nil {
		t.Fatal(err)
	}
}

func TestFeed(t *testing.T) {
	db := memory.NewDB()
	feed(t, db, memory.Change{Kind: change.Insert, Row: []any{1, "apple"}}, memory.Change{Kind: change.Insert, Row: []any{2, nil}},
		memory.Change{Kind: change.UpdateBefore, Row: []any{1, "apple"}}, memory.Change{Kind: change.UpdateAfter, Row: []any{3, "plum"}},
		memory.Change{Kind: change.Delete, Row: []any{2, nil}})
	if err := db.Feed("t", []string{"id", "name"}, memory.Change{Row: []any{1}}); err == nil {
		t.Error("a row without all columns was taken")
	}
	if _, rows := db.Rows("t"); len(rows) != 1 || !slices.Equal(rows[0], []any{"3", "plum"}) {
		t.Errorf("rows are %v, want the updated one", rows)
	}
	columns := append([]connectors.Column{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Metadata: "lsn"},
		{Name: "op", Type: arrow.BinaryTypes.String, Metadata: "op"}}, idName[:1]...)
	read := drain(t, db, connectors.Table{Name: "t", Columns: columns, Mode: "cdc",
		Options: option.SetOf(map[string]string{"changelog.mode": "upsert", "scan.mode": "cdc"})})
	want := []string{`+I 1 | "+I" | 1`, `+I 2 | "+I" | 2`, `+U 4 | "+U" | 3`, `-D 5 | "-D" | 2`}
	for i, r := range read {
		if i >= len(want) || r.String() != want[i] {
			t.Errorf("change %d is %s, want %v", i, r, want)
		}
	}
}

func TestAppendRefusesUpdates(t *testing.T) {
	db := memory.NewDB()
	feed(t, db, memory.Change{Kind: change.Delete, Row: []any{1, nil}})
	src, err := memory.New(db).OpenSource(context.Background(), connectors.Read{CaughtUp: true,
		Tables: []connectors.TableRead{{Table: connectors.Table{Name: "t", Columns: idName, Mode: "append"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var permanent *connectors.PermanentError
	if _, err := src.Next(context.Background()); !errors.As(err, &permanent) {
		t.Errorf("a delete in an append-only table gives %v, want a permanent error", err)
	}
}

func TestBadValueIsRejected(t *testing.T) {
	db := memory.NewDB()
	feed(t, db, memory.Change{Row: []any{"one", "apple"}}, memory.Change{Row: []any{2, "pear"}})
	var rejected []*connectors.RowError
	src, err := memory.New(db).OpenSource(context.Background(), connectors.Read{CaughtUp: true,
		Tables: []connectors.TableRead{{Table: connectors.Table{Name: "t", Columns: idName, Key: []int{0}, Mode: "append"}}},
		Reject: func(_ context.Context, e *connectors.RowError) error { rejected = append(rejected, e); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	b, err := src.Next(context.Background())
	if err != nil || b.Len() != 1 {
		t.Fatalf("got %d rows and %v, want the good one", b.Len(), err)
	}
	b.Release()
	if len(rejected) != 1 || rejected[0].Column != "id" || rejected[0].Row != `{"id":"one","name":"apple"}` || rejected[0].Key != "id=one" {
		t.Errorf("rejected %+v", rejected)
	}
}

func sinkOf(t *testing.T, db *memory.DB, mode, guarantee string, epoch uint64, options map[string]string) (connectors.Sink, error) {
	t.Helper()
	return memory.New(db).OpenSink(context.Background(), connectors.Write{Pipeline: "p", Sink: "t", Epoch: epoch,
		Table:  connectors.Table{Name: "t", Columns: idName, Key: []int{0}, Mode: mode, Guarantee: guarantee, Options: option.SetOf(options)},
		Reject: func(_ context.Context, e *connectors.RowError) error { return e }})
}

// batch reads changes back as a batch.
func batch(t *testing.T, changes ...memory.Change) change.Batch {
	t.Helper()
	db := memory.NewDB()
	feed(t, db, changes...)
	src, err := memory.New(db).OpenSource(context.Background(), connectors.Read{CaughtUp: true,
		Tables: []connectors.TableRead{{Table: connectors.Table{Name: "t", Columns: idName, Mode: "cdc"}}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := src.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestChangelog(t *testing.T) {
	db := memory.NewDB()
	s, err := sinkOf(t, db, "changelog", "exactly-once", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, memory.Change{Row: []any{1, "a"}}, memory.Change{Row: []any{1, "a"}},
		memory.Change{Kind: change.UpdateBefore, Row: []any{1, "a"}}, memory.Change{Kind: change.UpdateAfter, Row: []any{1, "b"}})
	defer b.Release()
	if err := s.Write(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	if _, rows := db.Rows("t"); len(rows) != 2 || rows[0][1] != "a" || rows[1][1] != "b" {
		t.Errorf("rows are %v, want one a and one b", rows)
	}
	gone := batch(t, memory.Change{Kind: change.Delete, Row: []any{9, "z"}})
	defer gone.Release()
	if err := s.Write(context.Background(), gone); err == nil {
		t.Error("a row that is not there was taken away")
	}
}

func TestFault(t *testing.T) {
	db := memory.NewDB()
	broken := errors.New("broken")
	s, err := sinkOf(t, db, "append", "at-least-once", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Fault("wrlte", 1, false, broken); err == nil {
		t.Error("an unknown operation was taken")
	}
	for _, after := range []bool{false, true} {
		if err := db.Fault("write", 1, after, broken); err != nil {
			t.Fatal(err)
		}
	}
	b := batch(t, memory.Change{Row: []any{1, "a"}})
	defer b.Release()
	for i, want := range []int{0, 1, 2} {
		err := s.Write(context.Background(), b)
		if _, rows := db.Rows("t"); len(rows) != want || (err != nil) != (i < 2) {
			t.Errorf("write %d: %v, and %d rows, want %d", i, err, len(rows), want)
		}
	}
}

func TestRefuse(t *testing.T) {
	db := memory.NewDB()
	s, err := sinkOf(t, db, "append", "at-least-once", 1, map[string]string{"sink.refuse": "a"})
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, memory.Change{Row: []any{1, "a"}})
	defer b.Release()
	var row *connectors.RowError
	if err := s.Write(context.Background(), b); !errors.As(err, &row) || row.Key != "id=1" {
		t.Errorf("a refused value gives %v, want a row error with its key", err)
	}
}

func FuzzPosition(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 3})
	f.Add([]byte{2, 0})
	f.Fuzz(func(t *testing.T, stored []byte) {
		src, err := memory.New(memory.NewDB()).OpenSource(context.Background(), connectors.Read{From: stored, CaughtUp: true})
		if err == nil && len(stored) > 0 {
			if _, err := src.Next(context.Background()); len(stored) != 9 || stored[0] != 1 || !errors.Is(err, io.EOF) {
				t.Errorf("%x was taken for a position", stored)
			}
		}
	})
}
