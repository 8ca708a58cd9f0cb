package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// call runs a command line in this process; scripts are written below a folder of the test, which DIR names.
type call struct {
	t   *testing.T
	dir string
}

func newCall(t *testing.T) call { return call{t, t.TempDir()} }

func (c call) file(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c call) state() string { return "sqlite:" + filepath.Join(c.dir, "state.db") }

func (c call) run(stdin string, args ...string) (code int, out, errs string) {
	c.t.Helper()
	var o, e bytes.Buffer
	code = start(args, streams{in: strings.NewReader(stdin), out: &o, err: &e})
	return code, o.String(), e.String()
}

const numbers = `
CREATE TABLE numbers (n BIGINT, name STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '3', 'rows-per-second' = '0',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3', 'fields.name.length' = '2');
CREATE TABLE hole (n BIGINT) WITH ('connector' = 'blackhole');
`

// A script runs: results on standard output, everything else on standard error, state in the store.
func TestRun(t *testing.T) {
	c := newCall(t)
	script := c.file("a.sql", numbers+"INSERT INTO hole SELECT n FROM numbers; SELECT n * 10 AS tens FROM numbers WHERE n > 1;")
	code, out, errs := c.run("", "run", script, "--state", c.state(), "--progress", "plain")
	want := "+------+\n| tens |\n+------+\n|   20 |\n|   30 |\n+------+\n2 rows in set\n"
	if code != exitDone || out != want {
		t.Fatalf("code %d, output:\n%s\nerrors:\n%s", code, out, errs)
	}
	if !strings.Contains(errs, "hole  done  3 rows") {
		t.Errorf("progress: %s", errs)
	}
	code, out, errs = c.run("", "status", "--state", c.state(), "--json")
	var p pipelineStatus
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != exitDone {
		t.Fatalf("status: code %d, %v: %s%s", code, err, out, errs)
	}
	if p.Name != "hole" || p.State != "finished" || p.RowsRead != 3 || p.RowsWritten != 3 {
		t.Errorf("status %+v", p)
	}
	if code, out, _ = c.run("", "status", "hole", "--state", c.state()); code != exitDone || !strings.Contains(out, "hole      finished") {
		t.Errorf("status hole: code %d: %s", code, out)
	}
}

// Files run in order in one session, - is standard input, --var and --set come first.
func TestRunSeveralFiles(t *testing.T) {
	c := newCall(t)
	first := c.file("a.sql", "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '${COUNT}', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '9');")
	code, out, errs := c.run("SELECT n FROM numbers; SHOW TABLES;", "run", first, "-", "--state", "memory:", "--var", "COUNT=2", "--set", "batch.rows=1", "--output", "json")
	if want := "{\"n\":1}\n{\"n\":2}\n{\"table name\":\"numbers\"}\n"; code != exitDone || out != want {
		t.Errorf("code %d, output %q, errors %s", code, out, errs)
	}
	code, out, _ = c.run("SELECT n, NULLIF(n, 1) AS m FROM numbers;", "run", first, "-", "--state", "memory:", "--var", "COUNT=2", "--output", "csv")
	if want := "n,m\n1,\n2,2\n"; code != exitDone || out != want {
		t.Errorf("csv: code %d, output %q", code, out)
	}
}

// A script with mistakes is refused whole: exit 2, all diagnostics with their files, nothing started, no state store made.
func TestRunRefused(t *testing.T) {
	c := newCall(t)
	good := c.file("a.sql", numbers+"INSERT INTO hole SELECT n FROM numbers;")
	bad := c.file("b.sql", "-- nothing\nINSERT INTO hole SELECT m FROM numbers;\nSELECT * FROM nowhere;\n")
	for _, command := range []string{"run", "check", "explain"} {
		code, out, errs := c.run("", command, good, bad, "--state", c.state())
		for _, want := range []string{"b.sql:2:25: unknown column \"m\" [unknown-column]", "b.sql:3:15: table \"nowhere\" is not declared [unknown-table]", "\n2 errors\n"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: no %q in %s", command, want, errs)
			}
		}
		if code != exitRefused || out != "" {
			t.Errorf("%s: code %d, output %q", command, code, out)
		}
	}
	if _, err := os.Stat(filepath.Join(c.dir, "state.db")); !os.IsNotExist(err) {
		t.Errorf("the state store was made: %v", err)
	}
	_, _, errs := c.run("", "check", good, bad, "--output", "json")
	var d struct {
		File         string
		Line, Column int
		Code         string
	}
	if err := json.Unmarshal([]byte(strings.SplitN(errs, "\n", 2)[0]), &d); err != nil || d.Line != 2 || d.Column != 25 || d.Code != "unknown-column" {
		t.Errorf("json: %v: %s", err, errs)
	}
}

// A complaint about the command line's own settings.
func TestRunBadSetting(t *testing.T) {
	c := newCall(t)
	code, _, errs := c.run(numbers, "check", "-", "--set", "batch.row=1")
	if code != exitRefused || !strings.Contains(errs, `--set:1:5: unknown setting "batch.row"`) || !strings.Contains(errs, "batch.rows") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// check prints a line per pipeline with its guarantee; explain the plan.
func TestCheckAndExplain(t *testing.T) {
	c := newCall(t)
	script := c.file("a.sql", numbers+"INSERT INTO hole SELECT n FROM numbers;")
	if code, out, errs := c.run("", "check", script); code != exitDone || !strings.HasPrefix(out, "pipeline hole: ") || strings.Count(out, "\n") != 1 {
		t.Errorf("check: code %d: %s%s", code, out, errs)
	}
	code, out, errs := c.run("", "explain", script, "--state", "postgres://me:hunter2@host/db")
	if code != exitDone || !strings.HasPrefix(out, "pipeline hole\n  source      datagen numbers") || strings.Contains(out+errs, "hunter2") {
		t.Errorf("explain: code %d: %s%s", code, out, errs)
	}
}

// A pipeline that fails makes exit 1 and says why; the others end well.
func TestRunFailed(t *testing.T) {
	c := newCall(t)
	script := c.file("a.sql", numbers+`
SET 'restart-strategy.type' = 'none';
CREATE TABLE small (n TINYINT) WITH ('connector' = 'blackhole');
INSERT INTO hole SELECT n FROM numbers;
INSERT INTO small SELECT CAST(n * 100 AS TINYINT) FROM numbers;`)
	code, _, errs := c.run("", "run", script, "--state", c.state(), "--progress", "json", "--log-format", "json")
	if code != exitFailed || !strings.Contains(errs, "pipeline small failed: ") || strings.Contains(errs, "pipeline hole failed") {
		t.Errorf("code %d: %s", code, errs)
	}
	_, out, _ := c.run("", "status", "--state", c.state())
	if !strings.Contains(out, "hole      finished") || !strings.Contains(out, "small     failed") {
		t.Errorf("status: %s", out)
	}
}

// reset asks, and --yes does not.
func TestReset(t *testing.T) {
	c := newCall(t)
	script := c.file("a.sql", numbers+"INSERT INTO hole SELECT n FROM numbers;")
	if code, _, errs := c.run("", "run", script, "--state", c.state(), "--progress", "none"); code != exitDone {
		t.Fatal(errs)
	}
	for _, tt := range []struct {
		stdin, args, want string
		code              int
	}{
		{"", "reset nothing --yes", `no pipeline "nothing"`, exitFailed},
		{"", "reset hole", "nothing was changed", exitFailed},
		{"n\n", "reset hole", "nothing was changed", exitFailed},
		{"y\n", "reset hole", `forgot "hole"`, exitDone},
		{"", "reset hole --yes", `no pipeline "hole"`, exitFailed},
	} {
		code, _, errs := c.run(tt.stdin, append(strings.Fields(tt.args), "--state", c.state())...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%s with %q: code %d: %s", tt.args, tt.stdin, code, errs)
		}
	}
	if _, out, _ := c.run("", "status", "--state", c.state()); out != "no pipelines\n" {
		t.Errorf("status: %q", out)
	}
}

// The interactive session runs each statement as it ends; a mistake does not end it, and shows in the exit code of a pipe.
func TestRepl(t *testing.T) {
	c := newCall(t)
	code, out, errs := c.run(numbers+"SELECT n\nFROM numbers\nWHERE n = 2;\nSELECT nothing FROM numbers;\nINSERT INTO hole SELECT n FROM numbers;\nSHOW TABLES;\nquit\nSHOW TABLES;\n",
		"repl", "--state", "memory:", "--output", "csv", "--until", "caught-up")
	if want := "n\n2\ntable name\nhole\nnumbers\n"; out != want || code != exitRefused {
		t.Errorf("code %d, output %q, errors %s", code, out, errs)
	}
	if !strings.Contains(errs, "unknown-column") || !strings.Contains(errs, "started pipeline hole") {
		t.Errorf("errors %s", errs)
	}
	if code, out, _ = c.run("SHOW TABLES", "repl", "--state", "memory:"); code != exitDone || out != "Empty set\n" {
		t.Errorf("a statement without its end: code %d, output %q", code, out)
	}
}

// test runs scripts and counts them.
func TestTest(t *testing.T) {
	c := newCall(t)
	c.file("good.slt", "query T\nSHOW TABLES\n----\n")
	bad := c.file("bad.slt", "query T\nSHOW TABLES\n----\nsomething\n")
	code, out, errs := c.run("", "test", c.dir)
	if code != exitFailed || out != "1 passed, 1 failed\n" || !strings.Contains(errs, "bad.slt:1: query: the result differs") {
		t.Errorf("code %d: %q %s", code, out, errs)
	}
	if code, out, _ = c.run("", "test", "--rewrite", bad); code != exitDone || out != "1 passed, 0 failed\n" {
		t.Errorf("rewrite: code %d: %q", code, out)
	}
	if code, out, _ = c.run("", "test", c.dir); code != exitDone || out != "2 passed, 0 failed\n" {
		t.Errorf("again: code %d: %q", code, out)
	}
}
