package ddl

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// scripts are the valid scripts of testdata.
func scripts(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob("testdata/scripts/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(text)
	}
	return out
}

// walk calls visit with every struct in a tree.
func walk(v reflect.Value, visit func(any)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			if v.Kind() == reflect.Pointer {
				visit(v.Interface())
			}
			walk(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Struct:
		if v.CanInterface() {
			visit(v.Interface())
		}
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	}
}

// TestPlaces checks that every node of a tree stands where its span says: the text there, parsed on its own, is the node.
func TestPlaces(t *testing.T) {
	names, operators, exprs := 0, 0, 0
	for file, text := range scripts(t) {
		for _, s := range must(t, text) {
			walk(reflect.ValueOf(s), func(node any) {
				switch x := node.(type) {
				case Ident:
					if x.Name == "" || x.Name == "GROUPING SETS" {
						return
					}
					names++
					got := text[x.At.Start:x.At.End]
					if got != x.Name && got != QuoteIdent(x.Name) {
						t.Errorf("%s: name %q stands at %q", file, x.Name, got)
					}
				case *Binary:
					operators++
					got := strings.ToUpper(text[x.OpAt.Start:x.OpAt.End])
					if got != x.Op {
						t.Errorf("%s: operator %q stands at %q", file, x.Op, got)
					}
				}
				if e, ok := node.(Expr); ok && standsAlone(text, e) {
					exprs++
					piece := text[e.Span().Start:e.Span().End]
					again, err := ParseExpr(piece)
					if err != nil {
						t.Errorf("%s: %q does not parse: %v", file, piece, err)
					} else if d := difference(e, again); d != "" {
						t.Errorf("%s: %q is another expression: %s", file, piece, d)
					}
				}
			})
		}
	}
	if names < 150 || operators < 20 || exprs < 150 {
		t.Errorf("only %d names, %d operators, %d expressions were checked", names, operators, exprs)
	}
}

// standsAlone leaves out what is no expression by itself: a span that cuts through brackets, units that became strings,
// TABLE arguments, grouping sets, and calls over a named window.
func standsAlone(text string, e Expr) bool {
	piece := text[e.Span().Start:e.Span().End]
	if _, err := pair(lex(piece)); err != nil {
		return false
	}
	switch x := e.(type) {
	case *Literal:
		return x.Kind != StringLiteral || strings.Contains(piece, "'")
	case *Call:
		if name := x.Name.Last(); name == "TABLE" || name == "GROUPING SETS" || name == "UNNEST" {
			return false
		}
		return x.Over == nil || strings.HasSuffix(piece, ")")
	case *Construct:
		return len(x.Elems) > 0
	}
	return true
}

// TestMutations puts junk into valid queries: the complaint must stand at the junk or right beside it.
func TestMutations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	junk := []string{" = = ", " , , ", " FROM FROM ", " 'x' 1 ", " ] [ ", " AS AS ", " @ @ ", " 1 1 "}
	rejected, near := 0, 0
	for _, text := range scripts(t) {
		for _, c := range split(lex(text)) {
			if c.tokens[0].is("SET") {
				continue
			}
			for range 60 {
				i := 1 + random.IntN(len(c.tokens)-1)
				at, mess := c.tokens[i].at.Start, junk[random.IntN(len(junk))]
				from := c.tokens[0].at.Start
				mutant := text[from:at] + mess + text[at:c.end]
				_, errs := Parse(mutant)
				if len(errs) == 0 {
					continue
				}
				rejected++
				lo, hi := c.tokens[i-1].at.Start-from, at-from+len(mess)+c.tokens[i].at.End-at
				for _, e := range errs {
					if e.Span.Start < 0 || e.Span.End > len(mutant) || e.Span.End < e.Span.Start {
						t.Fatalf("span %v of %v in %d bytes", e.Span, e, len(mutant))
					}
				}
				if s := errs[0].Span.Start; s >= lo && s <= hi {
					near++
				}
			}
		}
	}
	t.Logf("%d mutants rejected, %d of them at the junk", rejected, near)
	if rejected < 500 || near*100 < rejected*93 {
		t.Errorf("%d mutants rejected, %d of them at the junk", rejected, near)
	}
}

func TestSuggestions(t *testing.T) {
	for text, want := range map[string]string{
		"INSRT INTO a SELECT 1":             "INSERT",
		"DESCIRBE t":                        "DESCRIBE",
		"EXPLIAN SELECT 1":                  "EXPLAIN",
		"CREATE VEIW v AS SELECT 1":         "CREATE VIEW",
		"SHOW COLUMS FROM t":                "SHOW COLUMNS",
		"CREATE TABLE t (a BIGIN)":          "BIGINT",
		"SELECT CAST(a AS INTEGR)":          "INTEGER",
		"SELECT 1 INSERT INTO a SELECT 1":   "';' is missing before INSERT",
		"SET 'a' = 'b' SELECT 1":            "';' is missing before SELECT",
		"SET a = b\nCREATE TABLE t (a INT)": "';' is missing before CREATE",
	} {
		_, errs := Parse(text)
		if len(errs) != 1 || !strings.Contains(errs[0].Help, want) {
			t.Errorf("%q: %v, want help with %q", text, errs, want)
		}
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	statements, errs := Parse("SELET 1;\nSELECT 1;\nCREATE TABLE t (a TEXT);\nSELECT \"x\";\nSELECT (1;\nSHOW TABLES;\nDROP;\nSELECT 'open")
	if len(statements) != 2 || len(errs) != 6 {
		t.Fatalf("%d statements, %d errors: %v", len(statements), len(errs), errs)
	}
	for i := 1; i < len(errs); i++ {
		if errs[i].Span.Start < errs[i-1].Span.Start {
			t.Error("errors are not in the order of their place")
		}
	}
}
