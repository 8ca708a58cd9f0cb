package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// position is the last row that was handed over: its row id, or how many rows came so far where there are no row ids. Its
// bytes are a version, which of the two, and the number with its sign bit turned, so that they sort as the rows do.
type position struct {
	counted bool
	n       int64
}

const (
	positionVersion = 1
	positionSize    = 10
)

func (p position) appendTo(dst []byte) []byte {
	kind := byte('r')
	if p.counted {
		kind = 'c'
	}
	return binary.BigEndian.AppendUint64(append(dst, positionVersion, kind), uint64(p.n)^1<<63)
}

func parsePosition(b []byte) (position, error) {
	if len(b) != positionSize || b[0] != positionVersion || b[1] != 'r' && b[1] != 'c' {
		return position{}, fmt.Errorf("%x is not a position of sqlite", b)
	}
	p := position{counted: b[1] == 'c', n: int64(binary.BigEndian.Uint64(b[2:]) ^ 1<<63)}
	if p.counted && p.n < 0 {
		return position{}, fmt.Errorf("%x is not a position of sqlite", b)
	}
	return p, nil
}

// source reads a table or a query in one read transaction, so it sees one state however long it takes.
type source struct {
	read    connectors.Read
	conn    *conn
	schema  *arrow.Schema
	columns []connectors.Column
	from    string // what is selected from
	rowid   string // "" when rows are counted
	last    position
	begun   bool // last holds

	cursor driver.Rows
	stop   context.CancelFunc // interrupts the cursor
	row    []driver.Value
	done   bool
}

// preflight looks at every table before anything runs.
func preflight(ctx context.Context, r connectors.Read) error {
	var found []error
	for i := range r.Tables {
		t := &r.Tables[i].Table
		c, err := dial(ctx, t, reading)
		if err == nil {
			_, _, err = target(ctx, c, t)
			_ = c.Close()
		}
		if err != nil {
			found = append(found, fmt.Errorf("table %q: %w", t.Name, err))
		}
	}
	return errors.Join(found...)
}

// target is what to select from, and the name of its row id.
func target(ctx context.Context, c *conn, t *connectors.Table) (from, rowid string, err error) {
	if q := text.Get(t.Options); q != "" {
		if q, err = option.Reveal(q); err != nil {
			return "", "", connectors.Permanent(err, "")
		}
		return "(" + strings.TrimRight(q, "; \n\t") + "\n)", "", nil
	}
	name := tableName(t)
	l, err := c.look(ctx, name)
	if err != nil {
		return "", "", err
	}
	if l == nil {
		return "", "", connectors.Permanent(fmt.Errorf("the file has no table %q", name), "check 'path' and 'table-name'")
	}
	var missing []string
	for _, col := range t.Columns {
		if _, ok := l.columns[strings.ToLower(col.Name)]; !ok {
			missing = append(missing, col.Name)
		}
	}
	if missing != nil {
		return "", "", &connectors.SchemaChange{Table: t.Name, Broken: true,
			What: fmt.Sprintf("SQLite table %q has no column %s", name, strings.Join(missing, ", "))}
	}
	return quote(name), l.rowid, nil
}

func openSource(ctx context.Context, r connectors.Read) (connectors.Source, error) {
	if len(r.Tables) != 1 {
		return nil, connectors.Permanent(errors.New("one sqlite source reads one table"), "")
	}
	t := &r.Tables[0].Table
	c, err := dial(ctx, t, reading)
	if err != nil {
		return nil, err
	}
	s := &source{read: r, conn: c, columns: t.Columns, row: make([]driver.Value, len(t.Columns)+1)}
	if err := s.begin(ctx, t); err != nil {
		_ = c.Close()
		return nil, err
	}
	return s, nil
}

func (s *source) begin(ctx context.Context, t *connectors.Table) (err error) {
	if _, err = s.conn.exec(ctx, "PRAGMA query_only = 1"); err == nil {
		_, err = s.conn.exec(ctx, "BEGIN")
	}
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if s.from, s.rowid, err = target(ctx, s.conn, t); err != nil {
		return err
	}
	s.last.counted = s.rowid == ""
	if s.read.From != nil {
		p, err := parsePosition(s.read.From)
		if err == nil && p.counted != s.last.counted {
			err = errors.New("the table had row ids when the checkpoint was taken, or has them now")
		}
		if err != nil {
			return connectors.Permanent(err, "reset the pipeline to read from the beginning")
		}
		s.last, s.begun = p, true
	}
	fields := make([]arrow.Field, len(s.columns))
	for i, c := range s.columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	s.schema = arrow.NewSchema(fields, nil)
	return nil
}

// open starts the cursor after the last row.
func (s *source) open() error {
	var sql strings.Builder
	sql.WriteString("SELECT ")
	for _, c := range s.columns {
		// The plus hides the declared type from the driver, which would turn text into times.
		sql.WriteString("+" + quote(c.Name) + ", ")
	}
	var args []driver.Value
	if s.rowid == "" {
		sql.WriteString("0 FROM " + s.from + " LIMIT -1 OFFSET ?")
		args = append(args, s.last.n)
	} else {
		sql.WriteString(s.rowid + " FROM " + s.from)
		if s.begun {
			sql.WriteString(" WHERE " + s.rowid + " > ?")
			args = append(args, s.last.n)
		}
		sql.WriteString(" ORDER BY " + s.rowid)
	}
	ctx, stop := context.WithCancel(context.Background())
	rows, err := s.conn.queryer.QueryContext(ctx, sql.String(), named(args))
	if err != nil {
		stop()
		return fmt.Errorf("select: %w", err)
	}
	s.cursor, s.stop = rows, stop
	return nil
}

// abandon closes the cursor; the next one starts after the last row that was handed over.
func (s *source) abandon() {
	if s.cursor != nil {
		_ = s.cursor.Close()
		s.stop()
		s.cursor = nil
	}
}

// Next reads the next rows. A row that is rejected ends the batch before it.
func (s *source) Next(ctx context.Context) (change.Batch, error) {
	if s.done {
		return change.Batch{}, io.EOF
	}
	if err := ctx.Err(); err != nil {
		return change.Batch{}, err
	}
	if s.cursor == nil {
		if err := s.open(); err != nil {
			return change.Batch{}, err
		}
	}
	unhook := context.AfterFunc(ctx, s.stop)
	b, err := s.fill(ctx)
	if !unhook() { // the cursor may be interrupted at any moment
		s.abandon()
		if err != nil {
			err = ctx.Err()
		}
	}
	if err != nil {
		s.abandon()
		return change.Batch{}, err
	}
	if s.done && b.Record == nil {
		return change.Batch{}, io.EOF
	}
	return b, nil
}

func (s *source) fill(ctx context.Context) (change.Batch, error) {
	bld := array.NewRecordBuilder(s.read.Mem(), s.schema)
	defer bld.Release()
	decoders := make([]decode, len(s.columns))
	for i := range decoders {
		decoders[i] = decoder(bld.Field(i))
	}
	b := change.Batch{RowPositionSize: positionSize}
	last := s.last
	rows, bad := 0, (*connectors.RowError)(nil)
	for bad == nil && rows < max(1, s.read.Limits.Rows) && (s.read.Limits.Bytes <= 0 || b.Bytes < s.read.Limits.Bytes) {
		err := s.cursor.Next(s.row)
		if errors.Is(err, io.EOF) {
			s.done = true
			break
		}
		if err != nil {
			return change.Batch{}, fmt.Errorf("read row: %w", err)
		}
		if last.n++; s.rowid != "" {
			last.n = s.row[len(s.columns)].(int64)
		}
		if bad = s.decodeRow(bld, decoders, &b); bad != nil {
			bad.At = last.appendTo(nil)
			break
		}
		rows++
		b.RowPositions = last.appendTo(b.RowPositions)
	}
	if bad != nil {
		if err := s.read.Reject(ctx, bad); err != nil {
			return change.Batch{}, err
		}
	}
	if rows == 0 && bad == nil {
		return b, nil
	}
	s.last, s.begun = last, true
	b.Position = last.appendTo(nil)
	rec := bld.NewRecordBatch()
	b.Record = rec.NewSlice(0, int64(rows)) // without the beginning of a bad row
	rec.Release()
	return b, nil
}

// decodeRow appends a row. After a bad value it fills the row up, so that all columns stay equally long.
func (s *source) decodeRow(bld *array.RecordBuilder, decoders []decode, b *change.Batch) *connectors.RowError {
	var bad *connectors.RowError
	for i, c := range s.columns {
		v := s.row[i]
		var err error
		switch {
		case bad != nil:
		case v == nil && !c.Nullable:
			err = errors.New("NULL in a column that is declared NOT NULL")
		case v != nil:
			err = decoders[i](v)
		}
		if err != nil {
			bad = &connectors.RowError{Table: s.read.Tables[0].Name, Column: c.Name, Reason: err.Error(),
				Row: describeRow(s.columns, s.row)}
		}
		if bad != nil || v == nil {
			bld.Field(i).AppendNull()
		}
		switch v := v.(type) {
		case string:
			b.Bytes += int64(len(v))
		case []byte:
			b.Bytes += int64(len(v))
		default:
			b.Bytes += 8
		}
	}
	return bad
}

// Ack has nothing to forget.
func (s *source) Ack(context.Context, change.Position) error { return nil }

func (s *source) Close() error {
	s.abandon()
	return s.conn.Close()
}
