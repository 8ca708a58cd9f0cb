package eval_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/eval"
)

// sourceRow is a row of a small source table; k is unique in it but is not its key.
type sourceRow struct{ id, k, v int }

// changes draws a stream of changes and returns it with the table that it leads to. With before-images an update is -U and
// +U; without, a delete carries only the key.
func changes(r *rand.Rand, images bool) (kinds []change.Kind, rows []sourceRow, end map[int]sourceRow) {
	end = map[int]sourceRow{}
	emit := func(kind change.Kind, row sourceRow) { kinds, rows = append(kinds, kind), append(rows, row) }
	used := map[int]bool{}
	freeKey := func() int {
		for {
			if k := r.IntN(12); !used[k] {
				return k
			}
		}
	}
	for range 60 {
		id := r.IntN(8)
		old, exists := end[id]
		switch {
		case !exists:
			row := sourceRow{id, freeKey(), r.IntN(10)}
			used[row.k] = true
			end[id] = row
			emit(change.Insert, row)
		case r.IntN(3) == 0:
			delete(end, id)
			delete(used, old.k)
			emit(change.Delete, old)
		default:
			row := sourceRow{id, old.k, r.IntN(10)}
			if r.IntN(2) == 0 {
				row.k = freeKey()
				delete(used, old.k)
				used[row.k] = true
			}
			end[id] = row
			if images {
				emit(change.UpdateBefore, old)
			}
			emit(change.UpdateAfter, row)
		}
	}
	return kinds, rows, end
}

// A keyed sink that applies what a program makes of a stream ends as the query over the table that the stream leads to,
// wherever the batches are cut.
func TestProgramKeepsTheSinkEqual(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		images := seed%2 == 0
		kinds, rows, end := changes(r, images)
		sink := map[string]string{}
		var p *eval.Program
		for from := 0; from < len(rows); {
			to := min(len(rows), from+1+r.IntN(9))
			tab := streamBatch(t, alloc, kinds[from:to], rows[from:to], images)
			if p == nil {
				p = streamProgram(t, tab, images)
			}
			out, err := p.Run(contextFor(alloc, nil), &tab.batch)
			if err != nil {
				t.Fatal(err)
			}
			apply(sink, &out)
			out.Release()
			tab.batch.Release()
			from = to
		}
		want := map[string]string{}
		for _, row := range end {
			if row.v > 4 {
				key := row.id
				if images {
					key = row.k
				}
				want[fmt.Sprint(key)] = fmt.Sprint(row.v * 2)
			}
		}
		if !maps.Equal(sink, want) {
			t.Fatalf("seed %d: the sink holds %v, want %v", seed, sink, want)
		}
	}
}

func streamProgram(t *testing.T, tab *table, images bool) *eval.Program {
	p := &eval.Program{Filter: compile(t, tab.scope, "v > 4"), MissedUpdate: eval.MissedDeleted, Key: []int{0}, RowKinds: true}
	key := "id"
	if images {
		// The sink's key is computed and moves with the updates.
		key = "k + 0"
		p.Drop = change.Of(change.UpdateBefore)
	} else {
		p.KeyedDeletes = true
	}
	p.Outputs = []*eval.Expr{compile(t, tab.scope, key), compile(t, tab.scope, "v * 2")}
	p.Rules = []eval.Rule{{Column: "key", NotNull: true}, {Column: "v", NotNull: true}}
	return p
}

func streamBatch(t *testing.T, alloc memory.Allocator, kinds []change.Kind, rows []sourceRow, images bool) *table {
	var id, k, v []string
	unsent := change.NewUnsent(3)
	for i, row := range rows {
		id = append(id, fmt.Sprint(row.id))
		if kinds[i] == change.Delete && !images {
			k, v = append(k, "NULL"), append(v, "NULL")
			unsent.Set(1, i)
			unsent.Set(2, i)
			continue
		}
		k, v = append(k, fmt.Sprint(row.k)), append(v, fmt.Sprint(row.v))
	}
	tab := newTable(t, alloc, "id INT: "+strings.Join(id, "|"), "k INT: "+strings.Join(k, "|"), "v INT: "+strings.Join(v, "|"))
	tab.batch.Kinds = slices.Clone(kinds)
	if !images {
		tab.batch.Unsent = unsent
	}
	return tab
}

func apply(sink map[string]string, b *change.Batch) {
	for i := range b.Len() {
		key := b.Record.Column(0).ValueStr(i)
		switch b.Kind(i) {
		case change.Delete:
			delete(sink, key)
		case change.UpdateBefore:
			panic("a sink that takes no -U got one")
		default:
			sink[key] = b.Record.Column(1).ValueStr(i)
		}
	}
}
