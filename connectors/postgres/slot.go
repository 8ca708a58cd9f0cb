package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
)

// slot is a replication slot as the server shows it.
type slot struct {
	name      string
	plugin    string
	database  string
	activePID string
	confirmed lsn
	status    string // wal_status: reserved, extended, unreserved, lost
	reason    string // invalidation_reason, version 17 and later
	conflict  bool   // version 16 and later: lost on a standby
}

// loadSlot is nil when there is no such slot.
func (s *source) loadSlot(ctx context.Context, c *pgconn.PgConn, name string) (*slot, error) {
	status, reason, conflict := "''", "''", "false"
	if s.version >= 130000 {
		status = "coalesce(wal_status, '')"
	}
	if s.version >= 160000 {
		conflict = "coalesce(conflicting, false)"
	}
	if s.version >= 170000 {
		reason = "coalesce(invalidation_reason, '')"
	}
	rows, err := lookUp(ctx, c, `select coalesce(plugin, ''), coalesce(database, ''), active_pid, coalesce(confirmed_flush_lsn, '0/0'), `+
		status+", "+reason+", "+conflict+` from pg_replication_slots where slot_name = $1`, name)
	if err != nil {
		return nil, fmt.Errorf("look at slot %q: %w", name, err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	r := rows[0]
	at, err := parseLSN(r[3])
	if err != nil {
		return nil, err
	}
	return &slot{name, r[0], r[1], r[2], at, r[4], r[5], r[6] == "t"}, nil
}

// usable refuses a slot that cannot continue a stream.
func (sl *slot) usable(database string) error {
	switch {
	case sl.plugin != "pgoutput":
		return connectors.Permanent(fmt.Errorf("slot %q decodes with %q, not with pgoutput", sl.name, sl.plugin), "name another slot with 'slot.name'")
	case sl.database != database:
		return connectors.Permanent(fmt.Errorf("slot %q belongs to database %q, not to %q", sl.name, sl.database, database), "name another slot with 'slot.name'")
	}
	why := ""
	switch {
	case sl.reason != "":
		why = invalidations[sl.reason]
		if why == "" {
			why = "the server says: " + sl.reason
		}
	case sl.status == "lost" && sl.conflict:
		why = "it conflicted with recovery on a standby: the rows that it needs were removed, or wal_level became too low on the primary"
	case sl.status == "lost":
		why = invalidations["wal_removed"]
	default:
		return nil
	}
	return connectors.Permanent(fmt.Errorf("slot %q is lost: %s; changes after %s are gone", sl.name, why, sl.confirmed), sl.recovery())
}

// invalidations explains pg_replication_slots.invalidation_reason, and which setting is behind it.
var invalidations = map[string]string{
	"wal_removed":            "the log that it needs was removed, because it fell further behind than max_slot_wal_keep_size allows",
	"rows_removed":           "rows of the catalog that it needs were removed on the primary while the standby was away (hot_standby_feedback)",
	"wal_level_insufficient": "wal_level on the primary is no longer logical",
	"idle_timeout":           "nobody read from it for longer than idle_replication_slot_timeout",
}

func (sl *slot) recovery() string {
	return fmt.Sprintf("select pg_drop_replication_slot('%s'), then `syncsql reset` the pipeline and run it: the tables are copied again", sl.name)
}

// continues refuses to go on when the slot has moved past what this pipeline has stored: the changes between are gone.
func (sl *slot) continues(from position) error {
	if sl.confirmed <= from.lsn {
		return nil
	}
	return connectors.Permanent(
		fmt.Errorf("data gap: slot %q has been confirmed up to %s, but this pipeline has stored only up to %s; the changes between are gone",
			sl.name, sl.confirmed, from),
		"somebody else has advanced the slot, or an older state was restored. `syncsql reset` the pipeline and run it: the tables are copied again")
}

// missingSlot is the error for a position without its slot.
func missingSlot(name string, from position) error {
	return connectors.Permanent(fmt.Errorf("slot %q does not exist any more; changes after %s are gone", name, from),
		"`syncsql reset` the pipeline and run it: the tables are copied again")
}

// createdSlot is a slot that has just been made.
type createdSlot struct {
	at       lsn    // the stream begins here
	snapshot string // exported, valid while the connection that created it is idle
}

// createSlot runs on a replication connection. export keeps a snapshot of exactly the state in which the stream begins.
func createSlot(ctx context.Context, c *pgconn.PgConn, name string, export bool) (createdSlot, error) {
	action := "NOEXPORT_SNAPSHOT"
	if export {
		action = "EXPORT_SNAPSHOT"
	}
	results, err := c.Exec(ctx, "CREATE_REPLICATION_SLOT "+quoteIdent(name)+" LOGICAL pgoutput "+action).ReadAll()
	if err != nil {
		return createdSlot{}, fmt.Errorf("create slot %q: %w", name, err)
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) < 3 {
		return createdSlot{}, fmt.Errorf("create slot %q: the server's answer has an unknown form", name)
	}
	row := results[0].Rows[0]
	at, err := parseLSN(string(row[1]))
	return createdSlot{at, string(row[2])}, err
}

// whenFree calls start until the slot is free. A walsender whose client died holds its slot for a while.
func (s *source) whenFree(ctx context.Context, c *pgconn.PgConn, name string, wait time.Duration, start func() error) error {
	deadline := time.Now().Add(wait)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := start()
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "55006" {
			return err
		}
		if time.Now().After(deadline) {
			return s.slotTaken(ctx, c, name, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// slotTaken says who has the slot.
func (s *source) slotTaken(ctx context.Context, c *pgconn.PgConn, name string, cause error) error {
	rows, err := lookUp(ctx, c, `select r.active_pid, coalesce(a.application_name, ''), coalesce(host(a.client_addr), 'a local socket')
		from pg_replication_slots r left join pg_stat_activity a on a.pid = r.active_pid where r.slot_name = $1 and r.active`, name)
	if err != nil || len(rows) == 0 {
		return cause
	}
	return fmt.Errorf("slot %q is in use by process %s (%q from %s): the same pipeline runs elsewhere, or another one has the same 'slot.name'",
		name, rows[0][0], rows[0][1], rows[0][2])
}
