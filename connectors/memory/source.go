package memory

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// source reads entries: of the log, or of the present rows for a bounded read.
type source struct {
	db       *DB
	read     connectors.Read
	names    []string  // of the tables in the DB
	handover []int64   // of each table: the finished copy holds the changes up to here
	fixed    []reading // what a bounded read delivers; nil for the log
	next     int       // the first entry that was not handed over
	end      int       // where the read ends; -1 for never
}

// reading is an entry of one of the tables read.
type reading struct {
	table int
	lsn   int64
	entry
}

// positionOf is the stored form of "the first n changes": a version, then n big-endian.
func positionOf(n int) change.Position {
	return binary.BigEndian.AppendUint64([]byte{1}, uint64(n))
}

func parsePosition(p change.Position) (int, error) {
	if p == nil {
		return 0, nil
	}
	if len(p) != 9 || p[0] != 1 || p[1] > 0x7f {
		return 0, connectors.Permanent(fmt.Errorf("position %x is not one of a memory table", []byte(p)), "")
	}
	return int(binary.BigEndian.Uint64(p[1:])), nil
}

func openSource(_ context.Context, db *DB, r connectors.Read) (connectors.Source, error) {
	from, err := parsePosition(r.From)
	if err != nil {
		return nil, err
	}
	s := &source{db: db, read: r, next: from, end: -1}
	bounded := len(r.Tables) > 0
	for i := range r.Tables {
		s.names = append(s.names, name(r.Tables[i].Table))
		handover, err := parsePosition(r.Tables[i].Handover)
		if err != nil {
			return nil, err
		}
		s.handover = append(s.handover, int64(handover))
		bounded = bounded && r.Tables[i].Mode == "snapshot"
	}
	err = db.do("open", func() error {
		if bounded {
			for i := range r.Tables {
				s.fixed = append(s.fixed, db.copyOf(i, s.names[i])...)
			}
			s.end = len(s.fixed)
		} else if r.CaughtUp {
			s.end = len(db.log)
		}
		if from > len(db.log) && !bounded {
			return connectors.Permanent(fmt.Errorf("the log has %d changes, the checkpoint says %d", len(db.log), from), "")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// copyOf are the present rows of a table.
func (db *DB) copyOf(index int, name string) []reading {
	t, ok := db.tables[name]
	if !ok {
		return nil
	}
	var rows []reading
	for _, r := range t.rows {
		rows = append(rows, reading{index, 0, entry{name, t.columns, change.Insert, slices.Clone(r)}})
	}
	return rows
}

func (s *source) Next(ctx context.Context) (change.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return change.Batch{}, err
		}
		var run []reading
		var to int
		var changed chan struct{}
		err := s.db.do("read", func() error {
			run, to = s.take()
			changed = s.db.changed
			return nil
		})
		if err != nil {
			return change.Batch{}, err
		}
		if len(run) > 0 {
			b, err := build(ctx, &s.read, run, s.position)
			if err != nil {
				return change.Batch{}, err
			}
			s.next = to
			b.Position = positionOf(to)
			return b, nil
		}
		s.next = to
		if s.end >= 0 && s.next >= s.end {
			return change.Batch{}, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// take is the next run of changes to one table, and the place after it. Called under the lock.
func (s *source) take() (run []reading, to int) {
	end := s.end
	if end < 0 {
		end = len(s.db.log)
	}
	rows := s.read.Limits.Rows
	if rows <= 0 {
		rows = connectors.DefaultLimits.Rows
	}
	for to = s.next; to < end && len(run) < rows; to++ {
		e := reading{table: -1, lsn: int64(to + 1)}
		if s.fixed != nil {
			e = s.fixed[to]
			e.lsn = int64(to + 1)
		} else {
			e.entry = s.db.log[to]
			e.table = slices.Index(s.names, e.entry.table)
		}
		if e.table < 0 || e.lsn <= s.handover[e.table] ||
			e.kind == change.UpdateBefore && changelogMode.Get(s.read.Tables[e.table].Options) == "upsert" {
			continue
		}
		if len(run) > 0 && run[0].table != e.table {
			break
		}
		run = append(run, e)
	}
	return run, to
}

func (s *source) position(r reading) change.Position { return positionOf(int(r.lsn)) }

func (s *source) Ack(_ context.Context, p change.Position) error {
	return s.db.do("ack", func() error { s.db.acked[s.read.Pipeline] = slices.Clone(p); return nil })
}

func (s *source) Close() error { return nil }

// build makes a batch of a run of changes to one table. A row that has a value of the wrong form goes to Reject.
func build(ctx context.Context, r *connectors.Read, run []reading, at func(reading) change.Position) (change.Batch, error) {
	table := &r.Tables[run[0].table]
	fields := make([]arrow.Field, len(table.Columns))
	for i, c := range table.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	b := change.Batch{Table: run[0].table, RowPositionSize: 9}
	builder := array.NewRecordBuilder(r.Mem(), arrow.NewSchema(fields, nil))
	defer builder.Release()
	trial := array.NewRecordBuilder(spareAllocator, builder.Schema())
	defer func() { trial.Release() }()
	parsers, tries := parsersOf(builder), parsersOf(trial)
	for _, e := range run {
		if table.Mode == "append" && e.kind != change.Insert {
			return b, connectors.Permanent(fmt.Errorf("table %q: a change %s in a table that only grows", table.Name, e.kind),
				"read it with 'scan.mode' = 'cdc'")
		}
		values, rejected := values(table, e, tries)
		if rejected != nil {
			rejected.At = at(e)
			if err := r.Reject(ctx, rejected); err != nil {
				return b, err
			}
			trial.Release()
			trial = array.NewRecordBuilder(spareAllocator, builder.Schema())
			tries = parsersOf(trial)
			continue
		}
		for i, v := range values {
			switch v {
			case Unsent:
				if b.Unsent == nil {
					b.Unsent = change.NewUnsent(len(fields))
				}
				b.Unsent.Set(i, len(b.Kinds))
				builder.Field(i).AppendNull()
			case nil:
				builder.Field(i).AppendNull()
			default:
				if err := parsers[i](v.(string)); err != nil {
					panic(err) // it was parsed before
				}
			}
		}
		b.Bytes += size(values)
		b.Kinds = append(b.Kinds, e.kind)
		b.RowPositions = append(b.RowPositions, at(e)...)
	}
	b.Record = builder.NewRecordBatch()
	if len(b.Kinds) == 0 {
		b.Release()
	}
	return b, nil
}

func parsersOf(b *array.RecordBuilder) []connectors.Parse {
	parsers := make([]connectors.Parse, len(b.Fields()))
	for i, f := range b.Fields() {
		parsers[i] = parserOf(f)
	}
	return parsers
}

// values are those of the table's columns, by name. Each is tried in a builder of its own first, so that a bad one leaves
// no half row behind.
func values(t *connectors.TableRead, e reading, tries []connectors.Parse) ([]any, *connectors.RowError) {
	row := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		switch c.Metadata {
		case "lsn":
			row[i] = strconv.FormatInt(e.lsn, 10)
			continue
		case "op":
			row[i] = e.kind.String()
			continue
		}
		at := slices.Index(e.columns, c.Name)
		if at < 0 {
			return nil, &connectors.RowError{Table: t.Name, Column: c.Name, Reason: "the change has no such column", Kind: e.kind, Row: rowText(e)}
		}
		row[i] = e.row[at]
		text, ok := row[i].(string)
		if !ok {
			continue
		}
		if err := tries[i](text); err != nil {
			return nil, &connectors.RowError{Table: t.Name, Column: c.Name, Reason: err.Error(), Kind: e.kind, Row: rowText(e), Key: keyText(t, e)}
		}
	}
	return row, nil
}

func rowText(e reading) string {
	out := []byte{'{'}
	for i, c := range e.columns {
		if e.row[i] == Unsent {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(connectors.AppendJSONString(out, c), ':')
		if text, ok := e.row[i].(string); ok {
			out = connectors.AppendJSONString(out, text)
		} else {
			out = append(out, "null"...)
		}
	}
	return string(append(out, '}'))
}

func keyText(t *connectors.TableRead, e reading) string {
	text := ""
	for i, k := range t.Key {
		if at := slices.Index(e.columns, t.Columns[k].Name); at >= 0 {
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprintf("%s=%v", t.Columns[k].Name, e.row[at])
		}
	}
	return text
}

func size(values []any) (n int64) {
	for _, v := range values {
		if text, ok := v.(string); ok {
			n += int64(len(text))
		}
	}
	return n
}
