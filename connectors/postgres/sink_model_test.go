package postgres

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// model is what the target must hold: the values of each key.
type model struct {
	rand *rand.Rand
	rows map[string][]any
	make func(key int, r *rand.Rand) []any // a whole row
	big  []int                             // columns that an update may leave out
	few  int                               // how many different keys
}

// next makes a change and applies it to the model. fresh: an insert of a key that is there already, as in a copy that is
// repeated.
func (m *model) next() sinkRow {
	key := m.rand.IntN(m.few)
	values := m.make(key, m.rand)
	id := fmt.Sprint(values[:2])
	old, there := m.rows[id]
	switch n := m.rand.IntN(10); {
	case !there:
		m.rows[id] = values
		return sinkRow{0, values}
	case n < 3:
		delete(m.rows, id)
		return del(values[:2]...)
	case n < 4:
		m.rows[id] = values
		return ins(values...)
	}
	sent := slices.Clone(values)
	for _, c := range m.big {
		if m.rand.IntN(2) == 0 {
			sent[c], values[c] = unsent, old[c]
		}
	}
	m.rows[id] = values
	return upd(sent...)
}

func (m *model) want() []string {
	var lines []string
	for _, values := range m.rows {
		var parts []string
		for _, v := range values {
			if v == nil {
				v = "NULL"
			}
			parts = append(parts, fmt.Sprint(v))
		}
		lines = append(lines, strings.Join(parts, "|"))
	}
	slices.Sort(lines)
	return lines
}

// TestSinkModel compares random changes with a map: the last change of a key wins, and an unsent column keeps its value.
// The tables make the sink take each of its ways; tiny buffers make it take them in every order.
func TestSinkModel(t *testing.T) {
	values := func(key int, r *rand.Rand) []any {
		var s any
		if r.IntN(4) > 0 {
			s = strings.Repeat("x", r.IntN(9)) + fmt.Sprint(r.IntN(100))
		}
		return []any{key / 3, fmt.Sprintf("k%d", key%3), r.IntN(1000), s, fmt.Sprintf("{%d,%d}", r.IntN(9), r.IntN(9))}
	}
	const spec = "a BIGINT; b STRING; n INT; s STRING; l "
	for _, c := range []struct{ name, spec, ddl string }{
		{"sets", spec + "STRING", "create table t (s text, l text, n int, b text, a bigint, primary key (a, b))"},
		{"text", spec + "STRING", "create table t (s text, l int[], n int, b text, a bigint, primary key (a, b))"},
		{"lists", spec + "ARRAY<INT>", "create table t (s text, l int[], n int, b text, a bigint, primary key (a, b))"},
		{"inexact key", spec + "STRING", "create table t (s text, l text, n int, b text, a numeric, primary key (a, b))"},
	} {
		for _, guarantee := range []string{"exactly-once", "at-least-once"} {
			for _, most := range []string{"7", "200", "100000"} {
				t.Run(strings.Join([]string{c.name, guarantee, most}, "/"), func(t *testing.T) {
					spec := c.spec
					if c.name == "inexact key" {
						spec = strings.Replace(spec, "a BIGINT", "a STRING", 1)
					}
					x := newSinkRig(t, 2, spec, c.ddl)
					x.table.Guarantee = guarantee
					x.option(sinkBatchRows.Key, most)
					m := &model{rand: rand.New(rand.NewPCG(uint64(len(t.Name())), 1)), rows: map[string][]any{}, make: values, big: []int{3, 4}, few: 150}
					if c.name == "inexact key" {
						m.make = func(key int, r *rand.Rand) []any {
							v := values(key, r)
							v[0] = fmt.Sprint(v[0])
							return v
						}
					}
					x.follow(m, 12)
				})
			}
		}
	}
}

// follow writes changes of the model in batches of many sizes and compares after each flush.
func (x *sinkRig) follow(m *model, rounds int) {
	x.t.Helper()
	x.open()
	for range rounds {
		for range 1 + m.rand.IntN(4) {
			rows := make([]sinkRow, 1+m.rand.IntN([]int{3, 40, 400}[m.rand.IntN(3)]))
			for i := range rows {
				rows[i] = x.written(m.next())
			}
			x.write(rows...)
		}
		x.flush()
		x.same(m)
	}
	if len(x.refused) > 0 {
		x.t.Fatalf("refused: %v", x.refused[0])
	}
}

// written turns the text of an array into what the list builder reads.
func (x *sinkRig) written(r sinkRow) sinkRow {
	r.values = slices.Clone(r.values)
	for c, v := range r.values {
		if s, ok := v.(string); ok && strings.HasPrefix(x.table.Columns[c].SQL, "ARRAY") {
			r.values[c] = "[" + strings.Trim(s, "{}") + "]"
		}
	}
	return r
}

func (x *sinkRig) same(m *model) {
	x.t.Helper()
	var names []string
	for _, c := range x.table.Columns {
		names = append(names, quoteIdent(c.Name))
	}
	var got []string
	for _, r := range pgtest.Rows(x.t, x.url, "select "+strings.Join(names, ",")+" from t") {
		got = append(got, strings.Join(r, "|"))
	}
	slices.Sort(got)
	if want := m.want(); !slices.Equal(got, want) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				x.t.Fatalf("%d rows, want %d; first difference at %d:\ngot  %q\nwant %q", len(got), len(want), i, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
			}
		}
	}
}
