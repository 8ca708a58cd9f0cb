package sqllogic

import (
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/syncsql/syncsql/session"
)

// query runs the statement below the record and compares its rows.
func (r *run) query(rec *record) error {
	got, err := r.session.Query(r.ctx, session.File{Text: rec.body})
	if err != nil {
		return r.shown(err)
	}
	types := rec.args[0]
	if len(types) != len(got.Types) {
		return fmt.Errorf("the result has %d columns (%s), the record %d (%s)", len(got.Types), got.Types, len(types), types)
	}
	for i, want := range types {
		if want != '?' && byte(want) != got.Types[i] {
			return fmt.Errorf("column %d is %c, the record says %c", i+1, got.Types[i], want)
		}
	}
	return r.compare(rec, r.arrange(rec, got.Rows))
}

// rows compares what a stand-in really holds.
func (r *run) rows(rec *record) error {
	name, table, _ := strings.Cut(rec.args[0], ":")
	s, ok := r.world.Services[name]
	if !ok || s.Rows == nil {
		return fmt.Errorf("there is no service %q that shows its rows", name)
	}
	rows, err := s.Rows(r.ctx, table)
	if err != nil {
		return err
	}
	return r.compare(rec, r.arrange(rec, rows))
}

// arrange sorts rows as the record says and writes them as lines; more values than the threshold become a hash.
func (r *run) arrange(rec *record, rows [][]string) []string {
	var out, values []string
	for _, row := range rows {
		shown := make([]string, len(row))
		for i, v := range row {
			shown[i] = Show(r.hide(v))
		}
		if len(row) == 1 && alone.MatchString(row[0]) {
			shown[0] = r.hide(row[0]) // spaces divide nothing here
		}
		out = append(out, strings.Join(shown, " "))
		values = append(values, shown...)
	}
	switch rec.sortMode() {
	case "rowsort":
		sort.Strings(out)
	case "valuesort":
		sort.Strings(values)
		out = values
	}
	if r.threshold > 0 && len(values) > r.threshold {
		sum := md5.Sum([]byte(strings.Join(out, "\n") + "\n"))
		return []string{fmt.Sprintf("%d values hashing to %x", len(values), sum)}
	}
	return out
}

// plain is a value that can stand between spaces as it is.
var plain = regexp.MustCompile(`^[^\s'"\x00-\x1f\x7f]+$`)

// alone is a value that can be a whole line as it is.
var alone = regexp.MustCompile(`^[^'\x00-\x1f\x7f][^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f]$`)

// Show writes a value so that a line of values has one meaning: one with spaces, quotes or control characters, and the
// empty one, stand between single quotes with the escapes of Go.
func Show(v string) string {
	if plain.MatchString(v) || v == "'NULL'" || structured(v) {
		return v
	}
	q := fmt.Sprintf("%q", v)
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(q, "'", "''") + "'"
}

// structured is JSON on one line, which delimits itself.
func structured(v string) bool {
	return len(v) > 1 && (v[0] == '{' && v[len(v)-1] == '}' || v[0] == '[' && v[len(v)-1] == ']') && !strings.ContainsAny(v, "\n\r\t")
}

// compare holds the lines against those after ----, or keeps them for -rewrite. Records with one label must agree.
func (r *run) compare(rec *record, got []string) error {
	if label := rec.label(); label != "" {
		text := strings.Join(got, "\n")
		if first, ok := r.labels[label]; ok && first != text {
			return fmt.Errorf("label %q stood for another result before:\n%s\nnow:\n%s", label, first, text)
		}
		r.labels[label] = text
	}
	if r.rewrite {
		rec.want, rec.hasWant = got, true
		return nil
	}
	if slices.Equal(rec.want, got) {
		return nil
	}
	return fmt.Errorf("the result differs\nwant:\n%s\ngot:\n%s", indent(rec.want), indent(got))
}

func indent(lines []string) string {
	if len(lines) == 0 {
		return "  (nothing)"
	}
	return "  " + strings.Join(lines, "\n  ")
}

// lines cuts text for comparison. Blank lines are left out: one would end the record.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// hide replaces the script's own folder, whose name is different in every run.
func (r *run) hide(text string) string { return strings.ReplaceAll(text, r.dir, "${DIR}") }

// render writes diagnostics as the user sees them.
func (r *run) render(err error) string {
	var ds session.Diagnostics
	if !errors.As(err, &ds) {
		return r.hide(err.Error())
	}
	var b strings.Builder
	ds.Render(&b)
	return r.hide(b.String())
}

// shown is the error with its diagnostics in full.
func (r *run) shown(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimRight(r.render(err), "\n"))
}

// code is how a diagnostic's code looks.
var code = regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)

// matches holds an error against what follows the word error: the code of one of its diagnostics, or a regular expression
// over its message. Nothing matches every error.
func (r *run) matches(err error, pattern string) error {
	if pattern == "" {
		return nil
	}
	var ds session.Diagnostics
	if code.MatchString(pattern) && errors.As(err, &ds) {
		for _, d := range ds {
			if d.Err.Code == pattern {
				return nil
			}
		}
		return fmt.Errorf("no complaint has the code %s:\n%s", pattern, r.render(err))
	}
	re, bad := regexp.Compile(pattern)
	if bad != nil {
		return bad
	}
	if !re.MatchString(err.Error()) {
		return fmt.Errorf("the error does not match %q:\n%s", pattern, r.render(err))
	}
	return nil
}

// rewrite writes a script with the results that came out.
func rewrite(path, text string, records []*record) error {
	old := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var out []string
	at := 0
	for _, rec := range records {
		if !rec.hasWant || rec.skip {
			continue
		}
		out = append(out, old[at:rec.wantAt]...)
		at = rec.wantAt
		out = append(out, rec.want...)
		for at < len(old) && strings.TrimSpace(old[at]) != "" {
			at++
		}
	}
	out = append(out, old[at:]...)
	now := strings.Join(out, "\n")
	if now == text {
		return nil
	}
	return os.WriteFile(path, []byte(now), 0o644)
}
