package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

// table is a batch with its scope, made from text: one string per column, values separated by "|", NULL for NULL.
type table struct {
	scope *eval.Scope
	batch change.Batch
}

func typeOf(t testing.TB, sql string) *ddl.Type {
	t.Helper()
	ty, err := ddl.ParseType(sql)
	if err != nil {
		t.Fatalf("type %s: %v", sql, err)
	}
	return ty
}

// newTable takes lines "name TYPE: v1|v2|v3".
func newTable(t testing.TB, alloc memory.Allocator, lines ...string) *table {
	t.Helper()
	tab := &table{scope: &eval.Scope{}}
	var fields []arrow.Field
	var columns []arrow.Array
	rows := 0
	for i, line := range lines {
		head, text, _ := strings.Cut(line, ": ")
		name, sql, _ := strings.Cut(head, " ")
		ty := typeOf(t, sql)
		dt, err := catalog.ArrowType(ty)
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewBuilder(alloc, dt)
		values := strings.Split(text, "|")
		rows = len(values)
		for _, v := range values {
			if v == "NULL" {
				b.AppendNull()
			} else if err := b.AppendValueFromString(v); err != nil {
				t.Fatalf("column %s: %v", name, err)
			}
		}
		columns = append(columns, b.NewArray())
		b.Release()
		fields = append(fields, arrow.Field{Name: name, Type: dt, Nullable: true})
		tab.scope.Columns = append(tab.scope.Columns, eval.Column{Qualifier: "t", Name: name, Type: ty, Index: i})
	}
	tab.batch.Record = array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
	for _, c := range columns {
		c.Release()
	}
	return tab
}

func compile(t testing.TB, scope *eval.Scope, sql string) *eval.Expr {
	t.Helper()
	tree, err := ddl.ParseExpr(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	e, errs := eval.Compile(tree, scope)
	if len(errs) > 0 {
		t.Fatalf("%s: %v", sql, errs)
	}
	return e
}

// show writes a column as the tests expect it; failed rows are "!".
func show(a arrow.Array, failed map[int]string) string {
	parts := make([]string, a.Len())
	for i := range parts {
		switch {
		case failed[i] != "":
			parts[i] = "!"
		case a.IsNull(i):
			parts[i] = "NULL"
		default:
			parts[i] = a.ValueStr(i)
			if a.DataType().ID() == arrow.TIMESTAMP {
				parts[i] = strings.Replace(parts[i], "T", " ", 1)
			}
			if d, ok := a.(*array.Decimal128); ok {
				parts[i] = d.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
			}
		}
	}
	return strings.Join(parts, "|")
}

func contextFor(alloc memory.Allocator, failed map[int]string) *eval.Context {
	return &eval.Context{
		Alloc: alloc,
		Fail: func(row int, column, reason string) error {
			if failed[row] != "" {
				return fmt.Errorf("row %d failed twice: %s, %s", row, failed[row], reason)
			}
			failed[row] = reason
			return nil
		},
		Now:  func() int64 { return 1_700_000_000_123_456 },
		Zone: "UTC",
	}
}

// run evaluates and returns the type, the values and the reasons of the failed rows.
func run(t *testing.T, tab *table, alloc memory.Allocator, sql string) (typ, values string, failed map[int]string) {
	t.Helper()
	e := compile(t, tab.scope, sql)
	failed = map[int]string{}
	a, err := e.Eval(contextFor(alloc, failed), &tab.batch)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer a.Release()
	if want, _ := catalog.ArrowType(e.Type); a.Len() != tab.batch.Len() || !arrow.TypeEqual(want, a.DataType()) {
		t.Errorf("%s: %d rows of %s, want %d of %s", sql, a.Len(), a.DataType(), tab.batch.Len(), want)
	}
	return e.Type.String(), show(a, failed), failed
}

type evalCase struct{ sql, typ, want string }

func runCases(t *testing.T, lines []string, cases []evalCase) {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	tab := newTable(t, alloc, lines...)
	defer tab.batch.Release()
	for _, c := range cases {
		typ, got, failed := run(t, tab, alloc, c.sql)
		typ = strings.TrimSuffix(typ, " NOT NULL")
		if got != c.want || c.typ != "" && typ != c.typ {
			t.Errorf("%s\n  got  %s: %s %v\n  want %s: %s", c.sql, typ, got, failed, c.typ, c.want)
		}
	}
}

// The rows of the tables below: ordinary, ordinary, NULL, awkward.
var plainTable = []string{
	"i INT: 1|7|NULL|-2147483648",
	"j INT: 2|3|5|-1",
	"z INT: 0|1|NULL|0",
	"b BIGINT: 10|-9|NULL|9223372036854775807",
	"ti TINYINT: 1|2|NULL|-128",
	"d DECIMAL(10, 2): 1.50|-2.25|NULL|99999999.99",
	"e DECIMAL(5, 3): 0.125|3.000|1.000|-0.001",
	"f DOUBLE: 0.5|-2.5|NULL|1e300",
	"g FLOAT: 0.5|-2.5|NULL|3",
	"s STRING: abc|Ünï%|NULL| x ",
	"u STRING: b|Ü|n|x",
	"p BOOLEAN: true|false|NULL|true",
	"q BOOLEAN: false|NULL|NULL|true",
	"ts TIMESTAMP(3): 2024-01-31 10:20:30.456|1969-12-31 23:59:59.999|NULL|2024-02-29 00:00:00",
	"day DATE: 2024-01-31|1969-12-31|NULL|2024-02-29",
}

func TestArithmetic(t *testing.T) {
	runCases(t, plainTable, []evalCase{
		{"i + j", "INT", "3|10|NULL|!"},
		{"i - j", "INT", "-1|4|NULL|-2147483647"},
		{"i * j", "INT", "2|21|NULL|!"},
		{"i / j", "INT", "0|2|NULL|!"},
		{"i % j", "INT", "1|1|NULL|0"},
		{"j / z", "INT", "!|3|NULL|!"},
		{"j % z", "INT", "!|0|NULL|!"},
		{"-i", "INT", "-1|-7|NULL|!"},
		{"+i", "INT", "1|7|NULL|-2147483648"},
		{"i + b", "BIGINT", "11|-2|NULL|9223372034707292159"},
		{"b + 1", "BIGINT", "11|-8|NULL|!"},
		{"b * 2", "BIGINT", "20|-18|NULL|!"},
		{"b % j", "INT", "0|0|NULL|0"},
		{"ti + ti", "TINYINT", "2|4|NULL|!"},
		{"-ti", "TINYINT", "-1|-2|NULL|!"},
		{"ti * i", "INT", "1|14|NULL|!"},
		{"-9223372036854775808", "BIGINT", strings.Repeat("-9223372036854775808|", 3) + "-9223372036854775808"},
		{"f / 0", "DOUBLE", "+Inf|-Inf|NULL|+Inf"},
		{"f + i", "DOUBLE", "1.5|4.5|NULL|1e+300"},
		{"g + ti", "FLOAT", "1.5|-0.5|NULL|-125"},
		{"g + i", "DOUBLE", "1.5|4.5|NULL|-2.147483645e+09"},
		{"NULL + 1", "INT", "NULL|NULL|NULL|NULL"},
		{"i + NULL", "INT", "NULL|NULL|NULL|NULL"},
		{"MOD(j, 2)", "INT", "0|1|1|-1"},
	})
}

func TestDecimalTypes(t *testing.T) {
	runCases(t, plainTable, []evalCase{
		{"d + e", "DECIMAL(12, 3)", "1.625|0.750|NULL|99999999.989"},
		{"d - e", "DECIMAL(12, 3)", "1.375|-5.250|NULL|99999999.991"},
		{"d * e", "DECIMAL(16, 5)", "0.18750|-6.75000|NULL|-99999.99999"},
		{"d / e", "DECIMAL(19, 8)", "12.00000000|-0.75000000|NULL|-99999999990.00000000"},
		{"d % e", "DECIMAL(5, 3)", "0.000|-2.250|NULL|0.000"},
		{"d + i", "DECIMAL(13, 2)", "2.50|4.75|NULL|-2047483648.01"},
		{"d / 0", "", "!|!|NULL|!"},
		{"d * f", "DOUBLE", "0.75|5.625|NULL|9.999999999e+307"},
		{"-d", "DECIMAL(10, 2)", "-1.50|2.25|NULL|-99999999.99"},
		{"1.5 + 2.25", "DECIMAL(4, 2)", "3.75|3.75|3.75|3.75"},
		{"CAST(99999999999999999999999999999999999999 AS DECIMAL(38, 0)) + 1", "DECIMAL(38, 0)", "!|!|!|!"},
	})
}

func TestCompare(t *testing.T) {
	runCases(t, plainTable, []evalCase{
		{"i = 1", "BOOLEAN", "true|false|NULL|false"},
		{"i <> 1", "", "false|true|NULL|true"},
		{"i != 1", "", "false|true|NULL|true"},
		{"i < j", "", "true|false|NULL|true"},
		{"i <= 1", "", "true|false|NULL|true"},
		{"i > j", "", "false|true|NULL|false"},
		{"i >= 7", "", "false|true|NULL|false"},
		{"i = b", "", "false|false|NULL|false"},
		{"d > e", "", "true|false|NULL|true"},
		{"d = 1.5000000000000000000000000000000", "", "true|false|NULL|false"},
		{"d < 12345678901234567890123456789012345678", "", "true|true|NULL|true"},
		{"f > d", "", "false|false|NULL|true"},
		{"s = 'abc'", "", "true|false|NULL|false"},
		{"s < u", "", "true|false|NULL|true"},
		{"s >= u", "", "false|true|NULL|false"},
		{"p = q", "", "false|NULL|NULL|true"},
		{"p > q", "", "true|NULL|NULL|false"},
		{"p <> q", "", "true|NULL|NULL|false"},
		{"p <= q", "", "false|NULL|NULL|true"},
		{"i = NULL", "", "NULL|NULL|NULL|NULL"},
		{"NULL = NULL", "", "NULL|NULL|NULL|NULL"},
		{"i IS DISTINCT FROM 1", "", "false|true|true|true"},
		{"i IS NOT DISTINCT FROM NULL", "", "false|false|true|false"},
		{"q IS NOT DISTINCT FROM p", "", "false|false|true|true"},
		{"i BETWEEN 1 AND 6", "", "true|false|NULL|false"},
		{"i NOT BETWEEN 1 AND 6", "", "false|true|NULL|true"},
		{"i BETWEEN NULL AND 0", "", "false|false|NULL|NULL"},
		{"i IN (1, 2)", "", "true|false|NULL|false"},
		{"i NOT IN (1, 2)", "", "false|true|NULL|true"},
		{"i IN (1, NULL)", "", "true|NULL|NULL|NULL"},
		{"i IN (1, 2, 3, 4, 5, 6, 7)", "", "true|true|NULL|false"},
		{"i IN (1, 2, 3, 4, 5, 6, NULL)", "", "true|NULL|NULL|NULL"},
		{"i NOT IN (1, 2, 3, 4, 5, 6, NULL)", "", "false|NULL|NULL|NULL"},
		{"s IN ('a', 'abc', 'b', 'c', 'd')", "", "true|false|NULL|false"},
		{"d IN (1, 1.5, 2, 3, 4.125)", "", "true|false|NULL|false"},
		{"i IN (j, 7)", "", "false|true|NULL|false"},
		{"ts > TIMESTAMP '2024-01-01 00:00:00'", "", "true|false|NULL|true"},
		{"ts >= DATE '2024-02-29'", "", "false|false|NULL|true"},
		{"day = DATE '1969-12-31'", "", "false|true|NULL|false"},
	})
}

func TestLogic(t *testing.T) {
	runCases(t, []string{
		"a BOOLEAN: true|true|true|false|false|false|NULL|NULL|NULL",
		"b BOOLEAN: true|false|NULL|true|false|NULL|true|false|NULL",
	}, []evalCase{
		{"a AND b", "BOOLEAN", "true|false|NULL|false|false|false|NULL|false|NULL"},
		{"a OR b", "BOOLEAN", "true|true|true|true|false|NULL|true|NULL|NULL"},
		{"NOT a", "BOOLEAN", "false|false|false|true|true|true|NULL|NULL|NULL"},
		{"a IS NULL", "BOOLEAN", "false|false|false|false|false|false|true|true|true"},
		{"a IS NOT NULL", "", "true|true|true|true|true|true|false|false|false"},
		{"a IS TRUE", "", "true|true|true|false|false|false|false|false|false"},
		{"a IS NOT TRUE", "", "false|false|false|true|true|true|true|true|true"},
		{"a IS FALSE", "", "false|false|false|true|true|true|false|false|false"},
		{"a IS NOT FALSE", "", "true|true|true|false|false|false|true|true|true"},
		{"a IS UNKNOWN", "", "false|false|false|false|false|false|true|true|true"},
		{"a IS NOT UNKNOWN", "", "true|true|true|true|true|true|false|false|false"},
		{"a AND NULL", "", "NULL|NULL|NULL|false|false|false|NULL|NULL|NULL"},
		{"a OR NULL", "", "true|true|true|NULL|NULL|NULL|NULL|NULL|NULL"},
		{"a AND TRUE OR b", "", "true|true|true|true|false|NULL|true|NULL|NULL"},
	})
}

func TestConditional(t *testing.T) {
	runCases(t, plainTable, []evalCase{
		{"CASE WHEN i > 5 THEN 'big' WHEN i > 0 THEN 'one' ELSE 'none' END", "VARCHAR(4)", "one|big|none|none"},
		{"CASE WHEN i > 5 THEN s END", "STRING", "NULL|Ünï%|NULL|NULL"},
		{"CASE i WHEN 1 THEN 10 WHEN 7 THEN 70 ELSE 0 END", "INT", "10|70|0|0"},
		{"CASE i WHEN NULL THEN 1 ELSE 2 END", "INT", "2|2|2|2"},
		{"CASE WHEN z <> 0 THEN j / z ELSE -1 END", "INT", "-1|3|-1|-1"},
		{"z <> 0 AND j / z > 2", "", "false|true|NULL|false"},
		{"z = 0 OR j / z > 2", "", "true|true|NULL|true"},
		{"CASE WHEN p THEN 1 ELSE 2.5 END", "DECIMAL(11, 1)", "1.0|2.5|2.5|1.0"},
		{"CASE WHEN p THEN NULL ELSE i END", "INT", "NULL|7|NULL|NULL"},
		{"CASE WHEN TRUE THEN p ELSE q END", "BOOLEAN", "true|false|NULL|true"},
		{"COALESCE(i, j)", "INT", "1|7|5|-2147483648"},
		{"COALESCE(NULL, i, 9)", "INT", "1|7|9|-2147483648"},
		{"COALESCE(s, u, 'x')", "STRING", "abc|Ünï%|n| x "},
		{"COALESCE(i, j / z)", "INT", "1|7|NULL|-2147483648"},
		{"COALESCE(NULLIF(z, 0), j / z)", "INT", "!|1|NULL|!"},
		{"IFNULL(b, -1)", "BIGINT", "10|-9|-1|9223372036854775807"},
		{"NULLIF(i, 1)", "INT", "NULL|7|NULL|-2147483648"},
		{"NULLIF(s, 'abc')", "STRING", "NULL|Ünï%|NULL| x "},
		{"IF(p, s, u)", "STRING", "abc|Ü|n| x "},
		{"GREATEST(i, j)", "INT", "2|7|NULL|-1"},
		{"LEAST(i, j, 2)", "INT", "1|2|NULL|-2147483648"},
	})
}
