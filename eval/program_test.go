package eval_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/eval"
)

var kindNames = map[string]change.Kind{"+I": change.Insert, "-U": change.UpdateBefore, "+U": change.UpdateAfter, "-D": change.Delete}

// programCase is a program and a batch as text. Outputs are "name: expression"; kinds are one word per row; unsent are
// "column row" pairs.
type programCase struct {
	name    string
	columns []string
	kinds   string
	unsent  [][2]int
	filter  string
	outputs []string
	rules   []eval.Rule
	drop    change.Kinds
	missed  eval.Missed
	key     []int
	keyed   bool
	want    []string // rows as "kind value value", "~" for unsent
	failed  []string // "row column: reason"
}

func (c *programCase) program(t testing.TB, tab *table) *eval.Program {
	t.Helper()
	p := &eval.Program{Drop: c.drop, MissedUpdate: c.missed, Key: c.key, KeyedDeletes: c.keyed, RowKinds: c.kinds != ""}
	if c.filter != "" {
		p.Filter = compile(t, tab.scope, c.filter)
	}
	for i, o := range c.outputs {
		p.Outputs = append(p.Outputs, compile(t, tab.scope, o))
		rule := eval.Rule{Column: fmt.Sprintf("o%d", i)}
		if i < len(c.rules) {
			rule = c.rules[i]
			rule.Column = fmt.Sprintf("o%d", i)
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

func (c *programCase) table(t testing.TB, alloc memory.Allocator) *table {
	t.Helper()
	tab := newTable(t, alloc, c.columns...)
	b := &tab.batch
	if c.kinds != "" {
		for _, k := range strings.Fields(c.kinds) {
			b.Kinds = append(b.Kinds, kindNames[k])
		}
	}
	for _, u := range c.unsent {
		if b.Unsent == nil {
			b.Unsent = change.NewUnsent(len(c.columns))
		}
		b.Unsent.Set(u[0], u[1])
	}
	b.Table, b.Bytes, b.Position, b.RowPositionSize = 3, 99, change.Position("end"), 1
	for i := range b.Len() {
		b.RowPositions = append(b.RowPositions, byte('a'+i))
	}
	return tab
}

// rowsOf writes a batch one row a line.
func rowsOf(b *change.Batch) []string {
	var out []string
	for i := range b.Len() {
		parts := []string{b.Kind(i).String()}
		for col, a := range b.Record.Columns() {
			v := "NULL"
			if !b.Sent(col, i) {
				v = "~"
			} else if a.IsValid(i) {
				v = a.ValueStr(i)
			}
			parts = append(parts, v)
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

func TestProgram(t *testing.T) {
	update := change.Of(change.UpdateBefore)
	for _, c := range []programCase{
		{name: "projection", columns: []string{"id INT: 1|2", "s STRING: a|NULL"}, outputs: []string{"id", "UPPER(s)"},
			want: []string{"+I 1 A", "+I 2 NULL"}},
		{name: "filter_drops_false_and_unknown", columns: []string{"id INT: 1|2|3", "v INT: 5|NULL|0"}, filter: "v > 1", outputs: []string{"id", "10 / v"},
			want: []string{"+I 1 2"}},
		{name: "filter_guards_outputs", columns: []string{"id INT: 1|2|3", "v INT: 5|NULL|0"}, filter: "v <> 0", outputs: []string{"10 / v"},
			want: []string{"+I 2"}},
		{name: "all_dropped", columns: []string{"id INT: 1|2"}, filter: "id > 9", outputs: []string{"id"}},
		{name: "missed_update_deleted", columns: []string{"id INT: 1|2|3|4", "v INT: 9|1|9|1"}, kinds: "+I +U +U -D", filter: "v > 5",
			outputs: []string{"id", "v"}, missed: eval.MissedDeleted, want: []string{"+I 1 9", "-D 2 1", "+U 3 9"}},
		{name: "missed_update_dropped", columns: []string{"id INT: 1|2|3", "v INT: 9|1|9"}, kinds: "+I +U +U", filter: "v > 5",
			outputs: []string{"id"}, want: []string{"+I 1", "+U 3"}},
		{name: "keyed_deletes_pass_unseen", columns: []string{"id INT: 1|2", "v INT: NULL|1"}, kinds: "-D +U", unsent: [][2]int{{1, 0}}, filter: "v > 5",
			outputs: []string{"id", "v"}, missed: eval.MissedDeleted, keyed: true, want: []string{"-D 1 ~", "-D 2 1"}},
		{name: "old_rows_filtered_by_old_values", columns: []string{"id INT: 1|1|2|2", "v INT: 9|1|1|9"}, kinds: "-U +U -U +U", filter: "v > 5",
			outputs: []string{"id", "v"}, want: []string{"-U 1 9", "+U 2 9"}},
		{name: "C151_unmoved_update_before_is_dropped", columns: []string{"id INT: 1|1", "v INT: 1|2"}, kinds: "-U +U",
			outputs: []string{"id", "v"}, drop: update, key: []int{0}, want: []string{"+U 1 2"}},
		{name: "C151_moved_update_before_becomes_a_delete", columns: []string{"id INT: 1|1", "m STRING: a|b"}, kinds: "-U +U",
			outputs: []string{"m", "id"}, drop: update, key: []int{0}, want: []string{"-D a 1", "+U b 1"}},
		{name: "C152_computed_key", columns: []string{"id INT: 1|1|2|2", "m STRING: a|A|b|c"}, kinds: "-U +U -U +U",
			outputs: []string{"UPPER(m)", "id"}, drop: update, key: []int{0}, want: []string{"+U A 1", "-D B 2", "+U C 2"}},
		{name: "C050_key_swap", columns: []string{"id INT: 1|-1|2|1|-1|2", "v STRING: a|a|b|b|a|a"}, kinds: "-U +U -U +U -U +U",
			outputs: []string{"id", "v"}, drop: update, key: []int{0},
			want: []string{"-D 1 a", "+U -1 a", "-D 2 b", "+U 1 b", "-D -1 a", "+U 2 a"}},
		{name: "pair_leaves_the_filter", columns: []string{"id INT: 1|7|2|2", "v INT: 9|1|1|1"}, kinds: "-U +U -U +U", filter: "v > 5",
			outputs: []string{"id"}, drop: update, missed: eval.MissedDeleted, key: []int{0}, want: []string{"-D 1"}},
		{name: "old_row_alone", columns: []string{"id INT: 1|2"}, kinds: "-U +I", outputs: []string{"id"}, drop: update, key: []int{0},
			want: []string{"-D 1", "+I 2"}},
		{name: "drop_without_key", columns: []string{"id INT: 1|2"}, kinds: "-U +U", outputs: []string{"id"}, drop: update, want: []string{"+U 2"}},
		{name: "null_key_is_equal_to_null", columns: []string{"id INT: NULL|NULL"}, kinds: "-U +U", outputs: []string{"id"}, drop: update, key: []int{0},
			want: []string{"+U NULL"}},
		{name: "unsent_passes", columns: []string{"id INT: 1|2", "big STRING: NULL|x"}, kinds: "+U +U", unsent: [][2]int{{1, 0}}, outputs: []string{"id", "big"},
			want: []string{"+U 1 ~", "+U 2 x"}},
		{name: "unsent_passes_beside_dropped_rows", columns: []string{"id INT: 1|2|3", "big STRING: x|NULL|y"}, kinds: "+U +U +U", unsent: [][2]int{{1, 1}},
			filter: "id > 1", outputs: []string{"big", "id"}, want: []string{"+U ~ 2", "+U y 3"}},
		{name: "C041_computing_from_unsent", columns: []string{"id INT: 1|2", "big STRING: NULL|x"}, kinds: "+U +U", unsent: [][2]int{{1, 0}},
			outputs: []string{"id", "COALESCE(big, 'none')"}, want: []string{"+U 2 x"},
			failed: []string{`0 o1: the source did not send column "big", from which the value is computed`}},
		{name: "filter_needs_unsent", columns: []string{"id INT: 1|2", "big STRING: NULL|x"}, kinds: "+U +U", unsent: [][2]int{{1, 0}}, filter: "big IS NULL OR id > 0",
			outputs: []string{"id"}, want: []string{"+U 2"}, failed: []string{"0 big: the source did not send the value, and WHERE needs it"}},
		{name: "computed_in_a_key_only_delete", columns: []string{"id INT: 1|2", "v INT: NULL|4"}, kinds: "-D +U", unsent: [][2]int{{1, 0}},
			outputs: []string{"id + 1", "COALESCE(v, 7)"}, key: []int{0}, want: []string{"-D 2 ~", "+U 3 4"}},
		{name: "rules", columns: []string{"id INT: 1|NULL|3|4", "s STRING: naïve|abc|abcdefgh|NULL"},
			outputs: []string{"id", "s"}, rules: []eval.Rule{{NotNull: true}, {MaxLength: 5}}, want: []string{"+I 1 naïve", "+I 4 NULL"},
			failed: []string{"1 o0: NULL in a NOT NULL column", "2 o1: the value has 8 characters, the column holds 5"}},
		{name: "rules_trim", columns: []string{"s STRING: naïveté|abc|NULL|abcdefgh"}, kinds: "+I +I +I -D", outputs: []string{"s"},
			rules: []eval.Rule{{MaxLength: 5, Trim: true}}, want: []string{"+I naïve", "+I abc", "+I NULL", "-D abcde"}},
		{name: "rules_spare_deletes", columns: []string{"id INT: NULL|NULL", "s STRING: abcdefgh|abcdefgh"}, kinds: "-D -U", outputs: []string{"id", "s"},
			rules: []eval.Rule{{NotNull: true}, {MaxLength: 5}}, want: []string{"-D NULL abcdefgh", "-U NULL abcdefgh"}},
		{name: "rules_spare_unsent", columns: []string{"s STRING: NULL"}, kinds: "+U", unsent: [][2]int{{0, 0}}, outputs: []string{"s"},
			rules: []eval.Rule{{NotNull: true}}, want: []string{"+U ~"}},
		{name: "row_fails_once", columns: []string{"a INT: 1|0|2", "s STRING: x|y|z"}, outputs: []string{"1 / a", "2 / a", "s"},
			want: []string{"+I 1 2 x", "+I 0 1 z"}, failed: []string{"1 o0: division by zero"}},
		{name: "filter_fails", columns: []string{"a INT: 1|0|2"}, kinds: "+U +U +U", filter: "1 / a = 1", outputs: []string{"a"}, missed: eval.MissedDeleted,
			want: []string{"+U 1", "-D 2"}, failed: []string{"1 : WHERE: division by zero"}},
		{name: "failures_name_rows_of_the_batch", columns: []string{"a INT: 1|5|0|2"}, filter: "a < 3", outputs: []string{"1 / a"},
			want: []string{"+I 1", "+I 0"}, failed: []string{"2 o0: division by zero"}},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t) })
	}
}

func (c *programCase) check(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	tab := c.table(t, alloc)
	defer tab.batch.Release()
	p := c.program(t, tab)
	for range 2 { // the second time with used scratch memory
		var failed []string
		ctx := contextFor(alloc, nil)
		ctx.Fail = func(row int, column, reason string) error {
			failed = append(failed, fmt.Sprintf("%d %s: %s", row, column, reason))
			return nil
		}
		before := rowsOf(&tab.batch)
		out, err := p.Run(ctx, &tab.batch)
		if err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(&out); !reflect.DeepEqual(got, c.want) {
			t.Errorf("rows\n  got  %q\n  want %q", got, c.want)
		}
		if !reflect.DeepEqual(failed, c.failed) {
			t.Errorf("failed rows\n  got  %q\n  want %q", failed, c.failed)
		}
		if out.Table != 3 || out.Bytes != 99 || string(out.Position) != "end" {
			t.Errorf("the batch lost its place: %+v", out)
		}
		if out.Len() > 0 && len(out.RowPositions) != out.Len()*out.RowPositionSize {
			t.Errorf("%d bytes of row positions for %d rows of %d", len(out.RowPositions), out.Len(), out.RowPositionSize)
		}
		if after := rowsOf(&tab.batch); !reflect.DeepEqual(before, after) {
			t.Errorf("the borrowed batch changed: %q", after)
		}
		out.Release()
	}
}

func TestProgramPassesWithoutCopy(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	c := programCase{columns: []string{"id INT: 1|2", "s STRING: a|b"}, kinds: "+I +U", filter: "id > 0", outputs: []string{"s", "id"}}
	tab := c.table(t, alloc)
	defer tab.batch.Release()
	out, err := c.program(t, tab).Run(contextFor(alloc, map[int]string{}), &tab.batch)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	if out.Record.Column(1) != tab.batch.Record.Column(0) || out.Record.Column(0) != tab.batch.Record.Column(1) {
		t.Error("the columns were copied")
	}
	if &out.Kinds[0] != &tab.batch.Kinds[0] || &out.RowPositions[0] != &tab.batch.RowPositions[0] {
		t.Error("kinds and positions were copied")
	}
	if name := out.Record.ColumnName(0); name != "o0" {
		t.Errorf("the column is called %s", name)
	}
}

func TestProgramCompactsRowPositions(t *testing.T) {
	c := programCase{columns: []string{"id INT: 1|2|3|4"}, filter: "MOD(id, 2) = 0", outputs: []string{"id"}}
	tab := c.table(t, memory.DefaultAllocator)
	out, err := c.program(t, tab).Run(contextFor(nil, map[int]string{}), &tab.batch)
	if err != nil {
		t.Fatal(err)
	}
	if string(out.RowPositions) != "bd" {
		t.Errorf("positions %q, want those of rows 1 and 3", out.RowPositions)
	}
}

func TestProgramStopsAtAFailureThatMatters(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	c := programCase{columns: []string{"a INT: 1|0"}, outputs: []string{"1 / a"}}
	tab := c.table(t, alloc)
	defer tab.batch.Release()
	ctx := contextFor(alloc, nil)
	stop := errors.New("stop")
	ctx.Fail = func(int, string, string) error { return stop }
	if _, err := c.program(t, tab).Run(ctx, &tab.batch); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of Fail", err)
	}
}

// Partitions of a snapshot run the same program at once.
func TestProgramInSeveralGoroutines(t *testing.T) {
	c := programCase{columns: []string{"id INT: 1|2|3", "s STRING: a|b|c"}, filter: "id > 1", outputs: []string{"id * 2", "UPPER(s) || s"}}
	tab := c.table(t, memory.DefaultAllocator)
	p := c.program(t, tab)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				out, err := p.Run(contextFor(nil, map[int]string{}), &tab.batch)
				if err != nil || !reflect.DeepEqual(rowsOf(&out), []string{"+I 4 Bb", "+I 6 Cc"}) {
					t.Errorf("got %q, %v", rowsOf(&out), err)
				}
				out.Release()
			}
		})
	}
	wg.Wait()
}

// The number of allocations of a batch depends on its columns, not on its rows.
func TestProgramAllocatesPerColumn(t *testing.T) {
	small, large := strings.Repeat("7|", 9)+"7", strings.Repeat("7|", 999)+"7"
	allocations := func(values string) float64 {
		c := programCase{columns: []string{"i INT: " + values, "s STRING: " + values}, filter: "i > 1",
			outputs: []string{"i * 2 + 1", "UPPER(s) || '-' || TRIM(s)", "CAST(i AS STRING)", "CAST(i AS DECIMAL(10, 2)) * 1.5", "CASE WHEN s LIKE '7%' THEN s ELSE 'x' END"}}
		tab := c.table(t, memory.DefaultAllocator)
		p := c.program(t, tab)
		ctx := contextFor(nil, map[int]string{})
		return testing.AllocsPerRun(20, func() {
			out, err := p.Run(ctx, &tab.batch)
			if err != nil {
				t.Fatal(err)
			}
			out.Release()
		})
	}
	if few, many := allocations(small), allocations(large); many > few+5 {
		t.Errorf("%v allocations for 10 rows, %v for 1,000", few, many)
	}
}
