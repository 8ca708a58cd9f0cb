package exec

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/planner"
)

// rejectRead applies the policy to a row that the source could not map. The row was meant for every sink that its table
// feeds, so the strictest of their policies holds: fail before dead-letter before skip.
func (r *runner) rejectRead(ctx context.Context, e *connectors.RowError) error {
	var sinks []*planner.Sink
	for _, route := range r.plan.Routes {
		if r.plan.Source.Read.Tables[route.Table].Name == e.Table {
			sinks = append(sinks, &r.plan.Sinks[route.Sink])
		}
	}
	return r.reject(ctx, e, sinks...)
}

// rejectWrite applies the policy of a sink to a row that it could not map or that its system refused.
func (r *runner) rejectWrite(s *planner.Sink) connectors.RejectFunc {
	return func(ctx context.Context, e *connectors.RowError) error { return r.reject(ctx, e, s) }
}

// rejectComputed applies the policy of a sink to a row that its query could not compute.
func (u *unit) rejectComputed(ctx context.Context, t *target, row int, column, reason string) error {
	table := &u.plan.Source.Read.Tables[t.in.Table]
	return u.reject(ctx, &connectors.RowError{
		Table:  t.sink.plan.Table.Name,
		Column: column,
		Reason: reason,
		Kind:   t.in.Kind(row),
		Row:    rowJSON(t.in, table.Columns, row),
		Key:    keyText(t.in, table, row),
		At:     t.in.At(row),
	}, t.sink.plan)
}

// reject returns nil when the row is where the policies want it, and otherwise the error that stops the pipeline.
func (r *runner) reject(ctx context.Context, e *connectors.RowError, sinks ...*planner.Sink) error {
	if len(sinks) == 0 {
		return connectors.Permanent(e, "")
	}
	for _, s := range sinks {
		if s.OnError.Policy != planner.Skip && s.OnError.Policy != planner.DeadLetter {
			return connectors.Permanent(e, "")
		}
	}
	written := map[string]bool{}
	for _, s := range sinks {
		box := s.OnError.DeadLetter
		if s.OnError.Policy != planner.DeadLetter || written[box.Table.Name] {
			continue
		}
		written[box.Table.Name] = true
		if err := r.letters.put(ctx, box, e); err != nil {
			return err
		}
	}
	r.rejected.Add(1)
	r.Observer.Note(Event{What: RowRejected, Unit: r.plan.Name, Table: e.Table, Err: e})
	return nil
}

// permanent reports whether running again cannot help.
func permanent(err error) bool {
	var (
		marked  *connectors.PermanentError
		row     *connectors.RowError
		changed *connectors.SchemaChange
	)
	return errors.As(err, &marked) || errors.As(err, &row) || errors.As(err, &changed)
}

// rowJSON is a row as a JSON object in the order of the columns; what the source did not send is left out.
func rowJSON(b *change.Batch, columns []connectors.Column, row int) string {
	var out strings.Builder
	out.WriteByte('{')
	for c := range int(b.Record.NumCols()) {
		if !b.Sent(c, row) {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		name := b.Record.ColumnName(c)
		if c < len(columns) {
			name = columns[c].Name
		}
		out.Write(jsonText(name))
		out.WriteByte(':')
		out.Write(jsonValue(b.Record.Column(c), row))
	}
	out.WriteByte('}')
	return out.String()
}

// jsonText is text as JSON, its < and > as they are.
func jsonText(text string) []byte {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	return []byte(strings.TrimSuffix(out.String(), "\n"))
}

// jsonValue is one value; what JSON has no form for (NaN, infinity) becomes text.
func jsonValue(a arrow.Array, row int) []byte {
	if a.IsNull(row) {
		return []byte("null")
	}
	switch v := a.GetOneForMarshal(row).(type) {
	case string:
		return jsonText(v)
	case json.RawMessage:
		return v
	default:
		if out, err := json.Marshal(v); err == nil {
			return out
		}
	}
	return jsonText(a.ValueStr(row))
}

// keyText is the primary key of a row for people: id=1, day=2024-01-01.
func keyText(b *change.Batch, t *connectors.TableRead, row int) string {
	var parts []string
	for _, c := range t.Key {
		parts = append(parts, t.Columns[c].Name+"="+b.Record.Column(c).ValueStr(row))
	}
	return strings.Join(parts, ", ")
}
