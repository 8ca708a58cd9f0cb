package session

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// opColumn heads the kinds of a changelog, as in Flink's client.
const opColumn = "op"

// target is where the rows of one SELECT go. The printer is set when the query runs.
type target struct {
	printer   printer
	format    Format
	changelog bool   // some change is not an insert: rows get an op column
	live      bool   // the read has no end: rows are shown as they come
	limit     int64  // rows to print; 0: all
	full      func() // called once the limit is reached, to end the run
	rows      int64

	mu sync.Mutex // partitions of a snapshot write at the same time
}

// connector is the sink of a SELECT: it prints rows as they come. Every kind is welcome, for there is nothing to keep.
func (t *target) connector() *connectors.Connector {
	return &connectors.Connector{
		Name: "result",
		Doc:  "Prints the rows of a query.",
		WriteModes: []connectors.WriteMode{{
			Name: "print", Accepts: change.All, Class: connectors.AppendOnly, NeedsBefore: true,
			Doc: "prints each change",
		}},
		OpenSink: func(context.Context, connectors.Write) (connectors.Sink, error) { return result{t}, nil },
	}
}

// result prints the batches of one query.
type result struct{ *target }

// headings are the columns of a table as a printer wants them, behind the op column of a changelog.
func headings(columns []connectors.Column, changelog bool) []heading {
	var out []heading
	if changelog {
		out = append(out, heading{Name: opColumn})
	}
	for _, c := range columns {
		out = append(out, heading{Name: c.Name, Type: c.Type})
	}
	return out
}

// Write prints at once and keeps nothing, so Flush has nothing to wait for.
func (r result) Write(_ context.Context, b change.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	spell := r.spellers(b.Record)
	var text []byte
	for i := range b.Len() {
		if r.limit > 0 && r.rows == r.limit {
			break
		}
		r.rows++
		var cells []cell
		if r.changelog {
			cells = append(cells, textCell(b.Kind(i).String()))
		}
		for c, col := range b.Record.Columns() {
			switch {
			case !b.Sent(c, i):
				cells = append(cells, cell{text: "(unchanged)", json: `"(unchanged)"`})
			case col.IsNull(i):
				cells = append(cells, cell{text: "NULL", json: "null", null: true})
			default:
				text = spell[c](text[:0], i)
				cells = append(cells, cell{text: string(text), json: string(text)})
			}
		}
		if err := r.printer.row(cells); err != nil {
			return err
		}
	}
	if r.limit > 0 && r.rows == r.limit {
		r.full()
	}
	if r.changelog || r.live {
		return r.printer.flush()
	}
	return nil
}

func (r result) spellers(record arrow.RecordBatch) []connectors.Append {
	out := make([]connectors.Append, record.NumCols())
	for c, col := range record.Columns() {
		if r.format == JSONFormat {
			out[c] = connectors.Style{}.JSON(col)
		} else {
			out[c] = connectors.Style{}.Text(col)
		}
	}
	return out
}

func (r result) Flush(context.Context) ([]byte, error) { return nil, nil }
func (r result) Position() change.Position             { return nil }
func (r result) Close() error                          { return nil }
