package planner

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/eval"
)

// person is a row of the fuzzed source.
type person struct {
	id          int64
	email, name string
}

var (
	fuzzSources = []string{"people", "people_full", "people_append", "live", "nokey_full"}
	fuzzSinks   = []string{"people_copy", "by_email", "big", "plain", "history", "latest", "wide"}
	fuzzFilters = []struct {
		sql  string
		lets func(person) bool
	}{
		{"", func(person) bool { return true }},
		{"name = 'a'", func(p person) bool { return p.name == "a" }},
		{"id > 2", func(p person) bool { return p.id > 2 }},
		{"email <> 'b' AND id < 5", func(p person) bool { return p.email != "b" && p.id < 5 }},
	}
	fuzzTables = `
CREATE TABLE people (id BIGINT, email STRING, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'cdc', 'hostname' = 'b', 'table-name' = 'p');
CREATE TABLE people_full (PRIMARY KEY (id) NOT ENFORCED) WITH ('identity' = 'full') LIKE people (EXCLUDING CONSTRAINTS);
CREATE TABLE nokey_full WITH ('identity' = 'full') LIKE people (EXCLUDING CONSTRAINTS);
CREATE TABLE people_append WITH ('changelog.mode' = 'append') LIKE people;
CREATE TABLE live WITH ('connector' = 'setter') LIKE people (EXCLUDING OPTIONS);
CREATE TABLE people_copy WITH ('connector' = 'store') LIKE people (EXCLUDING OPTIONS);
CREATE TABLE by_email (id BIGINT, email STRING, name STRING, PRIMARY KEY (email) NOT ENFORCED) WITH ('connector' = 'store');
CREATE TABLE wide (id BIGINT, email STRING, name STRING, PRIMARY KEY (id, email) NOT ENFORCED) WITH ('connector' = 'store');
CREATE TABLE big WITH ('connector' = 'warehouse') LIKE people (EXCLUDING OPTIONS);
CREATE TABLE plain (id BIGINT, email STRING, name STRING) WITH ('connector' = 'store');
CREATE TABLE history (id BIGINT, email STRING, name STRING) WITH ('connector' = 'journal');
CREATE TABLE latest WITH ('connector' = 'setter') LIKE people (EXCLUDING OPTIONS);
`
)

// FuzzPlan: an accepted plan never meets a kind that its sink did not accept; and a keyed sink whose key the plan did not
// warn about holds, in the end, what the query says about the source.
func FuzzPlan(f *testing.F) {
	for source := range fuzzSources {
		for sink := range fuzzSinks {
			for filter := range fuzzFilters {
				f.Add(uint8(source), uint8(sink), uint8(filter), uint64(source*100+sink*10+filter))
			}
		}
	}
	f.Fuzz(func(t *testing.T, source, sink, filter uint8, seed uint64) {
		where := fuzzFilters[int(filter)%len(fuzzFilters)]
		script := fmt.Sprintf("%sINSERT INTO %s SELECT id, email, name FROM %s", fuzzTables, fuzzSinks[int(sink)%len(fuzzSinks)], fuzzSources[int(source)%len(fuzzSources)])
		if where.sql != "" {
			script += " WHERE " + where.sql
		}
		s := newSession()
		s.run(script)
		if len(s.errs) > 0 {
			return // refused: nothing can go wrong
		}
		w := &fuzzWorld{t: t, p: s.pipelines[0], rnd: rand.New(rand.NewPCG(seed, 7)), rows: map[int64]person{}, held: map[string]person{}}
		w.run()
		if w.route().Program.Key == nil || len(w.p.Warnings) > 0 {
			return
		}
		want := map[string]person{}
		for _, p := range w.rows {
			if where.lets(p) {
				want[w.key(p)] = p
			}
		}
		if !maps.Equal(w.held, want) {
			t.Fatalf("%s\nthe sink holds %v\nthe query says %v\n%s", script, w.held, want, strings.Join(w.log, "\n"))
		}
	})
}

// fuzzWorld is a source that changes, and what a keyed sink makes of it.
type fuzzWorld struct {
	t    *testing.T
	p    *Pipeline
	rnd  *rand.Rand
	rows map[int64]person
	held map[string]person
	log  []string
}

func (w *fuzzWorld) route() *Route { return &w.p.Routes[0] }

// kinded is one change; unsent is set where the name was not sent, keyOnly where only the key was.
type kinded struct {
	kind            change.Kind
	row             person
	unsent, keyOnly bool
}

func (w *fuzzWorld) run() {
	for range 20 {
		var batch []kinded
		for range 1 + w.rnd.IntN(4) {
			batch = append(batch, w.change()...)
		}
		w.apply(batch)
	}
}

// change makes one change that the source's mode can send.
func (w *fuzzWorld) change() []kinded {
	m := w.p.Source.Modes[0]
	id := w.rnd.Int64N(7)
	letter := func() string { return string(rune('a' + w.rnd.IntN(4))) }
	next := person{id, letter(), letter()}
	old, ok := w.rows[id]
	switch {
	case !ok:
		w.rows[id] = next
		return []kinded{{kind: change.Insert, row: next}}
	case !m.Emits.Has(change.UpdateAfter):
		return nil
	case m.Emits.Has(change.Delete) && w.rnd.IntN(3) == 0:
		delete(w.rows, id)
		return []kinded{{kind: change.Delete, row: old, keyOnly: m.KeyedDeletes}}
	case m.Emits.Has(change.Delete) && w.rnd.IntN(4) == 0: // the key changes
		moved := person{id + 10, next.email, next.name}
		if _, taken := w.rows[moved.id]; taken {
			return nil
		}
		delete(w.rows, id)
		w.rows[moved.id] = moved
		if m.Emits.Has(change.UpdateBefore) {
			return []kinded{{kind: change.UpdateBefore, row: old}, {kind: change.UpdateAfter, row: moved}}
		}
		return []kinded{{kind: change.Delete, row: old, keyOnly: m.KeyedDeletes}, {kind: change.UpdateAfter, row: moved}}
	}
	unsent := !w.p.Source.Read.Tables[0].WholeRows && w.rnd.IntN(3) == 0
	if unsent {
		next.name = old.name
	}
	w.rows[id] = next
	if m.Emits.Has(change.UpdateBefore) {
		return []kinded{{kind: change.UpdateBefore, row: old}, {kind: change.UpdateAfter, row: next, unsent: unsent}}
	}
	return []kinded{{kind: change.UpdateAfter, row: next, unsent: unsent}}
}

func (w *fuzzWorld) apply(batch []kinded) {
	if len(batch) == 0 {
		return
	}
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	in := w.batch(batch, alloc)
	fail := func(row int, column, reason string) error {
		return fmt.Errorf("row %d column %s: %s", row, column, reason)
	}
	out, err := w.route().Program.Run(&eval.Context{Fail: fail, Alloc: alloc, Zone: "UTC"}, &in)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range out.Len() {
		kind := out.Kind(i)
		if !w.p.Sinks[0].Mode.Accepts.Has(kind) || !w.route().Emits.Has(kind) {
			w.t.Fatalf("%s arrives at a sink that accepts %s, by a route that emits %s\n%s", kind, w.p.Sinks[0].Mode.Accepts, w.route().Emits, w.p.Explain())
		}
		w.hold(&out, i)
	}
	out.Release()
	in.Release()
	alloc.AssertSize(w.t, 0)
}

func (w *fuzzWorld) batch(rows []kinded, alloc memory.Allocator) change.Batch {
	columns := w.p.Source.Read.Tables[0].Columns
	out := change.Batch{Unsent: change.NewUnsent(len(columns))}
	fields, arrays := make([]arrow.Field, len(columns)), make([]arrow.Array, len(columns))
	for c, col := range columns {
		fields[c] = arrow.Field{Name: col.Name, Type: col.Type, Nullable: true}
		b := array.NewBuilder(alloc, col.Type)
		for i, r := range rows {
			if r.unsent && col.Name == "name" || r.keyOnly && col.Name != "id" {
				out.Unsent.Set(c, i)
				b.AppendNull()
				continue
			}
			switch col.Name {
			case "id":
				b.(*array.Int64Builder).Append(r.row.id)
			case "email":
				b.(*array.StringBuilder).Append(r.row.email)
			case "name":
				b.(*array.StringBuilder).Append(r.row.name)
			}
		}
		arrays[c] = b.NewArray()
		b.Release()
	}
	out.Record = array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(len(rows)))
	for _, a := range arrays {
		a.Release()
	}
	for _, r := range rows {
		out.Kinds = append(out.Kinds, r.kind)
		w.log = append(w.log, fmt.Sprintf("%s %+v", r.kind, r))
	}
	return out
}

// hold applies one row to the keyed sink.
func (w *fuzzWorld) hold(out *change.Batch, i int) {
	var p person
	for c, col := range w.p.Sinks[0].Table.Columns {
		a := out.Record.Column(c)
		switch {
		case a.IsNull(i):
		case col.Name == "id":
			p.id = a.(*array.Int64).Value(i)
		case col.Name == "email":
			p.email = a.(*array.String).Value(i)
		case col.Name == "name":
			p.name = a.(*array.String).Value(i)
			continue
		}
		if col.Name == "name" && !out.Sent(c, i) {
			p.name = w.held[w.key(p)].name
		}
	}
	key := w.key(p)
	switch out.Kind(i) {
	case change.Delete:
		delete(w.held, key)
	case change.Insert, change.UpdateAfter:
		w.held[key] = p
	}
	w.log = append(w.log, fmt.Sprintf("    -> %s %+v", out.Kind(i), p))
}

// key is the sink's key of a row.
func (w *fuzzWorld) key(p person) string {
	var parts []string
	for _, k := range w.p.Sinks[0].Table.Key {
		switch w.p.Sinks[0].Table.Columns[k].Name {
		case "id":
			parts = append(parts, fmt.Sprint(p.id))
		case "email":
			parts = append(parts, p.email)
		}
	}
	return strings.Join(parts, "/")
}
