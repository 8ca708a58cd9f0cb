package ddl

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"
)

// Span is a range of byte offsets in a script: Start is the first byte, End is one past the last.
type Span struct{ Start, End int }

// Cover returns the smallest span that holds both. A zero span does not count.
func (s Span) Cover(o Span) Span {
	if s == (Span{}) {
		return o
	}
	if o == (Span{}) {
		return s
	}
	return Span{min(s.Start, o.Start), max(s.End, o.End)}
}

// Error is one complaint about the user's text. Code is kebab-case and stable ("unknown-option"), Message is a lower-case
// sentence in the user's words, Help says what to write instead and may be empty.
type Error struct {
	Span    Span
	Code    string
	Message string
	Help    string
}

// Errorf makes an Error.
func Errorf(span Span, code, format string, args ...any) *Error {
	return &Error{Span: span, Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHelp sets the help line and returns e.
func (e *Error) WithHelp(format string, args ...any) *Error {
	e.Help = fmt.Sprintf(format, args...)
	return e
}

func (e *Error) Error() string { return e.Message + " [" + e.Code + "]" }

// Errors are all complaints about a script, in the order of their place.
type Errors []*Error

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns nil when there are no errors, so that a nil Errors never becomes a non-nil error.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	sort.SliceStable(es, func(i, j int) bool { return es[i].Span.Start < es[j].Span.Start })
	return es
}

// Place is a position for people: 1-based line, 1-based column counted in runes.
type Place struct{ Line, Column int }

// PlaceOf finds the place of a byte offset in text. An offset past the end is the end.
func PlaceOf(text string, offset int) Place {
	offset = max(0, min(offset, len(text)))
	before := text[:offset]
	line := strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	return Place{line + 1, utf8.RuneCountInString(before[start:]) + 1}
}

// Render writes one diagnostic as CLI.md shows it: place, message and code, the source line, a caret line, the help.
// file may be empty.
func Render(w io.Writer, file, text string, e *Error) {
	p := PlaceOf(text, e.Span.Start)
	if file != "" {
		fmt.Fprintf(w, "%s:", file)
	}
	fmt.Fprintf(w, "%d:%d: %s [%s]\n", p.Line, p.Column, e.Message, e.Code)
	if line, caret, ok := caretLines(text, e.Span, p); ok {
		prefix := fmt.Sprintf("  %d | ", p.Line)
		fmt.Fprintf(w, "%s%s\n%s| %s\n", prefix, line, strings.Repeat(" ", len(prefix)-2), caret)
	}
	if e.Help != "" {
		fmt.Fprintf(w, "help: %s\n", e.Help)
	}
}

// maxExcerpt is the longest line that is shown in part; to hide the secrets of a line, all of it has to be read.
const maxExcerpt = 1 << 20

// caretLines cuts the line of the span out of text. A tab stays a tab in both lines, so that the carets stand below the
// text however wide the terminal draws it. Lines over 200 runes are cut around the span. Secrets are hidden.
func caretLines(text string, s Span, p Place) (line, caret string, ok bool) {
	if text == "" {
		return "", "", false
	}
	start := max(0, min(s.Start, len(text)))
	from := strings.LastIndexByte(text[:start], '\n') + 1
	to := len(text)
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		to = start + i
	}
	if to-from > maxExcerpt {
		return "", "", false
	}
	full := []rune(strings.TrimRight(redactedLine(text, from, to), "\r"))
	width := 1
	if end := min(s.End, to); end > start {
		width = utf8.RuneCountInString(text[start:end])
	}
	first := 0
	const limit = 200
	if len(full) > limit {
		first = max(0, min(p.Column-1-limit/4, len(full)-limit))
		full = full[first:min(len(full), first+limit)]
	}
	var c strings.Builder
	at := p.Column - 1 - first
	for i := 0; i < at; i++ {
		if i < len(full) && full[i] == '\t' {
			c.WriteByte('\t')
		} else {
			c.WriteByte(' ')
		}
	}
	c.WriteString(strings.Repeat("^", max(1, min(width, len(full)-at))))
	return string(full), c.String(), true
}

// MarshalDiagnostic is the JSON object of `--output json`: file, line, column, end_line, end_column, code, message, help.
func MarshalDiagnostic(file, text string, e *Error) []byte {
	a, b := PlaceOf(text, e.Span.Start), PlaceOf(text, max(e.Span.Start, e.Span.End))
	out, err := json.Marshal(struct {
		File      string `json:"file"`
		Line      int    `json:"line"`
		Column    int    `json:"column"`
		EndLine   int    `json:"end_line"`
		EndColumn int    `json:"end_column"`
		Code      string `json:"code"`
		Message   string `json:"message"`
		Help      string `json:"help,omitempty"`
	}{file, a.Line, a.Column, b.Line, b.Column, e.Code, e.Message, e.Help})
	if err != nil {
		panic(err) // a struct of strings and ints always marshals
	}
	return out
}
