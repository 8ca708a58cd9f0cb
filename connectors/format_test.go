package connectors_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
)

var everything = connectortest.Holds{NaN: true, Infinity: true, NegativeZero: true, NUL: true, InfiniteTimes: true, FarYears: true}

// TestTextParses checks that the text of every scalar value reads back to the same value, in both styles.
func TestTextParses(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	cols := connectortest.Without(connectortest.Columns(), "ARRAY", "MAP", "ROW")
	log := &connectortest.Changelog{Columns: cols, Kinds: change.Inserts, Holds: everything, Seed: 4}
	b := log.Next(mem, 2000)
	defer b.Release()
	for _, style := range []connectors.Style{{}, {ISO: true}} {
		bld := array.NewRecordBuilder(mem, b.Record.Schema())
		for c, col := range b.Record.Columns() {
			spell, parse := style.Text(col), connectors.Parser(bld.Field(c))
			for i := range col.Len() {
				if col.IsNull(i) {
					bld.Field(c).AppendNull()
				} else if err := parse(string(spell(nil, i))); err != nil {
					t.Fatalf("%s: %v", cols[c].Name, err)
				}
			}
		}
		again := change.Batch{Record: bld.NewRecordBatch()}
		bld.Release()
		got, want := connectortest.Rows(&again), connectortest.Rows(&b)
		for i := range want {
			if got[i].String() != want[i].String() {
				t.Fatalf("%s became %s", want[i], got[i])
			}
		}
		again.Release()
	}
}

func TestDays(t *testing.T) {
	for day := int64(-800000); day < 3000000; day += 17 {
		y, m, d := connectors.Civil(day)
		want := time.Unix(day*86400, 0).UTC()
		if int(y) != want.Year() || m != int64(want.Month()) || d != int64(want.Day()) || connectors.Days(y, m, d) != day {
			t.Fatalf("day %d is %d-%d-%d, want %s", day, y, m, d, want)
		}
	}
	for _, day := range []int64{math.MinInt32 + 1, math.MaxInt32 - 1} {
		if y, m, d := connectors.Civil(day); connectors.Days(y, m, d) != day {
			t.Errorf("day %d", day)
		}
	}
}

func TestParseDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1.00", "-1.5": "-1.50", "+.5": "0.50", "1e2": "100.00", "123e-2": "1.23", "1.230": "1.23", "0e99": "0.00",
		"999.99": "999.99", "-0": "0.00", "00012": "12.00", "12.": "12.00",
	} {
		n, err := connectors.ParseDecimal(text, 5, 2)
		if got := string(connectors.AppendDecimal(nil, n, 2)); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", ".", "1.234", "1000", "1e3", "1e", "1e5000", "x", "1 ", "0x1", "1_0", "--1", "1.2.3", "NaN", "1e99999999"} {
		if n, err := connectors.ParseDecimal(text, 5, 2); err == nil {
			t.Errorf("%q is accepted as %v", text, n)
		}
	}
	wide := "-" + strings.Repeat("9", 20) + "." + strings.Repeat("9", 18)
	n, err := connectors.ParseDecimal(wide, 38, 18)
	if got := string(connectors.AppendDecimal(nil, n, 18)); err != nil || got != wide {
		t.Errorf("%s, %v", got, err)
	}
}

func TestParseTimestamp(t *testing.T) {
	micro := &arrow.TimestampType{Unit: arrow.Microsecond}
	instant := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	nano := &arrow.TimestampType{Unit: arrow.Nanosecond}
	for _, c := range []struct {
		text, want string
		t          *arrow.TimestampType
	}{
		{"2024-02-29 23:59:59.999999", "2024-02-29 23:59:59.999999", micro},
		{"2024-02-29T23:59", "2024-02-29 23:59:00", micro},
		{"1969-12-31 23:59:59.9", "1969-12-31 23:59:59.900", micro},
		{"-0119-05-06 12:00:00", "-0119-05-06 12:00:00", micro},
		{"+20000-01-01 00:00:00", "+20000-01-01 00:00:00", micro},
		{"2024-05-06 01:00:00+02", "2024-05-05 23:00:00Z", instant},
		{"2024-05-06 01:00:00-05:30", "2024-05-06 06:30:00Z", instant},
		{"2024-05-06 01:00:00.000000001", "2024-05-06 01:00:00.000000001", nano},
		{"1677-09-21 00:12:43.145224193", "1677-09-21 00:12:43.145224193", nano},
		{"2262-04-11 23:47:16.854775806", "2262-04-11 23:47:16.854775806", nano},
	} {
		v, err := connectors.ParseTimestamp(c.text, c.t)
		if got := string(connectors.Style{}.AppendTimestamp(nil, v, c.t)); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", c.text, got, err)
		}
	}
	for _, text := range []string{"", "2024-02-30 00:00:00", "2023-02-29 00:00:00", "2024-13-01 00:00:00", "2024-01-01", "2024-01-01 24:00:00",
		"2024-01-01 00:00:60", "2024-01-01 00:00:00.0000001", "2024-01-01 00:00:00Z", "20000-01-01 00:00:00", "2024-1-1 00:00:00",
		"2024-01-01 00:00:00.", "+9999999-01-01 00:00:00", "2024-01-01x00:00:00"} {
		if v, err := connectors.ParseTimestamp(text, micro); err == nil {
			t.Errorf("%q is accepted as %d", text, v)
		}
	}
	for _, text := range []string{"2262-04-11 23:47:16.854775807", "2262-04-11 23:47:16.854775808", "1677-09-21 00:12:43.145224192", "1677-09-21 00:12:43.145224191"} {
		if v, err := connectors.ParseTimestamp(text, nano); err == nil {
			t.Errorf("%q is accepted as %d: it is an infinity, or out of range", text, v)
		}
	}
	if _, err := connectors.ParseTimestamp("2024-01-01 00:00:00", instant); err == nil {
		t.Error("an instant without a zone is accepted")
	}
}

func TestRowError(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	cols := connectortest.Columns()[:3]
	bld := array.NewRecordBuilder(mem, connectortest.Schema(cols))
	defer bld.Release()
	bld.Field(0).(*array.Int64Builder).Append(7)
	bld.Field(1).(*array.StringBuilder).Append("a\"b\x01")
	bld.Field(2).AppendNull()
	b := change.Batch{Record: bld.NewRecordBatch(), Kinds: []change.Kind{change.Delete}, Unsent: change.NewUnsent(3)}
	defer b.Release()
	e := connectors.NewRowError(&connectors.Table{Name: "t", Columns: cols, Key: []int{0, 1}}, &b, 0, "c_bool", "why")
	if e.Row != `{"id":7,"region":"a\"b\u0001","c_bool":null}` || e.Key != "id=7, region=a\"b\x01" || e.Kind != change.Delete {
		t.Errorf("%+v", e)
	}
	b.Unsent.Set(2, 0)
	if e := connectors.NewRowError(&connectors.Table{Columns: cols}, &b, 0, "", ""); e.Row != `{"id":7,"region":"a\"b\u0001"}` || e.Key != "" {
		t.Errorf("%+v", e)
	}
}

// FuzzParse feeds any text to the parser of every type: what is accepted must spell a text that reads as the same value.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "-1.5e3", "true", "2024-05-06", "2024-05-06 07:08:09.1Z", "07:08:09", "infinity", "QUI=", "NaN", "+10000-01-01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range connectortest.Without(connectortest.Columns(), "ARRAY", "MAP", "ROW") {
			bld := array.NewBuilder(memory.DefaultAllocator, c.Type)
			parse := connectors.Parser(bld)
			if err := parse(text); err != nil {
				if bld.Len() != 0 {
					t.Errorf("%s: %q was appended and refused", c.SQL, text)
				}
				continue
			}
			a := bld.NewArray()
			once := string(connectors.Style{}.Text(a)(nil, 0))
			if err := parse(once); err != nil {
				t.Errorf("%s: %q reads, but its text %q does not: %v", c.SQL, text, once, err)
				continue
			}
			if twice := string(connectors.Style{}.Text(bld.NewArray())(nil, 0)); twice != once {
				t.Errorf("%s: %q becomes %q", c.SQL, once, twice)
			}
		}
	})
}
