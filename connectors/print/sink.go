package print

import (
	"context"
	"fmt"
	"io"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

type sink struct {
	out    io.Writer
	prefix string
	buf    []byte
}

// Write prints the rows of a batch before it returns.
func (s *sink) Write(_ context.Context, b change.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	cols := b.Record.Columns()
	spell := make([]connectors.Append, len(cols))
	for c, col := range cols {
		spell[c] = connectors.Style{}.Text(col)
	}
	s.buf = s.buf[:0]
	for i := range b.Len() {
		s.buf = append(append(append(s.buf, s.prefix...), b.Kind(i).String()...), '[')
		for c, col := range cols {
			if c > 0 {
				s.buf = append(s.buf, ", "...)
			}
			switch {
			case !b.Sent(c, i):
				s.buf = append(s.buf, "<unsent>"...)
			case col.IsNull(i):
				s.buf = append(s.buf, "null"...)
			default:
				s.buf = spell[c](s.buf, i)
			}
		}
		s.buf = append(s.buf, "]\n"...)
	}
	if _, err := s.out.Write(s.buf); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (s *sink) Flush(context.Context) ([]byte, error) { return nil, nil }
func (s *sink) Position() change.Position             { return nil }
func (s *sink) Close() error                          { return nil }
