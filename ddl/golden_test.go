package ddl

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden texts again")

// TestGolden parses each input of testdata/*.txt and compares what comes of it: the text that TiDB reads, the printed
// statements, or the diagnostics.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 3 {
		t.Fatal("golden files are missing", err)
	}
	for _, name := range files {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for i, block := range strings.Split(strings.TrimSpace(string(want)), "\n\n") {
			if i > 0 {
				got.WriteString("\n")
			}
			input, golden, _ := strings.Cut(block, "\n----\n")
			outcome := goldenOutcome(t, input)
			fmt.Fprintf(&got, "%s\n----\n%s", input, outcome)
			if !*rewrite && strings.TrimRight(golden, "\n") != strings.TrimRight(outcome, "\n") {
				t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", name, input, outcome, golden)
			}
		}
		if *rewrite {
			if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func goldenOutcome(t *testing.T, input string) string {
	var b strings.Builder
	if c := split(lex(input)); len(c) == 1 && (c[0].tokens[0].is("SELECT") || c[0].tokens[0].is("VALUES") || c[0].tokens[0].is("WITH") || c[0].tokens[0].is("(")) {
		p := newParser(input, c[0])
		n := newNorm(p)
		n.query()
		if n.err == nil && n.pos == len(n.tokens) {
			fmt.Fprintf(&b, "tidb   %s\n", n.out)
		}
	}
	statements, errs := Parse(input)
	for _, s := range statements {
		if u, ok := s.(*Unsupported); ok {
			b.WriteString("unsupported ")
			Render(&b, "", input, u.Error)
			continue
		}
		checkPrint(t, input, s)
		fmt.Fprintf(&b, "print  %s\n", Print(s))
	}
	for _, e := range errs {
		Render(&b, "", input, e)
	}
	return b.String()
}
