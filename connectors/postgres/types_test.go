package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// sample is a type with values that are easy to get wrong, and the declared types that hold all of them.
type sample struct {
	typ      string
	declared string // separated by blanks
	values   []string
}

var samples = []sample{
	{"bool", "BOOLEAN STRING", []string{"t", "f"}},
	{"int2", "SMALLINT INT BIGINT DECIMAL(5,0) STRING", []string{"-32768", "0", "32767"}},
	{"int4", "INT BIGINT DECIMAL(12,2) STRING", []string{"-2147483648", "0", "2147483647"}},
	{"int8", "BIGINT DECIMAL(19,0) STRING", []string{"-9223372036854775808", "9007199254740993", "9223372036854775807"}},
	{"float4", "FLOAT DOUBLE STRING", []string{"0", "-0", "1.5", "0.1", "1e6", "999999", "1e-5", "0.0001", "3.4028235e38", "1e-45", "NaN", "Infinity", "-Infinity", "16777216"}},
	{"float8", "DOUBLE STRING", []string{"0", "-0", "0.1", "123456789012345", "1e15", "1234567890123456", "0.0001", "0.00001", "1.7976931348623157e308", "5e-324", "NaN", "Infinity", "-Infinity", "1e22", "-2.5e-7"}},
	{"numeric", "STRING", []string{"0", "0.0", "-1.50", "NaN", "Infinity", "-Infinity", "12345678901234567890123456789012345678901234567890.5", "0.00000000000000000001", "1e-30", "10000", "100000000", "9999.0001"}},
	{"numeric(38,10)", "DECIMAL(38,10) STRING", []string{"0", "1", "-1", "0.0000000001", "9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999", "10000", "123456789012345678.5", "0.0001", "12345678901234567890.0987654321"}},
	{"numeric(12,2)", "DECIMAL(12,2) DECIMAL(20,4) DECIMAL(38,2) DOUBLE STRING", []string{"0", "0.01", "-0.01", "9999999999.99", "100.00", "1234.5", "10000", "99999999.99"}},
	{"numeric(30,0)", "DECIMAL(30,0) DECIMAL(38,8)", []string{"0", "10000000000000000", "123456789012345678901234567890", "-5"}},
	{"numeric(12,2)", "DOUBLE STRING", []string{"NaN"}},
	{"money", "DECIMAL(20,2) STRING", []string{"1234.5", "-0.07", "0", "92233720368547758.07"}},
	{"text", "STRING", []string{"", "a", "ünïcödé 😀", "line\nbreak\ttab", `back\slash "quoted"`, "NULL"}},
	{"varchar(10)", "STRING VARCHAR", []string{"", "ten chars!"}},
	{"char(8)", "STRING", []string{"", "a", "12345678"}},
	{"name", "STRING", []string{"pg_class"}},
	{`"char"`, "STRING", []string{"x"}},
	{"bytea", "BYTES STRING", []string{``, `\x00ff`, `\x5c78`}},
	{"uuid", "STRING", []string{"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"}},
	{"json", "STRING", []string{`{"a" : 1,"b":[ 1, 2]}`, `{"n":12345678901234567890.123}`, `"\u0000"`}},
	{"jsonb", "STRING", []string{`{"a" : 1,"b":[ 1, 2]}`, `{"n":12345678901234567890.123}`, "null"}},
	{"xml", "STRING", []string{"<a>x</a>"}},
	{"date", "DATE STRING", []string{"2024-02-29", "1970-01-01", "0001-01-01", "0850-07-04 BC", "1582-10-10", "infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "12345-06-07", "0001-12-31 BC"}},
	{"time", "TIME(6) STRING", []string{"00:00:00", "24:00:00", "12:34:56.000001", "23:59:59.999999", "10:00:00.5"}},
	{"timetz", "STRING", []string{"10:00+05:30", "00:00:00-12", "24:00:00+00", "01:02:03.4+15:59:59"}},
	{"timestamp", "TIMESTAMP(6) STRING", []string{"2024-02-29 12:34:56.789", "0001-01-01", "1500-03-01", "1883-11-18 12:00", "0120-05-06 12:00 BC", "infinity", "-infinity", "294247-01-09 23:59:59.999999", "1969-12-31 23:59:59.999999", "2262-04-12", "4713-01-01 BC"}},
	{"timestamptz", "TIMESTAMP_LTZ(6) STRING", []string{"2024-02-29 12:34:56.789+02", "0001-01-01 00:00+00", "9999-12-31 23:59:59.999999+00", "0044-03-15 BC", "infinity", "-infinity", "2300-01-01"}},
	{"timestamp", "TIMESTAMP(9)", []string{"2024-02-29 12:34:56.789", "1969-12-31 23:59:59.999999", "infinity"}},
	{"timestamp", "STRING", []string{"294276-12-31 23:59:59.999999"}},
	{"interval", "STRING", []string{"0", "1 year 2 mons 3 days 04:05:06.789", "-1 year +2 mons -3 days +04:05:06", "-00:00:00.000001", "1 day", "-1 mon", "1 mon -1 day", "100:00:00", "-3 days", "1 year -1 mon +1 day"}},
	{"interval", "MONTHS STRING", []string{"0", "14 mons", "-13 mons", "100 years"}},
	{"interval", "SPAN(6) STRING", []string{"0", "1 day 02:03:04.5", "-1 day", "-5 days +00:00:01", "-00:00:00.000001", "3 days -01:00:00"}},
	{"bit(3)", "STRING", []string{"101", "000"}},
	{"varbit", "STRING", []string{"", "1", "10101010101"}},
	{"inet", "STRING", []string{"1.2.3.4", "1.2.3.4/24", "::1", "2001:db8::/32", "::ffff:1.2.3.4", "::1.2.3.4", "::", "1:0:0:2::3", "fe80::1/64"}},
	{"cidr", "STRING", []string{"10.0.0.0/8", "1.2.3.4/32", "2001:db8::/32", "::/0"}},
	{"macaddr", "STRING", []string{"08:00:2b:01:02:03"}},
	{"macaddr8", "STRING", []string{"08:00:2b:01:02:03:04:05"}},
	{"oid", "BIGINT STRING", []string{"0", "4294967295"}},
	{"pg_lsn", "STRING", []string{"0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"}},
	{"xid8", "STRING", []string{"18446744073709551615"}},
	{"tid", "STRING", []string{"(4294967295,65535)"}},
	{"int4[]", "ARRAY<INT> ARRAY<BIGINT> STRING", []string{"{}", "{1,NULL,3}", "{-5}"}},
	{"int4[]", "STRING", []string{"{{1,2},{3,4}}", "[0:1]={7,8}", "[2:3][-1:0]={{1,2},{3,NULL}}"}},
	{"text[]", "ARRAY<STRING> STRING", []string{`{a,NULL,"NULL",""}`, `{"a b","c,d","e\"f","g\\h","{x}"}`, "{null1,é}", `{"tab	in"}`}},
	{"bool[]", "ARRAY<BOOLEAN> STRING", []string{"{t,f,NULL}"}},
	{"numeric[]", "ARRAY<DECIMAL(10,2)> STRING", []string{"{1.5,-2.25,NULL}"}},
	{"timestamptz[]", "ARRAY<TIMESTAMP_LTZ(6)> STRING", []string{`{"2024-01-01 00:00+00",infinity}`}},
	{"float8[]", "ARRAY<DOUBLE> STRING", []string{"{1.5,NaN,1e100}"}},
	{"bytea[]", "ARRAY<BYTES> STRING", []string{`{"\\x00ff",NULL}`}},
	{"date[]", "ARRAY<DATE> STRING", []string{`{"0044-03-15 BC",infinity}`}},
	{"uuid[]", "ARRAY<STRING> STRING", []string{"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"}},
	{"money[]", "STRING", []string{"{1234.50,-1}"}},
	{"mood", "STRING", []string{"sad", "o k"}},
	{"mood[]", "ARRAY<STRING> STRING", []string{`{sad,"o k",NULL}`}},
	{"pos", "INT BIGINT STRING", []string{"5"}},
	{"pos2", "BIGINT STRING", []string{"7"}},
	{"pos[]", "ARRAY<BIGINT> STRING", []string{"{5,6}"}},
	{"tags", "ARRAY<STRING> STRING", []string{"{a,b}"}},
}

// texts are types that are known by their text only: with one of them in a table, the stream sends everything as text.
var texts = []sample{
	{"money2", "STRING", []string{`("U""S,D",10)`, `(,)`, `("",10)`}},
	{"money2[]", "ARRAY<STRING> STRING", []string{`{"(\"E)U\",)","(a,1)"}`}},
	{"int4range", "STRING", []string{"[1,10)", "empty", "(,)"}},
	{"tstzrange", "STRING", []string{`["2024-01-01 00:00:00+00","2025-01-01 00:00:00+00")`}},
	{"int4multirange", "STRING", []string{"{[1,3),[5,7)}"}},
	{"point", "STRING", []string{"(1,2.5)"}},
	{"box", "STRING", []string{"(3,4),(1,2)"}},
	{"tsvector", "STRING", []string{"'a':1 'b':2"}},
	{"jsonpath", "STRING", []string{`$."a"[*]`}},
	{"int2vector", "STRING", []string{"1 2 3"}},
	{"ext.hstore", "STRING", []string{`"a"=>"1", "b"=>NULL, "c,d"=>"x\"y"`}},
	{"ext.citext", "STRING", []string{"MiXed"}},
}

const sampleTypes = `create schema ext; create extension hstore schema ext; create extension citext schema ext;
	create type mood as enum ('sad', 'o k'); create domain pos as int check (value > 0); create domain pos2 as pos;
	create domain tags as text[]; create type money2 as (cur text, amt int)`

// rig makes a table with a column for each sample and declared type, and as many rows as the longest list of values needs.
func samplesRig(t *testing.T, list []sample) (x *sourceRig, insert string) {
	x = newSourceRig(t, sampleTypes)
	ddl, columns, names := []string{"id int primary key"}, []string{"id INT key"}, []string{"id"}
	rows := 0
	for _, s := range list {
		rows = max(rows, len(s.values))
	}
	values := make([][]string, rows)
	for i := range values {
		values[i] = []string{fmt.Sprint(i)}
	}
	for _, s := range list {
		for _, d := range strings.Fields(s.declared) {
			name := fmt.Sprintf("c%d", len(names))
			ddl = append(ddl, name+" "+s.typ)
			columns = append(columns, name+" "+d)
			names = append(names, name)
			for i := range values {
				v := "null"
				if i < len(s.values) {
					v = quoteLiteral(s.values[i])
				}
				if s.typ == "money" && v != "null" {
					v += "::numeric::money"
				}
				values[i] = append(values[i], v)
			}
		}
	}
	x.exec("create table t(" + strings.Join(ddl, ", ") + ")")
	x.table("t", strings.Join(columns, "; "))
	insert = "insert into t values "
	for i := range values {
		if i > 0 {
			insert += ", "
		}
		insert += "(" + strings.Join(values[i], ", ") + ")"
	}
	return x, insert
}

// checkText compares what was declared STRING with what the server prints.
func checkText(t *testing.T, x *sourceRig, list []sample) {
	t.Helper()
	n := 0
	for _, s := range list {
		for _, d := range strings.Fields(s.declared) {
			n++
			if d != "STRING" && d != "VARCHAR" {
				continue
			}
			col := fmt.Sprintf("c%d", n)
			show := "pg_catalog.concat(" + col + ")"
			switch s.typ {
			case "bool":
				show = col + "::text"
			case "money":
				show = col + "::numeric::text"
			}
			want := pgtest.Rows(t, x.url, "set timezone = 'UTC'; set extra_float_digits = 3; set lc_monetary = 'C'; select case when num_nulls("+col+") = 1 then 'NULL' else "+show+" end from t order by id")
			y := &sourceRig{t: t, url: x.url, read: x.read}
			y.read.Tables = nil
			y.table("t", "id INT key; "+col+" STRING", "scan.mode", "snapshot")
			got := y.copyRows()
			id := func(row string) int { n, _ := strconv.Atoi(strings.Fields(row)[1]); return n }
			slices.SortFunc(got, func(a, b string) int { return id(a) - id(b) })
			for i, w := range want {
				if g := strings.SplitN(got[i], " ", 3)[2]; g != w[0] {
					t.Errorf("%s row %d: got %q, the server prints %q", s.typ, i, g, w[0])
				}
			}
		}
	}
}

// checkPaths writes the same rows before the slot is made and afterwards.
func checkPaths(t *testing.T, list []sample, text bool) {
	x, insert := samplesRig(t, list)
	x.exec(insert)
	copied := x.copyRows()
	x.exec("delete from t", insert)
	var streamed []string
	for _, row := range x.caughtUp() {
		if strings.HasPrefix(row, "+I") {
			streamed = append(streamed, row)
		}
	}
	slices.Sort(streamed)
	x.want(streamed, copied...)
	if len(copied) < 10 && !text {
		t.Errorf("%d rows", len(copied))
	}
	checkText(t, x, list)
}

// TestC011 covers all types on both paths: C004, C007, C008, C010, C013, C014, C016, C019, C022, C025, C028, C035 too.
func TestC011SameBytesByCopyAndStream(t *testing.T) { checkPaths(t, samples, false) }

// TestC020 covers types that are known by their text: C023 and C031 too.
func TestC020SameBytesAsText(t *testing.T) { checkPaths(t, texts, true) }

// TestC034 sends all types as text, because one of them needs it; the kind byte of each value decides.
func TestC034TextForm(t *testing.T) {
	checkPaths(t, append(slices.Clone(samples), sample{"point", "STRING", []string{"(1,2)"}}), false)
}
