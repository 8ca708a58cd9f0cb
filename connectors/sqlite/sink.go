package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// sink writes one table. Each Write is one transaction, with the position in it when the guarantee is exactly-once.
//
// Rows that come without any position (the tables of one source transaction in turn, or a copy that must appear in one
// step) wait in a temporary table, which takes no lock on the file: another sink on the same file may have to write before
// their position comes.
type sink struct {
	write    connectors.Write
	conn     *conn
	exact    bool
	position change.Position // that the file holds

	rows    *applier
	waiting *waiting        // nil until rows have to wait
	end     change.Position // of the rows that wait, once known
}

func openSink(ctx context.Context, w connectors.Write) (connectors.Sink, error) {
	i := creating
	if disposition.Get(w.Table.Options) == "create-never" {
		i = writing
	}
	c, err := dial(ctx, &w.Table, i)
	if err != nil {
		return nil, err
	}
	s := &sink{write: w, conn: c, exact: w.Table.Guarantee == "exactly-once"}
	if err := s.prepare(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return s, nil
}

func (s *sink) prepare(ctx context.Context) error {
	if _, err := s.conn.exec(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return fmt.Errorf("switch to WAL: %w", err)
	}
	err := s.conn.inTransaction(ctx, func() error {
		if err := s.create(ctx); err != nil {
			return err
		}
		if !s.exact {
			return nil
		}
		return s.claim(ctx)
	})
	if err != nil {
		return err
	}
	s.rows, err = newApplier(s.conn, &s.write.Table)
	return err
}

var errFenced = connectors.Permanent(errors.New("another run of this pipeline has taken over the table"), "")

// claim writes this run's epoch into the position row, and reads the position.
func (s *sink) claim(ctx context.Context) error {
	_, err := s.conn.exec(ctx, `CREATE TABLE IF NOT EXISTS syncsql_positions (pipeline TEXT NOT NULL, sink TEXT NOT NULL,
		epoch INTEGER NOT NULL, position BLOB, PRIMARY KEY (pipeline, sink)) WITHOUT ROWID`)
	if err != nil {
		return fmt.Errorf("make syncsql_positions: %w", err)
	}
	n, err := s.conn.exec(ctx, `INSERT INTO syncsql_positions VALUES (?, ?, ?, NULL) ON CONFLICT DO UPDATE
		SET epoch = excluded.epoch WHERE epoch <= excluded.epoch`, s.write.Pipeline, s.write.Sink, int64(s.write.Epoch))
	if err != nil {
		return fmt.Errorf("claim the position: %w", err)
	}
	if n == 0 {
		return errFenced
	}
	return s.conn.query(ctx, "SELECT position FROM syncsql_positions WHERE pipeline = ? AND sink = ?", func(row []value) error {
		if p, ok := row[0].([]byte); ok {
			s.position = append(change.Position{}, p...)
		}
		return nil
	}, s.write.Pipeline, s.write.Sink)
}

// advance moves the position inside the running transaction, unless a later run has claimed it.
func (s *sink) advance(p change.Position) error {
	n, err := s.conn.exec(context.Background(), "UPDATE syncsql_positions SET position = ? WHERE pipeline = ? AND sink = ? AND epoch = ?",
		[]byte(p), s.write.Pipeline, s.write.Sink, int64(s.write.Epoch))
	if err != nil {
		return fmt.Errorf("move the position: %w", err)
	}
	if n != 1 {
		return errFenced
	}
	return nil
}

// Position is what the file held when the sink was opened.
func (s *sink) Position() change.Position { return s.position }

func (s *sink) Write(ctx context.Context, b change.Batch) error {
	if !s.exact {
		if b.Len() == 0 {
			return nil
		}
		return s.transact(ctx, &b, nil)
	}
	if s.write.Once {
		if b.Position != nil {
			s.end = append(change.Position{}, b.Position...)
		}
		return s.wait(ctx, &b)
	}
	p := b.Position
	if p == nil && b.RowPositions != nil && b.Len() > 0 {
		p = b.At(b.Len() - 1) // within a source transaction each row has its place
	}
	switch {
	case p != nil:
		return s.transact(ctx, &b, p)
	case b.Len() > 0:
		return s.wait(ctx, &b)
	}
	return nil
}

// Flush has nothing to wait for: every Write ends with a commit. A copy becomes visible here.
func (s *sink) Flush(ctx context.Context) ([]byte, error) {
	switch {
	case s.write.Once && s.end != nil:
		err := s.transact(ctx, nil, s.end)
		s.end = nil
		return nil, err
	case s.waiting != nil && s.waiting.rows > 0:
		return nil, connectors.Permanent(errors.New("the source gave rows without a position: they cannot be written exactly once"),
			"set 'sink.delivery-guarantee' = 'at-least-once'")
	}
	return nil, nil
}

// transact applies the rows that wait, then those of b, and moves the position, in one transaction. When SQLite refuses
// rows, the transaction is undone before Reject sees them (a dead-letter table may be in the same file), and done again
// without them.
func (s *sink) transact(ctx context.Context, b *change.Batch, p change.Position) error {
	skip := map[int]bool{}
	for {
		var refused []refusal
		err := s.conn.inTransaction(ctx, func() error {
			n := 0
			apply := func(b *change.Batch) error {
				more, err := s.rows.apply(ctx, b, n, skip)
				refused = append(refused, more...)
				n += b.Len()
				return err
			}
			if s.waiting != nil && s.waiting.rows > 0 {
				if err := s.waiting.each(ctx, apply); err != nil {
					return err
				}
			}
			if b != nil && b.Len() > 0 {
				if err := apply(b); err != nil {
					return err
				}
			}
			if len(refused) > 0 {
				return errRefused
			}
			if s.waiting != nil && s.waiting.rows > 0 {
				if err := s.waiting.clear(); err != nil {
					return err
				}
			}
			if p == nil {
				return nil
			}
			return s.advance(p)
		})
		if err == nil && s.waiting != nil {
			s.waiting.rows = 0
		}
		if !errors.Is(err, errRefused) {
			return err
		}
		for _, r := range refused {
			if err := s.write.Reject(ctx, r.err); err != nil {
				return err
			}
			skip[r.row] = true
		}
	}
}

var errRefused = errors.New("rows were refused")

// wait keeps the rows of a batch in the temporary table.
func (s *sink) wait(ctx context.Context, b *change.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	if s.waiting == nil {
		w, err := newWaiting(ctx, s.conn, &s.write.Table)
		if err != nil {
			return fmt.Errorf("keep rows: %w", err)
		}
		s.waiting = w
	}
	if err := s.waiting.add(ctx, b, s.write.Reject); err != nil {
		return fmt.Errorf("keep rows: %w", err)
	}
	return nil
}

func (s *sink) Close() error {
	if s.waiting != nil {
		s.waiting.close()
	}
	s.rows.close()
	return s.conn.Close()
}
