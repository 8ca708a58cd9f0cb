package eval_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/eval"
)

var nestedTable = []string{
	`id INT: 1|2|3|4`,
	`a ARRAY<INT>: [1,2,null]|[]|NULL|[7]`,
	`m MAP<STRING, INT>: [{"key":"x","value":1},{"key":"y","value":null}]|[]|NULL|[{"key":"z","value":2}]`,
	`r ROW<n INT, s STRING>: {"n":1,"s":"a"}|{"n":null,"s":"b"}|NULL|{"n":4,"s":null}`,
}

func TestNested(t *testing.T) {
	runCases(t, nestedTable, []evalCase{
		{"CAST(a AS STRING)", "STRING", "[1, 2, NULL]|[]|NULL|[7]"},
		{"CAST(m AS STRING)", "STRING", "{x=1, y=NULL}|{}|NULL|{z=2}"},
		{"CAST(r AS STRING)", "STRING", "(1, a)|(NULL, b)|NULL|(4, NULL)"},
		{"a IS NULL", "BOOLEAN", "false|false|true|false"},
		{"r.n + 1", "INT", "2|NULL|NULL|5"},
		{"t.r.s", "STRING", "a|b|NULL|NULL"},
		{"a[1]", "INT", "1|NULL|NULL|7"},
		{"a[id]", "INT", "1|NULL|NULL|NULL"},
		{"a[0]", "INT", "NULL|NULL|NULL|NULL"},
	})
}

// Rows of every kind of column survive the compaction after a filter.
func TestNestedPassesThroughAFilter(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	columns := append([]string{"b BOOLEAN: true|NULL|false|true", "d DECIMAL(20, 2): 1|2|3|NULL", "x BYTES: YQ==|Yg==|NULL|Yw==", "ti TINYINT: 1|2|NULL|4"}, nestedTable...)
	tab := newTable(t, alloc, columns...)
	defer tab.batch.Release()
	p := &eval.Program{Filter: compile(t, tab.scope, "MOD(id, 2) = 0 OR id = 3")}
	for _, c := range tab.scope.Columns {
		p.Outputs = append(p.Outputs, compile(t, tab.scope, c.Name))
		p.Rules = append(p.Rules, eval.Rule{Column: c.Name})
	}
	// A slice of a longer batch has offsets in all its buffers.
	whole := tab.batch.Record
	defer whole.Release()
	tab.batch.Record = whole.NewSlice(1, 4)
	out, err := p.Run(contextFor(alloc, map[int]string{}), &tab.batch)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	if out.Len() != 3 {
		t.Fatalf("%d rows, want 3", out.Len())
	}
	for col := range out.Record.NumCols() {
		got, want := out.Record.Column(int(col)), tab.batch.Record.Column(int(col))
		if g, w := show(got, nil), show(want, nil); g != w {
			t.Errorf("column %s: got %s, want %s", out.Record.ColumnName(int(col)), g, w)
		}
	}
	p.Filter = nil
	q := &eval.Program{Filter: compile(t, tab.scope, "id <> 3"), Outputs: p.Outputs, Rules: p.Rules}
	kept, err := q.Run(contextFor(alloc, map[int]string{}), &tab.batch)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Release()
	for col := range kept.Record.NumCols() {
		got, in := kept.Record.Column(int(col)), tab.batch.Record.Column(int(col))
		for j, i := range []int{0, 2} {
			if got.IsNull(j) != in.IsNull(i) || got.ValueStr(j) != in.ValueStr(i) {
				t.Errorf("column %s: row %d became %s, was %s", kept.Record.ColumnName(int(col)), i, got.ValueStr(j), in.ValueStr(i))
			}
		}
	}
}

// Expressions over a slice read the right rows.
func TestSlicedBatch(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	tab := newTable(t, alloc, append(plainTable, nestedTable[1:]...)...)
	whole := tab.batch.Record
	defer whole.Release()
	tab.batch.Record = whole.NewSlice(1, 4)
	defer tab.batch.Release()
	for _, c := range []evalCase{
		{"i + 0", "", "7|NULL|-2147483648"},
		{"UPPER(s)", "", "ÜNÏ%|NULL| X "},
		{"NOT p", "", "true|NULL|false"},
		{"CHAR_LENGTH(u)", "", "1|1|1"},
		{"COALESCE(d, 0)", "", "-2.25|0.00|99999999.99"},
		{"a[1]", "", "NULL|NULL|7"},
		{"r.s || 'x'", "", "bx|NULL|NULL"},
		{"CAST(a AS STRING) || CAST(m AS STRING)", "", "[]{}|NULL|[7]{z=2}"},
	} {
		if _, got, failed := run(t, tab, alloc, c.sql); got != c.want {
			t.Errorf("%s\n  got  %s %v\n  want %s", c.sql, got, failed, c.want)
		}
	}
}
