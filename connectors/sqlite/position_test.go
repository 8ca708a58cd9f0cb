package sqlite

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
)

// rowsOf makes changes of (id BIGINT, c_string STRING) from lines such as "+I 1 apple"; "-" is a value that was not sent.
func rowsOf(t *testing.T, cols []connectors.Column, lines ...string) change.Batch {
	t.Helper()
	kinds := map[string]change.Kind{"+I": change.Insert, "-U": change.UpdateBefore, "+U": change.UpdateAfter, "-D": change.Delete}
	bld := array.NewRecordBuilder(memory.DefaultAllocator, connectortest.Schema(cols))
	defer bld.Release()
	b := change.Batch{Unsent: change.NewUnsent(2), Position: change.Position{1}}
	for i, line := range lines {
		f := strings.Fields(line)
		b.Kinds = append(b.Kinds, kinds[f[0]])
		if err := connectors.Parser(bld.Field(0))(f[1]); err != nil {
			t.Fatal(err)
		}
		if f[2] == "-" {
			bld.Field(1).AppendNull()
			b.Unsent.Set(1, i)
		} else {
			bld.Field(1).(*array.StringBuilder).Append(f[2])
		}
	}
	b.Record = bld.NewRecordBatch()
	return b
}

func FuzzPosition(f *testing.F) {
	f.Add(position{false, -1 << 63}.appendTo(nil))
	f.Add(position{true, 9}.appendTo(nil))
	f.Add([]byte{1, 'r'})
	f.Add([]byte{2, 'r', 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePosition(b)
		if err == nil && string(p.appendTo(nil)) != string(b) {
			t.Errorf("%x reads as %+v", b, p)
		}
	})
}

func TestPositionOrder(t *testing.T) {
	var before change.Position
	for _, n := range []int64{-1 << 63, -1, 0, 1, 1<<63 - 1} {
		p := change.Position(position{false, n}.appendTo(nil))
		if before.Compare(p) >= 0 {
			t.Errorf("%d sorts before the row in front of it", n)
		}
		before = p
	}
}
