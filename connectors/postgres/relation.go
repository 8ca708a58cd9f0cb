package postgres

import (
	"fmt"
	"strings"

	"github.com/syncsql/syncsql/connectors"
)

// relation takes the description of a table, which the server sends before the first row of a connection and after every
// change of the table. It is compared with what is known by name, type and modifier; the first error is found here, before
// a row is read by a wrong description.
func (in *intake) relation(p []byte) error {
	c := cursor{p: p[1:]}
	id := c.u32()
	at := name{c.text(), c.text()}
	identity := c.u8()
	columns := make([]publishedColumn, 0, 16)
	for range c.u16() {
		col := publishedColumn{key: c.u8()&1 != 0, name: c.text(), oid: c.u32(), mod: int32(c.u32()), target: -1}
		if c.bad {
			return errMessage
		}
		columns = append(columns, col)
	}
	if c.bad || len(c.p) != 0 {
		return errMessage
	}
	var list []*published
	for _, t := range in.src.tables {
		if t.at != at || !t.streams() {
			continue
		}
		r := &published{table: t, columns: append([]publishedColumn(nil), columns...)}
		if err := in.bind(r, id, identity); err != nil {
			return err
		}
		list = append(list, r)
	}
	if _, again := in.relations[id]; again && len(list) > 0 && in.described != nil {
		in.described(list[0].table)
	}
	if list == nil {
		list = []*published{{}}
	}
	in.relations[id] = list
	return nil
}

// bind connects a description with a declared table.
func (in *intake) bind(r *published, id uint32, identity byte) error {
	t := r.table
	broken := func(format string, args ...any) error {
		return &connectors.SchemaChange{Table: t.Name, What: fmt.Sprintf(format, args...), Broken: true}
	}
	if id != t.info.oid {
		return broken("%s was dropped and created again; the target still has the rows of the old one", t.at)
	}
	var gone []string
	for i, j := range t.physical {
		if j < 0 {
			continue
		}
		known := &t.info.columns[j]
		col := r.column(known.name)
		if col == nil {
			gone = append(gone, fmt.Sprintf("column %q is no longer there", known.name))
			continue
		}
		if in.src.types[col.oid] == nil && in.types != nil {
			if err := in.types([]uint32{col.oid}); err != nil {
				return err
			}
		}
		col.target = i
		if err := in.decoders(col, t.Columns[i]); err != nil {
			gone = append(gone, fmt.Sprintf("column %q was %s and now has another type: %v", known.name, known.typ, err))
		}
	}
	if len(gone) > 0 {
		return broken("%s", strings.Join(gone, "; "))
	}
	return in.checkIdentity(r, identity, broken)
}

// decoders chooses how a column is read. A type that is new since the stream was opened can need the other form; then the
// stream must be opened again.
func (in *intake) decoders(col *publishedColumn, declared connectors.Column) error {
	var err, textErr error
	col.binary, err = newDecoder(in.src.types, col.oid, inBinary, declared.Type)
	col.text, textErr = newDecoder(in.src.types, col.oid, inText, declared.Type)
	if in.src.text {
		return textErr
	}
	return err
}

func (r *published) column(name string) *publishedColumn {
	for i := range r.columns {
		if r.columns[i].name == name {
			return &r.columns[i]
		}
	}
	return nil
}

// checkIdentity makes sure that updates and deletes still say which row they concern.
func (in *intake) checkIdentity(r *published, identity byte, broken func(string, ...any) error) error {
	t := r.table
	if t.inserts {
		return nil
	}
	if declared := replicaIdentity.Get(t.Options); declared == "full" {
		if identity != 'f' {
			return broken("its REPLICA IDENTITY is no longer FULL, as 'replica-identity' = 'full' says")
		}
		return nil
	}
	for i := range r.columns {
		col := &r.columns[i]
		if col.target >= 0 && t.isKey[col.target] && !col.key && identity != 'f' {
			return broken("column %q of the declared PRIMARY KEY is no longer part of its replica identity", col.name)
		}
	}
	return nil
}
