package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// parquetFile is an open Parquet file, read from some row on.
type parquetFile struct {
	file   *file.Reader
	rows   pqarrow.RecordReader // nil when all rows were read before
	skip   int64                // rows of the first row group that were read before
	places []int                // of the batch's columns in the records
	names  []string
}

func (f *parquetFile) next() (bool, error) {
	if f.rows == nil || !f.rows.Next() {
		if f.rows == nil || errors.Is(f.rows.Err(), io.EOF) {
			return false, nil
		}
		return false, f.rows.Err()
	}
	return true, nil
}

func (f *parquetFile) close() {
	if f.rows != nil {
		f.rows.Release()
	}
	_ = f.file.Close()
}

// openParquet opens a file after so many rows; row groups before them are not read.
func (s *source) openParquet(ctx context.Context, name string, after uint64) (*parquetFile, error) {
	r, err := file.OpenParquetFile(name, false)
	if err != nil {
		return nil, err
	}
	f := &parquetFile{file: r, skip: int64(after)}
	var groups []int
	for g := range r.NumRowGroups() {
		if n := r.MetaData().RowGroup(g).NumRows(); groups == nil && f.skip >= n {
			f.skip -= n
		} else {
			groups = append(groups, g)
		}
	}
	pq, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: int64(max(1, s.read.Limits.Rows))}, s.read.Mem())
	if err == nil {
		err = f.columns(s, pq)
	}
	if err == nil && groups != nil { // no groups would mean all of them
		f.rows, err = pq.GetRecordReader(ctx, f.leaves(), groups)
	}
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return f, nil
}

// leaves are the leaf columns of the columns that are read.
func (f *parquetFile) leaves() []int {
	wanted := map[string]bool{}
	for _, n := range f.names {
		wanted[n] = true
	}
	var leaves []int
	schema := f.file.MetaData().Schema
	for i := range schema.NumColumns() {
		if wanted[schema.ColumnRoot(i).Name()] {
			leaves = append(leaves, i)
		}
	}
	return leaves
}

// columns finds the table's columns in the file and checks their types.
func (f *parquetFile) columns(s *source, pq *pqarrow.FileReader) error {
	have, err := pq.Schema()
	if err != nil {
		return err
	}
	var wrong []error
	inFile := map[string]int{}
	for _, c := range s.table.Columns {
		at := have.FieldIndices(c.Name)
		if len(at) != 1 {
			wrong = append(wrong, fmt.Errorf("the file has no column %q", c.Name))
			continue
		}
		if t := have.Field(at[0]).Type; !convertible(t, c.Type) {
			wrong = append(wrong, fmt.Errorf("column %q is %s in the file, which does not fit %s", c.Name, t, c.SQL))
		}
		inFile[c.Name] = at[0]
		f.names = append(f.names, c.Name)
	}
	if wrong != nil {
		return connectors.Permanent(errors.Join(wrong...), "")
	}
	for _, c := range s.table.Columns { // records hold the columns in the order of the file
		place := 0
		for _, other := range inFile {
			if other < inFile[c.Name] {
				place++
			}
		}
		f.places = append(f.places, place)
	}
	return nil
}

// convertible reports whether a cast from one type to another either keeps each value or fails.
func convertible(from, to arrow.DataType) bool {
	if sameType(from, to) {
		return true
	}
	switch to.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return arrow.IsInteger(from.ID())
	case arrow.FLOAT64:
		return from.ID() == arrow.FLOAT32
	case arrow.DECIMAL128:
		return from.ID() == arrow.DECIMAL128
	case arrow.STRING:
		return from.ID() == arrow.LARGE_STRING
	case arrow.BINARY:
		return from.ID() == arrow.LARGE_BINARY
	case arrow.TIME64:
		return from.ID() == arrow.TIME32 || from.ID() == arrow.TIME64
	case arrow.TIMESTAMP:
		t, ok := from.(*arrow.TimestampType)
		return ok && (t.TimeZone == "") == (to.(*arrow.TimestampType).TimeZone == "")
	}
	return false
}

// sameType compares types by what they hold: names and nullability inside lists and maps do not matter.
func sameType(a, b arrow.DataType) bool {
	if a.ID() != b.ID() {
		return false
	}
	x, nested := a.(arrow.NestedType)
	if !nested {
		return arrow.TypeEqual(a, b)
	}
	from, to := x.Fields(), b.(arrow.NestedType).Fields()
	if len(from) != len(to) {
		return false
	}
	for i := range from {
		if !sameType(from[i].Type, to[i].Type) || a.ID() == arrow.STRUCT && from[i].Name != to[i].Name {
			return false
		}
	}
	return true
}

func (s *source) nextParquet(ctx context.Context) (change.Batch, error) {
	for {
		if s.parquet == nil {
			if int(s.last.file) >= len(s.files) {
				return change.Batch{}, io.EOF
			}
			f, err := s.openParquet(context.WithoutCancel(ctx), s.files[s.last.file], s.last.rows)
			if err != nil {
				return change.Batch{}, fmt.Errorf("open %s: %w", s.files[s.last.file], err)
			}
			s.parquet = f
		}
		if more, err := s.parquet.next(); err != nil {
			return change.Batch{}, fmt.Errorf("read %s: %w", s.files[s.last.file], err)
		} else if !more {
			s.nextFile()
			continue
		}
		rec := s.parquet.rows.RecordBatch()
		if n := rec.NumRows(); n <= s.parquet.skip {
			s.parquet.skip -= n
			continue
		}
		part := rec.NewSlice(s.parquet.skip, rec.NumRows())
		s.parquet.skip = 0
		b, err := s.batch(ctx, part)
		part.Release()
		if err != nil {
			return change.Batch{}, fmt.Errorf("read %s: %w", s.files[s.last.file], err)
		}
		return b, nil
	}
}

// batch puts the columns of a record in order and makes them the declared types.
func (s *source) batch(ctx context.Context, rec arrow.RecordBatch) (change.Batch, error) {
	ctx = compute.WithAllocator(ctx, s.read.Mem())
	cols := make([]arrow.Array, 0, len(s.table.Columns))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, c := range s.table.Columns {
		col, err := asType(ctx, rec.Column(s.parquet.places[i]), c.Type, s.read.Mem())
		if err != nil {
			return change.Batch{}, connectors.Permanent(fmt.Errorf("column %q: %w", c.Name, err), "declare a type that holds every value")
		}
		cols = append(cols, col)
		if !c.Nullable && col.NullN() > 0 {
			return change.Batch{}, connectors.Permanent(fmt.Errorf("column %q: NULL in a column that is declared NOT NULL", c.Name), "")
		}
	}
	b := change.Batch{Record: array.NewRecordBatch(s.schema, cols, rec.NumRows()), RowPositionSize: positionSize}
	s.last.names = s.names[s.last.file]
	for range rec.NumRows() {
		s.last.rows++
		b.RowPositions = s.last.appendTo(b.RowPositions)
	}
	b.Position = s.last.appendTo(nil)
	for _, c := range cols {
		b.Bytes += int64(c.Data().SizeInBytes())
	}
	return b, nil
}

func asType(ctx context.Context, col arrow.Array, to arrow.DataType, mem memory.Allocator) (arrow.Array, error) {
	switch {
	case arrow.TypeEqual(col.DataType(), to):
		col.Retain()
		return col, nil
	case sameType(col.DataType(), to):
		data := retyped(col.Data(), to)
		defer data.Release()
		return array.MakeFromData(data), nil
	}
	return compute.CastArray(ctx, col, compute.SafeCastOptions(to))
}

// retyped gives data another spelling of its type, down to its children.
func retyped(d arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	if _, ok := to.(arrow.NestedType); !ok {
		d.Retain()
		return d
	}
	fields := to.(arrow.NestedType).Fields()
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, child := range d.Children() {
		children[i] = retyped(child, fields[i].Type)
		defer children[i].Release()
	}
	return array.NewData(to, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}
