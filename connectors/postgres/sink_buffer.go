package postgres

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"github.com/syncsql/syncsql/change"
)

// op is one change in a buffer.
type op struct {
	off, end int    // its row in the arena
	key      int    // bytes of the key, which stand behind the row's head
	at       int    // its position in buffer.at, -1 without
	hash     uint32 // of the key
	kind     change.Kind
	first    change.Kind // of the first change of the key in the buffer
	dead     bool        // a later change of the key took its place
	partial  bool        // some columns were not sent
}

// buffer gathers changes while the one before it is written. A row is kept once, in the form of a row of a binary COPY: the
// number of its columns, then each value with its length, the key first. A deleted row has its key only. The last change
// of a key wins: the ones before it stay, marked dead, because applying them again one by one is the way out when the
// compacted changes run into another unique index.
type buffer struct {
	keys    int  // columns of a key; 0 when rows are only appended
	compact bool // equal keys have equal bytes
	ops     []op
	arena   []byte
	table   []int32 // open addressing: 1 + index in ops of the last change of a key
	used    int     // of the table
	live    int
	plain   bool // inserts of whole rows only, none of them dead: the arena is a COPY as it stands

	at     []byte // positions of the rows, as their batches had them
	atSize int
	// position is where the rows end. known: it may be saved with them. whole: it is a batch's own, so no row of the
	// same stretch follows.
	position     change.Position
	known, whole bool
}

const (
	rowHead  = 2
	notSent  = 0xfffffffe // in place of a length
	nullSize = 0xffffffff
)

var keySeed = maphash.MakeSeed()

func newBuffer(t *target) *buffer {
	return &buffer{keys: t.keys, compact: t.keys > 0 && t.exactKey, plain: true}
}

func (b *buffer) reset() {
	b.ops, b.arena, b.at = b.ops[:0], b.arena[:0], b.at[:0]
	clear(b.table)
	b.used, b.live, b.plain = 0, 0, true
	b.position, b.known, b.whole = nil, false, false
}

func (b *buffer) empty() bool { return len(b.ops) == 0 }

// beginRow starts a row of n columns in the arena.
func (b *buffer) beginRow(n int) int {
	b.arena = append(b.arena, byte(n>>8), byte(n))
	return len(b.arena) - rowHead
}

// add takes the row that stands at the end of the arena. It returns false when an unsent column has no value to come from,
// because an earlier change of the buffer deleted the row.
func (b *buffer) add(o op) bool {
	o.end = len(b.arena)
	o.first = o.kind
	if b.compact {
		key := b.keyOf(&o)
		o.hash = uint32(maphash.Bytes(keySeed, key))
		b.room()
		slot := b.find(key, o.hash)
		if n := b.table[slot]; n == 0 {
			b.used++
		} else {
			prev := &b.ops[n-1]
			if o.partial {
				if prev.kind == change.Delete {
					return false
				}
				b.merge(prev, &o)
			}
			o.first = prev.first
			prev.dead = true
			b.live--
			b.plain = false
		}
		b.table[slot] = int32(len(b.ops) + 1)
	}
	b.plain = b.plain && o.kind == change.Insert && !o.partial
	b.ops = append(b.ops, o)
	b.live++
	return true
}

func (b *buffer) keyOf(o *op) []byte { return b.arena[o.off+rowHead : o.off+rowHead+o.key] }

// find returns the slot of a key: where its last change is, or where it belongs.
func (b *buffer) find(key []byte, hash uint32) int {
	mask := len(b.table) - 1
	for slot := int(hash) & mask; ; slot = (slot + 1) & mask {
		n := b.table[slot]
		if n == 0 {
			return slot
		}
		if o := &b.ops[n-1]; o.hash == hash && bytes.Equal(b.keyOf(o), key) {
			return slot
		}
	}
}

// room keeps the table at most half full.
func (b *buffer) room() {
	if 2*b.used < len(b.table) {
		return
	}
	old := b.table
	b.table = make([]int32, max(1024, 2*len(old)))
	mask := len(b.table) - 1
	for _, n := range old {
		if n == 0 {
			continue
		}
		slot := int(b.ops[n-1].hash) & mask
		for b.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		b.table[slot] = n
	}
}

// merge gives the unsent columns of o, whose row is the last in the arena, the values of prev. What prev does not know
// either stays unsent.
func (b *buffer) merge(prev, o *op) {
	from, to := b.arena[prev.off+rowHead:prev.end], b.arena[o.off+rowHead:o.end]
	start := b.beginRow(int(binary.BigEndian.Uint16(b.arena[o.off:])))
	o.partial = false
	for len(to) > 0 {
		old, next := field(from), field(to)
		from, to = from[len(old):], to[len(next):]
		if binary.BigEndian.Uint32(next) == notSent {
			next = old
			o.partial = o.partial || binary.BigEndian.Uint32(old) == notSent
		}
		b.arena = append(b.arena, next...)
	}
	o.off, o.end = start, len(b.arena)
}

// field is the first value of p, with its length.
func field(p []byte) []byte {
	if n := binary.BigEndian.Uint32(p); n < notSent {
		return p[:4+n]
	}
	return p[:4]
}

// position of a change, nil without.
func (b *buffer) positionOf(o *op) change.Position {
	if o.at < 0 {
		return nil
	}
	return change.Position(bytes.Clone(b.at[o.at : o.at+b.atSize]))
}
