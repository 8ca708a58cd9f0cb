package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/syncsql/syncsql/ddl"
)

// answer answers the last statement of a script, which is SHOW or DESCRIBE.
func answer(t *testing.T, script string) string {
	t.Helper()
	stmts, errs := ddl.Parse(script)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	c := &Catalog{}
	for _, s := range stmts[:len(stmts)-1] {
		if errs, _ := c.Apply(s); len(errs) > 0 {
			t.Fatal(errs)
		}
	}
	var rows Rows
	switch s := stmts[len(stmts)-1].(type) {
	case *ddl.Show:
		rows, errs = c.Show(s)
	case *ddl.Describe:
		rows, errs = c.Describe(s)
	case *ddl.Set:
		rows = c.SettingRows()
	default:
		t.Fatalf("%T", s)
	}
	if len(errs) > 0 {
		return errs.Error()
	}
	lines := []string{strings.Join(rows.Columns, "|")}
	for _, v := range rows.Values {
		lines = append(lines, strings.Join(v, "|"))
	}
	return strings.Join(lines, "\n")
}

func TestShow(t *testing.T) {
	two := base + "CREATE VIEW v AS SELECT id FROM base; CREATE TABLE other (x INT) WITH ('connector' = 'memory');"
	for name, c := range map[string]struct{ script, want string }{
		"tables":   {two + "SHOW TABLES;", "table name\nbase\nother\nv"},
		"like":     {two + "SHOW TABLES LIKE '%as_';", "table name\nbase"},
		"not like": {two + "SHOW TABLES NOT LIKE 'b%';", "table name\nother\nv"},
		"views":    {two + "SHOW VIEWS;", "view name\nv"},
		"unknown":  {two + "SHOW CREATE TABLE bse;", `table "bse" is not declared [unknown-table]`},
		"view":     {two + "SHOW CREATE TABLE v;", `"v" is a view, not a table [unknown-table]`},
		"describe": {two + "DESCRIBE base;", "name|type|null|key|extras|watermark\nid|BIGINT|FALSE|PRI(id)||\nname|STRING|TRUE|||\nup||TRUE||AS UPPER(name)|\nat|TIMESTAMP_LTZ(3)|TRUE||METADATA FROM 'ts' VIRTUAL|`at`"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answer(t, c.script); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// C172: no output holds a secret; what only names one is shown as it is.
func TestC172_secrets_are_not_shown(t *testing.T) {
	script := `CREATE TABLE t (a INT) WITH ('connector' = 'x', 'password' = 'p1hidden', 'api-key' = 'p2hidden',
  'url' = 'jdbc:postgresql://u:p3hid@den@h:5432/db?sslpassword=p4hidden&x=1', 'dsn' = 'host=h password=p5hidden user=u',
  'properties.sasl.jaas.config' = 'Module required username="u" password="p6hidden";',
  'credentials' = '{"private_key": "p7hidden"}', 'my.token' = '${env:TOKEN}', 'secret-file' = '${file:/run/s}', 'table-name' = 'plain');
SHOW CREATE TABLE t;`
	got := answer(t, script)
	if strings.Contains(got, "hid") {
		t.Errorf("a secret is shown:\n%s", got)
	}
	for _, want := range []string{"'${env:TOKEN}'", "'${file:/run/s}'", "'plain'", "u:****@h:5432/db?sslpassword=****&x=1", "host=h password=**** user=u"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
}

func TestSettingRows(t *testing.T) {
	got := answer(t, "SET 'batch.rows' = '7'; SET 'security.ssl.key-password' = 'hidden'; SET;")
	for _, want := range []string{"batch.rows|7|true", "batch.bytes|4 mb|false", "security.ssl.key-password|****|true"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// FuzzTypes: SQL -> Arrow -> SQL is the identity on accepted types. What Arrow does not carry is widened: the length of text
// and binary, the digits of a time, MULTISET, and NOT NULL of map keys.
func FuzzTypes(f *testing.F) {
	for _, s := range []string{"INT", "STRING", "VARCHAR(5)", "CHAR(3)", "BYTES", "BINARY(4)", "DECIMAL(10, 2)", "DECIMAL(38, 38)", "DATE",
		"TIME(0)", "TIME(9)", "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(7)", "ARRAY<INT NOT NULL>", "MAP<STRING, ARRAY<DOUBLE>>",
		"MULTISET<STRING>", "ROW<a INT, `b c` ROW<x BOOLEAN NOT NULL>>", "INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND(3)", "TINYINT", "SMALLINT", "FLOAT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stmts, errs := ddl.Parse(fmt.Sprintf("CREATE TABLE t (c %s)", text))
		if len(errs) > 0 || len(stmts) != 1 {
			return
		}
		create, ok := stmts[0].(*ddl.CreateTable)
		if !ok || len(create.Columns) != 1 || create.Columns[0].Type == nil {
			return
		}
		from := create.Columns[0].Type
		carrier, err := ArrowType(from)
		if err != nil {
			return
		}
		back, err := SQLType(carrier)
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		if want := widened(from); !back.Equal(want) {
			t.Fatalf("%s came back as %s, want %s", from, back, want)
		}
		if again, err := ArrowType(back); err != nil || fmt.Sprint(again) != fmt.Sprint(carrier) {
			t.Fatalf("%s is carried by %s, %s by %s, %v", from, carrier, back, again, err)
		}
	})
}

func widened(t *ddl.Type) *ddl.Type {
	w := *t
	switch w.Kind {
	case ddl.Char, ddl.Varchar:
		w.Kind, w.Length = ddl.Varchar, ddl.MaxLength
	case ddl.BinaryType, ddl.Varbinary:
		w.Kind, w.Length = ddl.Varbinary, ddl.MaxLength
	case ddl.Time, ddl.Timestamp, ddl.TimestampLTZ, ddl.IntervalDaySecond:
		w.Precision = 6
		if t.Precision > 6 {
			w.Precision = 9
		}
	case ddl.Array:
		w.Elem = widened(t.Elem)
	case ddl.Map:
		w.Key, w.Elem = widened(t.Key), widened(t.Elem)
		w.Key.NotNull = true
	case ddl.Multiset:
		w.Kind, w.Key, w.Elem = ddl.Map, widened(t.Elem), &ddl.Type{Kind: ddl.Int, NotNull: true}
		w.Key.NotNull = true
	case ddl.Row:
		w.Fields = nil
		for _, f := range t.Fields {
			w.Fields = append(w.Fields, ddl.RowField{Name: f.Name, Type: widened(f.Type)})
		}
	}
	return &w
}
