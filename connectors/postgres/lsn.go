package postgres

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/syncsql/syncsql/change"
)

// lsn is a place in the server's log.
type lsn uint64

func (l lsn) String() string { return fmt.Sprintf("%X/%X", uint32(l>>32), uint32(l)) }

// appendText appends the server's spelling without an allocation.
func (l lsn) appendText(b []byte) []byte {
	const digits = "0123456789ABCDEF"
	hex := func(b []byte, v uint32) []byte {
		shift := 28
		for shift > 0 && v>>shift == 0 {
			shift -= 4
		}
		for ; shift >= 0; shift -= 4 {
			b = append(b, digits[v>>shift&15])
		}
		return b
	}
	return hex(append(hex(b, uint32(l>>32)), '/'), uint32(l))
}

func parseLSN(s string) (lsn, error) {
	hi, lo, ok := strings.Cut(s, "/")
	h, err1 := strconv.ParseUint(hi, 16, 32)
	l, err2 := strconv.ParseUint(lo, 16, 32)
	if !ok || err1 != nil || err2 != nil {
		return 0, fmt.Errorf("%q is not a log position", s)
	}
	return lsn(h<<32 | l), nil
}

// Versions are the first byte of a position. That of a copy sorts below every position of the stream, so a streamed
// change always wins over a copied row.
const (
	versionCopy   = 0
	versionStream = 1
	positionSize  = 13
)

// position is a place in the stream: the rows of a transaction have the log position of its commit record and count from
// 1 over all tables; between transactions the row is 0 and the log position is the end of the last commit.
type position struct {
	lsn lsn
	row uint32
}

func (p position) append(b []byte) []byte {
	b = append(b, versionStream)
	b = binary.BigEndian.AppendUint64(b, uint64(p.lsn))
	return binary.BigEndian.AppendUint32(b, p.row)
}

func (p position) bytes() change.Position { return p.append(make([]byte, 0, positionSize)) }

func (p position) less(o position) bool { return p.lsn < o.lsn || p.lsn == o.lsn && p.row < o.row }

func (p position) String() string {
	if p.row == 0 {
		return p.lsn.String()
	}
	return p.lsn.String() + " row " + strconv.FormatUint(uint64(p.row), 10)
}

func decodePosition(b change.Position) (position, error) {
	if len(b) != positionSize || b[0] != versionStream {
		return position{}, fmt.Errorf("%x is not a position of a Postgres stream", []byte(b))
	}
	return position{lsn(binary.BigEndian.Uint64(b[1:])), binary.BigEndian.Uint32(b[9:])}, nil
}

// showPosition spells a position of the stream as the server does; a copy has none that means something to people.
func showPosition(b change.Position) string {
	p, err := decodePosition(b)
	if err != nil {
		return ""
	}
	return p.String()
}

// handover is the position of a finished copy: what its snapshot had seen. start is where the stream begins; it comes
// first, so that every row of the copy, whatever the snapshot it was read under, compares as at or below it.
type handover struct {
	start    lsn
	at       lsn // no transaction that the snapshot saw was committed at or after this
	snapshot snapshotSet
}

// rows is the position that the rows of a copy carry.
func (h handover) rows() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64([]byte{versionCopy}, uint64(h.start)), 0)
}

func (h handover) bytes() change.Position {
	b := binary.BigEndian.AppendUint64(h.rows(), uint64(h.at))
	return append(b, h.snapshot.String()...)
}

func decodeHandover(b change.Position) (handover, error) {
	if len(b) < positionSize+8 || b[0] != versionCopy {
		return handover{}, fmt.Errorf("%x is not the position of a Postgres copy", []byte(b))
	}
	s, err := parseSnapshot(string(b[positionSize+8:]))
	if err != nil {
		return handover{}, err
	}
	return handover{lsn(binary.BigEndian.Uint64(b[1:])), lsn(binary.BigEndian.Uint64(b[positionSize:])), s}, nil
}

// saw reports whether the copy holds the changes of a transaction. The log position decides first: a transaction id alone
// comes round again.
func (h *handover) saw(xid uint32, commit lsn) bool { return commit < h.at && h.snapshot.saw(xid) }

// snapshotSet is what pg_current_snapshot() prints: xmin:xmax:running.
type snapshotSet struct {
	xmin, xmax uint64
	running    map[uint64]bool
	text       string
}

func (s snapshotSet) String() string { return s.text }

func parseSnapshot(text string) (snapshotSet, error) {
	s := snapshotSet{text: text, running: make(map[uint64]bool)}
	bad := fmt.Errorf("%q is not a snapshot", text)
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return s, bad
	}
	var err1, err2 error
	s.xmin, err1 = strconv.ParseUint(parts[0], 10, 64)
	s.xmax, err2 = strconv.ParseUint(parts[1], 10, 64)
	if err1 != nil || err2 != nil || s.xmin > s.xmax {
		return s, bad
	}
	if parts[2] == "" {
		return s, nil
	}
	for _, x := range strings.Split(parts[2], ",") {
		n, err := strconv.ParseUint(x, 10, 64)
		if err != nil {
			return s, bad
		}
		s.running[n] = true
	}
	return s, nil
}

// saw widens the transaction id to the 64-bit one that lies nearest to the snapshot.
func (s *snapshotSet) saw(xid uint32) bool {
	full := s.xmax&^(1<<32-1) | uint64(xid)
	switch {
	case full > s.xmax+1<<31 && full >= 1<<32:
		full -= 1 << 32
	case full+1<<31 < s.xmax:
		full += 1 << 32
	}
	return full < s.xmin || full < s.xmax && !s.running[full]
}
