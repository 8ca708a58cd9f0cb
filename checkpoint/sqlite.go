package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// SQLite is a store in one file. Several processes may have it open: a save is one statement that compares the ID, so a
// lock of its own is not needed.
type SQLite struct{ db *sql.DB }

// OpenSQLite opens the file, and makes it and its directory when they are missing.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("state store: %w", err)
	}
	// FULL syncs the log at every commit; WAL's own default would lose the last saves with the machine.
	dsn := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) +
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("state store %s: %w", path, err)
	}
	db.SetMaxOpenConns(1) // SQLite has one writer; queueing here is cheaper than its busy loop
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS checkpoints (
		name TEXT PRIMARY KEY, id INTEGER NOT NULL, checkpoint BLOB NOT NULL) WITHOUT ROWID`)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("state store %s: %w", path, err), db.Close())
	}
	return &SQLite{db}, nil
}

func (s *SQLite) Load(ctx context.Context, name string) (Checkpoint, error) {
	var id int64
	var blob []byte
	err := s.db.QueryRowContext(ctx, `SELECT id, checkpoint FROM checkpoints WHERE name = ?`, name).Scan(&id, &blob)
	if errors.Is(err, sql.ErrNoRows) {
		return Checkpoint{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	if err != nil {
		return Checkpoint{}, err
	}
	return decodeRow(id, blob)
}

// decodeRow checks the blob against the ID that the row's own column has.
func decodeRow(id int64, blob []byte) (Checkpoint, error) {
	c, err := Decode(blob)
	if err == nil && c.ID != uint64(id) {
		return Checkpoint{}, errCorrupt
	}
	return c, err
}

func (s *SQLite) Save(ctx context.Context, name string, c Checkpoint) error {
	var result sql.Result
	var err error
	if c.ID == 1 {
		result, err = s.db.ExecContext(ctx, `INSERT INTO checkpoints (name, id, checkpoint) VALUES (?, 1, ?) ON CONFLICT DO NOTHING`,
			name, Encode(c))
	} else {
		result, err = s.db.ExecContext(ctx, `UPDATE checkpoints SET id = ?, checkpoint = ? WHERE name = ? AND id = ?`,
			int64(c.ID), Encode(c), name, int64(c.ID-1))
	}
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return ErrFenced
}

func (s *SQLite) List(ctx context.Context, prefix string) (names []string, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT name FROM checkpoints WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name`, prefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func (s *SQLite) Delete(ctx context.Context, name string) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM checkpoints WHERE name = ?1 OR substr(name, 1, length(?1) + 1) = ?1 || '/'`, name)
	return err
}

func (s *SQLite) Close() error { return s.db.Close() }
