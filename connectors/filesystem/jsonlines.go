package filesystem

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// jsonRows reads one JSON object per line: the row, or, for a changelog, its envelope.
type jsonRows struct {
	places    map[string]int // of the columns in the batch
	missing   bool           // a field that is missing is an error
	changelog bool

	in jsonText // of the row that is decoded
}

func (j *jsonRows) next(in *lines) ([]byte, error) {
	for {
		line, err := in.next()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

func (j *jsonRows) decode(text []byte, out *rowBuilder) error {
	j.in.b, j.in.i = text, 0
	in := &j.in
	var err error
	if j.changelog {
		err = j.envelope(in, out)
	} else if err = j.row(in, out); err == nil {
		err = j.complete(out, out.rows())
	}
	if err == nil {
		err = in.end()
	}
	return err
}

// row reads the fields of an object into the columns; others are passed over.
func (j *jsonRows) row(in *jsonText, out *rowBuilder) error {
	n := out.rows()
	return in.object(func(name []byte) error {
		i, ok := j.places[string(name)]
		if !ok {
			_, err := in.skip()
			return err
		}
		if out.bld.Field(i).Len() > n {
			return fmt.Errorf("field %q is there twice", name)
		}
		if err := out.json[i](in); err != nil {
			return &valueError{out.columns[i].Name, err}
		}
		return nil
	})
}

// complete complains about columns without a value, when that is an error.
func (j *jsonRows) complete(out *rowBuilder, n int) error {
	for i, c := range out.columns {
		if j.missing && out.bld.Field(i).Len() == n && (out.unsent == nil || !out.unsent.Has(i, n)) {
			return &valueError{c.Name, errors.New("the field is missing")}
		}
	}
	return nil
}

var kindsByName = map[string]change.Kind{"+I": change.Insert, "-U": change.UpdateBefore, "+U": change.UpdateAfter, "-D": change.Delete}

// envelope reads {"op":"+U","data":{...},"unsent":["c"]}, in any order.
func (j *jsonRows) envelope(in *jsonText, out *rowBuilder) error {
	n := out.rows()
	kind, haveOp, haveData := change.Insert, false, false
	var unsent []int
	err := in.object(func(name []byte) error {
		switch string(name) {
		case "op":
			text, err := in.string()
			if err != nil {
				return err
			}
			if kind, haveOp = kindsByName[string(text)]; !haveOp {
				return fmt.Errorf("op %q is not one of +I, -U, +U, -D", text)
			}
			return nil
		case "data":
			if haveData {
				return errors.New("data is there twice")
			}
			haveData = true
			return j.row(in, out)
		case "unsent":
			return in.list(func() error {
				text, err := in.string()
				if i, ok := j.places[string(text)]; ok && err == nil {
					unsent = append(unsent, i)
				}
				return err
			})
		}
		_, err := in.skip()
		return err
	})
	if err == nil && (!haveOp || !haveData) {
		err = errors.New("a change needs op and data")
	}
	if err != nil {
		return err
	}
	for _, i := range unsent {
		if out.bld.Field(i).Len() > n {
			return &valueError{out.columns[i].Name, errors.New("the field is listed as unsent, and sent")}
		}
	}
	for _, i := range unsent {
		if out.unsent == nil {
			out.unsent = change.NewUnsent(len(out.columns))
		}
		out.unsent.Set(i, n)
	}
	if err := j.complete(out, n); err != nil {
		return err
	}
	out.kinds = append(out.kinds, kind)
	return nil
}

// jsonWriter writes one object per line.
type jsonWriter struct {
	style     connectors.Style
	changelog bool
}

func (j *jsonWriter) append(dst []byte, b *change.Batch, each func(dst []byte) []byte) []byte {
	cols := b.Record.Columns()
	names, spell := make([][]byte, len(cols)), make([]connectors.Append, len(cols))
	for i, col := range cols {
		names[i] = append(connectors.AppendJSONString(nil, b.Record.ColumnName(i)), ':')
		spell[i] = j.style.JSON(col)
	}
	for row := range b.Len() {
		if j.changelog {
			dst = append(append(append(dst, `{"op":"`...), b.Kind(row).String()...), `","data":`...)
		}
		dst = append(dst, '{')
		first, unsent := true, false
		for i, col := range cols {
			if !b.Sent(i, row) {
				unsent = true
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			if dst = append(dst, names[i]...); col.IsNull(row) {
				dst = append(dst, "null"...)
			} else {
				dst = spell[i](dst, row)
			}
		}
		dst = append(dst, '}')
		if unsent {
			dst = appendUnsent(dst, b, row, names)
		}
		if j.changelog {
			dst = append(dst, '}')
		}
		dst = each(append(dst, '\n'))
	}
	return dst
}

// appendUnsent lists the columns that are absent because the source did not send them.
func appendUnsent(dst []byte, b *change.Batch, row int, names [][]byte) []byte {
	dst = append(dst, `,"unsent":[`...)
	first := true
	for i, name := range names {
		if b.Sent(i, row) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, name[:len(name)-1]...)
	}
	return append(dst, ']')
}
