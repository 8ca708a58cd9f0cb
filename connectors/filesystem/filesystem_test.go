package filesystem

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
	"github.com/syncsql/syncsql/option"
)

var everything = connectortest.Holds{NaN: true, Infinity: true, NegativeZero: true, NUL: true, InfiniteTimes: true, FarYears: true}

func TestConnector(t *testing.T) {
	for _, f := range format.Values {
		t.Run(f, func(t *testing.T) {
			columns, holds := connectortest.Columns(), everything
			if f == formatParquet {
				columns = connectortest.Without(columns, "INTERVAL")
				holds.InfiniteTimes = false
			}
			connectortest.Run(t, connectortest.Case{
				Connector: only(f),
				Columns:   columns,
				Holds:     holds,
				Target: func(t *testing.T, _ connectors.WriteMode, table connectors.Table) connectortest.Target {
					o := map[string]string{"path": t.TempDir(), "format": f}
					table.Options = option.SetOf(o)
					return connectortest.Target{Options: o, Rows: func(t *testing.T) []connectortest.Row { return readAll(t, table) }}
				},
				Load: func(t *testing.T, _ connectors.ReadMode, table connectors.Table, log *connectortest.Changelog) connectortest.Loaded {
					o := map[string]string{"path": t.TempDir(), "format": f}
					table.Options = option.SetOf(o)
					log.Unsent = f == formatChangelog
					return connectortest.Loaded{Options: o, Want: fill(t, table, log, 40, 40, 40)}
				},
			})
		})
	}
}

// only is the connector with the modes of one format.
func only(f string) *connectors.Connector {
	c := *Connector()
	for _, m := range c.ReadModes {
		if m.When[0].Value == f {
			c.ReadModes = []connectors.ReadMode{m}
		}
	}
	for _, m := range c.WriteModes {
		if m.When[0].Value == f {
			c.WriteModes = []connectors.WriteMode{m}
		}
	}
	return &c
}

// fill writes batches of these sizes, a checkpoint after each, and returns the rows.
func fill(t *testing.T, table connectors.Table, log *connectortest.Changelog, sizes ...int) []connectortest.Row {
	t.Helper()
	s, err := Connector().OpenSink(t.Context(), connectors.Write{Pipeline: "p", Sink: "t", Table: table, Epoch: 1,
		Reject: func(_ context.Context, e *connectors.RowError) error { return e }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var rows []connectortest.Row
	for _, n := range sizes {
		b := log.Next(memory.DefaultAllocator, n)
		if err := s.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, connectortest.Rows(&b)...)
		b.Release()
		saved, err := s.Flush(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.(connectors.Committer).Commit(t.Context(), saved); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// readAll reads a table and stops at the first row that is rejected.
func readAll(t *testing.T, table connectors.Table) []connectortest.Row {
	t.Helper()
	rows, bad := read(t, table, nil)
	if len(bad) > 0 {
		t.Fatal(bad[0])
	}
	return rows
}

func read(t *testing.T, table connectors.Table, declared []connectors.Column) ([]connectortest.Row, []*connectors.RowError) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	var bad []*connectors.RowError
	src, err := Connector().OpenSource(t.Context(), connectors.Read{
		Tables: []connectors.TableRead{{Table: table, Declared: declared}}, Limits: connectors.DefaultLimits, Allocator: mem,
		Reject: func(_ context.Context, e *connectors.RowError) error { bad = append(bad, e); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var rows []connectortest.Row
	for {
		b, err := src.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return rows, bad
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, connectortest.Rows(&b)...)
		b.Release()
	}
}

// columns picks columns of the suite's table.
func columns(names ...string) []connectors.Column {
	var cols []connectors.Column
	for _, n := range names {
		for _, c := range connectortest.Columns() {
			if c.Name == n || c.Name == "c_"+n {
				cols = append(cols, c)
			}
		}
	}
	return cols
}

func tableOf(dir string, cols []connectors.Column, options ...string) connectors.Table {
	o := map[string]string{"path": dir}
	for i := 0; i < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	return connectors.Table{Name: "t", Columns: cols, Options: option.SetOf(o)}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// parse reads one file with this text, as rows such as "1 null; 2 \"\"".
func parse(t *testing.T, text string, cols []connectors.Column, options ...string) (rows string, bad []string) {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "x", text)
	got, errs := read(t, tableOf(dir, cols, options...), nil)
	var lines []string
	for _, r := range got {
		line := strings.Join(r.Values, " ")
		if r.Kind != change.Insert {
			line = r.Kind.String() + " " + line
		}
		lines = append(lines, line)
	}
	for _, e := range errs {
		bad = append(bad, e.Column+": "+e.Reason)
	}
	return strings.Join(lines, "; "), bad
}

// written is the text of all visible files of a table after one checkpoint.
func written(t *testing.T, cols []connectors.Column, rows []string, options ...string) string {
	t.Helper()
	dir := t.TempDir()
	table := tableOf(dir, cols, options...)
	b := batchOf(t, cols, rows)
	defer b.Release()
	s, err := Connector().OpenSink(t.Context(), connectors.Write{Pipeline: "p", Sink: "t", Table: table, Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	saved, err := s.Flush(t.Context())
	if err == nil {
		err = s.(connectors.Committer).Commit(t.Context(), saved)
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "--\n")
}

// batchOf decodes changelog-json lines.
func batchOf(t *testing.T, cols []connectors.Column, rows []string) change.Batch {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "x", strings.Join(rows, "\n"))
	src, err := Connector().OpenSource(t.Context(), connectors.Read{
		Tables: []connectors.TableRead{{Table: tableOf(dir, cols, "format", formatChangelog)}}, Limits: connectors.DefaultLimits,
		Reject: func(_ context.Context, e *connectors.RowError) error { return e }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b, err := src.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
