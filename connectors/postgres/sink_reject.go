package postgres

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// batchError is a row of a batch that cannot be encoded.
func (s *sink) batchError(b *change.Batch, row int, bad *columnError) *connectors.RowError {
	e := &connectors.RowError{Table: s.t.declared, Reason: bad.err.Error(), Kind: b.Kind(row), At: b.At(row)}
	e.At = append(change.Position(nil), e.At...)
	if bad.column >= 0 {
		e.Column = s.t.columns[bad.column].name
	}
	shown := rowText{t: s.t, deleted: e.Kind == change.Delete}
	for c := range s.t.columns {
		source := s.t.columns[c].source
		if !b.Sent(source, row) {
			shown.skip()
			continue
		}
		value, err := s.bound[c](nil, row)
		if err != nil {
			shown.text(b.Record.Column(source).ValueStr(row))
			continue
		}
		shown.value(value)
	}
	e.Row, e.Key = shown.finish()
	return e
}

// opError is a row that the server refused.
func (a *applier) opError(b *buffer, o *op, refusal error) *connectors.RowError {
	e := &connectors.RowError{Table: a.t.declared, Kind: o.kind, At: b.positionOf(o)}
	e.Reason, e.Column = reason(refusal)
	shown := rowText{t: a.t, deleted: o.kind == change.Delete}
	for p := b.arena[o.off+rowHead : o.end]; len(p) > 0; {
		v := field(p)
		p = p[len(v):]
		shown.value(v)
	}
	e.Row, e.Key = shown.finish()
	return e
}

// rowText writes a row as a JSON object, and its key, from encoded values in writing order.
type rowText struct {
	t       *target
	deleted bool // only the key means anything
	next    int
	json    []byte
	key     []string
}

func (r *rowText) name() {
	if r.json != nil {
		r.json = append(r.json, ',')
	}
	r.json = append(append(r.json, quoteJSON(r.t.columns[r.next].name)...), ':')
}

func (r *rowText) skip() { r.next++ }

func (r *rowText) text(s string) {
	r.name()
	r.json = append(r.json, quoteJSON(s)...)
	r.end(s)
}

// value takes an encoded value with its length, which may be NULL or not sent.
func (r *rowText) value(p []byte) {
	switch binary.BigEndian.Uint32(p) {
	case notSent:
		r.skip()
	case nullSize:
		if r.deleted && r.next >= r.t.keys {
			r.skip()
			return
		}
		r.name()
		r.json = append(r.json, "null"...)
		r.end("NULL")
	default:
		r.encoded(p[4:])
	}
}

func (r *rowText) encoded(p []byte) {
	enc := &r.t.columns[r.next].enc
	text, err := enc.show(nil, p)
	if err != nil {
		text = []byte(err.Error())
	}
	r.name()
	if enc.bare && json.Valid(text) {
		r.json = append(r.json, text...)
	} else {
		r.json = append(r.json, quoteJSON(string(text))...)
	}
	r.end(string(text))
}

func (r *rowText) end(text string) {
	if r.next < r.t.keys {
		r.key = append(r.key, text)
	}
	r.next++
}

func (r *rowText) finish() (row, key string) {
	return "{" + string(r.json) + "}", strings.Join(r.key, ", ")
}

func quoteJSON(s string) []byte {
	quoted, _ := json.Marshal(s) // a string always has a JSON form
	return quoted
}
