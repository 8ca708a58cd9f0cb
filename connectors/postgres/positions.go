package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// positions is the table in which exactly-once keeps, for each pipeline and sink, the position after the last row that the
// target holds and the epoch of the run that may write. It stands in the schema of the target table unless
// 'sink.positions-table' says otherwise. The position is the source's own bytes.
type positions struct {
	table          name
	pipeline, sink string
	epoch          uint64
}

func (p *positions) createSQL() string {
	return "create table if not exists " + p.table.sql() +
		" (pipeline text, sink text, epoch bigint not null, position bytea, primary key (pipeline, sink))"
}

// claim makes the row this run's and returns the position that it holds. It waits for a transaction of an older run that
// is under way, so what it returns is final.
func (p *positions) claim(ctx context.Context, c *pgconn.PgConn) (change.Position, error) {
	if err := p.create(ctx, c); err != nil {
		return nil, err
	}
	sql := fmt.Sprintf(`insert into %s as p (pipeline, sink, epoch) values ($1, $2, $3)
		on conflict (pipeline, sink) do update set epoch = excluded.epoch where p.epoch <= excluded.epoch
		returning position`, p.table.sql())
	epoch := fmt.Append(nil, p.epoch)
	r := c.ExecParams(ctx, sql, [][]byte{[]byte(p.pipeline), []byte(p.sink), epoch}, nil, nil, []int16{1}).Read()
	if r.Err != nil {
		if sqlState(r.Err) == codePrivilege {
			return nil, connectors.Permanent(fmt.Errorf("claim the position: %w", r.Err),
				fmt.Sprintf("grant select, insert, update on %s to the role", p.table.sql()))
		}
		return nil, fmt.Errorf("claim the position: %w", r.Err)
	}
	if len(r.Rows) == 0 {
		return nil, p.fenced()
	}
	return change.Position(r.Rows[0][0]), nil
}

func (p *positions) fenced() error {
	return connectors.Permanent(
		fmt.Errorf("another runner writes sink %q of pipeline %q: table %s holds a later epoch than %d", p.sink, p.pipeline, p.table, p.epoch),
		"stop one of the two; they are the same pipeline")
}

// create makes the table if it is missing. Two sinks that open at once may both try; who comes second finds the table.
func (p *positions) create(ctx context.Context, c *pgconn.PgConn) error {
	for attempt := 0; ; attempt++ {
		r := c.ExecParams(ctx, "select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = $2",
			[][]byte{[]byte(p.table.schema), []byte(p.table.table)}, nil, nil, nil).Read()
		if r.Err != nil {
			return fmt.Errorf("look for the positions table: %w", r.Err)
		}
		if len(r.Rows) > 0 {
			return nil
		}
		_, err := c.Exec(ctx, p.createSQL()).ReadAll()
		switch code := sqlState(err); {
		case err == nil:
			return nil
		case attempt == 0 && (code == codeUniqueViolation || code == codeDuplicateTable):
		case code == codePrivilege || code == codeUndefinedSchema:
			return connectors.Permanent(fmt.Errorf("create the positions table: %w", err),
				"run this as a role that may, and grant select, insert, update on it:\n"+p.createSQL()+
					"\nor set 'sink.delivery-guarantee' to 'at-least-once'")
		default:
			return fmt.Errorf("create the positions table: %w", err)
		}
	}
}

// moveSQL moves the position, or fails with a division by zero when another run has claimed the row: an error is the only
// thing that keeps a transaction that was sent in one go from committing. A NULL leaves the position where it is.
func (p *positions) moveSQL() string {
	return fmt.Sprintf(`with moved as (update %s set position = coalesce($1, position)
		where pipeline = $2 and sink = $3 and epoch = $4 returning 1) select 1 / count(*) from moved`, p.table.sql())
}

var (
	positionTypes   = []uint32{typeBytea, typeText, typeText, typeInt8}
	positionFormats = []byte{1, 1, 1, 0}
)

// move appends the statement to what is being sent.
func (p *positions) move(w *wire, to change.Position) {
	w.parse("position", p.moveSQL(), positionTypes)
	at := w.bind("position", positionFormats)
	if to == nil {
		w.out = appendNull(w.out)
	} else {
		w.out = append(appendInt32(w.out, len(to)), to...)
	}
	w.out = append(appendInt32(w.out, len(p.pipeline)), p.pipeline...)
	w.out = append(appendInt32(w.out, len(p.sink)), p.sink...)
	epoch := fmt.Append(nil, p.epoch)
	w.out = append(appendInt32(w.out, len(epoch)), epoch...)
	w.execute(at)
}
