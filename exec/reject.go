package exec

import (
	"context"
	"errors"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/planner"
)

// rejectRead applies the policy to a row that the source could not map. The row was meant for every sink that its table
// feeds, so the strictest of their policies holds: fail before dead-letter before skip.
func (r *runner) rejectRead(ctx context.Context, e *connectors.RowError) error {
	var sinks []*planner.Sink
	for _, route := range r.plan.Routes {
		if r.plan.Source.Read.Tables[route.Table].Name == e.Table {
			sinks = append(sinks, &r.plan.Sinks[route.Sink])
		}
	}
	return r.reject(ctx, e, sinks...)
}

// rejectWrite applies the policy of a sink to a row that it could not map or that its system refused.
func (r *runner) rejectWrite(s *planner.Sink) connectors.RejectFunc {
	return func(ctx context.Context, e *connectors.RowError) error { return r.reject(ctx, e, s) }
}

// rejectComputed applies the policy of a sink to a row that its query could not compute.
func (u *unit) rejectComputed(ctx context.Context, t *target, row int, column, reason string) error {
	e := connectors.NewRowError(&u.plan.Source.Read.Tables[t.in.Table].Table, t.in, row, column, reason)
	e.Table = t.sink.plan.Table.Name // that is where the column is
	return u.reject(ctx, e, t.sink.plan)
}

// reject returns nil when the row is where the policies want it, and otherwise the error that stops the pipeline.
func (r *runner) reject(ctx context.Context, e *connectors.RowError, sinks ...*planner.Sink) error {
	if len(sinks) == 0 {
		return connectors.Permanent(e, "")
	}
	for _, s := range sinks {
		if s.OnError.Policy != planner.Skip && s.OnError.Policy != planner.DeadLetter {
			return connectors.Permanent(e, "")
		}
	}
	written := map[string]bool{}
	for _, s := range sinks {
		box := s.OnError.DeadLetter
		if s.OnError.Policy != planner.DeadLetter || written[box.Table.Name] {
			continue
		}
		written[box.Table.Name] = true
		if err := r.letters.put(ctx, box, e); err != nil {
			return err
		}
	}
	r.rejected.Add(1)
	r.Observer.Note(Event{What: RowRejected, Unit: r.plan.Name, Table: e.Table, Err: e})
	return nil
}

// permanent reports whether running again cannot help.
func permanent(err error) bool {
	var (
		marked  *connectors.PermanentError
		row     *connectors.RowError
		changed *connectors.SchemaChange
	)
	return errors.As(err, &marked) || errors.As(err, &row) || errors.As(err, &changed)
}
