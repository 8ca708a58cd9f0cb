package filesystem

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// errEnd is the end of a file.
var errEnd = io.EOF

// lines reads a text file line by line and knows how far it is.
type lines struct {
	file   *os.File
	in     *bufio.Reader
	offset uint64
	buf    []byte
}

func openLines(name string, offset uint64) (*lines, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && uint64(size) < offset {
		err = connectors.Permanent(errors.New("the file is shorter than it was when the checkpoint was taken"),
			"reset the pipeline to read from the beginning")
	}
	if err == nil {
		_, err = f.Seek(int64(offset), io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &lines{file: f, in: bufio.NewReaderSize(f, 256<<10), offset: offset}, nil
}

// next is the next line with its line end, valid until the following call.
func (l *lines) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.buf = append(l.buf[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = l.in.ReadSlice('\n')
			l.buf = append(l.buf, line...)
		}
		line = l.buf
	}
	l.offset += uint64(len(line))
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil
	}
	return line, err
}

// rowDecoder is one text format.
type rowDecoder interface {
	// next reads the text of the next row, errEnd after the last.
	next(in *lines) ([]byte, error)
	// decode appends one value to each builder. After an error the builders may be unequally long.
	decode(text []byte, out *rowBuilder) error
}

// rowBuilder takes the values of rows that are read.
type rowBuilder struct {
	columns []connectors.Column
	n       int // complete rows
	bld     *array.RecordBuilder
	parse   []connectors.Parse // of text; nil for nested types
	json    []jsonAppend
	kinds   []change.Kind // nil unless the format has kinds
	unsent  *change.Unsent
}

func newRowBuilder(mem memory.Allocator, schema *arrow.Schema, columns []connectors.Column) *rowBuilder {
	r := &rowBuilder{columns: columns, bld: array.NewRecordBuilder(mem, schema)}
	for i := range columns {
		r.parse = append(r.parse, connectors.Parser(r.bld.Field(i)))
		r.json = append(r.json, jsonInto(r.bld.Field(i)))
	}
	return r
}

func (r *rowBuilder) rows() int { return r.n }

func (r *rowBuilder) null(i int) { r.bld.Field(i).AppendNull() }

// valueError says which column a text does not fit.
type valueError struct {
	column string
	err    error
}

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// text appends the value that a bare text spells.
func (r *rowBuilder) text(i int, text []byte) error {
	err := checkUTF8(text)
	if err == nil && r.parse[i] != nil {
		err = r.parse[i](asString(text))
	} else if err == nil {
		in := jsonText{b: text}
		if err = r.json[i](&in); err == nil {
			err = in.end()
		}
	}
	if err != nil {
		return &valueError{r.columns[i].Name, err}
	}
	return nil
}

// settle ends a row: it makes all columns equally long, and counts the row when it was good.
func (r *rowBuilder) settle(err error) error {
	for i, c := range r.columns {
		f := r.bld.Field(i)
		for f.Len() <= r.n {
			f.AppendNull()
		}
		if err == nil && !c.Nullable && f.IsNull(r.n) && (r.unsent == nil || !r.unsent.Has(i, r.n)) {
			err = &valueError{c.Name, errors.New("NULL in a column that is declared NOT NULL")}
		}
	}
	if err == nil {
		r.n++
	}
	return err
}
