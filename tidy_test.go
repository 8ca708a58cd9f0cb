// Package tidy holds the rules of the tree that a machine can check: which package may import which, how long files and
// functions may be, and words that must not stand in code. It must never depend on anything but the source text.
package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/syncsql/syncsql/"

// imports says what a package may import of ours. A key ending in "/*" stands for the folders below it; what is not
// listed is forbidden. The table is drawn in docs/architecture.md.
var imports = map[string][]string{
	"ddl":                        {"ddl/*"},
	"ddl/*":                      {},
	"change":                     {},
	"option":                     {"ddl"},
	"catalog":                    {"ddl", "option"},
	"eval":                       {"ddl", "catalog", "change"},
	"checkpoint":                 {"change"},
	"connectors":                 {"change", "option"},
	"connectors/*":               {"connectors", "change", "option"},
	"connectors/all":             {"connectors", "connectors/*", "change", "option"},
	"connectors/connectortest":   {"connectors", "change", "option"},
	"connectors/postgres/pgtest": {},
	"planner":                    {"ddl", "catalog", "option", "change", "connectors", "eval"},
	"exec":                       {"planner", "connectors", "checkpoint", "change", "eval"},
	"emulators":                  {},
	"emulators/*":                {},
	"session":                    {"*"},
	"cmd/syncsql":                {"*"},
	"tests/sqllogic":             {"*"},
	"tests/bench":                {"connectors/postgres/pgtest"},
	"tests/chaos":                {"connectors/postgres/pgtest"},
	"docs":                       {"*"},
	"examples":                   {},
}

// testImports are what the tests of a package may import beside.
var testImports = []string{"connectors/connectortest", "connectors/postgres/pgtest", "connectors/memory", "option", "ddl", "catalog", "eval", "connectors", "change", "checkpoint", "planner"}

// banned are words that tell of unfinished work or of history; git knows the history.
var banned = regexp.MustCompile(`(?i)\b(TODO|FIXME|XXX|not implemented|unimplemented|for now|placeholder implementation|previously|no longer needed|helper-\d)\b`)

type source struct {
	path string // slash-separated, from the root
	text string
	file *ast.File
	fset *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "interop") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, source{filepath.ToSlash(path), string(text), f, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		pkg := filepath.ToSlash(filepath.Dir(s.path))
		if pkg == "." {
			continue
		}
		allowed, ok := rule(pkg)
		if !ok {
			t.Errorf("%s: package %s is not in the import table", s.path, pkg)
			continue
		}
		if strings.HasSuffix(s.path, "_test.go") {
			allowed = append(append([]string{pkg}, allowed...), testImports...)
		}
		for _, spec := range s.file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			ours, isOurs := strings.CutPrefix(path, module)
			if isOurs && !matches(ours, allowed) {
				t.Errorf("%s: %s must not import %s", s.fset.Position(spec.Pos()), pkg, ours)
			}
		}
	}
}

func rule(pkg string) ([]string, bool) {
	if r, ok := imports[pkg]; ok {
		return r, true
	}
	for dir := filepath.ToSlash(filepath.Dir(pkg)); dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if r, ok := imports[dir+"/*"]; ok {
			return r, true
		}
	}
	return nil, false
}

func matches(pkg string, allowed []string) bool {
	for _, a := range allowed {
		if a == "*" || a == pkg || (strings.HasSuffix(a, "/*") && strings.HasPrefix(pkg, strings.TrimSuffix(a, "*"))) {
			return true
		}
	}
	return false
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if n := strings.Count(s.text, "\n"); n > 600 {
			t.Errorf("%s: %d lines, the limit is 600", s.path, n)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			from, to := s.fset.Position(f.Pos()), s.fset.Position(f.End())
			if n := to.Line - from.Line + 1; n > 70 && !onlyATable(f) {
				t.Errorf("%s: %s has %d lines, the limit is 70", from, f.Name.Name, n)
			}
		}
	}
}

// onlyATable lets a function be longer that is one statement: a table that is returned, or one switch or loop over a table.
func onlyATable(f *ast.FuncDecl) bool {
	if len(f.Body.List) != 1 {
		return false
	}
	switch f.Body.List[0].(type) {
	case *ast.ReturnStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.RangeStmt:
		return true
	}
	return false
}

func TestWords(t *testing.T) {
	for _, s := range sources(t) {
		if s.path == "tidy_test.go" {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			if w := banned.FindString(line); w != "" {
				t.Errorf("%s:%d: %q: finish it, or say it in docs/status.md", s.path, i+1, w)
			}
		}
	}
}

func TestNoInitAndNoSleep(t *testing.T) {
	for _, s := range sources(t) {
		isTest := strings.HasSuffix(s.path, "_test.go")
		bubble := strings.Contains(s.text, `"testing/synctest"`)
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				// The value driver of the TiDB parser can only be installed by init.
				if n.Recv == nil && n.Name.Name == "init" && !strings.HasPrefix(s.path, "ddl/valdrv/") {
					t.Errorf("%s: init() registers by side effect", s.fset.Position(n.Pos()))
				}
			case *ast.CallExpr:
				if isTest && !bubble && called(n) == "time.Sleep" {
					t.Errorf("%s: time.Sleep in a test: wait for the event", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

func called(c *ast.CallExpr) string {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); ok {
		return fmt.Sprintf("%s.%s", x.Name, sel.Sel.Name)
	}
	return ""
}

// TestPackageComments wants a sentence with "must never" or "never" in every package comment: what a package does not do
// is what keeps the tree readable.
func TestPackageComments(t *testing.T) {
	docs := map[string]string{}
	for _, s := range sources(t) {
		pkg := filepath.ToSlash(filepath.Dir(s.path))
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		docs[pkg] += s.file.Doc.Text()
	}
	for pkg, doc := range docs {
		if !strings.Contains(doc, "never") {
			t.Errorf("package %s: the package comment does not say what it must never do", pkg)
		}
	}
}
