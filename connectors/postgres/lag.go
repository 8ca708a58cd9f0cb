package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// lagEvery is how often the end of the server's log is asked for: the stream itself only tells what it has sent.
const lagEvery = 2 * time.Second

// measure keeps the end of the server's log, on a connection of its own: those of the stream may be busy for long. It is
// for people and metrics, so what fails is left out and tried again.
func (s *stream) measure(ctx context.Context, o optionSet) {
	defer s.done.Done()
	var c *pgconn.PgConn
	defer func() {
		if c != nil {
			c.Close(context.Background())
		}
	}()
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c == nil || c.IsClosed() {
			var err error
			if c, err = dial(ctx, o, s.src.read.Pipeline); err != nil {
				c = nil
				continue
			}
		}
		row, err := lookUpOne(ctx, c, "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end")
		if err != nil {
			continue
		}
		if end, err := parseLSN(row[0]); err == nil {
			s.logEnd.Store(uint64(end))
		}
	}
}

// behind is how much of the log lies after a position, as far as it was measured.
func (s *stream) behind(at lsn) int64 {
	if end := lsn(s.logEnd.Load()); end > at {
		return int64(end - at)
	}
	return 0
}
