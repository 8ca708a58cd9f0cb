package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
)

// newSink prepares everything but the writer.
func newSink(ctx context.Context, conn *pgconn.PgConn, w connectors.Write) (*sink, error) {
	if err := prepareSession(ctx, conn, &w); err != nil {
		return nil, err
	}
	t, err := openTarget(ctx, conn, &w)
	if err != nil {
		return nil, err
	}
	s := &sink{
		w: w, t: t, fill: newBuffer(t), spare: newBuffer(t), ended: make(chan struct{}),
		rowsMax: int(sinkBatchRows.Get(w.Table.Options)), bytesMax: int(sinkBatchBytes.Get(w.Table.Options)),
	}
	s.rowsGiven = w.Table.Options.Has(sinkBatchRows.Key)
	s.changed = sync.NewCond(&s.mu)
	a := &applier{t: t, reject: w.Reject, upsertOnly: w.Table.Guarantee != "exactly-once" && t.keys > 0}
	if w.Table.Guarantee == "exactly-once" {
		table, err := parseName(positionsTable.Get(w.Table.Options), t.name.schema, false)
		if err != nil {
			return nil, connectors.Permanent(err, "")
		}
		a.positions = &positions{table: table, pipeline: w.Pipeline, sink: w.Sink, epoch: w.Epoch}
		if s.resume, err = a.positions.claim(ctx, conn); err != nil {
			return nil, err
		}
	}
	if a.positions == nil {
		if err := takeTurn(ctx, conn, &w); err != nil {
			return nil, err
		}
	}
	if a.w, err = newWire(ctx, conn); err != nil {
		return nil, fmt.Errorf("open the sink: %w", err)
	}
	a.ctx, s.cancel = context.WithCancel(context.Background())
	s.apply = a
	return s, nil
}

// prepareSession makes the session's statements predictable. A statement that is prepared once is planned once, maybe
// while the table is still empty, and a plan that reads the whole table for each changed row must not be among the
// choices. Messages below an error would fill the socket, where nobody reads them while a buffer is sent.
func prepareSession(ctx context.Context, c *pgconn.PgConn, w *connectors.Write) error {
	sql := "set client_min_messages = error; set plan_cache_mode = force_generic_plan; set jit = off;" +
		"set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off"
	if role := triggers.Get(w.Table.Options); role != "origin" {
		sql += "; set session_replication_role = " + role
	}
	if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
		if sqlState(err) == codePrivilege {
			return connectors.Permanent(fmt.Errorf("prepare the session: %w", err),
				fmt.Sprintf("the role may not set session_replication_role: grant it that right, or set '%s' to 'origin'", triggers.Key))
		}
		return fmt.Errorf("prepare the session: %w", err)
	}
	return nil
}

// takeTurn waits until no session of an earlier run writes for this sink. Without it, what a run had sent before it died
// could be committed after the rows of the run that repeats it, and the older values would stay.
func takeTurn(ctx context.Context, c *pgconn.PgConn, w *connectors.Write) error {
	key := []byte("syncsql " + w.Pipeline + " " + w.Sink)
	if _, err := c.Exec(ctx, "set lock_timeout = '60s'").ReadAll(); err != nil {
		return fmt.Errorf("prepare the session: %w", err)
	}
	if err := c.ExecParams(ctx, "select pg_advisory_lock(hashtextextended($1, 0))", [][]byte{key}, nil, nil, nil).Read().Err; err != nil {
		return fmt.Errorf("wait for an earlier session of sink %q of pipeline %q to end: %w", w.Sink, w.Pipeline, err)
	}
	if _, err := c.Exec(ctx, "set lock_timeout = 0").ReadAll(); err != nil {
		return fmt.Errorf("prepare the session: %w", err)
	}
	return nil
}
