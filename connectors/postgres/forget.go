package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/syncsql/syncsql/connectors"
)

// forget drops the slot and the publications of a query's read: a slot that nobody reads keeps the server's log for ever.
func forget(ctx context.Context, r connectors.Read) error {
	side, err := dial(ctx, r.Tables[0].Options, r.Pipeline)
	if err != nil {
		return err
	}
	defer side.Close(ctx)
	s, err := bindRead(ctx, side, r)
	if err != nil {
		return err
	}
	if !s.streaming() {
		return nil
	}
	name, given, err := s.slotOf()
	if err != nil || given {
		return err
	}
	// The server takes a moment to notice that the stream has ended.
	err = s.whenFree(ctx, side, name, 5*time.Second, func() error {
		_, err := lookUp(ctx, side, "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = $1", name)
		return err
	})
	if err != nil {
		err = fmt.Errorf("drop slot %q: %w", name, err)
	}
	if s.named() {
		return err
	}
	for _, p := range s.publications() {
		if _, e := side.Exec(ctx, "drop publication if exists "+quoteIdent(p.name)).ReadAll(); e != nil {
			err = errors.Join(err, fmt.Errorf("drop publication %q: %w", p.name, e))
		}
	}
	return err
}
