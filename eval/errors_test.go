package eval_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

func TestCompileErrors(t *testing.T) {
	scope := &eval.Scope{Columns: []eval.Column{
		{Qualifier: "o", Name: "id", Type: typeOf(t, "BIGINT"), Index: 0},
		{Qualifier: "o", Name: "amount", Type: typeOf(t, "DECIMAL(10, 2)"), Index: 1},
		{Qualifier: "c", Name: "id", Type: typeOf(t, "INT"), Index: 2},
		{Qualifier: "c", Name: "name", Type: typeOf(t, "STRING"), Index: 3},
		{Qualifier: "c", Name: "at", Type: typeOf(t, "TIMESTAMP(3)"), Index: 4},
		{Qualifier: "c", Name: "addr", Type: typeOf(t, "ROW<city STRING, zip INT>"), Index: 5},
	}}
	for _, c := range []struct{ sql, at, code, message, help string }{
		{"amuont + 1", "amuont", "unknown-column", `unknown column "amuont"`, `did you mean "amount"?`},
		{"o.nam", "o.nam", "unknown-column", `unknown column "o.nam"`, `did you mean "c.name"?`},
		{"id", "id", "ambiguous-column", `column "id" is ambiguous`, "write one of o.id, c.id"},
		{"UPER(name)", "UPER", "unknown-function", `unknown function "UPER"`, `did you mean "UPPER"?`},
		{"amount + name", "amount + name", "type-mismatch", "+ needs numbers, found DECIMAL(10, 2) and STRING", "write CAST(... AS DECIMAL(p, s)) around the text"},
		{"name + name", "name + name", "type-mismatch", "+ needs numbers, found STRING and STRING", "write || to join text"},
		{"amount = 'x'", "amount = 'x'", "type-mismatch", "= cannot compare DECIMAL(10, 2) with CHAR(1)", "write CAST(... AS DECIMAL(10, 2)) around the right side"},
		{"at > '2024-01-01'", "at > '2024-01-01'", "type-mismatch", "> cannot compare TIMESTAMP(3) with CHAR(10)", "write CAST(... AS TIMESTAMP(3)) around the right side"},
		{"name AND TRUE", "name", "type-mismatch", "AND needs a BOOLEAN, found STRING", "write a comparison, such as x = 1, or CAST(x AS BOOLEAN)"},
		{"UPPER(amount)", "amount", "type-mismatch", "UPPER needs text, found DECIMAL(10, 2)", "write CAST(... AS STRING)"},
		{"UPPER(name, name)", "UPPER(name, name)", "wrong-arguments", "UPPER does not take 2 arguments", "write UPPER(text)"},
		{"CAST(amount AS TIMESTAMP(3))", "CAST(amount AS TIMESTAMP(3))", "type-mismatch", "DECIMAL(10, 2) cannot be cast to TIMESTAMP(3)",
			"write TO_TIMESTAMP_LTZ(x, 0) for seconds or TO_TIMESTAMP_LTZ(x, 3) for milliseconds since 1970"},
		{"at - at", "at - at", "type-mismatch", "- cannot join TIMESTAMP(3) and TIMESTAMP(3)", "write TIMESTAMPDIFF(SECOND, a, b) for the time between two moments"},
		{"at + 1", "at + 1", "type-mismatch", "+ cannot join TIMESTAMP(3) and INT", "write + INTERVAL '1' DAY"},
		{"CASE WHEN TRUE THEN 1 ELSE name END", "name", "type-mismatch", "the results of CASE have the types INT and STRING", "write CAST(... AS INT)"},
		{"DATE '2024-02-30'", "DATE '2024-02-30'", "bad-literal", "'2024-02-30' is no date", "write DATE '2024-12-31'"},
		{"COUNT(*)", "COUNT(*)", "unsupported-expression", "COUNT needs to remember earlier rows, which a stream of changes has without end", "aggregate in the source system, for example in a view"},
		{"name LIKE 'a!b' ESCAPE '!'", "'a!b'", "wrong-arguments", "in a LIKE pattern the escape character must stand before %, _ or itself", ""},
		{"c.addr.cty", "cty", "unknown-column", `unknown field "cty"`, `did you mean "city"?`},
		{"name || amount", "amount", "type-mismatch", "|| needs text, found DECIMAL(10, 2)", "write CAST(... AS STRING)"},
		{"EXTRACT(HOUR FROM DATE '2024-01-01') + nope", "nope", "unknown-column", `unknown column "nope"`, ""},
	} {
		tree, err := ddl.ParseExpr(c.sql)
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		_, errs := eval.Compile(tree, scope)
		if len(errs) != 1 {
			t.Errorf("%s: %d errors, want one: %v", c.sql, len(errs), errs)
			continue
		}
		e := errs[0]
		at := c.sql[e.Span.Start:e.Span.End]
		if e.Code != c.code || e.Message != c.message || c.help != "" && e.Help != c.help || at != c.at {
			t.Errorf("%s\n  got  %q %s: %s (%s)\n  want %q %s: %s (%s)", c.sql, at, e.Code, e.Message, e.Help, c.at, c.code, c.message, c.help)
		}
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	tree, err := ddl.ParseExpr("CASE WHEN a THEN UPER(b) ELSE 1 + 'x' END")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := eval.Compile(tree, &eval.Scope{}); len(errs) != 3 {
		t.Errorf("%d errors, want 3: %v", len(errs), errs)
	}
}

func TestImplicit(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"INT", "BIGINT", true}, {"BIGINT", "INT", false}, {"INT", "DOUBLE", true}, {"BIGINT", "DOUBLE", false}, {"SMALLINT", "FLOAT", true},
		{"INT", "FLOAT", false}, {"FLOAT", "DOUBLE", true}, {"DOUBLE", "FLOAT", false}, {"INT", "DECIMAL(10, 0)", true}, {"INT", "DECIMAL(10, 2)", false},
		{"BIGINT", "DECIMAL(21, 2)", true}, {"DECIMAL(10, 2)", "DECIMAL(12, 3)", true}, {"DECIMAL(10, 2)", "DECIMAL(11, 3)", true},
		{"DECIMAL(10, 2)", "DECIMAL(10, 3)", false}, {"DECIMAL(10, 2)", "DECIMAL(12, 1)", false}, {"DECIMAL(10, 0)", "BIGINT", false},
		{"CHAR(3)", "VARCHAR(5)", true}, {"STRING", "VARCHAR(5)", true}, {"STRING", "BYTES", false}, {"INT", "STRING", false}, {"STRING", "INT", false},
		{"TIMESTAMP(3)", "TIMESTAMP(6)", true}, {"TIMESTAMP(6)", "TIMESTAMP(3)", false}, {"TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", false},
		{"DATE", "TIMESTAMP(3)", true}, {"DATE", "TIMESTAMP_LTZ(3)", false}, {"BIGINT", "TIMESTAMP(3)", false}, {"BOOLEAN", "INT", false},
		{"ARRAY<INT>", "ARRAY<INT>", true}, {"ARRAY<INT>", "ARRAY<BIGINT>", false}, {"ARRAY<TIMESTAMP(3)>", "ARRAY<TIMESTAMP(6)>", true},
		{"ROW<a INT>", "ROW<b INT>", true}, {"ROW<a INT>", "ROW<a INT, b INT>", false}, {"MAP<STRING, INT>", "MAP<STRING, INT>", true},
	} {
		if got := eval.Implicit(typeOf(t, c.from), typeOf(t, c.to)); got != c.want {
			t.Errorf("%s to %s: %v, want %v", c.from, c.to, got, c.want)
		}
	}
	if !eval.Implicit(&ddl.Type{Kind: ddl.Null}, typeOf(t, "INT")) {
		t.Error("NULL is not assignable to INT")
	}
}

func TestAssignConstants(t *testing.T) {
	for _, c := range []struct {
		sql, to string
		want    bool
	}{
		{"1", "TINYINT", true}, {"128", "TINYINT", false}, {"-128", "TINYINT", true}, {"1.50", "DECIMAL(3, 1)", true}, {"1.55", "DECIMAL(3, 1)", false},
		{"1.0", "INT", true}, {"1.5", "INT", false}, {"0.1", "DOUBLE", true}, {"1e0", "INT", false}, {"'x'", "INT", false}, {"NULL", "INT", true},
	} {
		e := compile(t, &eval.Scope{}, c.sql)
		to := typeOf(t, c.to)
		if got := e.AssignableTo(to); got != c.want {
			t.Errorf("%s to %s: %v, want %v", c.sql, c.to, got, c.want)
		}
		if c.want && !eval.CastExpr(e, to).Type.Equal(to) {
			t.Errorf("%s is not cast to %s", c.sql, c.to)
		}
	}
}

func TestCastExprKeepsColumns(t *testing.T) {
	tab := newTable(t, memory.DefaultAllocator, "s VARCHAR(9): a|bcdef", "i INT: 1|2")
	e := eval.CastExpr(compile(t, tab.scope, "s"), typeOf(t, "VARCHAR(2)"))
	if e.Passes != 0 || e.Type.Length != 2 {
		t.Errorf("a text column no longer passes: %+v", e)
	}
	e = eval.CastExpr(compile(t, tab.scope, "i"), typeOf(t, "DECIMAL(12, 2)"))
	a, err := e.Eval(contextFor(nil, map[int]string{}), &tab.batch)
	if err != nil || e.Passes != -1 || show(a, nil) != "1.00|2.00" {
		t.Errorf("got %v, %v", a, err)
	}
}

func TestConstant(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want any
		ok   bool
	}{
		{"1 + 2", int64(3), true}, {"TRUE", true, true}, {"'a' || 'b'", "ab", true}, {"1.50", "1.50", true}, {"NULL", nil, true},
		{"1e3", 1000.0, true}, {"CAST('7' AS BIGINT)", int64(7), true}, {"i", nil, false}, {"NOW()", nil, false}, {"1 / 0", nil, false},
		{"CAST('2024-01-01 00:00:00' AS TIMESTAMP_LTZ(3))", nil, false},
	} {
		tab := newTable(t, memory.DefaultAllocator, "i INT: 1")
		got, ok := eval.Constant(compile(t, tab.scope, c.sql))
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %v %v, want %v %v", c.sql, got, ok, c.want, c.ok)
		}
	}
	at, ok := eval.Constant(compile(t, &eval.Scope{}, "DATE '2024-02-28' + INTERVAL '1' DAY"))
	if !ok || !strings.HasPrefix(at.(interface{ String() string }).String(), "2024-02-29 00:00:00") {
		t.Errorf("got %v", at)
	}
}

func TestDeterminism(t *testing.T) {
	for sql, want := range map[string]bool{
		"1": true, "UPPER('a')": true, "NOW()": false, "CURRENT_DATE": false, "UUID()": false, "RAND() * 2": false, "COALESCE(NULL, UUID())": false,
		"CAST(CURRENT_TIMESTAMP AS STRING)": false, "YEAR(LOCALTIMESTAMP)": false,
	} {
		if e := compile(t, &eval.Scope{}, sql); e.Deterministic != want {
			t.Errorf("%s: deterministic %v, want %v", sql, e.Deterministic, want)
		}
	}
}

func TestFunctionsAreDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range eval.Functions() {
		if f.Name == "" || f.Usage == "" || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("function %q has no usage or no sentence", f.Name)
		}
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			if seen[name] || name != strings.ToUpper(name) {
				t.Errorf("function name %q is declared twice or not in capitals", name)
			}
			seen[name] = true
		}
	}
	for _, name := range strings.Fields("UPPER LOWER TRIM LTRIM RTRIM SUBSTRING SUBSTR CHAR_LENGTH CHARACTER_LENGTH REPLACE CONCAT CONCAT_WS ABS ROUND " +
		"FLOOR CEIL CEILING MOD POWER SQRT SIGN POSITION LOCATE LPAD RPAD REVERSE MD5 SHA256 UUID RAND CURRENT_TIMESTAMP NOW LOCALTIMESTAMP CURRENT_DATE " +
		"CURRENT_TIME EXTRACT YEAR SECOND TO_TIMESTAMP_LTZ COALESCE NULLIF IF IFNULL") {
		if !seen[name] {
			t.Errorf("function %s is missing", name)
		}
	}
}
