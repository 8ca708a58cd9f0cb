package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/syncsql/syncsql/change"
)

// The stored form of a checkpoint: a version byte, the fields in order, and a CRC-32C of all that. Numbers are varints,
// text and bytes carry their length; nil and empty bytes differ (length plus one, zero for nil). Maps are in key order, so
// one checkpoint has one form, and Decode refuses every other.
const version = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errCorrupt is what torn or foreign bytes decode to.
var errCorrupt = errors.New("the stored checkpoint is damaged")

// Encode is the stored form of c.
func Encode(c Checkpoint) []byte {
	e := encoder{version}
	e.uint(c.ID)
	e.uint(c.Epoch)
	e.text(c.Fingerprint)
	e.bytes(c.Position)
	e.uint(uint64(len(c.Tokens)))
	for _, name := range slices.Sorted(maps.Keys(c.Tokens)) {
		e.text(name)
		e.bytes(c.Tokens[name])
	}
	e.bool(c.Done)
	e.bytes(c.Start)
	e.uint(uint64(len(c.Partitions)))
	for _, p := range c.Partitions {
		e.text(p.ID)
		e.int(int64(p.Table))
		e.bytes(p.Range)
		e.int(p.Rows)
		e.bool(p.Done)
	}
	e.uint(uint64(len(c.Handovers)))
	for _, table := range slices.Sorted(maps.Keys(c.Handovers)) {
		e.int(int64(table))
		e.bytes(c.Handovers[table])
	}
	e.bool(c.Streaming)
	e.status(&c.Status)
	return binary.BigEndian.AppendUint32(e, crc32.Checksum(e, castagnoli))
}

type encoder []byte

func (e *encoder) uint(n uint64) { *e = binary.AppendUvarint(*e, n) }
func (e *encoder) int(n int64)   { *e = binary.AppendVarint(*e, n) }
func (e *encoder) text(s string) { e.uint(uint64(len(s))); *e = append(*e, s...) }

func (e *encoder) bytes(b []byte) {
	if b == nil {
		e.uint(0)
		return
	}
	e.uint(uint64(len(b)) + 1)
	*e = append(*e, b...)
}

func (e *encoder) bool(b bool) {
	if b {
		e.uint(1)
		return
	}
	e.uint(0)
}

func (e *encoder) status(s *Status) {
	e.text(s.State)
	e.text(s.Phase)
	e.text(s.Guarantee)
	e.text(s.Error)
	e.uint(s.RowsIn)
	e.uint(s.RowsOut)
	e.uint(s.Rejected)
	e.int(s.LagBytes)
	e.int(s.LagMillis)
	e.text(s.Position)
	e.bool(!s.Saved.IsZero())
	if !s.Saved.IsZero() {
		e.int(s.Saved.Unix())
		e.uint(uint64(s.Saved.Nanosecond()))
	}
}

// Decode reads what Encode wrote. Anything else is an error.
func Decode(stored []byte) (Checkpoint, error) {
	var c Checkpoint
	if len(stored) < 5 {
		return c, errCorrupt
	}
	body, sum := stored[:len(stored)-4], binary.BigEndian.Uint32(stored[len(stored)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return c, errCorrupt
	}
	if body[0] != version {
		return c, fmt.Errorf("the stored checkpoint has form %d, this program reads form %d", body[0], version)
	}
	d := decoder{rest: body[1:]}
	c.ID = d.uint()
	c.Epoch = d.uint()
	c.Fingerprint = d.text()
	c.Position = change.Position(d.bytes())
	for n, i := d.count(), 0; i < n && !d.bad; i++ {
		if c.Tokens == nil {
			c.Tokens = make(map[string][]byte, n)
		}
		name := d.text()
		c.Tokens[name] = d.bytes()
	}
	c.Done = d.bool()
	c.Start = change.Position(d.bytes())
	for n, i := d.count(), 0; i < n && !d.bad; i++ {
		c.Partitions = append(c.Partitions, Partition{ID: d.text(), Table: int(d.int()), Range: d.bytes(), Rows: d.int(), Done: d.bool()})
	}
	for n, i := d.count(), 0; i < n && !d.bad; i++ {
		if c.Handovers == nil {
			c.Handovers = make(map[int]change.Position, n)
		}
		table := int(d.int())
		c.Handovers[table] = change.Position(d.bytes())
	}
	c.Streaming = d.bool()
	d.status(&c.Status)
	// A second form of the same content would mean that the bytes are not ours.
	if d.bad || len(d.rest) > 0 || string(Encode(c)) != string(stored) {
		return Checkpoint{}, errCorrupt
	}
	return c, nil
}

type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// count is a number of items; each takes at least a byte, so a larger number than bytes is damage, not a reason to
// allocate.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.rest)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.fail()
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) text() string { return string(d.take(d.uint())) }

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n == 0 || d.bad {
		return nil
	}
	return append([]byte{}, d.take(n-1)...)
}

func (d *decoder) bool() bool {
	n := d.uint()
	if n > 1 {
		d.fail()
	}
	return n == 1
}

func (d *decoder) status(s *Status) {
	s.State = d.text()
	s.Phase = d.text()
	s.Guarantee = d.text()
	s.Error = d.text()
	s.RowsIn = d.uint()
	s.RowsOut = d.uint()
	s.Rejected = d.uint()
	s.LagBytes = d.int()
	s.LagMillis = d.int()
	s.Position = d.text()
	if d.bool() {
		seconds, nanos := d.int(), d.uint()
		if nanos >= uint64(time.Second) {
			d.fail()
			return
		}
		s.Saved = time.Unix(seconds, int64(nanos)).UTC()
		if s.Saved.IsZero() {
			d.fail()
		}
	}
}

func (d *decoder) fail() { d.bad, d.rest = true, nil }
