package change_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
)

// row is one change to a table (k1, k2, a, b); "?" is a value that was not sent.
type row struct {
	kind      change.Kind
	k1        int64
	k2, a, b  string
	nullInKey bool
}

func batchOf(mem memory.Allocator, rows []row) change.Batch {
	bld := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{
		{Name: "k1", Type: arrow.PrimitiveTypes.Int64}, {Name: "k2", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}}, nil))
	defer bld.Release()
	var b change.Batch
	for i, r := range rows {
		b.Kinds = append(b.Kinds, r.kind)
		bld.Field(0).(*array.Int64Builder).Append(r.k1)
		for c, v := range []string{r.k2, r.a, r.b} {
			f := bld.Field(c + 1).(*array.StringBuilder)
			switch {
			case v == "?":
				if b.Unsent == nil {
					b.Unsent = change.NewUnsent(4)
				}
				b.Unsent.Set(c+1, i)
				f.AppendNull()
			case c == 0 && r.nullInKey:
				f.AppendNull()
			default:
				f.Append(v)
			}
		}
	}
	b.Record = bld.NewRecordBatch()
	return b
}

// left spells the outcome, as "+U 1 x a b".
func left(b *change.Batch, out *change.Compacted) []string {
	var s []string
	for i := range out.Rows {
		text := out.Kinds[i].String()
		for c, col := range b.Record.Columns() {
			from, sent := out.Source(c, i)
			switch {
			case out.Kinds[i] == change.Delete && c > 1:
			case !sent:
				text += " ?"
			default:
				text += " " + col.ValueStr(from)
			}
		}
		s = append(s, text)
	}
	return s
}

func TestCompact(t *testing.T) {
	const i, b, u, d = change.Insert, change.UpdateBefore, change.UpdateAfter, change.Delete
	tests := []struct {
		name string
		rows []row
		want []string
	}{
		{"nothing", nil, nil},
		{"delete_then_insert", []row{{kind: d, k1: 1, k2: "x"}, {kind: i, k1: 1, k2: "x", a: "a", b: "b"}}, []string{"+U 1 x a b"}},
		{"insert_then_delete", []row{{kind: i, k1: 1, k2: "x"}, {kind: d, k1: 1, k2: "x"}}, []string{"-D 1 x"}},
		{"before_is_left_out", []row{{kind: b, k1: 1, k2: "x", a: "a", b: "b"}, {kind: u, k1: 1, k2: "x", a: "c", b: "b"}}, []string{"+U 1 x c b"}},
		{"full_then_partial", []row{{kind: i, k1: 1, k2: "x", a: "big", b: "b"}, {kind: u, k1: 1, k2: "x", a: "?", b: "c"}}, []string{"+I 1 x big c"}},
		{"partial_only", []row{{kind: u, k1: 1, k2: "x", a: "?", b: "b"}, {kind: u, k1: 1, k2: "x", a: "?", b: "c"}}, []string{"+U 1 x ? c"}},
		{"partial_after_delete_has_nothing", []row{{kind: i, k1: 1, k2: "x", a: "a", b: "b"}, {kind: d, k1: 1, k2: "x", a: "?", b: "?"},
			{kind: u, k1: 1, k2: "x", a: "?", b: "c"}}, []string{"+I 1 x ? c"}},
		{"keys_swapped", []row{{kind: d, k1: 1, k2: "x"}, {kind: u, k1: 3, k2: "x", a: "1", b: "b"}, {kind: d, k1: 2, k2: "x"},
			{kind: u, k1: 1, k2: "x", a: "2", b: "b"}, {kind: d, k1: 3, k2: "x"}, {kind: u, k1: 2, k2: "x", a: "1", b: "b"}},
			[]string{"+U 1 x 2 b", "-D 3 x", "+U 2 x 1 b"}},
		{"null_is_no_text", []row{{kind: i, k1: 1, nullInKey: true, a: "a", b: "b"}, {kind: i, k1: 1, k2: "", a: "c", b: "d"}},
			[]string{"+I 1 (null) a b", "+I 1  c d"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			batch := batchOf(mem, tt.rows)
			defer batch.Release()
			var c change.Compactor
			if got := left(&batch, c.Compact(&batch, []int{0, 1})); fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("left %v, want %v", got, tt.want)
			}
		})
	}
}

// model applies changes one by one to a table where every key is there with values "old".
type model map[string][2]string

func (m model) apply(kind change.Kind, key, a, b string) {
	switch kind {
	case change.Delete:
		delete(m, key)
	case change.Insert, change.UpdateAfter:
		old, ok := m[key]
		if !ok {
			old = [2]string{"none", "none"}
		}
		if a != "?" {
			old[0] = a
		}
		if b != "?" {
			old[1] = b
		}
		m[key] = old
	}
}

// TestCompactAgainstModel applies random batches change by change, and compacted: the tables must be equal.
func TestCompactAgainstModel(t *testing.T) {
	var c change.Compactor // one for all, as a sink has it
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		there := map[int64]bool{}
		want, got := model{}, model{}
		for k := range int64(6) {
			if there[k] = r.IntN(2) == 0; there[k] {
				want.apply(change.Insert, fmt.Sprint(k), "old", "old")
				got.apply(change.Insert, fmt.Sprint(k), "old", "old")
			}
		}
		var rows []row
		for n := range r.IntN(40) {
			k := r.Int64N(6)
			next := row{k1: k, k2: "x", a: fmt.Sprint("a", n), b: fmt.Sprint("b", n)}
			switch {
			case !there[k]:
				next.kind, there[k] = change.Insert, true
			case r.IntN(3) == 0:
				next.kind, next.a, there[k] = change.Delete, "?", false
			default:
				rows = append(rows, row{kind: change.UpdateBefore, k1: k, k2: "x", a: "never", b: "never"})
				next.kind = change.UpdateAfter
				if r.IntN(2) == 0 {
					next.a = "?"
				}
				if r.IntN(4) == 0 {
					next.b = "?"
				}
			}
			rows = append(rows, next)
		}
		for _, x := range rows {
			want.apply(x.kind, fmt.Sprint(x.k1), x.a, x.b)
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		b := batchOf(mem, rows)
		key := []int{0}
		if seed%2 == 1 {
			key = []int{0, 1}
		}
		out := c.Compact(&b, key)
		seen := map[int64]bool{}
		for i, at := range out.Rows {
			x := rows[at]
			if seen[x.k1] {
				t.Fatalf("seed %d: key %d is left twice", seed, x.k1)
			}
			seen[x.k1] = true
			values := []string{"?", "?"}
			for col := range values {
				if from, sent := out.Source(col+2, i); sent {
					values[col] = b.Record.Column(col + 2).ValueStr(from)
				}
			}
			if _, existed := got[fmt.Sprint(x.k1)]; out.Kinds[i] == change.Insert && existed || out.Kinds[i] == change.UpdateAfter && !existed {
				t.Fatalf("seed %d: key %d is left as %s, was there: %v", seed, x.k1, out.Kinds[i], existed)
			}
			got.apply(out.Kinds[i], fmt.Sprint(x.k1), values[0], values[1])
		}
		b.Release()
		mem.AssertSize(t, 0)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: %v\ncompacted %v\nwant %v", seed, rows, got, want)
		}
	}
}

func BenchmarkCompact(b *testing.B) {
	rows := make([]row, 1000)
	for i := range rows {
		rows[i] = row{kind: change.UpdateAfter, k1: int64(i * 7919 % 900), k2: "x", a: "a", b: "b"}
	}
	batch := batchOf(memory.NewGoAllocator(), rows)
	defer batch.Release()
	for _, key := range [][]int{{0}, {0, 1}} {
		b.Run(fmt.Sprint(len(key), "_columns"), func(b *testing.B) {
			var c change.Compactor
			b.ReportAllocs()
			for range b.N {
				c.Compact(&batch, key)
			}
		})
	}
}
