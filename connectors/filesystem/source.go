package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// source reads the files of a list one after the other.
type source struct {
	read   connectors.Read
	table  *connectors.TableRead
	schema *arrow.Schema
	files  []string
	names  []uint64 // fingerprint of the list up to each file
	last   position // of the last row that was handed over
	rows   rowDecoder
	ignore bool // rows that cannot be read are left out

	text    *lines       // the open file, of a text format
	parquet *parquetFile // or of Parquet
}

func openSource(r connectors.Read) (*source, error) {
	t := &r.Tables[0]
	root, err := location(&t.Table)
	if err != nil {
		return nil, err
	}
	s := &source{read: r, table: t}
	if s.files, err = list(root); err != nil {
		return nil, err
	}
	for i := range s.files {
		s.names = append(s.names, fingerprint(s.files, uint32(i)))
	}
	places := make(map[string]int, len(t.Columns))
	fields := make([]arrow.Field, len(t.Columns))
	for i, c := range t.Columns {
		places[c.Name] = i
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	s.schema = arrow.NewSchema(fields, nil)
	switch f := format.Get(t.Options); f {
	case formatCSV:
		s.rows, s.ignore = newCSVRows(t, places), csvIgnore.Get(t.Options)
	case formatJSON, formatChangelog:
		s.rows = &jsonRows{places: places, missing: jsonMissing.Get(t.Options), changelog: f == formatChangelog}
		s.ignore = jsonIgnore.Get(t.Options)
	}
	return s, s.resume()
}

func newCSVRows(t *connectors.TableRead, places map[string]int) *csvRows {
	declared := t.Declared
	if declared == nil {
		declared = t.Columns
	}
	c := &csvRows{csv: newCSV(t.Options), only: len(declared) == 1}
	for _, d := range declared {
		place, ok := places[d.Name]
		if !ok {
			place = -1
		}
		c.places = append(c.places, place)
	}
	return c
}

func (s *source) resume() error {
	if s.read.From == nil {
		return nil
	}
	p, err := parsePosition(s.read.From)
	if err == nil && (int(p.file) >= len(s.files) || s.names[p.file] != p.names) {
		err = errors.New("files in front of the position have come or gone since the checkpoint was taken")
	}
	if err != nil {
		return connectors.Permanent(err, "reset the pipeline to read from the beginning")
	}
	s.last = p
	return nil
}

// Next reads the next rows; a batch of text may span files. A row that is rejected ends the batch before it.
func (s *source) Next(ctx context.Context) (change.Batch, error) {
	if err := ctx.Err(); err != nil {
		return change.Batch{}, err
	}
	if s.rows == nil {
		return s.nextParquet(ctx)
	}
	out := newRowBuilder(s.read.Mem(), s.schema, s.table.Columns)
	defer out.bld.Release()
	b := change.Batch{RowPositionSize: positionSize}
	var bad *connectors.RowError
	var end position // not s.last, which moves on to a file without rows
	for bad == nil && out.n < max(1, s.read.Limits.Rows) && (s.read.Limits.Bytes <= 0 || b.Bytes < s.read.Limits.Bytes) {
		size, err := s.row(out)
		if errors.Is(err, io.EOF) {
			break
		}
		var row *connectors.RowError
		if errors.As(err, &row) {
			bad, end = row, s.last
			break
		}
		if err != nil {
			return change.Batch{}, err
		}
		b.Bytes += int64(size)
		end = s.last
		b.RowPositions = end.appendTo(b.RowPositions)
	}
	if out.n == 0 && bad == nil {
		return change.Batch{}, io.EOF
	}
	if bad != nil && !s.ignore {
		if err := s.read.Reject(ctx, bad); err != nil {
			return change.Batch{}, err
		}
	}
	rec := out.bld.NewRecordBatch()
	b.Record = rec.NewSlice(0, int64(out.n)) // without the beginning of a bad row
	rec.Release()
	b.Kinds, b.Unsent = out.kinds, out.unsent
	b.Position = end.appendTo(nil)
	return b, nil
}

// row reads one row, from the next file when the open one has ended. io.EOF follows the last file.
func (s *source) row(out *rowBuilder) (size int, err error) {
	for {
		if s.text == nil {
			if int(s.last.file) >= len(s.files) {
				return 0, io.EOF
			}
			if s.text, err = openLines(s.files[s.last.file], s.last.offset); err != nil {
				return 0, fmt.Errorf("open: %w", err)
			}
		}
		text, err := s.rows.next(s.text)
		if errors.Is(err, errEnd) {
			s.nextFile()
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", s.files[s.last.file], err)
		}
		s.last.rows++
		s.last.offset, s.last.names = s.text.offset, s.names[s.last.file]
		if err := out.settle(s.rows.decode(text, out)); err != nil {
			return 0, s.rowError(text, err)
		}
		return len(text), nil
	}
}

func (s *source) nextFile() {
	s.closeFile()
	s.last = position{file: s.last.file + 1}
}

func (s *source) rowError(text []byte, cause error) *connectors.RowError {
	const most = 4096
	e := &connectors.RowError{Table: s.table.Name, At: s.last.appendTo(nil),
		Reason: fmt.Sprintf("%s, row %d: %s", s.files[s.last.file], s.last.rows, cause)}
	var v *valueError
	if errors.As(cause, &v) {
		e.Column = v.column
	}
	e.Row = string(append(connectors.AppendJSONString([]byte(`{"text":`), string(text[:min(most, len(text))])), '}'))
	return e
}

func (s *source) closeFile() {
	if s.text != nil {
		_ = s.text.file.Close()
		s.text = nil
	}
	if s.parquet != nil {
		s.parquet.close()
		s.parquet = nil
	}
}

// Ack has nothing to forget.
func (s *source) Ack(context.Context, change.Position) error { return nil }

func (s *source) Close() error {
	s.closeFile()
	return nil
}
