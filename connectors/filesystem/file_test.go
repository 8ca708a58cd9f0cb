package filesystem

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
)

func names(t *testing.T, dir string) (visible, hidden []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			hidden = append(hidden, e.Name())
		} else {
			visible = append(visible, e.Name())
		}
	}
	return visible, hidden
}

func open(t *testing.T, table connectors.Table, epoch uint64, saved []byte) *sink {
	t.Helper()
	s, err := openSink(connectors.Write{Pipeline: "p", Sink: "t", Table: table, Epoch: epoch, Token: saved})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*sink)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestNames checks that a replayed range gets the same name, that what a dead run staged is removed, but not before no
// run but this one can save, and that a reset pipeline does not write over its old files.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	table := tableOf(dir, columns("id", "region"), "format", "json")
	log := &connectortest.Changelog{Columns: table.Columns, Key: []int{0, 1}, Kinds: change.Inserts, Seed: 1}
	b := log.Next(memory.DefaultAllocator, 5)
	defer b.Release()

	first := open(t, table, 1, nil)
	must(t, first.Write(t.Context(), b))
	one, err := first.Flush(t.Context())
	must(t, err, first.Commit(t.Context(), one), first.Write(t.Context(), b))
	lost, err := first.Flush(t.Context()) // its save never happens
	must(t, err, first.Close())

	second := open(t, table, 2, one)
	must(t, second.Commit(t.Context(), one))
	if _, hidden := names(t, dir); len(hidden) != 1 {
		t.Errorf("an older run may still save: its files were removed: %v", hidden)
	}
	must(t, second.Write(t.Context(), b))
	two, err := second.Flush(t.Context())
	must(t, err, second.Commit(t.Context(), two))
	visible, hidden := names(t, dir)
	if len(visible) != 2 || hidden != nil {
		t.Errorf("visible %v, hidden %v", visible, hidden)
	}
	a, _ := parseToken(lost)
	c, _ := parseToken(two)
	if first.name(a, 0) != second.name(c, 0) {
		t.Errorf("the replayed range is named %s, not %s", second.name(c, 0), first.name(a, 0))
	}
	must(t, second.Commit(t.Context(), two), os.Remove(filepath.Join(dir, visible[1])), second.Commit(t.Context(), two), second.Close())

	fresh := open(t, table, 1, nil)
	must(t, fresh.Write(t.Context(), b))
	again, err := fresh.Flush(t.Context())
	must(t, err, fresh.Commit(t.Context(), again), fresh.Close())
	if after, _ := names(t, dir); len(after) != 2 {
		t.Errorf("a reset pipeline wrote over its files: %v", after)
	}
}

func TestRolling(t *testing.T) {
	for _, f := range format.Values {
		dir := t.TempDir()
		table := tableOf(dir, columns("id", "region", "c_string"), "format", f, "sink.rolling-policy.file-size", "1 kb")
		log := &connectortest.Changelog{Columns: table.Columns, Key: []int{0, 1}, Kinds: change.Inserts, Seed: 1}
		want := fill(t, table, log, 100, 100)
		visible, hidden := names(t, dir)
		if len(visible) < 4 && f != formatParquet || len(visible) < 2 || hidden != nil {
			t.Errorf("%s: 1 kb a file made %v, %v", f, visible, hidden)
		}
		if got := readAll(t, table); len(got) != len(want) {
			t.Errorf("%s: %d rows, want %d", f, len(got), len(want))
		}
		for _, name := range visible {
			info, err := os.Stat(filepath.Join(dir, name))
			must(t, err)
			if info.Size() > 2048 && f != formatParquet {
				t.Errorf("%s has %d bytes", name, info.Size())
			}
		}
	}
}

func TestClose(t *testing.T) {
	dir := t.TempDir()
	table := tableOf(dir, columns("id", "region"), "format", "parquet")
	log := &connectortest.Changelog{Columns: table.Columns, Key: []int{0, 1}, Kinds: change.Inserts, Seed: 1}
	b := log.Next(memory.DefaultAllocator, 5)
	defer b.Release()
	s := open(t, table, 1, nil)
	must(t, s.Write(t.Context(), b), s.Close())
	if visible, hidden := names(t, dir); visible != nil || hidden != nil {
		t.Errorf("a sink that was closed before a flush left %v, %v", visible, hidden)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "sub", "_hidden"), 0o777))
	for _, n := range []string{"b.csv", "a.csv", ".x.csv", "_x.csv", "sub/c.csv", "sub/_hidden/d.csv", "z.txt"} {
		put(t, dir, n, n+"\n")
	}
	for p, want := range map[string]string{
		"":              `"a.csv"; "b.csv"; "sub/c.csv"; "z.txt"`,
		"*.csv":         `"a.csv"; "b.csv"`,
		"?.[ct]*":       `"a.csv"; "b.csv"; "z.txt"`,
		"_x.csv":        `"_x.csv"`,
		"sub":           `"sub/c.csv"`,
		"nothing-*.csv": ``,
	} {
		rows, bad := read(t, tableOf("file://"+filepath.Join(dir, p), columns("c_string"), "format", "csv"), nil)
		var got []string
		for _, r := range rows {
			got = append(got, r.Values[0])
		}
		if s := strings.Join(got, "; "); s != want || bad != nil {
			t.Errorf("%q: %s, want %s", p, s, want)
		}
	}
	missing := connectors.TableRead{Table: tableOf(filepath.Join(dir, "no"), nil, "format", "csv")}
	err := Connector().Preflight(t.Context(), connectors.Read{Tables: []connectors.TableRead{missing}})
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("got %v", err)
	}
}

// TestChangedFiles checks that a position is refused when the files in front of it are no longer the same.
func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "b", "1\n2\n")
	put(t, dir, "c", "3\n")
	table := tableOf(dir, columns("c_int"), "format", "csv")
	from := func(p change.Position) ([]connectortest.Row, change.Position, error) {
		src, err := openSource(connectors.Read{From: p, Tables: []connectors.TableRead{{Table: table}}, Limits: connectors.DefaultLimits})
		if err != nil {
			return nil, nil, err
		}
		defer src.Close()
		b, err := src.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return nil, p, nil
		}
		if err != nil {
			return nil, nil, err
		}
		defer b.Release()
		return connectortest.Rows(&b), b.Position, nil
	}
	rows, end, err := from(nil)
	if len(rows) != 3 || err != nil {
		t.Fatal(rows, err)
	}
	put(t, dir, "d", "4\n")
	if rows, _, err := from(end); err != nil || len(rows) != 1 || rows[0].Values[0] != "4" {
		t.Errorf("a file that came behind the position: %v, %v", rows, err)
	}
	put(t, dir, "c", "")
	if _, _, err := from(end); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("a file that was cut: %v", err)
	}
	put(t, dir, "a", "0\n")
	if _, _, err := from(end); err == nil || !strings.Contains(err.Error(), "come or gone") {
		t.Errorf("a file that came in front of the position: %v", err)
	}
}

// TestForeignParquet reads a file of another writer: other widths and units are converted, or refused, never rounded.
func TestForeignParquet(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "other", Type: arrow.BinaryTypes.String},
		{Name: "c_big", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "c_int", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "c_ts6", Type: &arrow.TimestampType{Unit: arrow.Millisecond}, Nullable: true},
		{Name: "c_dec38", Type: &arrow.Decimal128Type{Precision: 5, Scale: 2}, Nullable: true},
	}, nil)
	write := func(wide int64) string {
		bld := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer bld.Release()
		bld.Field(0).(*array.StringBuilder).Append("x")
		bld.Field(1).(*array.Int32Builder).Append(-7)
		bld.Field(2).(*array.Int64Builder).Append(wide)
		bld.Field(3).(*array.TimestampBuilder).Append(1500)
		bld.Field(4).(*array.Decimal128Builder).Append(decimal128.FromI64(12345))
		rec := bld.NewRecordBatch()
		defer rec.Release()
		name := filepath.Join(t.TempDir(), "x.parquet")
		f, err := os.Create(name)
		must(t, err)
		w, err := pqarrow.NewFileWriter(schema, f, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
		must(t, err, w.Write(rec), w.Close())
		return name
	}
	cols := columns("c_dec38", "c_ts6", "c_int", "c_big")
	rows := readAll(t, tableOf(write(5), cols, "format", "parquet"))
	if got := strings.Join(rows[0].Values, " "); got != `123.450000000000000000 "1970-01-01 00:00:01.500" 5 -7` {
		t.Error(got)
	}
	fails := func(name string, cols []connectors.Column, want string) {
		t.Helper()
		src, err := openSource(connectors.Read{Tables: []connectors.TableRead{{Table: tableOf(name, cols, "format", "parquet")}}, Limits: connectors.DefaultLimits})
		must(t, err)
		defer src.Close()
		_, err = src.Next(t.Context())
		var permanent *connectors.PermanentError
		if !errors.As(err, &permanent) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	fails(write(1<<40), cols, "c_int")
	wrong := columns("c_string", "c_bool")
	wrong[1].Name = "c_big"
	fails(write(5), wrong, "no column")
}

func TestLostDirectory(t *testing.T) {
	dir := t.TempDir()
	table := tableOf(filepath.Join(dir, "made"), columns("id", "region"), "format", "csv")
	log := &connectortest.Changelog{Columns: table.Columns, Key: []int{0, 1}, Kinds: change.Inserts, Seed: 1}
	b := log.Next(memory.DefaultAllocator, 5)
	defer b.Release()
	s := open(t, table, 1, nil)
	defer s.Close()
	must(t, os.RemoveAll(filepath.Join(dir, "made")))
	if err := s.Write(context.Background(), b); err == nil {
		t.Error("the directory is gone, and Write did not say so")
	}
}
