package postgres

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/syncsql/syncsql/change"
)

// errMessage is a message that does not follow the protocol.
var errMessage = errors.New("the server sent a replication message that cannot be read")

// cursor walks over a message; what lies beyond its end reads as zero and sets bad.
type cursor struct {
	p   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.p) {
		c.bad, c.p = true, nil
		return nil
	}
	b := c.p[:n:n]
	c.p = c.p[n:]
	return b
}

func (c *cursor) u8() byte {
	if len(c.p) < 1 {
		c.bad = true
		return 0
	}
	b := c.p[0]
	c.p = c.p[1:]
	return b
}

func (c *cursor) u16() int {
	if b := c.take(2); b != nil {
		return int(b[0])<<8 | int(b[1])
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	}
	return 0
}

func (c *cursor) u64() uint64 { return uint64(c.u32())<<32 | uint64(c.u32()) }

func (c *cursor) text() string {
	i := bytes.IndexByte(c.p, 0)
	if i < 0 {
		c.bad = true
		return ""
	}
	s := string(c.p[:i])
	c.p = c.p[i+1:]
	return s
}

// cell is one value of a tuple: kind n NULL, u unchanged and not sent, t text, b binary.
type cell struct {
	kind byte
	data []byte
}

// published is a table as the last Relation message described it, for one of the declared tables that read it.
type published struct {
	table   *tableRead // nil: not one of ours
	columns []publishedColumn
}

type publishedColumn struct {
	name   string
	oid    uint32
	mod    int32
	key    bool
	target int // the declared column, -1 for none
	binary decoder
	text   decoder
}

// tuple reads the cells of a row. They point into the message.
func (c *cursor) tuple(cells []cell) []cell {
	cells = cells[:0]
	for range c.u16() {
		k := cell{kind: c.u8()}
		switch k.kind {
		case 'n', 'u':
		case 't', 'b':
			k.data = c.take(int(int32(c.u32())))
		default:
			c.bad = true
		}
		if c.bad {
			return cells
		}
		cells = append(cells, k)
	}
	return cells
}

// whole says which cells of a tuple count.
type whole bool

const (
	keyOnly  whole = false // the others were not sent
	wholeRow whole = true
)

// badCell is a value that cannot be mapped.
type badCell struct {
	column int // of the published table
	err    error
}

// append adds the physical columns of a row to a buffer. The caller ends or drops the row. missing counts the values that
// an update did not send.
func (r *published) append(b *rowBuffer, cells []cell, rows whole) (missing int, bad *badCell) {
	for i := range r.columns {
		col := &r.columns[i]
		if col.target < 0 {
			continue
		}
		c, v := b.columns[col.target], &cells[i]
		if rows == keyOnly && !col.key {
			c.null()
			b.markUnsent(col.target)
			continue
		}
		var err error
		switch v.kind {
		case 'n':
			c.null()
			continue
		case 'u':
			c.null()
			b.markUnsent(col.target)
			missing++
			continue
		case 'b':
			err = decodeWith(col.binary, c, v.data)
		default:
			err = decodeWith(col.text, c, v.data)
		}
		if err != nil {
			return missing, &badCell{i, err}
		}
	}
	return missing, nil
}

var errForm = errors.New("the server sent the value in a form that the declared type cannot be read from")

func decodeWith(d decoder, c *column, p []byte) error {
	if d == nil {
		return errForm
	}
	return d(c, p)
}

// complete fills the cells that an update did not send from the old row, as far as that was sent.
func (r *published) complete(row, old []cell, rows whole) {
	for i := range row {
		if row[i].kind == 'u' && (rows == wholeRow || r.columns[i].key) && old[i].kind != 'u' {
			row[i] = old[i]
		}
	}
}

// moved reports whether a key differs between two rows: the server's when the old row has nothing else, else the declared.
func (r *published) moved(row, old []cell, rows whole) bool {
	for i := range r.columns {
		col := &r.columns[i]
		if rows == keyOnly && !col.key || rows == wholeRow && (col.target < 0 || !r.table.isKey[col.target]) {
			continue
		}
		if row[i].kind != 'u' && (row[i].kind != old[i].kind || !bytes.Equal(row[i].data, old[i].data)) {
			return true
		}
	}
	return false
}

// changed is one row message, taken apart.
type changed struct {
	relations []*published
	kind      byte // I, U or D
	oldKind   byte // K, O, or 0
	row, old  []cell
}

// parseChange reads an Insert, Update or Delete. The cells are reused by the next call.
func parseChange(m *changed, p []byte, relations map[uint32][]*published) error {
	c := cursor{p: p[1:]}
	m.kind, m.oldKind = p[0], 0
	id := c.u32()
	m.relations = relations[id]
	if m.relations == nil {
		return fmt.Errorf("%w: a row of relation %d, which was not described", errMessage, id)
	}
	if m.relations[0].table == nil {
		return nil
	}
	columns := len(m.relations[0].columns)
	k := c.u8()
	if k == 'K' || k == 'O' {
		m.oldKind = k
		if m.old = c.tuple(m.old); len(m.old) != columns {
			return errMessage
		}
		if m.kind == 'U' {
			k = c.u8()
		}
	}
	if m.kind != 'D' {
		if m.row = c.tuple(m.row); k != 'N' || len(m.row) != columns {
			return errMessage
		}
	} else if m.oldKind == 0 {
		return errMessage
	}
	if c.bad || len(c.p) != 0 {
		return errMessage
	}
	return nil
}

// kindOf is the change kind of a message that makes one row.
func kindOf(message byte) change.Kind {
	switch message {
	case 'I':
		return change.Insert
	case 'U':
		return change.UpdateAfter
	}
	return change.Delete
}
