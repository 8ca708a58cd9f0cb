package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/eval"
	"github.com/syncsql/syncsql/planner"
)

// sink is an open sink of a unit.
type sink struct {
	connectors.Sink
	plan  *planner.Sink
	index int
	// resume is what the target says that it holds, when that is beyond the checkpoint: rows at or below are not written
	// again. Nil once the source has passed it.
	resume change.Position
	routes int // that feed it
	// midway: it took rows of a stretch whose end it has not been told.
	midway bool
	// once: it makes a copy visible in one step, with the position of the copy's very last batch, rows or none.
	once bool
}

// target is where the rows of one table go: a sink, through one program for each branch of a UNION ALL. A nil program
// hands the rows on as they are.
type target struct {
	sink     *sink
	programs []*eval.Program
	context  eval.Context
	in       *change.Batch // while a program runs
}

// everyTable opens all sinks of the plan.
const everyTable = -1

// openSinks opens the sinks that the table feeds, commits again what the checkpoint holds for them, and asks them what
// they have.
func (u *unit) openSinks(ctx context.Context, table int) error {
	u.routes = make([][]target, len(u.plan.Source.Read.Tables))
	for i := range u.plan.Sinks {
		routes := routesTo(u.plan, i, table)
		if len(routes) == 0 {
			continue
		}
		s := &sink{plan: &u.plan.Sinks[i], index: i}
		if err := u.open(ctx, s, table); err != nil {
			return err
		}
		u.sinks = append(u.sinks, s)
		if err := u.commit(ctx, Recommit, s, u.saved.ID, u.saved.Tokens[s.plan.Table.Name]); err != nil {
			return err
		}
		// A partition is read from its beginning, whatever its sink holds.
		if held := s.Position(); table == everyTable && held.Compare(u.saved.Position) > 0 {
			s.resume = slices.Clone(held)
		}
		s.routes = len(routes)
		for _, r := range routes {
			u.route(s, r)
		}
	}
	return nil
}

// routesTo are the routes into a sink, of one table or of every one.
func routesTo(p *planner.Pipeline, sink, table int) []planner.Route {
	var routes []planner.Route
	for _, r := range p.Routes {
		if r.Sink == sink && (table == everyTable || r.Table == table) {
			routes = append(routes, r)
		}
	}
	return routes
}

func (u *unit) open(ctx context.Context, s *sink, table int) error {
	s.once = table != everyTable && u.plan.Source.Read.Tables[table].ExactHandover
	w := connectors.Write{
		Pipeline: u.name,
		Sink:     s.plan.Table.Name,
		Table:    s.plan.Table,
		Epoch:    u.epoch,
		Token:    u.saved.Tokens[s.plan.Table.Name],
		Once:     s.once,
		Limits:   u.plan.Limits,
		Reject:   u.rejectWrite(s.plan),
	}
	err := u.around(u.name, OpenSink, u.saved.ID+1, func() (err error) {
		s.Sink, err = s.plan.Connector.OpenSink(ctx, w)
		return
	})
	if err != nil {
		return fmt.Errorf("open table %q: %w", s.plan.Table.Name, err)
	}
	return nil
}

// route adds a route to the target of its table and sink.
func (u *unit) route(s *sink, r planner.Route) {
	targets := u.routes[r.Table]
	for i := range targets {
		if targets[i].sink == s {
			targets[i].programs = append(targets[i].programs, r.Program)
			return
		}
	}
	u.routes[r.Table] = append(targets, target{
		sink:     s,
		programs: []*eval.Program{r.Program},
		context:  eval.Context{Alloc: u.Alloc, Now: microseconds, Zone: u.plan.Zone},
	})
}

func microseconds() int64 { return time.Now().UnixMicro() }

// close ends the unit's sinks and its source. A process that died closes nothing.
func (u *unit) close(err *error) {
	if u.died.Load() {
		return
	}
	for _, s := range u.sinks {
		if closing := s.Close(); closing != nil && *err == nil {
			*err = fmt.Errorf("close table %q: %w", s.plan.Table.Name, closing)
		}
	}
	if u.source != nil {
		if closing := u.source.Close(); closing != nil && *err == nil {
			*err = fmt.Errorf("close source: %w", closing)
		}
	}
	u.sinks, u.source = nil, nil
}

// write sends a batch through every program of its table.
func (u *unit) write(ctx context.Context, b change.Batch) error {
	u.rowsIn.Add(uint64(b.Len()))
	u.Observer.Read(u.origins[b.Table], b.Len(), b.Bytes)
	for _, s := range u.sinks {
		s.midway = s.midway || s.once
	}
	targets := u.routes[b.Table]
	for i := range targets {
		if b.Len() == 0 {
			break
		}
		if err := u.feed(ctx, &targets[i], b); err != nil {
			return err
		}
	}
	if b.Position == nil {
		return nil
	}
	for _, s := range u.sinks {
		if s.resume != nil && b.Position.Compare(s.resume) > 0 {
			s.resume = nil
		}
		if !s.midway {
			continue
		}
		// The stretch ended with rows of another table, or with rows that a filter took out.
		if err := u.hand(ctx, s, change.Batch{Table: b.Table, Position: b.Position}); err != nil {
			return err
		}
	}
	return nil
}

// feed evaluates a batch for one sink and writes the result.
func (u *unit) feed(ctx context.Context, t *target, b change.Batch) error {
	in := b
	if t.sink.resume != nil {
		rest, err := after(b, t.sink.resume)
		if err != nil {
			return err
		}
		defer rest.Release()
		if rest.Len() == 0 {
			return nil
		}
		in = rest
	}
	out, err := u.evaluate(ctx, t, &in)
	if err != nil {
		return fmt.Errorf("compute table %q: %w", t.sink.plan.Table.Name, err)
	}
	if out.Len() > 0 {
		if t.sink.routes > 1 && t.sink.plan.Mode.Class == connectors.Transactional {
			// The tables of a stretch, and the branches of a UNION ALL, come one after the other, so a row's position says
			// nothing about the rows of another. Only the end of the stretch does.
			out.RowPositions = nil
		}
		err = u.hand(ctx, t.sink, out)
	}
	out.Release()
	return err
}

// hand writes one batch to a sink, which borrows it.
func (u *unit) hand(ctx context.Context, s *sink, b change.Batch) error {
	var err error
	if u.Step == nil {
		err = s.Write(ctx, b)
	} else {
		err = u.around(u.name, Write, u.saved.ID+1, func() error { return s.Write(ctx, b) })
	}
	if err != nil {
		return fmt.Errorf("write table %q: %w", s.plan.Table.Name, err)
	}
	s.midway = b.Position == nil
	u.rowsOut.Add(uint64(b.Len()))
	u.Observer.Wrote(s.index, b.Len(), b.Bytes)
	return nil
}

// evaluate runs the programs of a target. The caller releases the result.
func (u *unit) evaluate(ctx context.Context, t *target, in *change.Batch) (change.Batch, error) {
	t.in = in
	t.context.Fail = func(row int, column, reason string) error { return u.rejectComputed(ctx, t, row, column, reason) }
	if len(t.programs) == 1 {
		return compute(t.programs[0], &t.context, in)
	}
	// One sink must take all branches of a UNION ALL over one table in one batch: between two of them its position would
	// say that the rows of the second are there.
	outs := make([]change.Batch, 0, len(t.programs))
	defer func() {
		for i := range outs {
			outs[i].Release()
		}
	}()
	for _, p := range t.programs {
		out, err := compute(p, &t.context, in)
		if err != nil {
			return change.Batch{}, err
		}
		if out.Len() > 0 {
			outs = append(outs, out)
		} else {
			out.Release()
		}
	}
	return concatenate(u.Alloc, outs, in)
}

func compute(p *eval.Program, c *eval.Context, in *change.Batch) (change.Batch, error) {
	if p == nil {
		in.Record.Retain()
		return *in, nil
	}
	return p.Run(c, in)
}

// concatenate puts batches of one source batch behind each other.
func concatenate(alloc eval.Allocator, outs []change.Batch, in *change.Batch) (change.Batch, error) {
	all := change.Batch{Table: in.Table, Position: in.Position, Bytes: in.Bytes}
	if len(outs) == 0 {
		return all, nil
	}
	schema := outs[0].Record.Schema()
	columns := make([]arrow.Array, schema.NumFields())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	rows, parts := 0, make([]arrow.Array, len(outs))
	for i := range columns {
		for j := range outs {
			parts[j] = outs[j].Record.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(parts, alloc); err != nil {
			return change.Batch{}, err
		}
	}
	for i := range outs {
		o := &outs[i]
		for row := range o.Len() {
			all.Kinds = append(all.Kinds, o.Kind(row))
		}
		if all.RowPositionSize = in.RowPositionSize; o.RowPositions != nil {
			all.RowPositions = append(all.RowPositions, o.RowPositions...)
		}
		if o.Unsent != nil {
			all.Unsent = appendUnsent(all.Unsent, o, rows, 0)
		}
		rows += o.Len()
	}
	all.Record = array.NewRecordBatch(schema, columns, int64(rows))
	return all, nil
}

// appendUnsent marks in to, from row at on, what b marks from row first on.
func appendUnsent(to *change.Unsent, b *change.Batch, at, first int) *change.Unsent {
	columns := int(b.Record.NumCols())
	if to == nil {
		to = change.NewUnsent(columns)
	}
	for c := range columns {
		if !b.Unsent.Any(c) {
			continue
		}
		for row := first; row < b.Len(); row++ {
			if b.Unsent.Has(c, row) {
				to.Set(c, at+row-first)
			}
		}
	}
	return to
}

// errNoRowPositions: a sink that continues in the middle of a stretch must know each row's position.
var errNoRowPositions = errors.New("the source gives its rows no positions, and a sink holds more than the checkpoint: the row to go on with is not known")

// after is the rest of a batch beyond a position. The caller releases it, also when it is the whole batch.
func after(b change.Batch, p change.Position) (change.Batch, error) {
	if b.RowPositions == nil {
		if b.Position == nil {
			return change.Batch{}, connectors.Permanent(errNoRowPositions, "")
		}
		if b.Position.Compare(p) <= 0 {
			return change.Batch{}, nil
		}
		b.Record.Retain()
		return b, nil
	}
	n := b.Len()
	first := sort.Search(n, func(i int) bool { return b.At(i).Compare(p) > 0 })
	if first == n {
		return change.Batch{}, nil
	}
	rest := b
	rest.Record = b.Record.NewSlice(int64(first), int64(n))
	rest.RowPositions = b.RowPositions[first*b.RowPositionSize:]
	if b.Kinds != nil {
		rest.Kinds = b.Kinds[first:]
	}
	if b.Unsent != nil {
		rest.Unsent = appendUnsent(nil, &b, 0, first)
	}
	return rest, nil
}
