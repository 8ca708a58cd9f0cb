package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// waiting keeps rows, with their kinds and unsent columns, in a temporary table of the connection. It spills to disk, so a
// large source transaction costs no memory.
type waiting struct {
	conn   *conn
	table  *connectors.Table
	schema *arrow.Schema
	insert driver.Stmt
	rows   int
}

func newWaiting(ctx context.Context, c *conn, t *connectors.Table) (*waiting, error) {
	w := &waiting{conn: c, table: t}
	names := []string{"n INTEGER PRIMARY KEY", "kind", "unsent"}
	fields := make([]arrow.Field, len(t.Columns))
	for i, col := range t.Columns {
		names = append(names, fmt.Sprintf("c%d", i)) // no declared type: values stay as they are
		fields[i] = arrow.Field{Name: col.Name, Type: col.Type, Nullable: true}
	}
	w.schema = arrow.NewSchema(fields, nil)
	if _, err := c.exec(ctx, "CREATE TEMP TABLE syncsql_waiting ("+strings.Join(names, ", ")+")"); err != nil {
		return nil, err
	}
	var err error
	w.insert, err = c.Prepare("INSERT INTO temp.syncsql_waiting VALUES (NULL" + strings.Repeat(", ?", len(names)-1) + ")")
	return w, err
}

func (w *waiting) close() { _ = w.insert.Close() }

// add keeps the rows of a batch, in a transaction that concerns the temporary table alone.
func (w *waiting) add(ctx context.Context, b *change.Batch, reject connectors.RejectFunc) error {
	encoders := make([]encode, len(w.table.Columns))
	for c, col := range b.Record.Columns() {
		encoders[c] = encoder(col)
	}
	if _, err := w.conn.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	for i := range b.Len() {
		if err := w.addRow(ctx, b, i, encoders, reject); err != nil {
			_, _ = w.conn.exec(context.Background(), "ROLLBACK")
			return err
		}
	}
	_, err := w.conn.exec(context.Background(), "COMMIT")
	return err
}

func (w *waiting) addRow(ctx context.Context, b *change.Batch, i int, encoders []encode, reject connectors.RejectFunc) error {
	unsent := make([]byte, len(encoders))
	row := make([]value, 2, len(encoders)+2)
	for c, col := range b.Record.Columns() {
		if !b.Sent(c, i) {
			unsent[c] = 1
		}
		if col.IsNull(i) {
			row = append(row, nil)
			continue
		}
		v, reason := encoders[c](i)
		if reason != "" {
			return reject(ctx, connectors.NewRowError(w.table, b, i, w.table.Columns[c].Name, reason))
		}
		row = append(row, v)
	}
	row[0], row[1] = int64(b.Kind(i)), unsent
	if _, err := w.insert.(driver.StmtExecContext).ExecContext(context.Background(), named(row)); err != nil {
		return err
	}
	w.rows++
	return nil
}

// each hands over the rows in batches, in order.
func (w *waiting) each(ctx context.Context, apply func(b *change.Batch) error) error {
	const chunk = 1000
	last, more := int64(0), true
	for more {
		bld := array.NewRecordBuilder(memory.DefaultAllocator, w.schema)
		b := change.Batch{Unsent: change.NewUnsent(len(w.table.Columns))}
		err := w.conn.query(ctx, "SELECT * FROM temp.syncsql_waiting WHERE n > ? ORDER BY n LIMIT ?", func(row []value) error {
			last = row[0].(int64)
			return w.restore(bld, &b, row)
		}, last, int64(chunk))
		if err == nil {
			b.Record = bld.NewRecordBatch()
			if more = b.Len() == chunk; b.Len() > 0 {
				err = apply(&b)
			}
			b.Release()
		}
		bld.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *waiting) restore(bld *array.RecordBuilder, b *change.Batch, row []value) error {
	unsent, _ := row[2].([]byte)
	for c, v := range row[3:] {
		if unsent[c] == 1 {
			b.Unsent.Set(c, len(b.Kinds))
		}
		if v == nil {
			bld.Field(c).AppendNull()
		} else if err := decoder(bld.Field(c))(v); err != nil {
			return fmt.Errorf("column %q: %w", w.table.Columns[c].Name, err)
		}
	}
	b.Kinds = append(b.Kinds, change.Kind(row[1].(int64)))
	return nil
}

// clear empties the table inside the transaction that has written its rows.
func (w *waiting) clear() error {
	_, err := w.conn.exec(context.Background(), "DELETE FROM temp.syncsql_waiting")
	return err
}
