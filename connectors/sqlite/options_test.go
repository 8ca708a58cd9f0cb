package sqlite

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
	"github.com/syncsql/syncsql/option"
)

func text3(rows []connectortest.Row) string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, strings.Join(r.Values, " "))
	}
	return strings.Join(lines, "; ")
}

func with(file string, options ...string) connectors.Table {
	table := tableAt(file, columns("id", "c_string"), nil, options...)
	table.Mode = "append"
	return table
}

func TestReading(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	for _, s := range []string{
		"CREATE TABLE t (id INTEGER, c_string TEXT)",
		"INSERT INTO t (rowid, id, c_string) VALUES (-5, 1, 'a'), (7, 2, NULL), (-9223372036854775808, 0, 'first'), (9223372036854775807, 3, '')",
		"CREATE TABLE named (id INTEGER, c_string TEXT, rowid TEXT, oid TEXT)",
		"INSERT INTO named VALUES (1, 'x', 'r', 'o'), (2, 'y', 'r', 'o')",
		"CREATE TABLE w (id INTEGER PRIMARY KEY, c_string DATETIME) WITHOUT ROWID",
		"INSERT INTO w VALUES (2, '2024-01-02 03:04:05'), (1, 'today')",
		"CREATE VIEW v AS SELECT * FROM t WHERE id > 0",
	} {
		query(t, file, s)
	}
	for _, c := range []struct {
		name, want string
		table      connectors.Table
	}{
		{"in the order of row ids", `0 "first"; 1 "a"; 2 null; 3 ""`, with(file)},
		{"table-name", `1 "x"; 2 "y"`, with(file, "table-name", "named")},
		{"without row ids, text that looks like a time", `1 "today"; 2 "2024-01-02 03:04:05"`, with(file, "table-name", "w")},
		{"view", `1 "a"; 2 null; 3 ""`, with(file, "table-name", "v")},
		{"query", `3 "x"; 2 "x"`, with(file, "query", "SELECT id, 'x' AS c_string FROM t WHERE id > 1 ORDER BY id DESC -- all")},
	} {
		if got := text3(scan(t, c.table)); got != c.want && !(c.name == "view" && len(got) == len(c.want)) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestReadingRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	query(t, file, "CREATE TABLE t (id INTEGER)")
	preflight := func(tables ...connectors.Table) error {
		r := connectors.Read{}
		for _, table := range tables {
			r.Tables = append(r.Tables, connectors.TableRead{Table: table})
		}
		return Connector().Preflight(t.Context(), r)
	}
	err := preflight(with(file), with(file, "table-name", "no"), with(file+"x"))
	for _, want := range []string{"no column c_string", `no table "no"`, "does not exist"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("preflight does not say %q: %v", want, err)
		}
	}
	for want, o := range map[string][]string{"exclude": {"query", "SELECT 1", "table-name", "t"}, "positions": {"table-name", "syncsql_positions"}} {
		if p := validate(with(file, o...), connectors.Reading); len(p) != 1 || !strings.Contains(p[0].Message, want) {
			t.Errorf("%v: %+v", o, p)
		}
	}
	if p := validate(connectors.Table{Columns: connectortest.Columns(), Options: option.SetOf(nil)}, connectors.Writing); len(p) != 3 {
		t.Errorf("nested types: %+v", p)
	}
}

// TestBadValues checks that a value that does not fit is rejected alone, wherever it stands in a batch.
func TestBadValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	query(t, file, "CREATE TABLE t (c_tiny, c_bool, c_dec10, c_date, c_double, c_bytes)")
	query(t, file, `INSERT INTO t VALUES (1, 1, '1.10', '2024-01-01', 1, x''), (300, 1, '1', NULL, 1, NULL), (1, 2, '1', NULL, 1, NULL),
		(1, 1, 1.1, NULL, 1, NULL), (1, 1, '1.001', NULL, 1, NULL), (1, 1, '1', 'soon', 1, NULL), (1, 1, '1', NULL, 9007199254740993, NULL),
		(1, 1, '1', NULL, 1, 'text'), ('2', 1, '1', NULL, 1, NULL), (2, 0, 7, NULL, 2.5, x'00ff'), (1.5, 1, '1', NULL, 1, NULL)`)
	table := tableAt(file, columns("c_tiny", "c_bool", "c_dec10", "c_date", "c_double", "c_bytes"), nil)
	for _, limit := range []int{1, 2, 100} {
		var bad []*connectors.RowError
		src, err := Connector().OpenSource(t.Context(), connectors.Read{Tables: []connectors.TableRead{{Table: table}},
			Limits: connectors.Limits{Rows: limit}, Reject: func(_ context.Context, e *connectors.RowError) error {
				bad = append(bad, e)
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		var rows []connectortest.Row
		for {
			b, err := src.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, connectortest.Rows(&b)...)
			b.Release()
		}
		src.Close()
		if got := text3(rows); got != `1 true 1.10 "2024-01-01" 1 ""; 2 false 7.00 null 2.5 "AP8="` {
			t.Errorf("good rows: %s", got)
		}
		if len(bad) != 9 || bad[0].Column != "c_tiny" || bad[0].At == nil || !strings.Contains(bad[0].Row, `"c_tiny":300`) {
			t.Errorf("%d bad rows, first %+v", len(bad), bad[0])
		}
	}
}

// writeRows writes the same five rows so many times.
func writeRows(t *testing.T, table connectors.Table, times int) error {
	t.Helper()
	s, err := Connector().OpenSink(t.Context(), connectors.Write{Pipeline: "p", Sink: "t", Table: table, Epoch: 1,
		Reject: func(_ context.Context, e *connectors.RowError) error { return e }})
	if err != nil {
		return err
	}
	defer s.Close()
	for range times {
		log := connectortest.Changelog{Columns: table.Columns, Key: []int{0}, Kinds: change.Inserts, Seed: 1}
		b := log.Next(memory.DefaultAllocator, 5)
		err = errors.Join(err, s.Write(t.Context(), b))
		b.Release()
	}
	return err
}

func TestSinkOptions(t *testing.T) {
	dir := t.TempDir()
	rows := func(file string) string { return strings.Join(query(t, file, "SELECT count(*) FROM t"), "") }
	t.Run("sink.create-disposition", func(t *testing.T) {
		if err := writeRows(t, with(filepath.Join(dir, "no.db"), "sink.create-disposition", "create-never"), 1); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Error(err)
		}
		file := filepath.Join(dir, "empty.db")
		query(t, file, "CREATE TABLE other (x)")
		if err := writeRows(t, with(file, "sink.create-disposition", "create-never"), 1); err == nil || !strings.Contains(err.Error(), "no table") {
			t.Error(err)
		}
	})
	t.Run("modes", func(t *testing.T) {
		for mode, want := range map[string]string{"append": "10", "upsert": "5"} {
			for _, g := range []string{"exactly-once", "at-least-once"} {
				file := filepath.Join(dir, mode+g+".db")
				table := with(file)
				if table.Mode, table.Guarantee = mode, g; mode == "upsert" {
					table.Key = []int{0}
				}
				if err := writeRows(t, table, 2); err != nil || rows(file) != want {
					t.Errorf("%s %s: %v, %s rows", mode, g, err, rows(file))
				}
				kept := query(t, file, "SELECT count(*) FROM sqlite_schema WHERE name = 'syncsql_positions'")[0]
				if (kept == "1") != (g == "exactly-once") {
					t.Errorf("%s %s: %s tables of positions", mode, g, kept)
				}
			}
		}
	})
}

func TestBusyTimeout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "busy.db")
	table := with(file, "busy-timeout", "1 ms")
	if err := writeRows(t, table, 1); err != nil {
		t.Fatal(err)
	}
	lock, err := dial(t.Context(), &table, writing)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.exec(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := writeRows(t, table, 1); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("got %v", err)
	}
	// A longer wait ends with the context, not with the timeout.
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	patient := with(file, "busy-timeout", "1 h")
	if _, err := Connector().OpenSink(ctx, connectors.Write{Table: patient}); err == nil {
		t.Error("the table is locked, and opening did not wait")
	}
}

// TestUpsert is about rows that are not there, that are refused, and tables of another shape.
func TestUpsert(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	query(t, file, "CREATE TABLE t (id INTEGER PRIMARY KEY, c_string TEXT CHECK (length(c_string) < 3), extra TEXT DEFAULT 'kept')")
	query(t, file, "INSERT INTO t VALUES (1, 'a', 'mine')")
	table := tableAt(file, columns("id", "c_string"), []int{0})
	var bad []*connectors.RowError
	s := open(t, connectors.Write{Pipeline: "p", Sink: "t", Table: table, Epoch: 1,
		Reject: func(_ context.Context, e *connectors.RowError) error { bad = append(bad, e); return nil }})
	defer s.Close()
	b := rowsOf(t, table.Columns, "+U 1 b", "+I 2 c", "+I 3 toolong", "-D 9 x", "+U 4 d", "-D 2 c", "+I 2 e", "+U 5 -", "+I 6 -")
	defer b.Release()
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(query(t, file, "SELECT * FROM t ORDER BY id"), "; "); got != "1 b mine; 2 e kept; 4 d kept" {
		t.Error(got)
	}
	if len(bad) != 2 || bad[0].Key != "id=3" || !strings.Contains(bad[0].Reason, "CHECK") || bad[1].Key != "id=6" {
		t.Errorf("%+v", bad)
	}
	query(t, file, "CREATE TABLE nokey (id INTEGER, c_string TEXT)")
	_, err := Connector().OpenSink(t.Context(), connectors.Write{Table: tableAt(file, table.Columns, []int{0}, "table-name", "nokey")})
	if err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("a table without the key: %v", err)
	}
	query(t, file, "CREATE TABLE strict (id INTEGER PRIMARY KEY ON CONFLICT ROLLBACK, c_string TEXT)")
	once := tableAt(file, table.Columns, nil, "table-name", "strict")
	once.Mode = "append"
	a := open(t, connectors.Write{Pipeline: "p", Sink: "s", Table: once, Epoch: 1,
		Reject: func(context.Context, *connectors.RowError) error { return nil }})
	defer a.Close()
	twice := rowsOf(t, table.Columns, "+I 1 a", "+I 1 b", "+I 2 c")
	defer twice.Release()
	if err := a.Write(t.Context(), twice); err == nil || !strings.Contains(err.Error(), "rolled back") {
		t.Errorf("got %v", err)
	}
	if n := query(t, file, "SELECT count(*) FROM strict"); n[0] != "0" {
		t.Errorf("%s rows outlived the rollback", n)
	}
}
