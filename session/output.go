package session

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/connectors"
)

// Format is how results are written.
type Format string

// The values of --output.
const (
	TableFormat Format = "table"
	JSONFormat  Format = "json"
	CSVFormat   Format = "csv"
)

// heading is one column of a result. Type is nil for text.
type heading struct {
	Name string
	Type arrow.DataType
}

// letter is I for whole numbers, R for other numbers, B for booleans, T for everything else.
func (h heading) letter() byte {
	switch {
	case h.Type == nil:
		return 'T'
	case arrow.IsInteger(h.Type.ID()):
		return 'I'
	case arrow.IsFloating(h.Type.ID()), arrow.IsDecimal(h.Type.ID()):
		return 'R'
	case h.Type.ID() == arrow.BOOL:
		return 'B'
	}
	return 'T'
}

// right reports whether a table aligns the column on the right.
func (h heading) right() bool { return h.letter() == 'I' || h.letter() == 'R' }

// cell is one value in both spellings; exactly one of them is filled, as the format needs.
type cell struct {
	text string
	null bool
	json string
}

func textCell(s string) cell { return cell{text: s, json: string(connectors.AppendJSONString(nil, s))} }

// printer writes one result at a time: begin, rows, end. Nothing of a result is lost when a write fails: the error comes
// back from the call that met it.
type printer interface {
	begin(columns []heading) error
	row(cells []cell) error
	// flush shows what was held back to find column widths: a changelog must be seen while it runs.
	flush() error
	end() error
	// text writes a result that is one piece of text, such as a plan.
	text(s string) error
}

func newPrinter(w io.Writer, f Format) printer {
	b := bufio.NewWriter(w)
	switch f {
	case JSONFormat:
		return &jsonPrinter{w: b}
	case CSVFormat:
		return &csvPrinter{b: b, w: csv.NewWriter(b)}
	}
	return &tablePrinter{w: b}
}

// rowsHeld is how many rows decide the widths of a table's columns.
const rowsHeld = 1000

type tablePrinter struct {
	w       *bufio.Writer
	columns []heading
	widths  []int
	held    [][]cell
	rows    int
	opened  bool
}

func (p *tablePrinter) begin(columns []heading) error {
	*p = tablePrinter{w: p.w, columns: columns, widths: make([]int, len(columns))}
	for i, c := range columns {
		p.widths[i] = utf8.RuneCountInString(c.Name)
	}
	return nil
}

func (p *tablePrinter) row(cells []cell) error {
	p.rows++
	if p.opened {
		p.line(cells)
		return nil
	}
	shown := make([]cell, len(cells))
	for i, c := range cells {
		shown[i] = cell{text: oneLine(c.text), null: c.null}
		p.widths[i] = max(p.widths[i], utf8.RuneCountInString(shown[i].text))
	}
	p.held = append(p.held, shown)
	if len(p.held) == rowsHeld {
		return p.flush()
	}
	return nil
}

func (p *tablePrinter) flush() error {
	if !p.opened {
		p.opened = true
		p.rule()
		names := make([]cell, len(p.columns))
		for i, c := range p.columns {
			names[i] = cell{text: c.Name}
		}
		p.line(names)
		p.rule()
	}
	for _, r := range p.held {
		p.line(r)
	}
	p.held = nil
	return p.w.Flush()
}

func (p *tablePrinter) end() error {
	if p.rows == 0 {
		fmt.Fprintln(p.w, "Empty set")
		return p.w.Flush()
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.rule()
	fmt.Fprintf(p.w, "%d %s in set\n", p.rows, plural(p.rows, "row"))
	return p.w.Flush()
}

func (p *tablePrinter) text(s string) error {
	if _, err := p.w.WriteString(strings.TrimRight(s, "\n") + "\n"); err != nil {
		return err
	}
	return p.w.Flush()
}

func (p *tablePrinter) rule() {
	for _, w := range p.widths {
		p.w.WriteString("+" + strings.Repeat("-", w+2))
	}
	p.w.WriteString("+\n")
}

func (p *tablePrinter) line(cells []cell) {
	for i, c := range cells {
		text := oneLine(c.text)
		pad := strings.Repeat(" ", max(0, p.widths[i]-utf8.RuneCountInString(text)))
		if p.columns[i].right() {
			p.w.WriteString("| " + pad + text + " ")
		} else {
			p.w.WriteString("| " + text + pad + " ")
		}
	}
	p.w.WriteString("|\n")
}

// oneLine keeps a value on its line of the table.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return s
	}
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// jsonPrinter writes one object per row, so that a result can be read while it grows.
type jsonPrinter struct {
	w       *bufio.Writer
	columns []heading
}

func (p *jsonPrinter) begin(columns []heading) error { p.columns = columns; return nil }
func (p *jsonPrinter) flush() error                  { return p.w.Flush() }
func (p *jsonPrinter) end() error                    { return p.w.Flush() }

func (p *jsonPrinter) row(cells []cell) error {
	for i, c := range cells {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		p.w.WriteString(sep)
		p.w.Write(connectors.AppendJSONString(nil, p.columns[i].Name))
		p.w.WriteByte(':')
		p.w.WriteString(c.json)
	}
	_, err := p.w.WriteString("}\n")
	return err
}

func (p *jsonPrinter) text(s string) error {
	fmt.Fprintf(p.w, "{\"result\":%s}\n", connectors.AppendJSONString(nil, s))
	return p.w.Flush()
}

// csvPrinter writes RFC 4180 with a header line. NULL is an empty field.
type csvPrinter struct {
	b *bufio.Writer
	w *csv.Writer
}

func (p *csvPrinter) begin(columns []heading) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return p.w.Write(names)
}

func (p *csvPrinter) row(cells []cell) error {
	fields := make([]string, len(cells))
	for i, c := range cells {
		if !c.null {
			fields[i] = c.text
		}
	}
	return p.w.Write(fields)
}

func (p *csvPrinter) flush() error {
	p.w.Flush()
	if err := p.w.Error(); err != nil {
		return err
	}
	return p.b.Flush()
}

func (p *csvPrinter) end() error { return p.flush() }

func (p *csvPrinter) text(s string) error {
	if _, err := p.b.WriteString(strings.TrimRight(s, "\n") + "\n"); err != nil {
		return err
	}
	return p.b.Flush()
}
