package postgres

import (
	"fmt"
	"math"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// intake turns replication messages into rows and keeps them until the pipeline takes them. It knows no connection, and
// whoever calls it holds the stream's lock.
type intake struct {
	src       *source
	from      position // rows at or before it were handed over by an earlier run
	copyEnd   lsn      // before it, a row may be missing at the target what its update does not send; see needsAgain
	relations map[uint32][]*published
	buffers   []*rowBuffer // by table; nil while a table has no rows here
	touched   []int        // tables with rows, in the order of their first
	spare     []*rowBuffer
	parts     []part
	rows      int
	bytes     int64
	tx        transaction
	inside    bool
	index     uint32 // of the last row of the transaction; two for each message, since an update may make two
	position  position
	moved     bool // position is not that of the last part
	changed   changed
	// types looks up types that are not known yet; described is told of a relation that was described again.
	types     func(oids []uint32) error
	described func(t *tableRead)
}

// part is what is handed over in one piece, in order: rows of one table, a row that cannot be mapped, or only
// a position.
type part struct {
	rows     *rowBuffer
	reject   *connectors.RowError
	position *position
}

func newIntake(src *source, from position) *intake {
	return &intake{
		src: src, from: from, position: from, relations: map[uint32][]*published{},
		buffers: make([]*rowBuffer, len(src.read.Tables)), spare: make([]*rowBuffer, len(src.read.Tables)),
	}
}

// message takes one pgoutput message. An error ends the stream; what was taken before it stays good.
func (in *intake) message(p []byte) error {
	if len(p) == 0 {
		return errMessage
	}
	switch p[0] {
	case 'I', 'U', 'D':
		return in.change(p)
	case 'B':
		return in.begin(p)
	case 'C':
		return in.commit(p)
	case 'R':
		return in.relation(p)
	case 'T':
		return in.truncated(p)
	case 'Y', 'O', 'M': // types come from the catalog; origins and logical messages concern no table
		return nil
	}
	return fmt.Errorf("%w: kind %q", errMessage, p[0])
}

func (in *intake) begin(p []byte) error {
	c := cursor{p: p[1:]}
	commit, at, xid := lsn(c.u64()), int64(c.u64()), c.u32()
	if c.bad || in.inside {
		return errMessage
	}
	in.tx = transaction{commit: commit, time: at + epochMicros, xid: xid}
	in.inside, in.index = true, 0
	return nil
}

func (in *intake) commit(p []byte) error {
	c := cursor{p: p[1:]}
	c.u8()
	c.u64()
	end := lsn(c.u64())
	if c.bad || !in.inside {
		return errMessage
	}
	in.inside = false
	in.advance(position{lsn: end})
	return nil
}

// advance moves the position, which never goes back: an earlier run may have handed over more than is sent again.
func (in *intake) advance(p position) {
	if in.position.less(p) {
		in.position, in.moved = p, true
	}
}

// idle is called for a keepalive: everything before end has been sent.
func (in *intake) idle(end lsn) {
	if !in.inside {
		in.advance(position{lsn: end})
	}
}

// next counts a change and reports whether an earlier run has handed it over.
func (in *intake) next() (at position, done bool, err error) {
	if in.index > math.MaxUint32-4 {
		return at, false, fmt.Errorf("the transaction that ends at %s has more than %d changes", in.tx.commit, in.index/2)
	}
	in.index += 2
	at = position{in.tx.commit, in.index}
	return at, at.lsn < in.from.lsn || !in.from.less(at), nil
}

func (in *intake) change(p []byte) error {
	m := &in.changed
	if !in.inside {
		return errMessage
	}
	if err := parseChange(m, p, in.relations); err != nil {
		return err
	}
	at, done, err := in.next()
	if err != nil || done || m.relations[0].table == nil {
		return err
	}
	for _, r := range m.relations {
		t := r.table
		if m.kind != 'I' && t.inserts || t.handover != nil && t.handover.saw(in.tx.xid, in.tx.commit) {
			continue
		}
		in.rowsOf(m, r, at, len(p))
	}
	in.advance(at)
	return nil
}

// rowsOf turns a change into rows.
func (in *intake) rowsOf(m *changed, r *published, at position, size int) {
	first := position{at.lsn, at.row - 1} // of the two rows that an update can make
	old := wholeRow
	if m.oldKind == 'K' {
		old = keyOnly
	}
	if m.kind != 'U' || m.oldKind == 0 {
		cells := m.row
		if m.kind == 'D' {
			in.row(r, m.old, old, change.Delete, at, size, false)
			return
		}
		in.row(r, cells, wholeRow, kindOf(m.kind), at, size, false)
		return
	}
	r.complete(m.row, m.old, old)
	moved := r.moved(m.row, m.old, old)
	switch {
	case moved:
		in.row(r, m.old, old, change.Delete, first, size/2, false)
	case r.table.before:
		in.row(r, m.old, old, change.UpdateBefore, first, size/2, false)
	}
	in.row(r, m.row, wholeRow, change.UpdateAfter, at, size, moved)
}

// row appends one row. moved says that the target has no row under this key to take unsent values from.
func (in *intake) row(r *published, cells []cell, rows whole, k change.Kind, at position, size int, moved bool) {
	b := in.buffer(r.table)
	missing, bad := r.append(b, cells, rows)
	if bad != nil {
		b.drop()
		in.reject(r, cells, rows, bad, k, at)
		return
	}
	b.metadata(&in.tx, k)
	if missing > 0 && in.needsAgain(r.table, moved) {
		b.again = append(b.again, b.n)
	}
	b.end(k, at, size)
	in.rows++
	in.bytes += int64(size)
}

// needsAgain reports whether values that an update left out must be read again: when a consumer wants whole rows; when the
// key has changed, since the target then has nothing under the new one; and for changes from before this stream was
// opened on a table that is copied first. There a copy that was interrupted and taken up under a later snapshot can have
// missed the row, because this very update moved it to a part that had been copied before.
func (in *intake) needsAgain(t *tableRead, moved bool) bool {
	return t.WholeRows || moved || t.copies() && in.tx.commit < in.copyEnd
}

func (in *intake) buffer(t *tableRead) *rowBuffer {
	b := in.buffers[t.index]
	if b == nil {
		if b = in.spare[t.index]; b == nil {
			b = newRowBuffer(t)
		}
		in.spare[t.index] = nil
		in.buffers[t.index] = b
		in.touched = append(in.touched, t.index)
	}
	return b
}

// closeRows turns the open rows into parts without a position.
func (in *intake) closeRows() {
	for _, i := range in.touched {
		b := in.buffers[i]
		in.buffers[i] = nil
		if b.n == 0 {
			in.spare[i] = b
			continue
		}
		in.parts = append(in.parts, part{rows: b})
	}
	in.touched = in.touched[:0]
}

// close turns the open rows into parts. Only the last one has the position: until then rows of the stretch are missing.
func (in *intake) close() {
	in.closeRows()
	if !in.moved {
		return
	}
	in.moved = false
	at := in.position
	if n := len(in.parts); n > 0 && in.parts[n-1].rows != nil && in.parts[n-1].position == nil {
		in.parts[n-1].position = &at
		return
	}
	in.parts = append(in.parts, part{position: &at})
}

// take hands over everything.
func (in *intake) take() []part {
	in.close()
	parts := in.parts
	in.parts, in.rows, in.bytes = nil, 0, 0
	return parts
}

// recycle gives an emptied buffer back.
func (in *intake) recycle(b *rowBuffer) {
	if in.spare[b.table.index] == nil {
		in.spare[b.table.index] = b
	}
}

func (in *intake) truncated(p []byte) error {
	c := cursor{p: p[1:]}
	n := c.u32()
	c.u8()
	if c.bad || !in.inside || int64(len(c.p)) != 4*int64(n) {
		return errMessage
	}
	for range n {
		relations := in.relations[c.u32()]
		at, done, err := in.next()
		if err != nil {
			return err
		}
		for _, r := range relations {
			if done || r.table == nil || r.table.handover != nil && r.table.handover.saw(in.tx.xid, in.tx.commit) {
				continue
			}
			if err := in.truncate(r.table, at); err != nil {
				return err
			}
		}
		if !done {
			in.advance(at)
		}
	}
	return nil
}

func (in *intake) truncate(t *tableRead, at position) error {
	switch t.truncate {
	case "ignore":
		in.src.warn("truncate-ignored", t.Name, "table %s was truncated by the transaction that ends at %s; its rows stay at the target", t.at, at.lsn)
	default:
		return connectors.Permanent(
			fmt.Errorf("table %q: %s was truncated by the transaction that ends at %s", t.Name, t.at, at.lsn),
			"empty the target by hand and set 'scan.truncate' to 'ignore', or `syncsql reset` the pipeline to copy the table again")
	}
	return nil
}
