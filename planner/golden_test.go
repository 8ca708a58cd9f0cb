package planner

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/ddl"
)

var rewriteGolden = flag.Bool("rewrite", false, "write the golden files again; read the diff")

// session plans a script the way `check` does and collects everything.
type session struct {
	Planner
	pipelines []*Pipeline
	errs      ddl.Errors
	warnings  ddl.Errors
}

func newSession() *session {
	return &session{Planner: Planner{Catalog: &catalog.Catalog{}, Connectors: fakes}}
}

func (s *session) run(script string) {
	stmts, errs := ddl.Parse(script)
	s.errs = append(s.errs, errs...)
	for _, stmt := range stmts {
		switch x := stmt.(type) {
		case *ddl.Insert:
			s.keep(s.Plan([]*ddl.Insert{x}))
		case *ddl.StatementSet:
			s.keep(s.Plan(x.Inserts))
		case *ddl.SelectStatement:
			p, errs := s.PlanSelect(x.Query, result)
			if p != nil {
				s.pipelines = append(s.pipelines, p)
			}
			s.errs = append(s.errs, errs...)
		default:
			errs, warnings := s.Apply(stmt)
			s.errs = append(s.errs, errs...)
			s.warnings = append(s.warnings, warnings...)
		}
	}
}

func (s *session) keep(p []*Pipeline, errs ddl.Errors) {
	s.pipelines = append(s.pipelines, p...)
	s.errs = append(s.errs, errs...)
}

func (s *session) text(script string) string {
	var b strings.Builder
	for _, p := range s.pipelines {
		b.WriteString(p.Explain())
	}
	for _, w := range s.warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, e := range sorted(s.errs) {
		ddl.Render(&b, "", script, e)
	}
	return b.String()
}

// TestGolden runs the cases of testdata: "=== name", a script, "----", what the planner says. Tables that every case can
// use stand in tables.sql.
func TestGolden(t *testing.T) {
	prelude, err := os.ReadFile("testdata/tables.sql")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for n, block := range strings.Split(string(data), "=== ") {
			if n == 0 {
				out.WriteString(block)
				continue
			}
			name, rest, _ := strings.Cut(block, "\n")
			script, want, _ := strings.Cut(rest, "----\n")
			want = strings.TrimRight(want, "\n") + "\n"
			var got string
			t.Run(strings.TrimSuffix(filepath.Base(file), ".golden")+"/"+name, func(t *testing.T) {
				s := newSession()
				s.run(string(prelude))
				if len(s.errs) > 0 {
					t.Fatalf("tables.sql: %v", s.errs)
				}
				s.run(script)
				got = s.text(script)
				if !*rewriteGolden && got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
			fmt.Fprintf(&out, "=== %s\n%s----\n%s\n", name, script, got)
		}
		if *rewriteGolden {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
