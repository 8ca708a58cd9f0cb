package connectortest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// Row is one change in a form that can be compared: every value as JSON, "" for a value that was not sent.
type Row struct {
	Kind   change.Kind
	Values []string
}

func (r Row) String() string { return r.Kind.String() + " " + strings.Join(r.Values, " | ") }

// Rows takes the rows out of a batch.
func Rows(b *change.Batch) []Row {
	rows := make([]Row, b.Len())
	for i := range rows {
		rows[i] = Row{Kind: b.Kind(i), Values: make([]string, b.Record.NumCols())}
	}
	if b.Record == nil {
		return rows
	}
	for c, col := range b.Record.Columns() {
		spell := connectors.Style{}.JSON(col)
		for i := range rows {
			switch {
			case !b.Sent(c, i):
			case col.IsNull(i):
				rows[i].Values[c] = "null"
			default:
				rows[i].Values[c] = string(spell(nil, i))
			}
		}
	}
	return rows
}

// Empty makes a batch with the schema of the columns and no rows.
func Empty(mem memory.Allocator, cols []connectors.Column) change.Batch {
	bld := array.NewRecordBuilder(mem, Schema(cols))
	defer bld.Release()
	return change.Batch{Record: bld.NewRecordBatch()}
}

// state applies changes to a table with a key: what the target must hold in the end.
type state struct {
	key  []int
	rows map[string][]string
}

func newState(key []int) *state { return &state{key: key, rows: map[string][]string{}} }

func (s *state) apply(rows []Row) {
	for _, r := range rows {
		id := s.id(r)
		switch r.Kind {
		case change.Delete:
			delete(s.rows, id)
		case change.UpdateBefore:
		default:
			s.rows[id] = merge(s.rows[id], r.Values)
		}
	}
}

func (s *state) id(r Row) string {
	var b strings.Builder
	for _, k := range s.key {
		b.WriteString(r.Values[k])
		b.WriteByte(0)
	}
	return b.String()
}

func merge(old, values []string) []string {
	values = slices.Clone(values)
	for c, v := range values {
		if v == "" && old != nil {
			values[c] = old[c]
		}
	}
	return values
}

func (s *state) list() []Row {
	var rows []Row
	for _, v := range s.rows {
		rows = append(rows, Row{Values: v})
	}
	return rows
}

// expectSame compares two multisets of rows.
func expectSame(t *testing.T, when string, got, want []Row) {
	t.Helper()
	if d := difference(got, want); d != "" {
		t.Fatalf("%s: %s", when, d)
	}
}

// expectAtLeast checks that every wanted row is there, repeats aside, and no row that was never written.
func expectAtLeast(t *testing.T, when string, got, want []Row) {
	t.Helper()
	counts := count(got)
	wanted := count(want)
	for text, n := range wanted {
		if counts[text] < n {
			t.Fatalf("%s: row is missing: %s (%d of %d)", when, text, counts[text], n)
		}
	}
	for text := range counts {
		if wanted[text] == 0 {
			t.Fatalf("%s: row was never written: %s", when, text)
		}
	}
}

func count(rows []Row) map[string]int {
	m := make(map[string]int, len(rows))
	for _, r := range rows {
		m[r.String()]++
	}
	return m
}

func difference(got, want []Row) string {
	a, b := count(got), count(want)
	var missing, extra []string
	for text, n := range b {
		if a[text] < n {
			missing = append(missing, fmt.Sprintf("- %.500s (%d of %d)", text, a[text], n))
		}
	}
	for text, n := range a {
		if b[text] < n {
			extra = append(extra, fmt.Sprintf("+ %.500s (%d, want %d)", text, n, b[text]))
		}
	}
	if missing == nil && extra == nil {
		return ""
	}
	slices.Sort(missing)
	slices.Sort(extra)
	return fmt.Sprintf("%d rows, want %d; first differences:\n%s", len(got), len(want),
		strings.Join(append(missing[:min(3, len(missing))], extra[:min(3, len(extra))]...), "\n"))
}
