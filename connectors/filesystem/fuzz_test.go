package filesystem

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
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
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		b := decodeAll(t, mem, cols, form, text, false)
		defer b.Release()
		e := newEncoder(tableOf("x", nil).Options, form).(*textEncoder)
		again := decodeAll(t, mem, cols, form, e.lines.append(nil, &b, func(dst []byte) []byte { return dst }), true)
		defer again.Release()
		got, want := connectortest.Rows(&again), connectortest.Rows(&b)
		if len(got) != len(want) {
			t.Fatalf("%d rows became %d", len(want), len(got))
		}
		for i := range want {
			if got[i].String() != want[i].String() {
				t.Fatalf("%s became %s", want[i], got[i])
			}
		}
	})
}

// decodeAll decodes a text up to the first bad row, which may only be there when the text is not our own.
func decodeAll(t *testing.T, mem memory.Allocator, cols []connectors.Column, form string, text []byte, own bool) change.Batch {
	t.Helper()
	places := map[string]int{}
	for i, c := range cols {
		places[c.Name] = i
	}
	var d rowDecoder = &jsonRows{places: places, changelog: form == formatChangelog}
	if form == formatCSV {
		d = newCSVRows(&connectors.TableRead{Table: tableOf("x", cols)}, places)
	}
	in := &lines{in: bufio.NewReaderSize(bytes.NewReader(text), 16)}
	out := newRowBuilder(mem, connectortest.Schema(cols), cols)
	defer out.bld.Release()
	for {
		row, err := d.next(in)
		if errors.Is(err, errEnd) {
			break
		}
		if err = out.settle(d.decode(row, out)); err != nil && own {
			t.Fatalf("%q: %v", row, err)
		}
		if err != nil {
			break
		}
	}
	rec := out.bld.NewRecordBatch()
	defer rec.Release()
	return change.Batch{Record: rec.NewSlice(0, int64(out.n)), Kinds: out.kinds, Unsent: out.unsent}
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
