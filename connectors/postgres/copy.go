package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
)

// copyColumn is how one column is selected for a copy and decoded.
type copyColumn struct {
	sql    string
	decode decoder
	form   form
}

// copyColumnOf reads the binary form, or the text that the type's own output function makes: a cast to text would not
// always give the same.
func (s *source) copyColumnOf(col *sourceColumn, declared arrow.DataType, prefix string) (copyColumn, error) {
	id := prefix + quoteIdent(col.name)
	decode, err := newDecoder(s.types, col.oid, inBinary, declared)
	if err == nil {
		return copyColumn{id, decode, inBinary}, nil
	}
	if !errors.Is(err, errNeedsText) {
		return copyColumn{}, err
	}
	t, _ := s.types.resolve(col.oid, -1)
	decode, err = newDecoder(s.types, col.oid, inText, declared)
	return copyColumn{"pg_catalog.textin(" + t.output + "(" + id + "))", decode, inText}, err
}

var errCopy = errors.New("the server sent COPY data that cannot be read")

var copySignature = []byte("PGCOPY\n\xff\r\n\x00")

// copyRow walks over one row of a binary COPY; every message holds one.
type copyRow struct{ p []byte }

// begin skips the header of the first row and reports whether there is a row at all.
func (r *copyRow) begin(first bool, columns int) (bool, error) {
	if first {
		if len(r.p) < 19 || string(r.p[:11]) != string(copySignature) {
			return false, errCopy
		}
		r.p = r.p[19:]
		if len(r.p) == 0 {
			return false, nil
		}
	}
	if len(r.p) < 2 {
		return false, errCopy
	}
	n := int16(binary.BigEndian.Uint16(r.p))
	r.p = r.p[2:]
	if n == -1 {
		return false, nil
	}
	if int(n) != columns {
		return false, errCopy
	}
	return true, nil
}

// next is the next value; ok is false for NULL.
func (r *copyRow) next() (v []byte, ok bool, err error) {
	if len(r.p) < 4 {
		return nil, false, errCopy
	}
	n := int32(binary.BigEndian.Uint32(r.p))
	r.p = r.p[4:]
	if n < 0 {
		return nil, false, nil
	}
	if int(n) > len(r.p) {
		return nil, false, errCopy
	}
	v = r.p[:n:n]
	r.p = r.p[n:]
	return v, true, nil
}

// copyInto appends one row to a buffer; it is a part of a copy that only reads.
type copyInto struct {
	src     *source
	table   *tableRead
	columns []copyColumn
	targets []int // the declared column of each
	rows    []byte
	tx      transaction
	buffer  *rowBuffer
	first   bool
}

// row takes one message. bad is a value that cannot be mapped; then the row is not in the buffer.
func (c *copyInto) row(p []byte) (bad *badCell, err error) {
	r := copyRow{p}
	ok, err := r.begin(c.first, len(c.columns))
	c.first = false
	if err != nil || !ok {
		return nil, err
	}
	b := c.buffer
	for i := range c.columns {
		v, set, err := r.next()
		if err != nil {
			return nil, err
		}
		col := b.columns[c.targets[i]]
		if !set {
			col.null()
		} else if err := c.columns[i].decode(col, v); err != nil {
			b.drop()
			return &badCell{i, err}, nil
		}
	}
	if len(c.table.metadata) > 0 {
		b.metadata(&c.tx, change.Insert)
	}
	b.positions = append(b.positions, c.rows...)
	b.n++
	b.bytes += int64(len(p))
	return nil, nil
}

// cells takes a row apart for a message about it.
func (c *copyInto) cells(p []byte, first bool) []cell {
	r := copyRow{p}
	if ok, err := r.begin(first, len(c.columns)); err != nil || !ok {
		return nil
	}
	var cells []cell
	for i := range c.columns {
		v, set, err := r.next()
		k := cell{byte(c.columns[i].form), v}
		if err != nil || !set {
			k = cell{kind: 'n'}
		}
		cells = append(cells, k)
	}
	return cells
}

// published makes a row error of a copied row look like one of the stream.
func (c *copyInto) published() *published {
	r := &published{table: c.table}
	for _, j := range c.targets {
		col := &c.table.info.columns[c.table.physical[j]]
		r.columns = append(r.columns, publishedColumn{name: col.name, oid: col.oid, mod: col.mod, key: c.table.isKey[j], target: j})
	}
	return r
}

// newCopyInto selects the physical columns of a table.
func (s *source) newCopyInto(t *tableRead, h handover) (*copyInto, error) {
	c := &copyInto{src: s, table: t, rows: h.rows(), tx: transaction{commit: h.start, copied: true}, buffer: newRowBuffer(t), first: true}
	for i, j := range t.physical {
		if j < 0 {
			continue
		}
		col, err := s.copyColumnOf(&t.info.columns[j], t.Columns[i].Type, "")
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", t.Columns[i].Name, err)
		}
		c.columns = append(c.columns, col)
		c.targets = append(c.targets, i)
	}
	return c, nil
}

func (c *copyInto) selectSQL(from string) string {
	list := make([]string, len(c.columns))
	for i := range c.columns {
		list[i] = c.columns[i].sql
	}
	return "select " + strings.Join(list, ", ") + " from " + from
}

// copyTo runs a query as COPY and calls row for each message with a row, until row says stop.
func (f *feed) copyTo(query string, row func(p []byte) error) error {
	if err := f.start("copy ("+query+") to stdout (format binary)", 'H'); err != nil {
		return err
	}
	f.conn.SetReadDeadline(time.Time{})
	for {
		kind, body, ok, err := f.buffered()
		switch {
		case err != nil:
			return err
		case !ok:
			if _, err := f.fill(-1); err != nil {
				return err
			}
		case kind == 'd':
			if err := row(body); err != nil {
				return err
			}
		case kind == 'E':
			return serverError(body)
		case kind == 'Z':
			return nil
		}
	}
}
