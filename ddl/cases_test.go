package ddl

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// must parses a script without complaints.
func must(t *testing.T, text string) []Statement {
	t.Helper()
	statements, errs := Parse(text)
	for _, e := range errs {
		var b strings.Builder
		Render(&b, "", clip(text), e)
		t.Errorf("unexpected: %s", b.String())
	}
	return statements
}

// refuse parses a script that has exactly one mistake and checks its code and place.
func refuse(t *testing.T, text, code string, line, column int) *Error {
	t.Helper()
	_, errs := Parse(text)
	if len(errs) != 1 {
		t.Fatalf("%q: %d errors: %v", clip(text), len(errs), errs)
	}
	if p := PlaceOf(text, errs[0].Span.Start); errs[0].Code != code || p.Line != line || p.Column != column {
		t.Errorf("%q: %v at %d:%d, want [%s] at %d:%d", clip(text), errs[0], p.Line, p.Column, code, line, column)
	}
	return errs[0]
}

func options(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, s := range must(t, text) {
		for _, o := range s.(*CreateTable).Options {
			out[o.Key] = o.Value
		}
	}
	return out
}

func TestC160_semicolon_inside_a_literal(t *testing.T) {
	got := options(t, "CREATE TABLE t (`col;umn` INT) WITH ('password'='a;b', 'x' = ';'';')")
	if got["password"] != "a;b" || got["x"] != ";';" {
		t.Errorf("options %q", got)
	}
	statements := must(t, "SELECT 'x;\ny'; SELECT ';'';' ; -- a;b\nSELECT `col;umn` /* ; */ FROM t;")
	if len(statements) != 3 {
		t.Fatalf("%d statements", len(statements))
	}
	first := statements[0].(*SelectStatement).Query.Body.(*Select).Items[0].Expr.(*Literal)
	if first.Text != "x;\ny" {
		t.Errorf("literal %q", first.Text)
	}
}

func TestC161_comment_marks_inside_literals(t *testing.T) {
	got := options(t, "CREATE TABLE t (a INT) WITH ('topic'='a--b', 'x'='/* no */', -- it's a trap; \n'url' = 'http://x--y' /* don't ; */) -- the end")
	if got["topic"] != "a--b" || got["x"] != "/* no */" || got["url"] != "http://x--y" {
		t.Errorf("options %q", got)
	}
	refuse(t, "SELECT 1;\n\n  /* unclosed ; SELECT 2;\n", "unclosed-comment", 3, 3)
	refuse(t, "SELECT 1;\nSELECT 'unclosed ;\nSELECT 2;", "unclosed-string", 2, 8)
	refuse(t, "SELECT 1;\nSELECT `unclosed ;\nSELECT 2;", "unclosed-name", 2, 8)
}

func TestC163_invisible_and_smart_characters(t *testing.T) {
	if s := must(t, "\ufeffSELECT 1"); len(s) != 1 {
		t.Error("a byte order mark is skipped")
	}
	for text, want := range map[string]string{
		"SELECT\u00a01":             "U+00A0",
		"SELECT \u200b1":            "U+200B",
		"SELECT \u201ca\u201d":      "U+201C",
		"SELECT \u2018a\u2019":      "U+2018",
		"SELECT 1 \u2013 2":         "U+2013",
		"SELECT \x00 1":             "U+0000",
		"SELECT 'a\x00b'":           "U+0000",
		"\xff\xfeS\x00E\x00":        "UTF-16",
		"S\x00E\x00L\x00":           "UTF-16",
		"\x00S\x00E\x00L":           "UTF-16",
		"SELECT 1 \xff":             "0xFF",
		"SELECT 'a\xff'":            "UTF-8",
		"SELECT 1;\ufeff SELECT 2;": "U+FEFF",
	} {
		_, errs := Parse(text)
		if len(errs) == 0 || !strings.Contains(errs[0].Message, want) {
			t.Errorf("%q: %v, want %s", text, errs, want)
		}
	}
	refuse(t, "-- ä\nSELECT 'ä',\u00a01", "bad-character", 2, 12)
}

func TestC164_backticks_and_nested_quotes(t *testing.T) {
	got := options(t, "CREATE TABLE t (a INT) WITH ('password' = 'it''s', 'dir' = 'C:\\dir', 'k'='{\"a\":\"b''c\"}')")
	if got["password"] != "it's" || got["dir"] != `C:\dir` || got["k"] != `{"a":"b'c"}` {
		t.Errorf("options %q", got)
	}
	e, err := ParseExpr("`a``b`.`Order`.`id`")
	if err != nil {
		t.Fatal(err)
	}
	if p := e.(*ColumnRef).Path; len(p) != 3 || p[0].Name != "a`b" || p[1].Name != "Order" {
		t.Errorf("path %v", p)
	}
	if e, err := ParseExpr(`U&'\00e9'`); err != nil || e.(*Literal).Text != "é" {
		t.Error(e, err)
	}
	if e := refuse(t, `SELECT E'\n'`, "unsupported-literal", 1, 8); !strings.Contains(e.Message, "E'..'") {
		t.Error("the form is not named:", e)
	}
}

func TestC166_very_long_scripts(t *testing.T) {
	var script strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&script, "CREATE TABLE t%d (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'memory');\n", i)
	}
	for i := range 5000 {
		fmt.Fprintf(&script, "INSERT INTO t%d SELECT id, name FROM t%d WHERE id > %d;\n", i, 4999-i, i)
	}
	or := "SELECT a = 0" + strings.Repeat(" OR a = 1", 10000)
	union := "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 1000)
	for name, text := range map[string]string{
		"statements": script.String(),
		"literal":    "SELECT '" + strings.Repeat("x;--/*'' ", 5<<20/9) + "'",
		"or":         or,
		"nested":     "SELECT " + strings.Repeat("(", 3000) + "1" + strings.Repeat(")", 3000),
		"case":       "SELECT " + strings.Repeat("CASE WHEN a THEN ", 2000) + "1" + strings.Repeat(" END", 2000),
		"not":        "SELECT " + strings.Repeat("NOT ", 3000) + "a",
		"union":      union,
		"subquery":   strings.Repeat("SELECT * FROM (", 1000) + "SELECT 1" + strings.Repeat(")", 1000),
		"items":      "SELECT a" + strings.Repeat("[1].x", 1000),
		"in":         "SELECT a IN (1" + strings.Repeat(", 1", 50000) + ")",
		"values":     "INSERT INTO t VALUES (1, 'a')" + strings.Repeat(", (1, 'a')", 20000),
		"type":       "CREATE TABLE t (a " + strings.Repeat("ARRAY<", 1000) + "INT" + strings.Repeat(">", 1000) + ")",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			statements := must(t, text)
			if name == "statements" && len(statements) != 10000 {
				t.Errorf("%d statements", len(statements))
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	for name, text := range map[string]string{
		"nested":   "SELECT " + strings.Repeat("(", 200_000) + "1" + strings.Repeat(")", 200_000),
		"case":     "SELECT " + strings.Repeat("CASE WHEN a THEN ", 100_000) + "1" + strings.Repeat(" END", 100_000),
		"not":      "SELECT " + strings.Repeat("NOT ", 200_000) + "a",
		"minus":    "SELECT " + strings.Repeat("- ", 200_000) + "a",
		"or":       "SELECT a" + strings.Repeat(" OR a", 200_000),
		"union":    "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 200_000),
		"items":    "SELECT a" + strings.Repeat("[1]", 200_000),
		"type":     "CREATE TABLE t (a " + strings.Repeat("ARRAY<", 100_000) + "INT" + strings.Repeat(">", 100_000) + ")",
		"joins":    "SELECT * FROM a" + strings.Repeat(" CROSS JOIN a", 100_000),
		"function": "SELECT " + strings.Repeat("f(", 100_000) + "1" + strings.Repeat(")", 100_000),
	} {
		t.Run("too_deep_"+name, func(t *testing.T) {
			if _, errs := Parse(text); len(errs) != 1 || errs[0].Code != "too-deep" {
				t.Errorf("%d errors, first: %v", len(errs), errs)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"":                            true,
		"  -- nothing\n":              true,
		"SELECT 1":                    false,
		"SELECT 1;":                   true,
		"SELECT 1; -- done":           true,
		"SELECT ';":                   false,
		"SELECT 1; /* open ;":         false,
		"SELECT `a;":                  false,
		"SELECT (1;":                  true, // complete, and wrong
		"SELECT 1; SELECT 2":          false,
		"EXECUTE STATEMENT SET BEGIN": false,
		"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;":      false,
		"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;": true,
		"BEGIN STATEMENT SET;":                              false,
		"BEGIN STATEMENT SET; INSERT INTO a SELECT 1;":      false,
		"BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;": true,
	} {
		if got := Complete(text); got != want {
			t.Errorf("Complete(%q) = %v", text, got)
		}
	}
}

func TestPrintRedacted(t *testing.T) {
	s := must(t, "CREATE TABLE t (a INT) WITH ('user' = 'u', 'password' = 'secret')")[0]
	got := PrintRedacted(s, func(key, value string) string {
		if key == "password" {
			return Mask
		}
		return value
	})
	if strings.Contains(got, "secret") || !strings.Contains(got, "'user' = 'u'") || !strings.Contains(got, "'password' = '****'") {
		t.Error(got)
	}
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]string{
		"varchar(3) not null":            "VARCHAR(3) NOT NULL",
		"TIMESTAMP(3)":                   "TIMESTAMP(3)",
		"ROW<a INT, b ARRAY<STRING>>":    "ROW<`a` INT, `b` ARRAY<STRING>>",
		"MAP<STRING, DECIMAL(3,1)>":      "MAP<STRING, DECIMAL(3, 1)>",
		"INTERVAL DAY(2) TO SECOND(3)":   "INTERVAL DAY TO SECOND(3)",
		"TIMESTAMP WITH LOCAL TIME ZONE": "TIMESTAMP_LTZ(6)",
		"CHARACTER VARYING(9)":           "VARCHAR(9)",
	} {
		got, err := ParseType(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v %v", text, got, err)
			continue
		}
		again, err := ParseType(got.String())
		if err != nil || difference(got, again) != "" {
			t.Errorf("%s: %v %v", text, again, err)
		}
	}
	for _, text := range []string{"", "INT INT", "INT; INT", "ARRAY<INT", "NOPE"} {
		if got, err := ParseType(text); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
}

func TestRenderHidesSecrets(t *testing.T) {
	text := "CREATE TABLE t (a INT) WITH ('user' = 'me', 'password' = 'hunter2', 'url' = 'postgres://u:hunter3@h/d' 'x' = 'y')"
	_, errs := Parse(text)
	var b strings.Builder
	Render(&b, "a.sql", text, errs[0])
	lines := strings.Split(b.String(), "\n")
	if strings.Contains(b.String(), "hunter") || !strings.Contains(b.String(), "'user' = 'me'") {
		t.Error(b.String())
	}
	if strings.Index(lines[1], "'x' = 'y'") != strings.Index(lines[2], "^^^") {
		t.Errorf("the caret moved:\n%s", b.String())
	}
}
