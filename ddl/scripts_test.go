package ddl

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// TestScripts parses the scripts of testdata, all of which are valid. SYNCSQL_CORPUS names another folder, of other people's
// scripts; then what is refused is reported, to the file that SYNCSQL_CORPUS_REPORT names.
func TestScripts(t *testing.T) {
	folder, valid := os.Getenv("SYNCSQL_CORPUS"), false
	if folder == "" {
		folder, valid = "testdata/scripts", true
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts in", folder, err)
	}
	seen := map[string]bool{}
	all, good, refused := 0, 0, map[string]int{}
	var report strings.Builder
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, c := range split(lex(text)) {
			stmt := strings.TrimSpace(text[c.tokens[0].at.Start:c.end])
			if seen[stmt] {
				continue
			}
			seen[stmt] = true
			all++
			statements, errs := Parse(stmt)
			if len(errs) == 0 {
				good++
				if len(statements) == 1 {
					checkPrint(t, stmt, statements[0])
				}
				continue
			}
			key := numbers.ReplaceAllString(errs[0].Message, "…")
			refused[errs[0].Code+": "+key]++
			fmt.Fprintf(&report, "=== %s\n", filepath.Base(name))
			Render(&report, "", stmt, errs[0])
			fmt.Fprintf(&report, "%s\n\n", stmt)
		}
	}
	if out := os.Getenv("SYNCSQL_CORPUS_REPORT"); out != "" {
		if err := os.WriteFile(out, []byte(report.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		keys := make([]string, 0, len(refused))
		for k := range refused {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool { return refused[keys[i]] > refused[keys[j]] })
		for _, k := range keys {
			t.Logf("%4d %s", refused[k], k)
		}
	}
	t.Logf("%d statements, %d accepted", all, good)
	if valid && good != all {
		t.Error(report.String())
	}
}

var numbers = regexp.MustCompile(`"[^"]*"|\d+`)

func checkPrint(t *testing.T, text string, s Statement) {
	if _, ok := s.(*Unsupported); ok {
		return
	}
	printed := Print(s)
	again, errs := Parse(printed)
	if len(errs) > 0 || len(again) != 1 {
		t.Errorf("print does not parse: %v\n%s\n%s", errs, text, printed)
	} else if d := difference(s, again[0]); d != "" {
		t.Errorf("print gives another tree: %s\n%s\n%s", d, text, printed)
	}
}
