package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

type value = driver.Value

// applier turns rows into statements. The statements are prepared once.
type applier struct {
	conn   *conn
	table  *connectors.Table
	name   string
	upsert bool
	key    []int
	rest   []int // columns that are not in the key

	insert  driver.StmtExecContext
	delete  driver.StmtExecContext
	partial map[string]driver.StmtExecContext // by which columns were sent
	all     []driver.Stmt

	encoders []encode
	args     []driver.NamedValue
	mask     []byte
}

// refusal is a row that SQLite or its types cannot take.
type refusal struct {
	row int
	err *connectors.RowError
}

func newApplier(c *conn, t *connectors.Table) (*applier, error) {
	a := &applier{conn: c, table: t, name: quote(tableName(t)), upsert: t.Mode == "upsert", key: t.Key,
		partial: map[string]driver.StmtExecContext{}, encoders: make([]encode, len(t.Columns)), mask: make([]byte, len(t.Columns))}
	isKey := map[int]bool{}
	for _, k := range t.Key {
		isKey[k] = true
	}
	names := make([]string, len(t.Columns))
	var updates []string
	for i, col := range t.Columns {
		names[i] = quote(col.Name)
		if !isKey[i] {
			a.rest = append(a.rest, i)
			updates = append(updates, names[i]+" = excluded."+names[i])
		}
	}
	sql := "INSERT INTO " + a.name + " (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
	if a.upsert {
		sql += " ON CONFLICT (" + strings.Join(keyNames(t), ", ") + ") DO "
		if updates == nil {
			sql += "NOTHING"
		} else {
			sql += "UPDATE SET " + strings.Join(updates, ", ")
		}
	}
	var err error
	if a.insert, err = a.prepare(sql); err != nil {
		return nil, connectors.Permanent(err, "an upsert needs a PRIMARY KEY or UNIQUE constraint over exactly the declared key")
	}
	if a.upsert {
		a.delete, err = a.prepare("DELETE FROM " + a.name + a.where())
	}
	return a, err
}

func (a *applier) where() string {
	return " WHERE " + strings.Join(keyNames(a.table), " = ? AND ") + " = ?"
}

func (a *applier) prepare(sql string) (driver.StmtExecContext, error) {
	stmt, err := a.conn.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", sql, err)
	}
	a.all = append(a.all, stmt)
	return stmt.(driver.StmtExecContext), nil
}

func (a *applier) close() {
	for _, s := range a.all {
		_ = s.Close()
	}
}

// apply executes the rows of a batch except those to skip, whose numbers count from first. It goes on after a refused row,
// so that one more pass is enough.
func (a *applier) apply(ctx context.Context, b *change.Batch, first int, skip map[int]bool) ([]refusal, error) {
	for c, col := range b.Record.Columns() {
		a.encoders[c] = encoder(col)
	}
	var refused []refusal
	for i := range b.Len() {
		if skip[first+i] {
			continue
		}
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		column, reason, err := a.row(b, i)
		if err != nil && !refusesRow(err) {
			return nil, fmt.Errorf("write row: %w", err)
		}
		if err != nil {
			if err := a.stillInTransaction(err); err != nil {
				return nil, err
			}
			reason = err.Error()
		}
		if reason != "" {
			refused = append(refused, refusal{first + i, connectors.NewRowError(a.table, b, i, column, reason)})
		}
	}
	return refused, nil
}

// stillInTransaction checks that a refused row has not ended the transaction, as a constraint with ON CONFLICT ROLLBACK or
// a trigger may: the rows after it would be committed one by one.
func (a *applier) stillInTransaction(cause error) error {
	if _, err := a.conn.exec(context.Background(), "BEGIN"); err != nil {
		return nil // there is one
	}
	_, _ = a.conn.exec(context.Background(), "ROLLBACK")
	return fmt.Errorf("the transaction was rolled back by the table's own rules: %w", cause)
}

func (a *applier) row(b *change.Batch, i int) (column, reason string, err error) {
	switch b.Kind(i) {
	case change.Delete:
		return a.run(a.delete, b, i, a.key)
	case change.UpdateAfter:
		if unsent := a.unsent(b, i); unsent {
			return a.update(b, i)
		}
	case change.Insert:
		if a.unsent(b, i) {
			return "", "a row that is new lacks columns that the source did not send", nil
		}
	}
	a.args = a.args[:0]
	for c := range a.table.Columns {
		if column, reason = a.bind(b, c, i); reason != "" {
			return column, reason, nil
		}
	}
	return a.execute(a.insert)
}

func (a *applier) unsent(b *change.Batch, i int) bool {
	if b.Unsent == nil {
		return false
	}
	any := false
	for c := range a.mask {
		a.mask[c] = '1'
		if !b.Sent(c, i) {
			a.mask[c], any = '0', true
		}
	}
	return any
}

// update writes the columns that were sent. A row that is not there is left alone: its delete is later in the log, and came
// here first with a copy.
func (a *applier) update(b *change.Batch, i int) (column, reason string, err error) {
	stmt, ok := a.partial[string(a.mask)]
	if !ok {
		var sets []string
		for _, c := range a.rest {
			if a.mask[c] == '1' {
				sets = append(sets, quote(a.table.Columns[c].Name)+" = ?")
			}
		}
		if sets != nil {
			if stmt, err = a.prepare("UPDATE " + a.name + " SET " + strings.Join(sets, ", ") + a.where()); err != nil {
				return "", "", err
			}
		}
		a.partial[string(a.mask)] = stmt
	}
	if stmt == nil {
		return "", "", nil // nothing was sent but the key
	}
	a.args = a.args[:0]
	for _, c := range a.rest {
		if a.mask[c] == '1' {
			if column, reason = a.bind(b, c, i); reason != "" {
				return column, reason, nil
			}
		}
	}
	for _, c := range a.key {
		if column, reason = a.bind(b, c, i); reason != "" {
			return column, reason, nil
		}
	}
	return a.execute(stmt)
}

func (a *applier) run(stmt driver.StmtExecContext, b *change.Batch, i int, columns []int) (column, reason string, err error) {
	a.args = a.args[:0]
	for _, c := range columns {
		if column, reason = a.bind(b, c, i); reason != "" {
			return column, reason, nil
		}
	}
	return a.execute(stmt)
}

// bind adds the next argument.
func (a *applier) bind(b *change.Batch, c, i int) (column, reason string) {
	var v value
	if !b.Record.Column(c).IsNull(i) {
		if v, reason = a.encoders[c](i); reason != "" {
			return a.table.Columns[c].Name, reason
		}
	}
	a.args = append(a.args, driver.NamedValue{Ordinal: len(a.args) + 1, Value: v})
	return "", ""
}

// execute does not take the pipeline's context: the driver would start a goroutine for every row to watch it.
func (a *applier) execute(stmt driver.StmtExecContext) (column, reason string, err error) {
	_, err = stmt.ExecContext(context.Background(), a.args)
	return "", "", err
}
