package filesystem

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// csv is the dialect of a table. A quote opens a field only at its beginning, and stands for itself when it is doubled.
type csv struct {
	delimiter, quote byte
	null             string
}

func newCSV(o option.Set) csv {
	c := csv{null: csvNull.Get(o)}
	c.delimiter, _ = oneByte(csvDelimiter.Get(o))
	c.quote, _ = oneByte(csvQuote.Get(o))
	return c
}

// open reports whether a field is open at the end of a line, given whether one was at its beginning.
func (c csv) open(line []byte, open bool) bool {
	begin := !open
	for i := 0; i < len(line); i++ {
		b := line[i]
		switch {
		case open && b == c.quote && i+1 < len(line) && line[i+1] == c.quote:
			i++
		case open && b == c.quote:
			open = false
		case begin && b == c.quote:
			open = true
		}
		begin = !open && b == c.delimiter
	}
	return open
}

// csvRows reads rows of CSV.
type csvRows struct {
	csv
	places []int // of the declared columns in the batch, -1 for those that are not read
	only   bool  // there is one column, so an empty line is a row
	buf    []byte
}

// next reads the text of the next row, which may span lines.
func (c *csvRows) next(in *lines) ([]byte, error) {
	c.buf = c.buf[:0]
	open := false
	for {
		line, err := in.next()
		if err != nil {
			if len(c.buf) > 0 && errors.Is(err, errEnd) {
				return c.buf, nil // the quote that is missing is complained about when the row is decoded
			}
			return nil, err
		}
		if open = c.open(line, open); !open && len(c.buf) == 0 {
			line = trimEnd(line)
			if len(line) == 0 && !c.only {
				continue
			}
			return line, nil
		}
		c.buf = append(c.buf, line...)
		if !open {
			return trimEnd(c.buf), nil
		}
	}
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// decode appends the row to the builders.
func (c *csvRows) decode(text []byte, out *rowBuilder) error {
	rest, more := text, true
	for i, place := range c.places {
		if !more {
			return fmt.Errorf("the row has %d fields, the table %d columns", i, len(c.places))
		}
		field, quoted, after, err := c.field(rest)
		if err != nil {
			return err
		}
		if more = len(after) > 0; more {
			rest = after[1:]
		}
		if place < 0 {
			continue
		}
		if !quoted && string(field) == c.null {
			out.null(place)
			continue
		}
		if err := out.text(place, field); err != nil {
			return err
		}
	}
	if more {
		return fmt.Errorf("the row has more than %d fields", len(c.places))
	}
	return nil
}

// field takes the first field off. What is left begins with the delimiter, or is empty after the last field.
func (c *csvRows) field(text []byte) (field []byte, quoted bool, rest []byte, err error) {
	if len(text) == 0 || text[0] != c.quote {
		end := bytes.IndexByte(text, c.delimiter)
		if end < 0 {
			end = len(text)
		}
		return text[:end], false, text[end:], nil
	}
	text = text[1:]
	simple := true
	for i := 0; i < len(text); i++ {
		if text[i] != c.quote {
			continue
		}
		if i+1 < len(text) && text[i+1] == c.quote {
			simple = false
			i++
			continue
		}
		field, rest = text[:i], text[i+1:]
		if len(rest) > 0 && rest[0] != c.delimiter {
			return nil, true, nil, fmt.Errorf("text after the closing quote: %.20q", rest)
		}
		if !simple {
			field = bytes.ReplaceAll(field, []byte{c.quote, c.quote}, []byte{c.quote})
		}
		return field, true, rest, nil
	}
	return nil, true, nil, errors.New("the closing quote is missing")
}

// csvLines writes rows as CSV.
type csvLines struct {
	csv
	style  connectors.Style
	quoted []byte
}

func (c *csvLines) append(dst []byte, b *change.Batch, each func(dst []byte) []byte) []byte {
	cols := b.Record.Columns()
	spell := make([]connectors.Append, len(cols))
	for i, col := range cols {
		spell[i] = c.style.Text(col)
	}
	for row := range b.Len() {
		for i, col := range cols {
			if i > 0 {
				dst = append(dst, c.delimiter)
			}
			dst = c.value(dst, col, row, spell[i])
		}
		dst = each(append(dst, '\n'))
	}
	return dst
}

func (c *csvLines) value(dst []byte, col arrow.Array, row int, spell connectors.Append) []byte {
	if col.IsNull(row) {
		return append(dst, c.null...)
	}
	at := len(dst)
	dst = spell(dst, row)
	text := dst[at:]
	plain := string(text) != c.null
	for _, b := range text {
		if b == c.delimiter || b == c.quote || b == '\n' || b == '\r' {
			plain = false
			break
		}
	}
	if plain {
		return dst
	}
	c.quoted = append(c.quoted[:0], c.quote)
	for _, b := range text {
		if b == c.quote {
			c.quoted = append(c.quoted, b)
		}
		c.quoted = append(c.quoted, b)
	}
	return append(append(dst[:at], c.quoted...), c.quote)
}

// asString views bytes as a string that is not kept.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

var errNotUTF8 = errors.New("the text is not UTF-8")

func checkUTF8(b []byte) error {
	if !utf8.Valid(b) {
		return errNotUTF8
	}
	return nil
}
