package filesystem

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

func newEncoder(o option.Set, f string) rowEncoder {
	style := connectors.Style{ISO: jsonTimes.Get(o) == "ISO-8601"}
	switch f {
	case formatParquet:
		return parquetEncoder{}
	case formatCSV:
		return &textEncoder{lines: &csvLines{csv: newCSV(o)}}
	}
	return &textEncoder{lines: &jsonWriter{style: style, changelog: f == formatChangelog}}
}

// textEncoder writes a format of lines through one buffer.
type textEncoder struct {
	lines interface {
		// append spells the rows; each is called after every row and returns the buffer to go on with.
		append(dst []byte, b *change.Batch, each func(dst []byte) []byte) []byte
	}
	buf []byte
}

const bufferSize = 256 << 10

func (e *textEncoder) write(_ context.Context, s *sink, b *change.Batch) error {
	var failed error
	put := func(dst []byte) []byte {
		if failed == nil && len(dst) > 0 {
			var p *part
			if p, failed = s.open(); failed == nil {
				_, failed = p.Write(dst)
			}
			if failed == nil {
				failed = s.roll(s.size)
			}
		}
		return dst[:0]
	}
	e.buf = put(e.lines.append(e.buf[:0], b, func(dst []byte) []byte {
		full := int64(len(dst)) >= s.size || s.part != nil && s.part.size+int64(len(dst)) >= s.size
		if full || len(dst) >= bufferSize {
			return put(dst)
		}
		return dst
	}))
	return failed
}

func (e *textEncoder) finish(*part) error { return nil }

// parquetEncoder writes row groups through pqarrow.
type parquetEncoder struct{}

func (parquetEncoder) write(ctx context.Context, s *sink, b *change.Batch) error {
	from := 0
	for i := range b.Len() + 1 {
		column, reason := "", ""
		if i < b.Len() {
			if column, reason = infinite(b.Record, i); reason == "" {
				continue
			}
		}
		if err := s.appendParquet(b.Record, from, i); err != nil {
			return err
		}
		if from = i + 1; reason != "" {
			if err := s.write.Reject(ctx, connectors.NewRowError(&s.write.Table, b, i, column, reason)); err != nil {
				return err
			}
		}
	}
	return nil
}

// infinite says which value of a row Parquet would take for an ordinary time. Columns without such values cost a
// comparison per row.
func infinite(rec arrow.RecordBatch, i int) (column, reason string) {
	for c, col := range rec.Columns() {
		switch col := col.(type) {
		case *array.Date32:
			if v := col.Value(i); (v == change.DateInfinity || v == change.DateNegInfinity) && col.IsValid(i) {
				return rec.ColumnName(c), "Parquet has no infinite date"
			}
		case *array.Timestamp:
			if v := col.Value(i); (v == change.TimestampInfinity || v == change.TimestampNegInfinity) && col.IsValid(i) {
				return rec.ColumnName(c), "Parquet has no infinite timestamp"
			}
		}
	}
	return "", ""
}

// rowsPerGroup bounds what a row group keeps in memory.
const rowsPerGroup = 64 << 10

func (s *sink) appendParquet(rec arrow.RecordBatch, from, to int) error {
	if from >= to {
		return nil
	}
	p, err := s.open()
	if err != nil {
		return err
	}
	w, ok := p.rows.(*pqarrow.FileWriter)
	if !ok {
		w, err = pqarrow.NewFileWriter(rec.Schema(), p,
			parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(rowsPerGroup)),
			pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
		if err != nil {
			return err
		}
		p.rows = w
	}
	part := rec.NewSlice(int64(from), int64(to))
	defer part.Release()
	if err := w.WriteBuffered(part); err != nil {
		return err
	}
	if p.size+w.RowGroupTotalBytesWritten() >= s.size {
		return s.roll(0)
	}
	return nil
}

func (parquetEncoder) finish(p *part) error {
	if w, ok := p.rows.(*pqarrow.FileWriter); ok {
		return w.Close()
	}
	return nil
}
