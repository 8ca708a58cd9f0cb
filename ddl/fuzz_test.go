package ddl

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// seeds are the golden scripts and a few texts that are no SQL.
func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds in testdata", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range strings.Split(string(text), "\n\n") {
			input, _, _ := strings.Cut(c, "\n----")
			f.Add(input)
		}
	}
	for _, s := range []string{"", ";", "'", "`", "/*", "--", "\ufeffSELECT 1", "SELECT\u00a01", "\xff\xfeS\x00", "\x00", "((((", "U&'\\0041'", "x'0'"} {
		f.Add(s)
	}
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		statements, errs := Parse(text)
		for _, e := range errs {
			if e.Span.Start < 0 || e.Span.End < e.Span.Start || e.Span.End > len(text) {
				t.Fatalf("error %v has span %v in a text of %d bytes", e, e.Span, len(text))
			}
			if e.Code == "" || e.Message == "" {
				t.Fatalf("error without code or message: %+v", e)
			}
			if strings.Contains(e.Message+e.Help, "#") && !strings.Contains(text, "#") {
				t.Fatalf("error shows a placeholder: %v", e)
			}
		}
		for _, s := range statements {
			spans(reflect.ValueOf(s), func(at Span) {
				if at.Start < 0 || at.End < at.Start || at.End > len(text) {
					t.Fatalf("span %v in a text of %d bytes", at, len(text))
				}
			})
			if _, ok := s.(*Unsupported); ok {
				continue
			}
			printed := Print(s)
			again, errs := Parse(printed)
			if len(errs) > 0 || len(again) != 1 {
				t.Fatalf("print does not parse: %v\n%s", errs, printed)
			}
			if d := difference(s, again[0]); d != "" {
				t.Fatalf("print gives another tree: %s\n%s", d, printed)
			}
		}
		Complete(text)
	})
}

func FuzzFormat(f *testing.F) {
	f.Add("SELECT 1\n\tFROM t", "a.sql", 3, 5, "message", "help")
	f.Add("", "", 0, 0, "", "")
	f.Add("a\r\nb", "x", 1, 2, "m", "h")
	f.Fuzz(func(t *testing.T, text, file string, start, end int, message, help string) {
		e := &Error{Span: Span{start, end}, Code: "code", Message: message, Help: help}
		var b strings.Builder
		Render(&b, file, text, e)
		if !strings.Contains(b.String(), "[code]") {
			t.Fatalf("no code in %q", b.String())
		}
		if p := PlaceOf(text, start); p.Line < 1 || p.Column < 1 {
			t.Fatalf("place %v", p)
		}
		if len(MarshalDiagnostic(file, text, e)) == 0 {
			t.Fatal("empty diagnostic")
		}
	})
}
