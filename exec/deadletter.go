package exec

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/planner"
)

// A dead-letter table is a declared table with any of these columns, by name:
//
//	pipeline     STRING     the pipeline's name
//	table_name   STRING     the table that the row was meant for; also spelled table
//	kind         STRING     +I, -U, +U or -D
//	key          STRING     the row's key, as id=1, day=2024-01-01
//	column_name  STRING     the column that is at fault, NULL for the whole row; also spelled column
//	reason       STRING     why
//	row          STRING     the row as a JSON object; also spelled row_json
//	position     STRING     the row's position in the source, hexadecimal; NULL when the source has none
//	failed_at    TIMESTAMP  when; also TIMESTAMP_LTZ, or STRING in RFC 3339
//
// A letter is durable before the batch that it came from goes on, so a crash may repeat letters, and never loses one.

// letters are the open dead-letter tables of a run. Its units share them.
type letters struct {
	*runner
	open map[string]*letterbox
	sent uint64
	busy chan struct{} // held by the unit that writes; a channel, because writing takes time
}

// letterbox is one open dead-letter table.
type letterbox struct {
	sink   connectors.Sink
	schema *arrow.Schema
	fields []func(e *connectors.RowError, into array.Builder)
}

// put writes one row to a dead-letter table and returns when it is durable and visible.
func (l *letters) put(ctx context.Context, to *planner.Sink, e *connectors.RowError) error {
	select {
	case l.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.busy }()
	box, err := l.box(ctx, to)
	if err != nil {
		return fmt.Errorf("open dead-letter table %q: %w", to.Table.Name, err)
	}
	l.sent++
	// A position of its own, that grows over runs and within each.
	at := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, l.epoch), l.sent)
	b := change.Batch{Record: box.record(l, e), Position: at, RowPositions: at, RowPositionSize: len(at)}
	err = box.sink.Write(ctx, b)
	b.Release()
	var token []byte
	if err == nil {
		token, err = box.sink.Flush(ctx)
	}
	if c, ok := box.sink.(connectors.Committer); ok && err == nil && token != nil {
		err = c.Commit(ctx, token)
	}
	if err != nil {
		return fmt.Errorf("write dead-letter table %q: %w", to.Table.Name, err)
	}
	return nil
}

func (b *letterbox) record(l *letters, e *connectors.RowError) arrow.RecordBatch {
	builder := array.NewRecordBuilder(l.Alloc, b.schema)
	defer builder.Release()
	for i, fill := range b.fields {
		fill(e, builder.Field(i))
	}
	return builder.NewRecordBatch()
}

// box opens a dead-letter table at its first letter.
func (l *letters) box(ctx context.Context, to *planner.Sink) (*letterbox, error) {
	if box, ok := l.open[to.Table.Name]; ok {
		return box, nil
	}
	box := &letterbox{}
	fields := make([]arrow.Field, len(to.Table.Columns))
	for i, c := range to.Table.Columns {
		fill, err := l.field(c)
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
		box.fields = append(box.fields, fill)
	}
	box.schema = arrow.NewSchema(fields, nil)
	var err error
	box.sink, err = to.Connector.OpenSink(ctx, connectors.Write{
		Pipeline: l.plan.Name + "/dead-letters",
		Sink:     to.Table.Name,
		Table:    to.Table,
		Epoch:    l.epoch,
		Limits:   l.plan.Limits,
		// A letter that is itself refused has nowhere to go.
		Reject: func(_ context.Context, e *connectors.RowError) error { return connectors.Permanent(e, "") },
	})
	if err != nil {
		return nil, err
	}
	l.open[to.Table.Name] = box
	return box, nil
}

// field is how a column of a dead-letter table is filled.
func (l *letters) field(c connectors.Column) (func(*connectors.RowError, array.Builder), error) {
	texts := map[string]func(e *connectors.RowError) string{
		"pipeline":    func(*connectors.RowError) string { return l.plan.Name },
		"table_name":  func(e *connectors.RowError) string { return e.Table },
		"kind":        func(e *connectors.RowError) string { return e.Kind.String() },
		"key":         func(e *connectors.RowError) string { return e.Key },
		"column_name": func(e *connectors.RowError) string { return e.Column },
		"reason":      func(e *connectors.RowError) string { return e.Reason },
		"row":         func(e *connectors.RowError) string { return e.Row },
		"position":    func(e *connectors.RowError) string { return hex.EncodeToString(e.At) },
		"failed_at":   func(*connectors.RowError) string { return time.Now().UTC().Format(time.RFC3339Nano) },
	}
	texts["table"], texts["column"], texts["row_json"] = texts["table_name"], texts["column_name"], texts["row"]
	text, known := texts[c.Name]
	if !known {
		return nil, connectors.Permanent(fmt.Errorf("column %q is not one that a dead letter has", c.Name),
			"use any of pipeline, table_name, kind, key, column_name, reason, row, position, failed_at")
	}
	switch typ := c.Type.(type) {
	case *arrow.StringType:
		return func(e *connectors.RowError, into array.Builder) {
			if s := text(e); s != "" || !c.Nullable {
				into.(*array.StringBuilder).Append(s)
			} else {
				into.AppendNull()
			}
		}, nil
	case *arrow.TimestampType:
		if c.Name == "failed_at" {
			return func(_ *connectors.RowError, into array.Builder) {
				now, err := arrow.TimestampFromTime(time.Now().UTC(), typ.Unit)
				if err != nil {
					panic(err) // the clock is outside of what 64 bits of nanoseconds hold
				}
				into.(*array.TimestampBuilder).Append(now)
			}, nil
		}
	}
	return nil, connectors.Permanent(fmt.Errorf("column %q has type %s, which a dead letter cannot fill", c.Name, c.SQL),
		"declare it as STRING")
}

// close ends the open tables. A process that died closes nothing.
func (l *letters) close(err *error) {
	if l.died.Load() {
		return
	}
	for name, box := range l.open {
		if closing := box.sink.Close(); closing != nil && *err == nil {
			*err = fmt.Errorf("close dead-letter table %q: %w", name, closing)
		}
	}
}
