package filesystem

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/connectors/connectortest"
)

func FuzzPosition(f *testing.F) {
	f.Add(position{1, 2, 3, 4}.appendTo(nil))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePosition(b)
		if err == nil && string(p.appendTo(nil)) != string(b) {
			t.Errorf("%x reads as %+v", b, p)
		}
	})
}

func FuzzToken(f *testing.F) {
	f.Add(token{1, 2, 3, 4}.bytes())
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseToken(b)
		if err == nil && string(p.bytes()) != string(b) {
			t.Errorf("%x reads as %+v", b, p)
		}
	})
}

// fuzzText reads any text in a format. Whatever it holds, the builders must give a well-formed record, and the good rows,
// written again, must read as the same rows.
func fuzzText(f *testing.F, form string) {
	cols := connectortest.Columns()
	for i := range cols {
		cols[i].Nullable = true
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		name := filepath.Join(dir, "x")
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
		table := tableOf(name, cols, "format", form)
		rows, _ := read(t, table, nil)
		if len(rows) == 0 {
			return
		}
		b, err := firstBatch(table)
		if err != nil || b.Len() == 0 {
			return
		}
		defer b.Release()
		out := tableOf(filepath.Join(dir, "out"), cols, "format", form)
		s := open(t, out, 1, nil)
		must(t, s.Write(t.Context(), b))
		saved, err := s.Flush(t.Context())
		must(t, err, s.Commit(t.Context(), saved), s.Close())
		again := readAll(t, out)
		want := connectortest.Rows(&b)
		if len(again) != len(want) {
			t.Fatalf("%d rows became %d", len(want), len(again))
		}
		for i := range want {
			if again[i].String() != want[i].String() {
				t.Fatalf("%s became %s", want[i], again[i])
			}
		}
	})
}

func FuzzCSV(f *testing.F) {
	addWritten(f, formatCSV)
	fuzzText(f, formatCSV)
}

func FuzzJSON(f *testing.F) {
	addWritten(f, formatJSON)
	f.Add([]byte(`{"c_dict":[["a",1],[null,2]],"c_row":{"x":{}},"c_list":[[1]]}`))
	fuzzText(f, formatJSON)
}

func FuzzChangelogJSON(f *testing.F) {
	addWritten(f, formatChangelog)
	fuzzText(f, formatChangelog)
}

// addWritten adds a file that the sink wrote.
func addWritten(f *testing.F, form string) {
	log := &connectortest.Changelog{Columns: connectortest.Columns(), Kinds: 1, Holds: everything, Seed: 9}
	b := log.Next(memory.DefaultAllocator, 3)
	defer b.Release()
	e := newEncoder(tableOf("x", nil).Options, form).(*textEncoder)
	f.Add(e.lines.append(nil, &b, func(dst []byte) []byte { return dst }))
}
