package filesystem

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// position is the last row that was handed over. Its bytes are a version, the file's place in the list, the rows so far in
// it, the bytes so far in it, and a fingerprint of the names up to it: big-endian, so that they sort as the rows do. The
// fingerprint tells when files in front of the place have come or gone.
type position struct {
	file   uint32
	rows   uint64
	offset uint64
	names  uint64
}

const (
	positionVersion = 1
	positionSize    = 1 + 4 + 8 + 8 + 8
)

func (p position) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, positionVersion), p.file)
	dst = binary.BigEndian.AppendUint64(dst, p.rows)
	dst = binary.BigEndian.AppendUint64(dst, p.offset)
	return binary.BigEndian.AppendUint64(dst, p.names)
}

func parsePosition(b []byte) (position, error) {
	if len(b) != positionSize || b[0] != positionVersion {
		return position{}, fmt.Errorf("%x is not a position of filesystem", b)
	}
	p := position{file: binary.BigEndian.Uint32(b[1:]), rows: binary.BigEndian.Uint64(b[5:]),
		offset: binary.BigEndian.Uint64(b[13:]), names: binary.BigEndian.Uint64(b[21:])}
	if p.offset > 1<<62 || p.rows > 1<<62 {
		return position{}, fmt.Errorf("%x is not a position of filesystem", b)
	}
	return p, nil
}

// fingerprint covers the names of the files up to and including one.
func fingerprint(files []string, last uint32) uint64 {
	h := fnv.New64a()
	for _, f := range files[:last+1] {
		_, _ = h.Write([]byte(f))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// token names the files of one checkpoint: parts 0 to parts-1 of number seq, staged by the run with that epoch. Life tells
// the files of a pipeline apart from those that it wrote before it was reset.
type token struct {
	life  uint64
	seq   uint64
	parts uint32
	epoch uint64
}

const (
	tokenVersion = 1
	tokenSize    = 1 + 8 + 8 + 4 + 8
)

func (t token) bytes() []byte {
	dst := binary.BigEndian.AppendUint64([]byte{tokenVersion}, t.life)
	dst = binary.BigEndian.AppendUint64(dst, t.seq)
	dst = binary.BigEndian.AppendUint32(dst, t.parts)
	return binary.BigEndian.AppendUint64(dst, t.epoch)
}

func parseToken(b []byte) (token, error) {
	if len(b) != tokenSize || b[0] != tokenVersion {
		return token{}, fmt.Errorf("%x is not a token of filesystem", b)
	}
	return token{life: binary.BigEndian.Uint64(b[1:]), seq: binary.BigEndian.Uint64(b[9:]),
		parts: binary.BigEndian.Uint32(b[17:]), epoch: binary.BigEndian.Uint64(b[21:])}, nil
}
