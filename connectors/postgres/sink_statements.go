package postgres

import (
	"encoding/binary"
	"strconv"

	"github.com/syncsql/syncsql/change"
)

// mask is a set of sent columns, and the rows of a buffer that sent just these.
type mask struct {
	stmt string
	sent []int
	ops  []int32
}

// masksMax bounds the statements that are kept prepared for partial rows.
const masksMax = 64

var copyHead = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")

// copyPlain copies the whole buffer as it stands.
func (a *applier) copyPlain(b *buffer) error {
	a.beginCopy()
	if err := a.w.copyData(b.arena); err != nil {
		return err
	}
	return a.endCopy()
}

func (a *applier) copyRows(b *buffer, ops []int32) error {
	if len(ops) == 0 {
		return nil
	}
	a.beginCopy()
	// Rows that lie one after the other are sent as one piece.
	for i := 0; i < len(ops); {
		from, to := b.ops[ops[i]].off, b.ops[ops[i]].end
		for i++; i < len(ops) && b.ops[ops[i]].off == to; i++ {
			to = b.ops[ops[i]].end
		}
		if err := a.w.copyData(b.arena[from:to]); err != nil {
			return err
		}
	}
	return a.endCopy()
}

func (a *applier) beginCopy() {
	a.w.parse("copy", a.t.copySQL(), nil)
	a.w.execute(a.w.bind("copy", nil))
	_ = a.w.copyData(copyHead) // nothing is sent yet
}

func (a *applier) endCopy() error {
	err := a.w.copyData([]byte{0xff, 0xff})
	a.w.copyDone()
	return err
}

// appendRows inserts the rows of a table without a key that takes no COPY.
func (a *applier) appendRows(b *buffer) error {
	for i := range b.ops {
		a.groups[upserted] = append(a.groups[upserted], int32(i))
	}
	return a.upsert(b, a.groups[upserted])
}

func (a *applier) upsert(b *buffer, ops []int32) error {
	if len(ops) == 0 {
		return nil
	}
	if !a.t.sets {
		return a.each(b, ops)
	}
	columns := a.t.all()
	a.w.parse("upsert", a.t.setInsertSQL(), a.t.arrayTypes(columns))
	return a.w.call("upsert", a.t.formats1(columns), a.arrays(b, ops, columns))
}

// update sets the columns that were sent, by key.
func (a *applier) update(b *buffer, stmt string, ops []int32, sent []int) error {
	columns := append(a.t.all()[:a.t.keys:a.t.keys], sent...)
	a.w.parse(stmt, a.t.setUpdateSQL(sent), a.t.arrayTypes(columns))
	return a.w.call(stmt, a.t.formats1(columns), a.arrays(b, ops, columns))
}

func (a *applier) delete(b *buffer, ops []int32) error {
	if len(ops) == 0 {
		return nil
	}
	if !a.t.keySets {
		return a.each(b, ops)
	}
	columns := a.t.all()[:a.t.keys]
	a.w.parse("delete", a.t.setDeleteSQL(), a.t.arrayTypes(columns))
	return a.w.call("delete", a.t.formats1(columns), a.arrays(b, ops, columns))
}

func (t *target) formats1(columns []int) []byte {
	formats := make([]byte, len(columns))
	for i := range formats {
		formats[i] = 1
	}
	return formats
}

// arrays makes one array of each column from the rows of ops. The arrays are valid until the next call.
func (a *applier) arrays(b *buffer, ops []int32, columns []int) [][]byte {
	t := a.t
	for len(a.values) < len(t.columns) {
		a.values = append(a.values, nil)
		a.wanted = append(a.wanted, 0)
	}
	for c := range a.wanted {
		a.wanted[c] = -1
	}
	values := a.values[:len(columns)]
	for n, c := range columns {
		a.wanted[c] = n
		oid := t.columns[c].typ.base
		if t.columns[c].enc.text {
			oid = typeText
		}
		values[n] = appendArrayHead(values[n][:0], oid, len(ops))
	}
	last := columns[len(columns)-1]
	for _, i := range ops {
		p := b.arena[b.ops[i].off+rowHead : b.ops[i].end]
		for c := 0; c <= last; c++ {
			v := field(p)
			p = p[len(v):]
			if n := a.wanted[c]; n >= 0 {
				values[n] = append(values[n], v...)
			}
		}
	}
	return values
}

// maskOf puts a row that lacks columns to those that lack the same.
func (a *applier) maskOf(b *buffer, o *op, index int32) *mask {
	var bits [64]byte
	key, sent := bits[:0], 0
	p := b.arena[o.off+rowHead : o.end]
	for c := range a.t.columns {
		v := field(p)
		p = p[len(v):]
		if c%8 == 0 {
			key = append(key, 0)
		}
		if binary.BigEndian.Uint32(v) != notSent {
			key[c/8] |= 1 << (c % 8)
			sent++
		}
	}
	m := a.masks[string(key)]
	if m == nil {
		m = &mask{}
		for c := a.t.keys; c < len(a.t.columns); c++ {
			if key[c/8]&(1<<(c%8)) != 0 {
				m.sent = append(m.sent, c)
			}
		}
		if len(a.masks) < masksMax {
			m.stmt = "partial" + strconv.Itoa(len(a.masks))
		}
		if a.masks == nil {
			a.masks = map[string]*mask{}
		}
		a.masks[string(key)] = m
	}
	if index >= 0 {
		m.ops = append(m.ops, index)
	}
	return m
}

// updatePartial sets what partial rows sent and leaves the rest alone. A row that is not there stays away: only a source
// that repeats changes from before the copy names one, and it goes on to delete the row.
func (a *applier) updatePartial(b *buffer) error {
	for _, m := range a.masks {
		if len(m.ops) == 0 || len(m.sent) == 0 {
			continue
		}
		var err error
		if a.t.sets {
			err = a.update(b, m.stmt, m.ops, m.sent)
		} else {
			err = a.each(b, m.ops)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// each applies changes one by one with a statement each; nil means every live change of the buffer. A change that has
// nothing to do still makes a statement, so that the answers can be counted.
func (a *applier) each(b *buffer, ops []int32) error {
	n := len(ops)
	if ops == nil {
		n = len(b.ops)
	}
	for k := range n {
		o := &b.ops[k]
		if ops != nil {
			o = &b.ops[ops[k]]
		} else if o.dead {
			continue
		}
		a.one(b, o)
		if err := a.w.pushFull(); err != nil {
			return err
		}
		if a.w.asked >= answersAhead {
			if err := a.w.await(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *applier) one(b *buffer, o *op) {
	w, t, p := a.w, a.t, b.arena[o.off+rowHead:o.end]
	switch {
	case o.kind == change.Delete:
		w.parse("delete row", t.rowDeleteSQL(), nil)
		at := w.bind("delete row", t.formats[:t.keys])
		w.out = append(w.out, p...)
		w.execute(at)
	case o.partial:
		m := a.maskOf(b, o, -1)
		if len(m.sent) == 0 {
			w.text("")
			return
		}
		stmt := m.stmt
		if stmt != "" {
			stmt += " row"
		}
		a.onePartial(stmt, m.sent, p)
	default:
		w.parse("upsert row", t.rowInsertSQL(), nil)
		at := w.bind("upsert row", t.formats)
		w.out = append(w.out, p...)
		w.execute(at)
	}
}

func (a *applier) onePartial(stmt string, sent []int, p []byte) {
	w, t := a.w, a.t
	formats := append([]byte(nil), t.formats[:t.keys]...)
	for _, c := range sent {
		formats = append(formats, t.formats[c])
	}
	w.parse(stmt, t.rowUpdateSQL(sent), nil)
	at := w.bind(stmt, formats)
	for c := 0; len(p) > 0; c++ {
		v := field(p)
		p = p[len(v):]
		if binary.BigEndian.Uint32(v) != notSent {
			w.out = append(w.out, v...)
		}
	}
	w.execute(at)
}
