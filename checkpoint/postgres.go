package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Postgres is a store that runners on many machines share: the table syncsql_checkpoints in the database of the URL.
type Postgres struct{ pool *pgxpool.Pool }

// createTable must not run when the table is there: a role that may only use it is enough.
const createTable = `CREATE TABLE IF NOT EXISTS syncsql_checkpoints (
	name text COLLATE "C" PRIMARY KEY, id bigint NOT NULL, checkpoint bytea NOT NULL)`

// OpenPostgres connects and makes the table when it is missing.
func OpenPostgres(ctx context.Context, url string) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("state store: %w", err)
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		// A save that a crash of the server can take back is none. Stricter settings stay as they are.
		_, err := c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("state store: %w", err)
	}
	if err := prepare(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("state store: %w", err)
	}
	return &Postgres{pool}, nil
}

func prepare(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// Two creators at once would collide in the system catalog in spite of IF NOT EXISTS.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('syncsql_checkpoints'))`); err != nil {
			return err
		}
		var missing bool
		if err := tx.QueryRow(ctx, `SELECT to_regclass('syncsql_checkpoints') IS NULL`).Scan(&missing); err != nil || !missing {
			return err
		}
		_, err := tx.Exec(ctx, createTable)
		return err
	})
}

func (p *Postgres) Load(ctx context.Context, name string) (Checkpoint, error) {
	var id int64
	var blob []byte
	err := p.pool.QueryRow(ctx, `SELECT id, checkpoint FROM syncsql_checkpoints WHERE name = $1`, name).Scan(&id, &blob)
	if errors.Is(err, pgx.ErrNoRows) {
		return Checkpoint{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	if err != nil {
		return Checkpoint{}, err
	}
	return decodeRow(id, blob)
}

func (p *Postgres) Save(ctx context.Context, name string, c Checkpoint) error {
	var tag pgconn.CommandTag
	var err error
	if c.ID == 1 {
		tag, err = p.pool.Exec(ctx, `INSERT INTO syncsql_checkpoints (name, id, checkpoint) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING`,
			name, Encode(c))
	} else {
		tag, err = p.pool.Exec(ctx, `UPDATE syncsql_checkpoints SET id = $1, checkpoint = $2 WHERE name = $3 AND id = $4`,
			int64(c.ID), Encode(c), name, int64(c.ID-1))
	}
	if err != nil {
		return err
	}
	if tag.RowsAffected() != 1 {
		return ErrFenced
	}
	return nil
}

func (p *Postgres) List(ctx context.Context, prefix string) ([]string, error) {
	rows, err := p.pool.Query(ctx, `SELECT name FROM syncsql_checkpoints WHERE starts_with(name, $1) ORDER BY name`, prefix)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (p *Postgres) Delete(ctx context.Context, name string) error {
	_, err := p.pool.Exec(ctx, `DELETE FROM syncsql_checkpoints WHERE name = $1 OR starts_with(name, $1 || '/')`, name)
	return err
}

func (p *Postgres) Close() error {
	p.pool.Close()
	return nil
}
