package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
	"github.com/syncsql/syncsql/option"
)

func scalars() []connectors.Column {
	return connectortest.Without(connectortest.Columns(), "ARRAY", "MAP", "ROW")
}

func TestConnector(t *testing.T) {
	connectortest.Run(t, connectortest.Case{
		Connector: Connector(),
		Columns:   scalars(),
		Holds:     connectortest.Holds{Infinity: true, NUL: true},
		Target: func(t *testing.T, _ connectors.WriteMode, table connectors.Table) connectortest.Target {
			o := map[string]string{"path": filepath.Join(t.TempDir(), "a b%?#.db")}
			table.Options = option.SetOf(o)
			return connectortest.Target{Options: o, Rows: func(t *testing.T) []connectortest.Row { return scan(t, table) }}
		},
		Load: func(t *testing.T, _ connectors.ReadMode, table connectors.Table, log *connectortest.Changelog) connectortest.Loaded {
			o := map[string]string{"path": filepath.Join(t.TempDir(), "x.db")}
			table.Options = option.SetOf(o)
			return connectortest.Loaded{Options: o, Want: fill(t, table, log, 100)}
		},
	})
}

// fill appends rows to a table and returns them.
func fill(t *testing.T, table connectors.Table, log *connectortest.Changelog, n int) []connectortest.Row {
	t.Helper()
	table.Mode, table.Guarantee = "append", "at-least-once"
	s := open(t, connectors.Write{Table: table})
	defer s.Close()
	b := log.Next(memory.DefaultAllocator, n)
	defer b.Release()
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return connectortest.Rows(&b)
}

func open(t *testing.T, w connectors.Write) connectors.Sink {
	t.Helper()
	if w.Reject == nil {
		w.Reject = func(_ context.Context, e *connectors.RowError) error { return e }
	}
	s, err := Connector().OpenSink(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scan reads a table; nothing when there is none yet.
func scan(t *testing.T, table connectors.Table) []connectortest.Row {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	src, err := Connector().OpenSource(t.Context(), connectors.Read{Tables: []connectors.TableRead{{Table: table}},
		Limits: connectors.DefaultLimits, Allocator: mem,
		Reject: func(_ context.Context, e *connectors.RowError) error { return e }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var rows []connectortest.Row
	for {
		b, err := src.Next(t.Context())
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

// query runs SQL in the file, past the connector.
func query(t *testing.T, file, text string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	cols, _ := rows.Columns()
	var out []string
	for rows.Next() {
		cells := make([]any, len(cols))
		for i := range cells {
			cells[i] = new(any)
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		for i := range cells {
			cells[i] = *cells[i].(*any)
		}
		out = append(out, strings.TrimRight(fmt.Sprintln(cells...), "\n"))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func tableAt(file string, cols []connectors.Column, key []int, options ...string) connectors.Table {
	o := map[string]string{"path": file}
	for i := 0; i < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	return connectors.Table{Name: "t", Columns: cols, Key: key, Options: option.SetOf(o), Mode: "upsert", Guarantee: "exactly-once"}
}

// TestStorage is what stands in the file for each type.
func TestStorage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	table := tableAt(file, scalars(), []int{0, 1})
	log := &connectortest.Changelog{Columns: table.Columns, Key: table.Key, Kinds: change.Inserts, Seed: 5}
	fill(t, table, log, 300)
	want := map[string]string{"c_bool": "integer", "c_tiny": "integer", "c_small": "integer", "c_int": "integer", "c_big": "integer",
		"c_float": "real", "c_double": "real", "c_dec10": "text", "c_dec38": "text", "c_char": "text", "c_varchar": "text",
		"c_string": "text", "c_binary": "blob", "c_bytes": "blob", "c_date": "text", "c_time0": "text", "c_time9": "text",
		"c_ts3": "text", "c_ts6": "text", "c_ts9": "text", "c_ltz3": "text", "c_ltz6": "text", "c_months": "integer", "c_span": "integer",
		"id": "integer", "region": "text"}
	for c, storage := range want {
		got := query(t, file, "SELECT DISTINCT typeof("+c+") FROM t WHERE "+c+" IS NOT NULL")
		if len(got) != 1 || got[0] != storage {
			t.Errorf("%s is stored as %v, want %s", c, got, storage)
		}
	}
	if n := query(t, file, "SELECT count(*) FROM t WHERE c_ltz6 NOT LIKE '____-__-__ __:__:__%Z' OR datetime(c_ts3) IS NULL AND c_ts3 IS NOT NULL"); n[0] != "0" {
		t.Errorf("%s times are not in SQLite's form", n)
	}
}

// TestAffinity checks that a table whose columns would change values is refused.
func TestAffinity(t *testing.T) {
	for _, c := range []struct{ declared, column, want string }{
		{"DECIMAL(10,2)", "dec10", "into a number"},
		{"TEXT", "dec10", ""},
		{"INTEGER", "string", "into a number"},
		{"NUMERIC", "varchar", "into a number"},
		{"BLOB", "string", ""},
		{"DATETIME", "ts6", ""},
		{"DATE", "date", ""},
		{"TEXT", "big", "into something else"},
		{"REAL", "big", "into something else"},
		{"NUMERIC", "big", ""},
		{"BOOLEAN", "bool", ""},
		{"INTEGER", "double", ""},
		{"TEXT", "bytes", ""},
	} {
		file := filepath.Join(t.TempDir(), "x.db")
		query(t, file, "CREATE TABLE t (v "+c.declared+")")
		table := tableAt(file, columns("c_"+c.column), nil)
		table.Mode = "append"
		s, err := Connector().OpenSink(t.Context(), connectors.Write{Table: table})
		if err == nil {
			s.Close()
		}
		query(t, file, "ALTER TABLE t RENAME COLUMN v TO c_"+c.column)
		if s, err = Connector().OpenSink(t.Context(), connectors.Write{Table: table}); err == nil {
			s.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s for %s: %v", c.declared, c.column, err)
		}
	}
}

func columns(names ...string) []connectors.Column {
	var cols []connectors.Column
	for _, n := range names {
		for _, c := range connectortest.Columns() {
			if c.Name == n {
				cols = append(cols, c)
			}
		}
	}
	return cols
}

// TestTransactionsOfSeveralTables writes two tables of one file in turn, without positions before the end of the
// stretch. Neither may lock the other out, and neither may show a row early.
func TestTransactionsOfSeveralTables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	cols := columns("id", "c_string")
	a, b := tableAt(file, cols, []int{0}), tableAt(file, cols, []int{0}, "table-name", "u", "busy-timeout", "0")
	first := open(t, connectors.Write{Pipeline: "p", Sink: "a", Table: a, Epoch: 1})
	second := open(t, connectors.Write{Pipeline: "p", Sink: "b", Table: b, Epoch: 1})
	log := &connectortest.Changelog{Columns: cols, Key: []int{0}, Kinds: change.Upserts, Unsent: true, Seed: 2}
	var position change.Position
	for range 5 {
		batch := log.Next(memory.DefaultAllocator, 700)
		position, batch.Position, batch.RowPositions = batch.Position, nil, nil
		for _, s := range []connectors.Sink{first, second} {
			if err := s.Write(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		batch.Release()
	}
	if _, err := first.Flush(t.Context()); err == nil {
		t.Error("a flush in the middle of a stretch is not refused")
	}
	if n := query(t, file, "SELECT count(*) FROM t"); n[0] != "0" {
		t.Errorf("%s rows are visible before their position", n)
	}
	for _, s := range []connectors.Sink{first, second} {
		if err := s.Write(t.Context(), change.Batch{Position: position}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	again := &connectortest.Changelog{Columns: cols, Key: []int{0}, Kinds: change.Upserts, Unsent: true, Seed: 2}
	c := tableAt(file, cols, []int{0}, "table-name", "v")
	direct := open(t, connectors.Write{Pipeline: "p", Sink: "c", Table: c, Epoch: 1})
	for range 5 {
		batch := again.Next(memory.DefaultAllocator, 700)
		if err := direct.Write(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		batch.Release()
	}
	direct.Close()
	for _, other := range []string{"u", "v"} {
		if d := query(t, file, "SELECT * FROM (SELECT * FROM t EXCEPT SELECT * FROM "+other+") LIMIT 3"); d != nil {
			t.Errorf("t and %s differ: %v", other, d)
		}
	}
}

// TestOneTransaction checks that rows and position are there together or not at all.
func TestOneTransaction(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	table := tableAt(file, columns("id", "c_string"), []int{0})
	s := open(t, connectors.Write{Pipeline: "p", Sink: "t", Table: table, Epoch: 1})
	query(t, file, "CREATE TRIGGER no BEFORE UPDATE OF position ON syncsql_positions BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
	log := &connectortest.Changelog{Columns: table.Columns, Key: table.Key, Kinds: change.Inserts, Seed: 2}
	b := log.Next(memory.DefaultAllocator, 10)
	defer b.Release()
	if err := s.Write(t.Context(), b); err == nil {
		t.Error("the position could not be moved, and Write did not say so")
	}
	query(t, file, "DROP TRIGGER no")
	if n := query(t, file, "SELECT count(*) FROM t"); n[0] != "0" {
		t.Errorf("%s rows without a position", n)
	}
	if err := s.Write(t.Context(), b); err != nil {
		t.Errorf("the connection is of no use after a rollback: %v", err)
	}
	s.Close()
}
