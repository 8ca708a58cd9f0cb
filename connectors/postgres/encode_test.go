package postgres

import (
	"bytes"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// stored is a value, and the text that the server must print for it.
type stored struct {
	declared, column string
	value            any
	want             string
}

const extras = `create type mood as enum ('sad', 'ok', 'HAPPY'); create domain pos as int check (value > 0); create domain pos2 as pos;
	create domain cents as numeric(6,2); create type pair as (x int, y text); create extension if not exists hstore;
	create extension if not exists citext; create schema "S p"; create type "S p"."Mo od" as enum ('a b')`

var everyType = []stored{
	{"BOOLEAN", "bool", true, "true"},
	{"BOOLEAN", "bool", false, "false"},
	{"TINYINT", "smallint", -128, "-128"},
	{"SMALLINT", "smallint", -32768, "-32768"},
	{"INT", "int", math.MinInt32, "-2147483648"},
	{"BIGINT", "bigint", math.MinInt64, "-9223372036854775808"},
	{"BIGINT", "int", 2147483647, "2147483647"},
	{"BIGINT", "smallint", -5, "-5"},
	{"INT", "bigint", -5, "-5"},
	{"BIGINT", "oid", 4294967295, "4294967295"},
	{"BIGINT", "numeric", math.MinInt64, "-9223372036854775808"},
	{"INT", "numeric(12,3)", 1234567, "1234567.000"},
	{"FLOAT", "real", 1.5, "1.5"},
	{"FLOAT", "double precision", 0.1, "0.10000000149011612"},
	{"DOUBLE", "double precision", 0.1, "0.1"},
	{"DOUBLE", "double precision", math.Inf(-1), "-Infinity"},
	{"DOUBLE", "double precision", math.NaN(), "NaN"},
	{"DOUBLE", "double precision", math.Copysign(0, -1), "-0"},
	{"DOUBLE", "real", 0.25, "0.25"},
	{"DOUBLE", "real", math.NaN(), "NaN"},
	{"DECIMAL(12,2)", "numeric(12,2)", "-1234567890.12", "-1234567890.12"},
	{"DECIMAL(12,2)", "numeric", "0.01", "0.01"},
	{"DECIMAL(12,2)", "numeric", "0.00", "0.00"},
	{"DECIMAL(12,2)", "numeric", "10000.00", "10000.00"},
	{"DECIMAL(12,2)", "numeric(6,1)", "12345.60", "12345.6"},
	{"DECIMAL(38,18)", "numeric", "-99999999999999999999.999999999999999999", "-99999999999999999999.999999999999999999"},
	{"DECIMAL(38,0)", "numeric", "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
	{"DECIMAL(10,5)", "numeric", "0.00012", "0.00012"},
	{"DECIMAL(18,0)", "bigint", "-999999999999999999", "-999999999999999999"},
	{"DECIMAL(5,0)", "smallint", "-32768", "-32768"},
	{"STRING", "numeric", "NaN", "NaN"},
	{"STRING", "numeric(5,2)", "NaN", "NaN"},
	{"STRING", "numeric", "-Infinity", "-Infinity"},
	{"STRING", "numeric", "1e-5", "0.00001"},
	{"STRING", "numeric", "-12345678901234567890.123000", "-12345678901234567890.123000"},
	{"STRING", "numeric", "000.10", "0.10"},
	{"STRING", "numeric", "1.5e6", "1500000"},
	{"STRING", "numeric(20,10)", ".0000000001", "0.0000000001"},
	{"STRING", "cents", "12.3", "12.30"},
	{"STRING", "text", "", ""},
	{"STRING", "text", "a|b\\c\"'ä\n", "a|b\\c\"'ä\n"},
	{"STRING", "varchar(5)", "naïve", "naïve"},
	{"STRING", "char(4)", "ab ", "ab"},
	{"STRING", "name", "n", "n"},
	{"STRING", "citext", "Ab", "Ab"},
	{"STRING", "mood", "HAPPY", "HAPPY"},
	{"STRING", `"S p"."Mo od"`, "a b", "a b"},
	{"STRING", "json", `{"a": 1,  "k":"\u0000"}`, `{"a": 1,  "k":"\u0000"}`},
	{"STRING", "jsonb", `{"n": 12345678901234567890.123}`, `{"n": 12345678901234567890.123}`},
	{"STRING", "xml", "<a>1</a>", "<a>1</a>"},
	{"STRING", "uuid", "123e4567-E89B-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
	{"STRING", "uuid", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-426614174000"},
	{"STRING", "pair", `(1,"x,y")`, `(1,"x,y")`},
	{"STRING", "int4range", "[1,5)", "[1,5)"},
	{"STRING", "hstore", `"a"=>"1", "b"=>NULL, "c,d"=>"x\"y"`, `"a"=>"1", "b"=>NULL, "c,d"=>"x\"y"`},
	{"STRING", "int[]", "[0:1]={7,8}", "[0:1]={7,8}"},
	{"STRING", "int[][]", "{{1,2},{3,4}}", "{{1,2},{3,4}}"},
	{"STRING", "inet", "10.0.0.1/8", "10.0.0.1/8"},
	{"STRING", "timetz", "01:02:03+02", "01:02:03+02"},
	{"STRING", "interval", "1 mon 2 days 03:00:00", "1 mon 2 days 03:00:00"},
	{"STRING", "money", "$1.50", "$1.50"},
	{"STRING", "bit(3)", "101", "101"},
	{"STRING", "pg_lsn", "1/A", "1/A"},
	{"STRING", "timestamptz", "4713-01-01 00:00:00+00 BC", "4713-01-01 00:00:00+00 BC"},
	{"BYTES", "bytea", []byte{0, 1, 255}, `\x0001ff`},
	{"BYTES", "bytea", []byte{}, `\x`},
	{"DATE", "date", "2000-01-01", "2000-01-01"},
	{"DATE", "date", "1969-12-31", "1969-12-31"},
	{"DATE", "date", change.DateInfinity, "infinity"},
	{"DATE", "date", change.DateNegInfinity, "-infinity"},
	{"DATE", "date", arrow.Date32(-719163 - 365), "0001-01-01 BC"},
	{"TIME(6)", "time", 86_399_999_999, "23:59:59.999999"},
	{"TIME(6)", "time", 86_400_000_000, "24:00:00"},
	{"TIME(9)", "time", 1_000, "00:00:00.000001"},
	{"TIME(6)", "time(3)", 1_000, "00:00:00.001"},
	{"TIMESTAMP(6)", "timestamp", arrow.Timestamp(-1), "1969-12-31 23:59:59.999999"},
	{"TIMESTAMP(6)", "timestamp", change.TimestampInfinity, "infinity"},
	{"TIMESTAMP(9)", "timestamp", arrow.Timestamp(1_000), "1970-01-01 00:00:00.000001"},
	{"TIMESTAMP(9)", "timestamp", change.TimestampNegInfinity, "-infinity"},
	{"TIMESTAMP(6)", "timestamp", arrow.Timestamp(253402300799999999), "9999-12-31 23:59:59.999999"},
	{"TIMESTAMP_LTZ(6)", "timestamptz", arrow.Timestamp(1_000_000), "1970-01-01 00:00:01+00"},
	{"TIMESTAMP_LTZ(6)", "timestamptz", change.TimestampNegInfinity, "-infinity"},
	{"TIMESTAMP_LTZ(6)", "timestamptz", arrow.Timestamp(math.MaxInt64 - 1), "294247-01-10 04:00:54.775806+00"},
	{"MONTHS", "interval", 14, "1 year 2 mons"},
	{"MONTHS", "interval year to month", -1, "-1 mons"},
	{"SPAN(6)", "interval", -90_000_001, "-00:01:30.000001"},
	{"ARRAY<INT>", "int[]", "[1,null,-3]", "{1,NULL,-3}"},
	{"ARRAY<INT>", "int[]", "[]", "{}"},
	{"ARRAY<INT>", "pos2[]", "[1]", "{1}"},
	{"ARRAY<BIGINT>", "int[]", "[1]", "{1}"},
	{"ARRAY<STRING>", "text[]", `["a",null,"NULL",""]`, `{a,NULL,"NULL",""}`},
	{"ARRAY<STRING>", "varchar(3)[]", `["abc"]`, `{abc}`},
	{"ARRAY<STRING>", "mood[]", `["sad"]`, "{sad}"},
	{"ARRAY<STRING>", "inet[]", `["10.0.0.1",null]`, "{10.0.0.1,NULL}"},
	{"ARRAY<STRING>", "hstore[]", `["\"a\\\"\"=>\"1\""]`, `{"\"a\\\"\"=>\"1\""}`},
	{"ARRAY<STRING>", "numeric[]", `["NaN","1.50"]`, "{NaN,1.50}"},
	{"ARRAY<DECIMAL(5,2)>", "numeric[]", `["1.50"]`, "{1.50}"},
	{"ARRAY<BOOLEAN>", "bool[]", "[true,false]", "{t,f}"},
	{"INT", "pos2", 7, "7"},
}

// TestEncodeTypes writes each value by each way (a row statement, COPY or an array of an insert, an array of an update)
// and reads its text back.
func TestEncodeTypes(t *testing.T) {
	server := newSinkRig(t, 1, "id BIGINT; v INT", extras)
	for _, c := range everyType {
		t.Run(c.declared+" "+c.column+" "+c.want, func(t *testing.T) {
			x := server.with(t, "id BIGINT; v "+c.declared, "drop table if exists t", "create table t (id bigint primary key, v "+c.column+")")
			x.open()
			rows := make([]sinkRow, 40)
			for i := range rows {
				rows[i] = ins(i+1, c.value)
			}
			x.write(ins(0, c.value), ins(-1, nil))
			x.flush()
			x.write(rows...)
			x.flush()
			for i := range rows {
				rows[i].kind = change.UpdateAfter
			}
			pgtest.Exec(t, x.url, "update t set v = null where id > 20")
			x.write(rows...)
			x.flush()
			if len(x.refused) > 0 {
				t.Fatalf("refused: %v", x.refused[0])
			}
			x.holds("set timezone = 'UTC'; select v::text, count(*) from t group by 1 order by 1 nulls last", c.want+"|41", "NULL|1")
		})
	}
}

// with is the same database under another declaration.
func (x *sinkRig) with(t testing.TB, spec string, ddl ...string) *sinkRig {
	t.Helper()
	pgtest.Exec(t, x.url, ddl...)
	y := &sinkRig{t: t, mem: x.mem, url: x.url, epoch: 0, at: x.at}
	y.table = x.table
	y.table.Columns = nil
	y.declare(spec, len(x.table.Key))
	t.Cleanup(y.close)
	x.epoch += 10
	y.epoch = x.epoch
	return y
}

// refusedValues are values that the target cannot hold exactly. They are found before anything is sent.
var refusedValues = []stored{
	{"BIGINT", "int", 2147483648, "out of range"},
	{"BIGINT", "smallint", -32769, "out of range"},
	{"BIGINT", "oid", -1, "out of range"},
	{"BIGINT", "numeric(3,0)", 1000, "out of range for numeric(3,0)"},
	{"DOUBLE", "real", 0.1, "exactly"},
	{"DECIMAL(12,2)", "numeric(12,1)", "0.01", "more decimals than numeric(12,1) keeps"},
	{"DECIMAL(12,2)", "numeric(4,2)", "100.00", "out of range for numeric(4,2)"},
	{"DECIMAL(18,0)", "int", "2147483648", "out of range"},
	{"DECIMAL(5,0)", "smallint", "-32769", "out of range"},
	{"STRING", "numeric(5,2)", "Infinity", "out of range"},
	{"STRING", "numeric(5,2)", "1.001", "more decimals"},
	{"STRING", "numeric(5,2)", "1000", "out of range"},
	{"STRING", "numeric", "twelve", "not a number"},
	{"STRING", "numeric", "1.2.3", "not a number"},
	{"STRING", "numeric", "", "not a number"},
	{"STRING", "numeric", "-nan", "not a number"},
	{"STRING", "text", "a\x00b", "NUL"},
	{"STRING", "text", "\xff", "UTF-8"},
	{"STRING", "varchar(5)", "abcdefgh", "8 characters are too many"},
	{"STRING", "varchar(5)", "abcde ", "6 characters are too many"},
	{"STRING", "char(2)", "abc", "too many"},
	{"STRING", "name", strings.Repeat("n", 64), "too many"},
	{"STRING", "uuid", "123e4567-e89b-12d3-a456-42661417400g", "not a uuid"},
	{"STRING", "uuid", "", "not a uuid"},
	{"STRING", "hstore", "a\x00", "NUL"},
	{"TIME(6)", "time(3)", 1, "fractional digits"},
	{"TIME(6)", "time", -1, "out of range"},
	{"TIME(9)", "time", 1, "nanoseconds"},
	{"TIMESTAMP(9)", "timestamp", arrow.Timestamp(1), "nanoseconds"},
	{"TIMESTAMP(6)", "timestamp(0)", arrow.Timestamp(1), "fractional digits"},
	{"TIMESTAMP_LTZ(6)", "timestamptz", arrow.Timestamp(math.MinInt64 + 1), "out of range"},
	{"DATE", "date", arrow.Date32(-2440589), "out of range"},
	{"SPAN(6)", "interval(3)", 1, "fractional digits"},
	{"ARRAY<BIGINT>", "int[]", "[1,2147483648]", "element 2"},
	{"ARRAY<STRING>", "varchar(3)[]", `["abcd"]`, "element 1"},
}

func TestEncodeRefuses(t *testing.T) {
	server := newSinkRig(t, 1, "id BIGINT; v INT", extras)
	for _, c := range refusedValues {
		t.Run(c.declared+" "+c.column+" "+c.want, func(t *testing.T) {
			x := server.with(t, "id BIGINT; v "+c.declared, "drop table if exists t", "create table t (id bigint primary key, v "+c.column+")")
			x.open()
			x.write(ins(1, c.value), ins(2, nil))
			x.flush()
			x.holds("select id from t", "2")
			if len(x.refused) != 1 || x.refused[0].Column != "v" || x.refused[0].Key != "1" || !strings.Contains(x.refused[0].Reason, c.want) {
				t.Fatalf("refused: %+v", x.refused)
			}
		})
	}
}

// TestEncodeMisfits declares types that the column does not hold: the sink does not open.
func TestEncodeMisfits(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; a TIMESTAMP(6); b DOUBLE; c ARRAY<INT>; d INT; e BIGINT; f STRING; g INT",
		"create table t (id bigint primary key, a timestamptz, b numeric, c int, e text, f text generated always as ('x') stored, g int generated always as identity)")
	err := x.tryOpen()
	if err == nil {
		t.Fatal("opened")
	}
	for _, want := range []string{`column "a"`, `column "b"`, `column "c"`, `no column "d"`, `column "e"`, `column "f" is generated`, `column "g" is generated always as identity`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %s", err, want)
		}
	}
}

// FuzzEncodeNumericText: any text that is taken for a number comes back with the same value and the same number of
// decimals, and any other gives an error.
func FuzzEncodeNumericText(f *testing.F) {
	for _, s := range []string{"0", "-0.00", "1e5", "12345678901234567890.0001", "NaN", "-inf", "1.5e-7", ".5", "5.", "1e131071", "", "+", "0x1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rule := numericRule{whole: -1, name: "numeric"}
		b, err := appendNumericText(nil, s, &rule)
		if err != nil {
			if len(b) != 0 {
				t.Fatalf("%q: an error and %d bytes", s, len(b))
			}
			return
		}
		text, err := renderNumeric(nil, b[4:])
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if b[8]&0xc0 == 0xc0 {
			return // a word
		}
		want, ok := new(big.Rat).SetString(strings.TrimSpace(s))
		got, ok2 := new(big.Rat).SetString(string(text))
		if !ok || !ok2 || want.Cmp(got) != 0 {
			t.Fatalf("%q became %s", s, text)
		}
		again, err := appendNumericText(nil, string(text), &rule)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%q became %s, which is %x and not %x (%v)", s, text, again, b, err)
		}
	})
}

// FuzzEncodeDecimal: a decimal has the same bytes as its text.
func FuzzEncodeDecimal(f *testing.F) {
	f.Add(int64(0), uint64(0), uint8(2))
	f.Add(int64(-1), uint64(0xffffffffffffff85), uint8(2))
	f.Add(int64(5421010862427522170), uint64(687399551400673279), uint8(38))
	f.Fuzz(func(t *testing.T, hi int64, lo uint64, scale uint8) {
		v := decimal128.New(hi, lo)
		if scale > 38 || !v.FitsInPrecision(38) {
			return
		}
		rule := numericRule{whole: -1, name: "numeric"}
		got, err := decimals([]decimal128.Num{v}, nulls{}, int(scale), rule)(nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		// The library's own text turns long numbers into floats.
		digits := v.Abs().BigInt().String()
		for len(digits) <= int(scale) {
			digits = "0" + digits
		}
		point := len(digits) - int(scale)
		text := digits[:point] + "." + digits[point:]
		if v.Sign() < 0 {
			text = "-" + text
		}
		want, err := appendNumericText(nil, text, &rule)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: got %x, want %x (%v)", text, got, want, err)
		}
	})
}

// TestEncodeAllocates: nothing is allocated for a row or a value; a batch costs a few closures.
func TestEncodeAllocates(t *testing.T) {
	x := newSinkRig(t, 1, ordersSpec, ordersDDL)
	x.open()
	s := x.sink.(*sink)
	key := int64(0)
	batch := x.orders(1000, func() (change.Kind, int64) { key++; return change.Kind(key % 2 * 2), key })
	defer batch.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := testing.AllocsPerRun(20, func() {
		s.fill.reset()
		if err := s.encode(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
	})
	s.fill.reset()
	if n > 40 {
		t.Fatalf("%v allocations for a batch of 1000 rows", n)
	}
}
