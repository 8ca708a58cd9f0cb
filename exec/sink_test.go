package exec

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// TestAfter cuts a batch where a sink goes on: kinds, positions and unsent marks must stay with their rows.
func TestAfter(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rows := []row{{txn: 1, index: 0, kind: change.Insert, id: 1}, {txn: 1, index: 1, kind: change.UpdateAfter, id: 2}, {txn: 2, index: 0, kind: change.Delete, id: 3}}
	b := build(mem, 0, rows)
	defer b.Release()
	b.Unsent = change.NewUnsent(2)
	b.Unsent.Set(1, 1)
	b.Position = endOf(2)
	for _, r := range rows {
		b.RowPositions = append(b.RowPositions, r.at()...)
	}
	for held, want := range map[string]int{string(endOf(0)): 3, string(position(1, 1)): 2, string(position(1, 2)): 1, string(endOf(1)): 1, string(endOf(2)): 0} {
		rest, err := after(b, change.Position(held))
		if err != nil || rest.Len() != want {
			t.Fatalf("after %x: %d rows, %v, want %d", held, rest.Len(), err, want)
		}
		for i := range rest.Len() {
			at := i + 3 - want
			if rest.Kind(i) != b.Kind(at) || rest.At(i).Compare(b.At(at)) != 0 || rest.Sent(1, i) != b.Sent(1, at) || rest.Record.Column(1).ValueStr(i) != b.Record.Column(1).ValueStr(at) {
				t.Errorf("after %x: row %d is not row %d of the whole", held, i, at)
			}
		}
		rest.Release()
	}
}

// TestAfterWithoutRowPositions takes whole batches, and says so when that is not enough to go on.
func TestAfterWithoutRowPositions(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := build(mem, 0, []row{{id: 1}})
	defer b.Release()
	b.Position = endOf(2)
	for held, want := range map[string]int{string(endOf(1)): 1, string(endOf(2)): 0} {
		rest, err := after(b, change.Position(held))
		if err != nil || rest.Len() != want {
			t.Errorf("after %x: %d rows, %v, want %d", held, rest.Len(), err, want)
		}
		rest.Release()
	}
	b.Position = nil
	var permanent *connectors.PermanentError
	if _, err := after(b, endOf(1)); !errors.As(err, &permanent) {
		t.Errorf("error %v, want a permanent one", err)
	}
}
