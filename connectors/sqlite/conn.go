package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// conn is one connection. It goes past database/sql, whose conversions would cost more than SQLite itself.
type conn struct {
	driver.Conn
	execer  driver.ExecerContext
	queryer driver.QueryerContext
}

// intent says what a connection is for.
type intent string

const (
	reading  intent = "rw" // not "ro": a file in WAL mode needs its shared-memory file
	writing  intent = "rw"
	creating intent = "rwc"
)

// dial opens the file of a table.
func dial(ctx context.Context, t *connectors.Table, i intent) (*conn, error) {
	file, err := option.Reveal(path.Get(t.Options))
	if err != nil {
		return nil, connectors.Permanent(err, "")
	}
	if i != creating {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return nil, connectors.Permanent(fmt.Errorf("database %s does not exist", file), "check 'path'")
		}
	}
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)
	c, err := new(sqlite.Driver).Open("file:" + escaped + "?mode=" + string(i))
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", file, err)
	}
	d := &conn{Conn: c, execer: c.(driver.ExecerContext), queryer: c.(driver.QueryerContext)}
	// FULL, not NORMAL: a commit must be on disk before the checkpoint that counts on it is saved.
	for _, pragma := range []string{fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Get(t.Options).Milliseconds()),
		"PRAGMA synchronous = FULL"} {
		if _, err := d.exec(ctx, pragma); err != nil {
			_ = d.Close()
			return nil, fmt.Errorf("open database %s: %w", file, err)
		}
	}
	return d, nil
}

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return out
}

func (c *conn) exec(ctx context.Context, sql string, args ...driver.Value) (int64, error) {
	r, err := c.execer.ExecContext(ctx, sql, named(args))
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// query calls each with every row; the values are valid during the call.
func (c *conn) query(ctx context.Context, sql string, each func(row []driver.Value) error, args ...driver.Value) error {
	rows, err := c.queryer.QueryContext(ctx, sql, named(args))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// inTransaction runs f between BEGIN IMMEDIATE and COMMIT.
func (c *conn) inTransaction(ctx context.Context, f func() error) error {
	if _, err := c.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err := f()
	if err == nil {
		// Not with ctx: an interrupted COMMIT leaves open whether it happened.
		if _, err = c.exec(context.Background(), "COMMIT"); err != nil {
			err = fmt.Errorf("commit: %w", err)
		}
	}
	if err != nil {
		// SQLite may have rolled back by itself; then this says that there is nothing to roll back.
		_, _ = c.exec(context.Background(), "ROLLBACK")
	}
	return err
}

// refusesRow reports whether SQLite refused one row for what is in it.
func refusesRow(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG:
		return true
	}
	return false
}

// layout is what SQLite knows of a table.
type layout struct {
	columns map[string]string // lower-case name -> declared type
	isTable bool
	strict  bool
	rowid   string // a name of the row id that no column hides; "" when there is none
}

// look reads the layout of a table; nil when there is no such table.
func (c *conn) look(ctx context.Context, table string) (*layout, error) {
	l := &layout{columns: map[string]string{}}
	found, withoutRowid := false, false
	err := c.query(ctx, "SELECT type, wr, strict FROM pragma_table_list(?) WHERE schema = 'main'", func(row []driver.Value) error {
		found = true
		l.isTable = row[0] == "table"
		withoutRowid = row[1] != int64(0)
		l.strict = row[2] != int64(0)
		return nil
	}, table)
	if err != nil || !found {
		return nil, err
	}
	err = c.query(ctx, "SELECT name, type FROM pragma_table_xinfo(?)", func(row []driver.Value) error {
		declared, _ := row[1].(string)
		l.columns[strings.ToLower(row[0].(string))] = declared
		return nil
	}, table)
	for _, alias := range []string{"rowid", "_rowid_", "oid"} {
		if _, hidden := l.columns[alias]; !hidden && l.isTable && !withoutRowid && l.rowid == "" {
			l.rowid = alias
		}
	}
	return l, err
}
