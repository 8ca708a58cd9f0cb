package datagen

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
	"github.com/syncsql/syncsql/option"
)

func TestConnector(t *testing.T) {
	connectortest.Run(t, connectortest.Case{
		Connector: New(func() time.Time { return time.Unix(1e9, 123456789) }),
		Columns:   connectortest.Without(connectortest.Columns(), "ARRAY", "MAP", "ROW"),
		Load: func(_ *testing.T, mode connectors.ReadMode, _ connectors.Table, _ *connectortest.Changelog) connectortest.Loaded {
			o := map[string]string{"number-of-rows": "150", "rows-per-second": "0"}
			if mode.Name != "insert" {
				o["changelog.keys"] = "20"
			}
			return connectortest.Loaded{Options: o}
		},
	})
}

// rows reads a table to its end and returns the values of each column.
func rows(t *testing.T, columns []connectors.Column, options map[string]string) [][]string {
	t.Helper()
	var out [][]string
	for _, r := range changesOf(t, columns, options) {
		out = append(out, r.Values)
	}
	return out
}

func changesOf(t *testing.T, columns []connectors.Column, options map[string]string) []connectortest.Row {
	t.Helper()
	table := connectors.Table{Name: "t", Columns: columns, Options: option.SetOf(options)}
	if mode.Get(table.Options) != "insert" {
		table.Key = []int{0}
	}
	for _, p := range validate(table, connectors.Reading) {
		t.Fatalf("refused: %+v", p)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	src, err := Connector().OpenSource(t.Context(), connectors.Read{
		Tables: []connectors.TableRead{{Table: table}}, Limits: connectors.DefaultLimits, Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var out []connectortest.Row
	for {
		b, err := src.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, connectortest.Rows(&b)...)
		b.Release()
	}
}

func columns(names ...string) []connectors.Column {
	var cols []connectors.Column
	for _, c := range connectortest.Columns() {
		for _, n := range names {
			if strings.TrimPrefix(c.Name, "c_") == n {
				cols = append(cols, c)
			}
		}
	}
	return cols
}

func with(pairs ...string) map[string]string {
	o := map[string]string{"number-of-rows": "200", "rows-per-second": "0"}
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i]] = pairs[i+1]
	}
	return o
}

func TestFieldOptions(t *testing.T) {
	all := func(t *testing.T, column string, o map[string]string, ok func(v string) bool) {
		t.Helper()
		for _, r := range rows(t, columns(column), o) {
			if !ok(r[0]) {
				t.Fatalf("%s with %v: %s", column, o, r[0])
			}
		}
	}
	within := func(low, high float64) func(string) bool {
		return func(v string) bool {
			n, err := strconv.ParseFloat(v, 64)
			return err == nil && n >= low && n <= high
		}
	}
	all(t, "int", with("fields.c_int.min", "-3", "fields.c_int.max", "3"), within(-3, 3))
	all(t, "double", with("fields.c_double.min", "1.5", "fields.c_double.max", "2"), within(1.5, 2))
	all(t, "dec10", with("fields.c_dec10.min", "0.10", "fields.c_dec10.max", "0.12"), within(0.1, 0.12))
	all(t, "dec38", with("fields.c_dec38.min", "-1", "fields.c_dec38.max", "99999999999999999999"), within(-1, 1e20))
	all(t, "months", with("fields.c_months.min", "5", "fields.c_months.max", "6"), within(5, 6))
	all(t, "string", with("fields.c_string.length", "7"), func(v string) bool { return len(v) == 7+2 })
	all(t, "string", with(), func(v string) bool { return len(v) == 100+2 })
	all(t, "char", with(), func(v string) bool { return len(v) == 4+2 })
	all(t, "varchar", with(), func(v string) bool { return len(v) == 20+2 })

	lengths := map[int]bool{}
	all(t, "string", with("fields.c_string.length", "5", "fields.c_string.var-len", "true"), func(v string) bool {
		lengths[len(v)-2] = true
		return len(v) > 2 && len(v) <= 7
	})
	if len(lengths) != 5 {
		t.Errorf("var-len made the lengths %v", lengths)
	}
	nulls := 0
	all(t, "big", with("fields.c_big.null-rate", "0.25", "number-of-rows", "4000"), func(v string) bool {
		if v == "null" {
			nulls++
		}
		return true
	})
	if nulls < 850 || nulls > 1150 {
		t.Errorf("null-rate 0.25 made %d of 4000", nulls)
	}
}

func TestSequence(t *testing.T) {
	for _, c := range []string{"tiny", "small", "int", "big", "float", "double", "dec10", "varchar"} {
		got := rows(t, columns(c), map[string]string{"rows-per-second": "0", "fields.c_" + c + ".kind": "sequence",
			"fields.c_" + c + ".start": "-2", "fields.c_" + c + ".end": "5"})
		var text []string
		for _, r := range got {
			text = append(text, strings.Trim(strings.TrimSuffix(r[0], ".00"), `"`))
		}
		if s := strings.Join(text, " "); s != "-2 -1 0 1 2 3 4 5" {
			t.Errorf("%s: %s", c, s)
		}
	}
	// The end counts even when the pipeline does not read the column.
	got := rows(t, columns("int", "big"), with("fields.c_int.kind", "sequence", "fields.c_int.start", "1", "fields.c_int.end", "3"))
	if len(got) != 3 {
		t.Errorf("%d rows", len(got))
	}
}

func TestSeed(t *testing.T) {
	a, b := rows(t, columns("big"), with()), rows(t, columns("big"), with())
	c := rows(t, columns("big"), with("seed", "2"))
	for i := range a {
		if a[i][0] != b[i][0] {
			t.Fatal("the same seed made other values")
		}
	}
	if a[0][0] == c[0][0] && a[1][0] == c[1][0] {
		t.Error("another seed made the same values")
	}
}

// TestChangelog checks that updates and deletes fit the rows that exist, and the shares.
func TestChangelog(t *testing.T) {
	for _, m := range []string{"all", "upsert"} {
		t.Run(m, func(t *testing.T) {
			counts := map[change.Kind]int{}
			live := map[string]string{}
			got := changesOf(t, columns("id", "string", "int"), with("number-of-rows", "20000", "changelog.mode", m,
				"changelog.keys", "500", "changelog.update-ratio", "0.6", "changelog.delete-ratio", "0.15"))
			for _, r := range got {
				counts[r.Kind]++
				id, rest := r.Values[0], strings.Join(r.Values[1:], "|")
				old, ok := live[id]
				if ok == (r.Kind == change.Insert) {
					t.Fatalf("%s, but the row was there: %t", r, ok)
				}
				if (r.Kind == change.UpdateBefore || r.Kind == change.Delete) && rest != old {
					t.Fatalf("%s, but the row was %s", r, old)
				}
				if live[id] = rest; r.Kind == change.Delete {
					delete(live, id)
				}
				if len(live) > 500 {
					t.Fatal("more rows than keys")
				}
			}
			if n := counts[change.UpdateAfter]; n < 11500 {
				t.Errorf("%d updates of 20000", n)
			}
			if n := counts[change.Delete]; n < 2700 || n > 3300 {
				t.Errorf("%d deletes of 20000", n)
			}
			if n := counts[change.UpdateBefore]; m == "all" && n != counts[change.UpdateAfter] || m == "upsert" && n != 0 {
				t.Errorf("%d before-images", n)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // 2000-01-01 00:00:00
		got := rows(t, columns("date", "time0", "ts3", "ltz6"), map[string]string{"number-of-rows": "21", "rows-per-second": "10",
			"fields.c_ltz6.max-past": "1 h"})
		last := strings.Join(got[20][:3], " ")
		if last != `"2000-01-01" "00:00:02" "2000-01-01 00:00:02"` {
			t.Error(last)
		}
		if got[3][2] != `"2000-01-01 00:00:00.300"` {
			t.Error(got[3][2])
		}
		past := map[string]bool{}
		for _, r := range got {
			past[r[3]] = true
			if r[3] < `"1999-12-31 23:00:00Z"` || r[3] > `"2000-01-01 00:00:02Z"` {
				t.Error(r[3])
			}
		}
		if len(past) != 21 {
			t.Error("max-past draws no times")
		}
	})
}

// TestRate checks that rows come when they are due, and that waiting ends with the context.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if n := len(rows(t, columns("int"), map[string]string{"number-of-rows": "500", "rows-per-second": "100"})); n != 500 {
			t.Fatal(n)
		}
		if took := time.Since(begin); took < 4900*time.Millisecond || took > 5100*time.Millisecond {
			t.Errorf("500 rows at 100 a second took %s", took)
		}
		src, err := Connector().OpenSource(t.Context(), connectors.Read{Limits: connectors.DefaultLimits,
			Tables: []connectors.TableRead{{Table: connectors.Table{Columns: columns("int"),
				Options: option.SetOf(map[string]string{"rows-per-second": "1"})}}}})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := src.Next(t.Context()); err != nil || b.Len() != 1 {
			t.Fatalf("the first row is late: %v", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer stop()
		if _, err := src.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCaughtUp(t *testing.T) {
	src, err := Connector().OpenSource(t.Context(), connectors.Read{CaughtUp: true, Limits: connectors.DefaultLimits,
		Tables: []connectors.TableRead{{Table: connectors.Table{Columns: columns("int")}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := src.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("an endless table is caught up at once, got %v", err)
	}
}

func TestValidate(t *testing.T) {
	cols := connectortest.Columns()
	for _, c := range []struct {
		want    string
		options map[string]string
	}{
		{"fields.c_int.min", map[string]string{"fields.c_int.min": "3000000000"}},
		{"fields.c_int.max", map[string]string{"fields.c_int.min": "3", "fields.c_int.max": "2"}},
		{"fields.c_int.length", map[string]string{"fields.c_int.length": "2"}},
		{"fields.c_int.size", map[string]string{"fields.c_int.size": "2"}},
		{"fields.nope.min", map[string]string{"fields.nope.min": "2"}},
		{"fields.c_int", map[string]string{"fields.c_int": "2"}},
		{"fields.c_char.length", map[string]string{"fields.c_char.length": "2"}},
		{"fields.c_bool.kind", map[string]string{"fields.c_bool.kind": "other"}},
		{"fields.c_tiny.end", map[string]string{"fields.c_tiny.kind": "sequence", "fields.c_tiny.start": "1", "fields.c_tiny.end": "300"}},
		{"fields.c_tiny.kind", map[string]string{"fields.c_tiny.kind": "sequence", "fields.c_tiny.start": "1"}},
		{"fields.id.null-rate", map[string]string{"fields.id.null-rate": "0.5"}},
		{"fields.c_big.null-rate", map[string]string{"fields.c_big.null-rate": "1.5"}},
		{"changelog.keys", map[string]string{"changelog.keys": "5"}},
		{"changelog.mode", map[string]string{"changelog.mode": "all"}},
		{"changelog.delete-ratio", map[string]string{"changelog.mode": "all", "changelog.delete-ratio": "0.9"}},
	} {
		problems := validate(connectors.Table{Columns: connectortest.Without(cols, "ARRAY", "MAP", "ROW"),
			Options: option.SetOf(c.options)}, connectors.Reading)
		if len(problems) != 1 || problems[0].Option != c.want || problems[0].Message == "" {
			t.Errorf("%v: %+v", c.options, problems)
		}
	}
	if p := validate(connectors.Table{Columns: cols}, connectors.Reading); len(p) != 3 {
		t.Errorf("nested types: %+v", p)
	}
}

func FuzzPosition(f *testing.F) {
	f.Add(position{7, true, 12345}.appendTo(nil))
	f.Add([]byte{})
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePosition(b)
		if err == nil && string(p.appendTo(nil)) != string(b) {
			t.Errorf("%x reads as %+v", b, p)
		}
	})
}
