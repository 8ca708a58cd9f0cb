package filesystem

import (
	"strings"
	"testing"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
)

// TestCSV reads texts; C014 is the difference between NULL and an empty string.
func TestCSV(t *testing.T) {
	cols := columns("c_int", "c_string")
	for _, c := range []struct {
		name, text, rows, bad string
		options               []string
	}{
		{"C014: NULL and empty", "1,\n2,\"\"\n,\" \"\n", `1 null; 2 ""; null " "`, "", nil},
		{"csv.null-literal", "1,\\N\n2,\n3,\"\\N\"\n", `1 null; 2 ""; 3 "\\N"`, "", []string{"csv.null-literal", `\N`}},
		{"csv.field-delimiter", "1;a,b\n", `1 "a,b"`, "", []string{"csv.field-delimiter", ";"}},
		{"a tab", "1\ta\n", `1 "a"`, "", []string{"csv.field-delimiter", `\t`}},
		{"csv.quote-character", "1,'it''s \"x\"'\n", `1 "it's \"x\""`, "", []string{"csv.quote-character", "'"}},
		{"lines in a field", "1,\"a\nb\r\nc\"\r\n2,x", `1 "a\nb\r\nc"; 2 "x"`, "", nil},
		{"a quote inside a field", "1,a\"b\n2,\"a\"\"b\"\n", `1 "a\"b"; 2 "a\"b"`, "", nil},
		{"empty lines", "\n1,a\n\n\r\n2,b\n\n", `1 "a"; 2 "b"`, "", nil},
		{"too few and too many", "1\n2,a\n3,b,c\n", `2 "a"`, "fields", nil},
		{"bad number", "1,a\nx,b\n2147483648,c\n 4,d\n5,e\n", `1 "a"; 5 "e"`, "c_int", nil},
		{"csv.ignore-parse-errors", "1,a\nx,b\n3,c\n", `1 "a"; 3 "c"`, "", []string{"csv.ignore-parse-errors", "true"}},
		{"text after a quote", "1,\"a\"b\n2,c\n", `2 "c"`, "after the closing quote", nil},
		{"a quote that stays open", "1,a\n2,\"b\n3,c\n", `1 "a"`, "closing quote is missing", nil},
		{"not UTF-8", "1,\xff\n2,b\n", `2 "b"`, "UTF-8", nil},
	} {
		rows, bad := parse(t, c.text, cols, append(c.options, "format", "csv")...)
		if rows != c.rows || (c.bad == "") != (bad == nil) || c.bad != "" && !strings.Contains(strings.Join(bad, " "), c.bad) {
			t.Errorf("%s: %s, rejected %q; want %s, %s", c.name, rows, bad, c.rows, c.bad)
		}
	}
	if rows, bad := parse(t, "a\n\nb\n", columns("c_string"), "format", "csv"); rows != `"a"; null; "b"` || bad != nil {
		t.Errorf("one column: %s %q", rows, bad)
	}
}

func TestCSVWriting(t *testing.T) {
	cols := columns("c_int", "c_string", "c_ts3", "c_list")
	rows := []string{
		`{"op":"+I","data":{"c_int":1,"c_string":"a,b","c_ts3":"2024-05-06 07:08:09.120","c_list":["x",null,"null",""]}}`,
		`{"op":"+I","data":{"c_int":null,"c_string":"","c_ts3":null,"c_list":null}}`,
		`{"op":"+I","data":{"c_int":2,"c_string":"say \"hi\"","c_ts3":"2024-05-06 07:08:09","c_list":[]}}`,
	}
	want := "1,\"a,b\",2024-05-06 07:08:09.120,\"[\"\"x\"\",null,\"\"null\"\",\"\"\"\"]\"\n,\"\",,\n2,\"say \"\"hi\"\"\",2024-05-06 07:08:09,[]\n"
	if got := written(t, cols, rows, "format", "csv"); got != want {
		t.Errorf("%s", got)
	}
	want = "1|a,b|2024-05-06 07:08:09.120|[\"x\",null,\"null\",\"\"]\n~||~|~\n2|say \"hi\"|2024-05-06 07:08:09|[]\n"
	if got := written(t, cols, rows, "format", "csv", "csv.field-delimiter", "|", "csv.quote-character", "'", "csv.null-literal", "~"); got != want {
		t.Errorf("%s", got)
	}
}

// TestJSON reads texts; C028 is about every digit of a number.
func TestJSON(t *testing.T) {
	cols := columns("c_big", "c_dec38", "c_string", "c_row", "c_dict", "c_list")
	for _, c := range []struct {
		name, text, rows, bad string
		options               []string
	}{
		{"C028: digits", `{"c_big":9007199254740993,"c_dec38":12345678901234567890.123}`,
			`9007199254740993 12345678901234567890.123000000000000000 null null null null`, "", nil},
		{"whole numbers in other forms", `{"c_big":"7","c_dec38":"1e3"}` + "\n" + `{"c_big":2.0}` + "\n" + `{"c_big":1e3}`,
			`7 1000.000000000000000000 null null null null; 2 null null null null null; 1000 null null null null null`, "", nil},
		{"not whole", `{"c_big":1.5}` + "\n" + `{"c_big":9223372036854775808}` + "\n" + `{"c_big":1e99}` + "\n" + `{"c_big":true}`, "", "c_big", nil},
		{"too many digits", `{"c_dec38":0.1234567890123456789}`, "", "c_dec38", nil},
		{"text", `{"c_string":"a\u0000\ud83e\udd86\n\/"}` + "\n" + `{"c_string":12.50}` + "\n" + `{"c_string":{"k": [1, 2]}}` + "\n" + `{"c_string":true}`,
			`null null "a\u0000🦆\n/" null null null; null null "12.50" null null null; null null "{\"k\": [1, 2]}" null null null; null null "true" null null null`, "", nil},
		{"bad text", `{"c_string":"\ud83e"}` + "\n" + `{"c_string":"` + "\xff" + `"}` + "\n" + `{"c_string":"a` + "\x01" + `"}` + "\n" + `{"c_string":"\x"}`, "", "JSON", nil},
		{"nested", `{"c_row":{"y":"1.5","other":[{}],"x":-3},"c_dict":{"a":1,"b":null},"c_list":["x",null]}`,
			`null null null {"x":-3,"y":1.5000} {"a":1,"b":null} ["x",null]`, "", nil},
		{"pairs", `{"c_dict":[["a",1]],"c_row":{},"c_list":[]}`, `null null null {"x":null,"y":null} {"a":1} []`, "", nil},
		{"bad nested", `{"c_row":{"x":"no","y":2},"c_big":1}` + "\n" + `{"c_dict":{"a":"no","b":2}}` + "\n" + `{"c_dict":[[null,1]]}` + "\n" +
			`{"c_list":["a",{"b":}]}` + "\n" + `{"c_row":{"x":1,"x":2}}` + "\n" + `{"c_dict":[["a"]]}` + "\n" + `{"c_list":"a"}` + "\n" + `{"c_big":5}`,
			`5 null null null null null`, "c_row", nil},
		{"unknown, twice, broken", `{"x":[{"y":"}"}],"c_big":1}` + "\n" + `{"c_big":1,"c_big":2}` + "\n" + `{"c_big":1} x` + "\n" + `{"c_big":1` + "\n" + `[1]` + "\n" + `{"c_big":01}`,
			`1 null null null null null`, "twice", nil},
		{"json.ignore-parse-errors", "{\n" + `{"c_big":3}`, `3 null null null null null`, "", []string{"json.ignore-parse-errors", "true"}},
		{"json.fail-on-missing-field", `{"c_big":3}` + "\n" + `{"c_big":3,"c_dec38":null,"c_string":null,"c_row":null,"c_dict":null,"c_list":null}`,
			`3 null null null null null`, "missing", []string{"json.fail-on-missing-field", "true"}},
	} {
		rows, bad := parse(t, c.text, cols, append(c.options, "format", "json")...)
		if rows != c.rows || (c.bad == "") != (bad == nil) || c.bad != "" && !strings.Contains(strings.Join(bad, " "), c.bad) {
			t.Errorf("%s: %s\nrejected %q\nwant %s, %s", c.name, rows, bad, c.rows, c.bad)
		}
		if lines := strings.Count(c.text, "\n") + 1; c.bad != "" && len(bad)+strings.Count(rows+";", ";") != lines && rows != "" {
			t.Errorf("%s: of %d lines came %d rejected and %s", c.name, lines, len(bad), rows)
		}
	}
	if _, bad := parse(t, `{"id":null,"region":"x"}`, columns("id", "region"), "format", "json"); len(bad) != 1 || !strings.Contains(bad[0], "NOT NULL") {
		t.Errorf("NULL in a NOT NULL column: %q", bad)
	}
}

func TestJSONWriting(t *testing.T) {
	cols := columns("c_big", "c_dec38", "c_ts6", "c_ltz3", "c_string")
	rows := []string{`{"op":"+I","data":{"c_big":9007199254740993,"c_dec38":"-0.5","c_ts6":"2024-05-06T07:08:09.000001","c_ltz3":"2024-05-06T09:08:09.5+02:00","c_string":"é\n"}}`}
	want := `{"c_big":9007199254740993,"c_dec38":-0.500000000000000000,"c_ts6":"2024-05-06 07:08:09.000001","c_ltz3":"2024-05-06 07:08:09.500Z","c_string":"é\n"}` + "\n"
	if got := written(t, cols, rows, "format", "json"); got != want {
		t.Errorf("%s", got)
	}
	want = strings.NewReplacer("06 07", "06T07").Replace(want)
	if got := written(t, cols, rows, "format", "json", "json.timestamp-format.standard", "ISO-8601"); got != want {
		t.Errorf("%s", got)
	}
}

// TestChangelogJSON has C041: a value that was not sent is absent, and the envelope lists it.
func TestChangelogJSON(t *testing.T) {
	cols := columns("c_int", "c_string")
	text := []string{
		`{"op":"+I","data":{"c_int":1,"c_string":null}}`,
		`{"op":"-U","data":{"c_int":1,"c_string":null}}`,
		`{"op":"+U","data":{"c_int":1},"unsent":["c_string"]}`,
		`{"op":"-D","data":{},"unsent":["c_int","c_string"]}`,
	}
	if got := written(t, cols, text, "format", "changelog-json"); got != strings.Join(text, "\n")+"\n" {
		t.Errorf("%s", got)
	}
	rows, bad := parse(t, `{"unsent":["c_string"],"data":{"c_int":1},"op":"+U"}
{"op":"+X","data":{}}
{"op":"+I"}
{"data":{}}
{"op":"+U","data":{"c_string":"x"},"unsent":["c_string"]}
{"op":"-D","data":{"c_int":2},"data":{"c_int":3}}
{"op":"-D","data":{"c_int":2},"ts":5}`, cols, "format", "changelog-json")
	if rows != `+U 1 ; -D 2 null` || len(bad) != 5 {
		t.Errorf("%s\n%q", rows, bad)
	}
}

func TestValidate(t *testing.T) {
	for want, options := range map[string][]string{
		"csv.null-literal":         {"format", "json", "csv.null-literal", "x"},
		"json.ignore-parse-errors": {"format", "csv", "json.ignore-parse-errors", "true"},
		"csv.quote-character":      {"format", "csv", "csv.quote-character", ","},
		"path":                     {"format", "csv", "path", "s3://bucket/x"},
	} {
		if p := validate(tableOf("/x", columns("c_int"), options...), connectors.Reading); len(p) != 1 || p[0].Option != want {
			t.Errorf("%v: %+v", options, p)
		}
	}
	if p := validate(tableOf("/x/*.csv", nil, "format", "csv"), connectors.Writing); len(p) != 1 {
		t.Errorf("a pattern to write to: %+v", p)
	}
	if p := validate(tableOf("/x", nil, "format", "csv", "csv.null-literal", "a,b"), connectors.Writing); len(p) != 1 {
		t.Errorf("a literal with a delimiter: %+v", p)
	}
	if p := validate(tableOf("/x", connectortest.Columns(), "format", "parquet"), connectors.Writing); len(p) != 2 {
		t.Errorf("intervals in Parquet: %+v", p)
	}
	partitioned := tableOf("/x", columns("c_int"), "format", "csv")
	partitioned.PartitionedBy = []int{0}
	if p := validate(partitioned, connectors.Writing); len(p) != 1 || p[0].Column != "c_int" {
		t.Errorf("partitions: %+v", p)
	}
}
