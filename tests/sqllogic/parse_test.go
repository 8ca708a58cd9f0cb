package sqllogic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A script with a mistake of its own is refused with the line, before anything of it runs.
func TestParse(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown_record", "sleep 5\n", `line 1: unknown record "sleep"`},
		{"statement_without_outcome", "\nstatement\nSELECT 1\n", "line 2: usage: statement ok"},
		{"statement_maybe", "statement maybe\nSELECT 1\n", "line 1: usage: statement ok"},
		{"statement_without_text", "statement ok\n\n", `line 1: nothing follows "statement"`},
		{"statement_ok_with_result", "statement ok\nSELECT 1\n----\n1\n", "line 3: a statement that is ok has no result"},
		{"bad_pattern", "statement error (\nSELECT 1\n", "line 1: error parsing regexp"},
		{"query_without_types", "query\nSELECT 1\n----\n", "line 1: usage: query"},
		{"query_unknown_type", "query X\nSELECT 1\n----\n", "line 1: usage: query"},
		{"query_unknown_words", "query I rowsort a b\nSELECT 1\n----\n", "line 1: usage: query"},
		{"query_without_result", "query I\nSELECT 1\n", `line 1: "query" without ----`},
		{"explain_without_result", "explain\nSELECT 1\n", `line 1: "explain" without ----`},
		{"rows_without_service", "rows dst\n----\n", "line 1: usage: rows SERVICE:TABLE"},
		{"rows_with_text", "rows memory:dst\nSELECT 1\n----\n", `line 2: "rows" takes no lines below it`},
		{"rows_without_result", "rows memory:dst\n", `line 1: "rows" without ----`},
		{"run_with_text", "run\nSELECT 1\n", `line 2: "run" takes no lines below it`},
		{"run_with_result", "run\n----\n1\n", `line 2: "run" has no result`},
		{"feed_without_table", "feed\n+I 1\n", "line 1: usage: feed TABLE"},
		{"feed_without_rows", "feed src\n", `line 1: nothing follows "feed"`},
		{"crash_nowhere", "crash sometimes\n", "line 1: usage: crash"},
		{"crash_at_zero", "crash save#0\n", "line 1: usage: crash"},
		{"restart_with_word", "restart now\n", "line 1: usage: restart"},
		{"fault_without_code", "fault memory write\n", "line 1: usage: fault"},
		{"fault_never", "fault memory write unavailable ×0\n", "line 1: usage: fault"},
		{"fault_sometime", "fault memory write unavailable during\n", "line 1: usage: fault"},
		{"condition_without_engine", "skipif\n\nhalt\n", "line 1: usage: skipif ENGINE"},
		{"condition_at_the_end", "statement ok\nSELECT 1\n\nonlyif syncsql\n", "line 4: no record follows this condition"},
		{"threshold_of_words", "hash-threshold many\n", "line 1: usage: hash-threshold N"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parse(%q) = %v, want %q", tt.text, err, tt.want)
			}
		})
	}
}

func TestParseRecords(t *testing.T) {
	records, err := parse("# a comment\n\nonlyif other\nstatement error no-such-code\nSELECT 1\n----\n1:1: x\n\nquery IT rowsort first\nSELECT 1,\n  2\n----\n1 2  \n\n" +
		"crash save#3\n\nfault memory write unavailable ×2 after\n\nrun orders error (?i)gone\n\nrun error gone\n\nrun\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 7 {
		t.Fatalf("%d records, want 7", len(records))
	}
	if r := records[0]; !r.skip || r.line != 4 || len(r.want) != 1 {
		t.Errorf("statement = %+v", r)
	}
	if r := records[1]; r.skip || r.body != "SELECT 1,\n  2" || r.label() != "first" || r.sortMode() != "rowsort" || r.want[0] != "1 2" {
		t.Errorf("query = %+v", r)
	}
	if step, n := records[2].crash(); step != "save" || n != 3 {
		t.Errorf("crash = %s %d", step, n)
	}
	if f := records[3].fault(); f != (fault{"memory", "write", "unavailable", 2, true}) {
		t.Errorf("fault = %+v", f)
	}
	for i, want := range []struct{ name, pattern string }{{"orders", "(?i)gone"}, {"", "gone"}, {"", ""}} {
		r := records[4+i]
		if pattern, _ := errorPattern(r); r.runName() != want.name || pattern != want.pattern {
			t.Errorf("run %d: name %q pattern %q", i, r.runName(), pattern)
		}
	}
}

// A run that comes out otherwise than the script says is an error that names the place.
func TestRunFileFailures(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"statement_refused", "statement ok\nSELECT * FROM nowhere\n", ":1: statement: 1:15: table \"nowhere\" is not declared [unknown-table]"},
		{"statement_accepted", "statement error\nSET 'batch.rows' = '10'\n", "it should be refused, and was not"},
		{"other_code", "statement error no-such-code\nSELECT * FROM nowhere\n", "no complaint has the code no-such-code"},
		{"other_message", "statement error white elephants\nSELECT * FROM nowhere\n", `the error does not match "white elephants"`},
		{"other_diagnostic", "statement error unknown-table\nSELECT * FROM nowhere\n----\n1:1: what\n", "the result differs"},
		{"other_rows", "query T\nSHOW TABLES\n----\nsrc\n", "the result differs"},
		{"column_count", "query TT\nSHOW TABLES\n----\n", "the result has 1 columns (T), the record 2 (TT)"},
		{"column_type", "query I\nSHOW TABLES\n----\n", "column 1 is T, the record says I"},
		{"not_a_query", "query T\nSET 'batch.rows' = '10'\n----\n", "exactly one query"},
		{"label", "query T nosort a\nSHOW TABLES\n----\n\nstatement ok\nCREATE TABLE t (a INT) WITH ('connector' = 'blackhole')\n\nquery T nosort a\nSHOW TABLES\n----\nt\n", `label "a" stood for another result before`},
		{"nothing_to_run", "run\n", "there is no pipeline"},
		{"crash_without_run", "crash save\n", "no run follows the last crash"},
		{"unknown_service", "rows disk:t\n----\n", `there is no service "disk" that shows its rows`},
		{"unknown_faulty_service", "fault disk write unavailable\n", `there is no service "disk" that takes faults`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "script.slt")
			if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			err := RunFile(t.Context(), path, Options{World: NewWorld})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestRewrite writes what came out, touches nothing else, and leaves a script that passes.
func TestRewrite(t *testing.T) {
	before := "# tables\nstatement ok\nCREATE TABLE t (a INT) WITH ('connector' = 'blackhole')\n\nquery T\nSHOW TABLES\n----\nwrong\nlines\n\n# the end\nquery T\nSHOW VIEWS\n----\n"
	after := strings.Replace(before, "wrong\nlines\n", "t\n", 1)
	path := filepath.Join(t.TempDir(), "script.slt")
	if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, rewriting := range []bool{true, false} {
		if err := RunFile(t.Context(), path, Options{World: NewWorld, Rewrite: rewriting}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != after {
			t.Errorf("rewriting %v left %q, want %q", rewriting, got, after)
		}
	}
}

// A line of values has one meaning.
func TestShow(t *testing.T) {
	for v, want := range map[string]string{
		"apple": "apple", "": "''", "a b": "'a b'", "it's": "'it''s'", "a\tb": `'a\tb'`, `{"a": 1}`: `{"a": 1}`, "'NULL'": "'NULL'", `say "x"`: `'say "x"'`,
	} {
		if got := Show(v); got != want {
			t.Errorf("Show(%q) = %s, want %s", v, got, want)
		}
	}
}

// The hash stands for the values in their order.
func TestHashThreshold(t *testing.T) {
	r := &run{dir: "/nowhere", threshold: 2}
	rec := &record{verb: "query", args: []string{"I", "rowsort"}}
	a := r.arrange(rec, [][]string{{"3"}, {"1"}, {"2"}})
	b := r.arrange(rec, [][]string{{"1"}, {"2"}, {"3"}})
	if len(a) != 1 || a[0] != b[0] || !strings.HasPrefix(a[0], "3 values hashing to ") {
		t.Errorf("%v and %v", a, b)
	}
	if got := r.arrange(rec, [][]string{{"2"}, {"1"}}); len(got) != 2 || got[0] != "1" {
		t.Errorf("below the threshold: %v", got)
	}
}
