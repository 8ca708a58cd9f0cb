package session

import (
	"bytes"
	"io"
	"sort"
	"strings"

	"github.com/syncsql/syncsql/ddl"
)

// Diagnostic is one mistake in a file. Text is the whole file as the user wrote it.
type Diagnostic struct {
	File, Text string
	Err        *ddl.Error
}

// Diagnostics are all mistakes of a script, in the order of their place. They are the error of a script that was refused.
type Diagnostics []Diagnostic

func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.Err.Error()
	}
	return strings.Join(lines, "\n")
}

// Render writes all of them as text.
func (ds Diagnostics) Render(w io.Writer) {
	for _, d := range ds {
		ddl.Render(w, d.File, d.Text, d.Err)
	}
}

// JSON writes one object per mistake.
func (ds Diagnostics) JSON(w io.Writer) error {
	var b bytes.Buffer
	for _, d := range ds {
		b.Write(ddl.MarshalDiagnostic(d.File, d.Text, d.Err))
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

// piece is one text of a session. Spans of a session count from the session's first byte, so that a complaint about one
// file can point into another: base is where the piece begins, cuts where variables were filled in.
type piece struct {
	file, text string
	base, size int // of the expanded text
	cuts       []cut
}

// parse reads one text. Statements and complaints have the session's spans.
func (s *Session) parse(f File) ([]ddl.Statement, ddl.Errors) {
	expanded, cuts, errs := expand(f.Text, s.config.Vars)
	p := piece{file: f.Name, text: f.Text, base: s.end, size: len(expanded), cuts: cuts}
	s.pieces = append(s.pieces, p)
	s.end += p.size + 1
	for _, e := range errs {
		e.Span = p.expandedSpan(e.Span)
	}
	statements, more := ddl.Parse(expanded)
	if p.base == 0 {
		return statements, append(errs, more...)
	}
	for _, e := range more {
		e.Span.Start += p.base
		e.Span.End += p.base
	}
	// Spaces in front move every span, which is simpler than a walk over the whole syntax tree. A byte order mark is only
	// one at the very beginning.
	const mark = "\ufeff"
	if strings.HasPrefix(expanded, mark) {
		expanded = strings.Repeat(" ", len(mark)) + expanded[len(mark):]
	}
	statements, _ = ddl.Parse(strings.Repeat(" ", p.base) + expanded)
	return statements, append(errs, more...)
}

// expandedSpan is the opposite of original, for complaints about the text before it was expanded.
func (p piece) expandedSpan(s ddl.Span) ddl.Span {
	move := func(offset int) int {
		shift := 0
		for _, c := range p.cuts {
			if c.from >= offset {
				break
			}
			shift = c.at + c.size - c.to
		}
		return p.base + offset + shift
	}
	return ddl.Span{Start: move(s.Start), End: move(s.End)}
}

// diagnostics turns complaints with the session's spans into ones that name file and place.
func (s *Session) diagnostics(errs ddl.Errors) Diagnostics {
	out := make(Diagnostics, 0, len(errs))
	for _, e := range errs {
		p := s.pieceAt(e.Span.Start)
		local := *e
		local.Span = original(ddl.Span{Start: e.Span.Start - p.base, End: e.Span.End - p.base}, p.cuts)
		out = append(out, Diagnostic{File: p.file, Text: p.text, Err: &local})
	}
	return out
}

func (s *Session) pieceAt(offset int) piece {
	i := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].base > offset }) - 1
	if i < 0 {
		return piece{}
	}
	return s.pieces[i]
}

// sortErrors puts complaints in order of their place and drops those that say the same about the same place: a table that
// is used twice is complained about once.
func sortErrors(errs ddl.Errors) ddl.Errors {
	sort.SliceStable(errs, func(i, j int) bool { return errs[i].Span.Start < errs[j].Span.Start })
	out := errs[:0:0]
	seen := map[ddl.Error]bool{}
	for _, e := range errs {
		if !seen[*e] {
			seen[*e] = true
			out = append(out, e)
		}
	}
	return out
}
