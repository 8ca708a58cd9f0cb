package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors/all"
	"github.com/syncsql/syncsql/connectors/memory"
	"github.com/syncsql/syncsql/ddl"
)

func newSession(t *testing.T, vars map[string]string) (*Session, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	return New(Config{
		Connectors: all.List(memory.NewDB()), Store: checkpoint.NewMemory(), Vars: vars, Out: &out, Format: TableFormat, CaughtUp: true,
	}), &out
}

func render(t *testing.T, err error) string {
	t.Helper()
	var ds Diagnostics
	if !errors.As(err, &ds) {
		t.Fatalf("error %v, want diagnostics", err)
	}
	var b strings.Builder
	ds.Render(&b)
	return b.String()
}

// Variables are filled in strings alone, their quotes doubled; secrets by reference stay.
func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "x", "LONG": "it's a long value", "E": ""}
	tests := []struct{ name, text, want string }{
		{"none", "SELECT 1", "SELECT 1"},
		{"string", "SELECT '${A}'", "SELECT 'x'"},
		{"inside", "'a-${A}-${E}-b'", "'a-x--b'"},
		{"quote", "'${LONG}'", "'it''s a long value'"},
		{"doubled", "'it''s ${A}'", "'it''s x'"},
		{"reference", "'${env:HOME} ${file:/x}'", "'${env:HOME} ${file:/x}'"},
		{"name", "SELECT `${A}` FROM ${A}", "SELECT `${A}` FROM ${A}"},
		{"comment", "-- '${A}'\n/* '${A}' */ '${A}'", "-- '${A}'\n/* '${A}' */ 'x'"},
		{"apostrophe_in_comment", "-- it's\n'${A}'", "-- it's\n'x'"},
		{"quote_in_name", "`it's` '${A}'", "`it's` 'x'"},
		{"not_closed", "'${A}", "'${A}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, errs := expand(tt.text, vars)
			if got != tt.want || len(errs) > 0 {
				t.Errorf("expand(%q) = %q %v, want %q", tt.text, got, errs, tt.want)
			}
		})
	}
}

// A span of the filled text leads back to the user's text, and one that touches a value covers its variable.
func TestOriginal(t *testing.T) {
	text := "ab '${A}' cd '${LONG}' ef"
	expanded, cuts, errs := expand(text, map[string]string{"A": "x", "LONG": "a long value"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, word := range []string{"ab", "cd", "ef", "'x'", "'a long value'", "x", "long"} {
		at := strings.Index(expanded, word)
		s := original(ddl.Span{Start: at, End: at + len(word)}, cuts)
		got := text[s.Start:s.End]
		want := map[string]string{"'x'": "'${A}'", "'a long value'": "'${LONG}'", "x": "${A}", "long": "${LONG}"}[word]
		if want == "" {
			want = word
		}
		if got != want {
			t.Errorf("%q leads to %q, want %q", word, got, want)
		}
	}
}

// FuzzExpand: spans stay in order and inside the text, and a text without variables comes back as it is.
func FuzzExpand(f *testing.F) {
	for _, text := range []string{"'${A}'", "'${A}${A}'", "-- '${A}\n'${A}'", "`'` '${A}' /*'*/", "'a''${A}''", "'${B}'", "'${A"} {
		f.Add(text, 3, 5)
	}
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		expanded, cuts, errs := expand(text, map[string]string{"A": "va'lue"})
		if !strings.Contains(text, "${") && expanded != text {
			t.Errorf("%q became %q", text, expanded)
		}
		for _, e := range errs {
			if e.Span.Start < 0 || e.Span.End > len(text) || e.Span.Start > e.Span.End {
				t.Errorf("span %v outside of %q", e.Span, text)
			}
		}
		if from >= 0 && from <= to && to <= len(expanded) {
			if s := original(ddl.Span{Start: from, End: to}, cuts); s.Start < 0 || s.End > len(text) || s.Start > s.End {
				t.Errorf("[%d,%d) of %q leads to %v of %q", from, to, expanded, s, text)
			}
		}
	})
}

// A complaint names the file that it is about and its place there, whichever file comes first, with variables filled in.
func TestPlanPlaces(t *testing.T) {
	s, _ := newSession(t, map[string]string{"MODE": "a value that is much longer than its name"})
	_, err := s.Plan(
		File{"a.sql", "\ufeffCREATE TABLE t (id BIGINT) WITH ('connector' = 'memory');\n"},
		File{"b.sql", "\ufeffSELECT m FROM t;\nCREATE TABLE u (id BIGINT) WITH ('connector' = 'memory', 'scan.mode' = '${MODE}', 'x' = '1');"},
		File{"c.sql", "SELECT '${NONE}' FROM t; SELECT * FORM t"},
	)
	got := render(t, err)
	for _, want := range []string{
		`b.sql:1:`, `unknown column "m"`, `b.sql:2:72: `, "'${MODE}'", `b.sql:2:83: unknown option "x"`,
		`c.sql:1:9: variable "NONE" has no value [unknown-variable]`, "c.sql:1:35: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "a.sql") {
		t.Errorf("a.sql has no mistake:\n%s", got)
	}
}

// A refused script leaves the session as it was: tables, settings and pipeline names.
func TestPlanRefusedLeavesNothing(t *testing.T) {
	s, out := newSession(t, nil)
	const tables = "CREATE TABLE a (id BIGINT) WITH ('connector' = 'memory'); CREATE TABLE b (id BIGINT) WITH ('connector' = 'memory', 'sink.write-mode' = 'append');"
	const insert = "INSERT INTO b SELECT id FROM a;"
	if _, err := s.Plan(File{Text: tables + "SET 'batch.rows' = '7';" + insert + "SELECT * FROM nowhere;"}); err == nil {
		t.Fatal("a mistake was accepted")
	}
	sc, err := s.Plan(File{Text: "SHOW TABLES; " + tables + insert})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background(), sc); err != nil {
		t.Fatal(err)
	}
	if out.String() != "Empty set\n" {
		t.Errorf("the refused script declared something:\n%s", out)
	}
	if _, err := s.Plan(File{Text: insert}); err == nil {
		t.Error("two pipelines got one name")
	}
}

// A later script sees what an earlier one declared.
func TestPlanTwice(t *testing.T) {
	s, out := newSession(t, nil)
	for _, text := range []string{"CREATE TABLE a (id BIGINT) WITH ('connector' = 'memory')", "CREATE TABLE b (id BIGINT) WITH ('connector' = 'memory')", "SHOW TABLES"} {
		sc, err := s.Plan(File{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(t.Context(), sc); err != nil {
			t.Fatal(err)
		}
	}
	if want := "+------------+\n| table name |\n+------------+\n| a          |\n| b          |\n+------------+\n2 rows in set\n"; out.String() != want {
		t.Errorf("got\n%s", out)
	}
}

const numbers = `CREATE TABLE numbers (n BIGINT, s STRING, d DOUBLE) WITH ('connector' = 'datagen', 'number-of-rows' = '3',
  'rows-per-second' = '0', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3');`

// Results come in the order of the statements, in the three formats.
func TestOutput(t *testing.T) {
	query := numbers + "SELECT n, NULLIF(n, 2) AS m, CASE n WHEN 1 THEN 'a,b' WHEN 2 THEN 'say \"x\"' ELSE 'two\nlines' END AS s FROM numbers; SHOW VIEWS;"
	tests := []struct {
		format Format
		want   string
	}{
		{TableFormat, "+---+------+------------+\n| n |    m | s          |\n+---+------+------------+\n" +
			"| 1 |    1 | a,b        |\n| 2 | NULL | say \"x\"    |\n| 3 |    3 | two\\nlines |\n+---+------+------------+\n3 rows in set\nEmpty set\n"},
		{JSONFormat, "{\"n\":1,\"m\":1,\"s\":\"a,b\"}\n{\"n\":2,\"m\":null,\"s\":\"say \\\"x\\\"\"}\n{\"n\":3,\"m\":3,\"s\":\"two\\nlines\"}\n"},
		{CSVFormat, "n,m,s\n1,1,\"a,b\"\n2,,\"say \"\"x\"\"\"\n3,3,\"two\nlines\"\nview name\n"},
	}
	for _, tt := range tests {
		t.Run(string(tt.format), func(t *testing.T) {
			s, out := newSession(t, nil)
			s.config.Format = tt.format
			sc, err := s.Plan(File{Text: query})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Run(t.Context(), sc); err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", out, tt.want)
			}
		})
	}
}

// LIMIT ends a read that has no end.
func TestLimit(t *testing.T) {
	s, out := newSession(t, nil)
	s.config.CaughtUp, s.config.Format = false, CSVFormat
	sc, err := s.Plan(File{Text: "CREATE TABLE endless (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '0'); SELECT 1 AS one FROM endless LIMIT 3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), sc); err != nil {
		t.Fatal(err)
	}
	if out.String() != "one\n1\n1\n1\n" {
		t.Errorf("got %q", out)
	}
}

// A query waits for the pipelines before it that end by themselves, and sees their rows.
func TestQueryAfterInsert(t *testing.T) {
	s, out := newSession(t, nil)
	s.config.CaughtUp, s.config.Format = false, CSVFormat
	sc, err := s.Plan(File{Text: numbers + `CREATE TABLE kept (n BIGINT) WITH ('connector' = 'memory', 'sink.write-mode' = 'append', 'scan.mode' = 'snapshot');
		INSERT INTO kept SELECT n FROM numbers; SELECT n FROM kept;`})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), sc); err != nil {
		t.Fatal(err)
	}
	if out.String() != "n\n1\n2\n3\n" {
		t.Errorf("got %q", out)
	}
}

// When the context ends, streams stop, nothing fails, and what comes later in the script is left.
func TestStop(t *testing.T) {
	s, out := newSession(t, nil)
	s.config.CaughtUp = false
	ctx, cancel := context.WithCancel(t.Context())
	s.config.Out = writerFunc(func(p []byte) (int, error) { cancel(); return out.Write(p) })
	sc, err := s.Plan(File{Text: `CREATE TABLE endless (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '0');
		CREATE TABLE hole (n BIGINT) WITH ('connector' = 'blackhole'); INSERT INTO hole SELECT n FROM endless; SELECT n FROM endless; SHOW TABLES;`})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(ctx, sc); err != nil {
		t.Errorf("stopping is no failure: %v", err)
	}
	if strings.Contains(out.String(), "table name") {
		t.Error("the script went on after it was stopped")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A result that cannot be written is an error, not a shorter result.
func TestBrokenOutput(t *testing.T) {
	for _, f := range []Format{TableFormat, JSONFormat, CSVFormat} {
		s, _ := newSession(t, nil)
		s.config.Format = f
		s.config.Out = writerFunc(func([]byte) (int, error) { return 0, errors.New("the pipe is closed") })
		sc, err := s.Plan(File{Text: numbers + "SELECT n FROM numbers"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(t.Context(), sc); err == nil || !strings.Contains(err.Error(), "the pipe is closed") {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// C166: a script of 10,000 statements is planned in seconds, and its mistakes still have the right place.
func TestLongScript(t *testing.T) {
	const n = 5000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "CREATE TABLE s%d (id BIGINT, v STRING) WITH ('connector' = 'memory');\n", i)
		fmt.Fprintf(&b, "CREATE TABLE d%d (id BIGINT, v STRING) WITH ('connector' = 'memory', 'sink.write-mode' = 'append');\n", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "INSERT INTO d%d SELECT id, UPPER(v) FROM s%d WHERE id > %d;\n", i, i, i)
	}
	s, _ := newSession(t, nil)
	started := time.Now()
	sc, err := s.Plan(File{Text: b.String()})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("planned in %s", took)
	}
	if got := len(sc.Pipelines()); got != n {
		t.Errorf("%d pipelines, want %d", got, n)
	}
	_, err = s.Plan(File{Text: strings.Repeat("SET 'batch.rows' = '7';\n", n) + "SELECT nothing FROM s1;"})
	if got := render(t, err); !strings.HasPrefix(got, "5001:8: unknown column") {
		t.Errorf("got %s", got)
	}
}
