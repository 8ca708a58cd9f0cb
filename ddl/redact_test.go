package ddl

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// C172: a misspelt option next to a password shows the line without the password, and the caret stays in its place.
func TestC172_diagnostics_hide_secrets(t *testing.T) {
	for _, script := range []string{
		"CREATE TABLE t (a INT) WITH ('password' = 'hünter2', 'tabel' = 'x')",
		"WITH ('password' =\n 'hünter2', 'tabel' = 'x')",
		"WITH ('url' = 'postgres://u:hünter2@h/db', 'tabel' = 'x')",
		"WITH ('url' = 'jdbc:postgresql://h/db?password=hünter2&a=b', 'tabel' = 'x')",
		"WITH ('api.key' = 'hünter2\nhünter2', 'tabel' = 'x')",
		`WITH ('conf' = '{"private_key": "hünter2"}', 'tabel' = 'x')`,
	} {
		at := strings.Index(script, "'tabel'")
		var b strings.Builder
		Render(&b, "", script, Errorf(Span{at, at + 7}, "unknown-option", "unknown option"))
		got := b.String()
		if strings.Contains(got, "nter2") {
			t.Errorf("a secret is shown:\n%s", got)
		}
		lines := strings.Split(got, "\n")
		column := utf8.RuneCountInString(lines[1][:strings.Index(lines[1], "'tabel'")])
		if caret := strings.Index(lines[2], "^"); caret != column {
			t.Errorf("the caret is at %d, want %d:\n%s", caret, column, got)
		}
	}
	var b strings.Builder
	Render(&b, "", "WITH ('password' = '${env:PW}', 'table' = 'x')", Errorf(Span{0, 4}, "x", "y"))
	if !strings.Contains(b.String(), "${env:PW}") || !strings.Contains(b.String(), "'table' = 'x'") {
		t.Errorf("too much is hidden:\n%s", b.String())
	}
}
