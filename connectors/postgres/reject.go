package postgres

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// reject notes a row that cannot be mapped; it is reported in its place among the rows. It may be one of two that a
// message makes, so no position is given away here.
func (in *intake) reject(r *published, cells []cell, rows whole, bad *badCell, k change.Kind, at position) {
	in.closeRows()
	e := rowError(in.src.types, r, cells, rows, bad)
	e.Kind, e.At = k, at.bytes()
	in.parts = append(in.parts, part{reject: e})
	in.rows++
}

// rowError describes a row by what the server sent.
func rowError(types typeSet, r *published, cells []cell, rows whole, bad *badCell) *connectors.RowError {
	e := &connectors.RowError{Table: r.table.Name, Column: r.columns[bad.column].name, Reason: bad.err.Error()}
	if v, ok := showCell(types, r.columns[bad.column].oid, cells[bad.column]); ok {
		e.Reason = fmt.Sprintf("%s (the value is %s)", e.Reason, clipText(v))
	}
	var row, key strings.Builder
	for i := range r.columns {
		col := &r.columns[i]
		if rows == keyOnly && !col.key || cells[i].kind == 'u' {
			continue
		}
		v, ok := showCell(types, col.oid, cells[i])
		writeMember(&row, col.name, v, ok)
		if col.target >= 0 && r.table.isKey[col.target] {
			if key.Len() > 0 {
				key.WriteString(", ")
			}
			key.WriteString(col.name + "=" + v)
		}
	}
	e.Row, e.Key = "{"+row.String()+"}", key.String()
	return e
}

// writeMember writes one member of a JSON object; values are the text that Postgres prints.
func writeMember(b *strings.Builder, name, value string, set bool) {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	n, _ := json.Marshal(name)
	b.Write(n)
	b.WriteByte(':')
	if !set {
		b.WriteString("null")
		return
	}
	v, _ := json.Marshal(value)
	b.Write(v)
}

// showCell is a value as text, in hex when its type is not known here.
func showCell(types typeSet, oid uint32, c cell) (string, bool) {
	switch c.kind {
	case 't':
		return string(c.data), true
	case 'b':
		if t, _ := types.resolve(oid, -1); t != nil {
			if render, err := newRenderer(types, t); err == nil {
				if b, err := render(nil, c.data); err == nil {
					return string(b), true
				}
			}
		}
		return `\x` + hex.EncodeToString(c.data), true
	}
	return "", false
}

func clipText(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}
