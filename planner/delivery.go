package planner

import (
	"fmt"
	"slices"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// The guarantees, from strong to weak.
const (
	ExactlyOnce = "exactly-once"
	EndState    = "exactly-once end state"
	AtLeastOnce = "at-least-once"
	AtMostOnce  = "at-most-once"
)

// promises says for each delivery class what it gives and how a replay is made harmless.
var promises = map[connectors.Class]struct{ guarantee, because string }{
	connectors.Transactional: {ExactlyOnce, "rows and position are written in one transaction of the sink, and a restart goes on after the position that the sink holds"},
	connectors.TwoPhase:      {ExactlyOnce, "rows are staged under a token that is saved with the checkpoint, and made visible by a commit that can be repeated"},
	connectors.FileClass:     {ExactlyOnce, "a replayed range writes the same object again"},
	connectors.SequenceDedup: {EndState, "a replay is discarded by change sequence number"},
	connectors.UpsertClass:   {EndState, "a replayed row is written to its key again, which changes nothing"},
	connectors.WindowedDedup: {AtLeastOnce, "a replayed row is discarded while the service remembers its name"},
	connectors.AppendOnly:    {AtLeastOnce, "rows that were written after the last checkpoint are written again after a crash"},
}

var strength = []string{ExactlyOnce, EndState, AtLeastOnce, AtMostOnce}

// delivery is step 7: the weakest guarantee of source, query and sinks, and every cause that weakens it.
func delivery(g *group) Delivery {
	var d Delivery
	for _, s := range g.sinks {
		p := promises[s.mode.Class]
		if d.Guarantee == "" || slices.Index(strength, p.guarantee) > slices.Index(strength, d.Guarantee) {
			d.Class, d.Guarantee, d.Because = s.mode.Class, p.guarantee, p.because
		}
	}
	weaken := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(d.Weakened, text) {
			d.Weakened = append(d.Weakened, text)
		}
	}
	for _, s := range g.sources {
		if s.values == nil && !s.mode.Replay {
			d.Guarantee, d.Because = AtMostOnce, "a row that is under way when the process dies is not read again"
			weaken("table %q: mode %q keeps nothing that could be read again", s.table.Name, s.mode.Name)
		}
	}
	for _, s := range g.sinks {
		weakenedBySink(s, weaken)
	}
	for _, r := range g.routes {
		weakenedByRoute(r, weaken)
	}
	return d
}

func weakenedBySink(s *sink, weaken func(string, ...any)) {
	if s.result {
		return
	}
	switch s.mode.Class {
	case connectors.AppendOnly:
		if len(s.table.Key) == 0 {
			weaken("table %q has no key: it cannot tell a repeated row from another one", s.table.Name)
		} else {
			weaken("mode %q only appends: table %q may hold a repeated row twice", s.mode.Name, s.table.Name)
		}
	case connectors.WindowedDedup:
		weaken("table %q: the service remembers names for a bounded time; an outage longer than that repeats rows", s.table.Name)
	}
	switch s.onError.Policy {
	case Skip:
		weaken("'sink.on-row-error' = 'skip': a row that table %q refuses is dropped and counted", s.table.Name)
	case DeadLetter:
		weaken("'sink.on-row-error' = 'dead-letter': a row that table %q refuses goes to table %q instead", s.table.Name, s.onError.DeadLetter.Table.Name)
	}
}

func weakenedByRoute(r *route, weaken func(string, ...any)) {
	m := r.dst.mode
	updates := r.steps.emits.Minus(change.Inserts) != 0
	if m.Compacts && updates {
		weaken("table %q gets the last change of a key in a batch, not each one", r.dst.table.Name)
	}
	if m.NeedsBefore && updates && r.src.mode.BeforeImages != fullImages {
		weaken("table %q does not send the row before a change, so table %q gets no -U, and of a deleted row only what is sent", r.src.table.Name, r.dst.table.Name)
	}
	if r.steps.missed && r.src.mode.KeyedDeletes && !r.dst.keyed() {
		weaken("a delete in table %q carries only its key, so WHERE cannot leave it out", r.src.table.Name)
	}
	switch m.Class {
	case connectors.UpsertClass, connectors.WindowedDedup, connectors.FileClass, connectors.AppendOnly:
		for _, o := range r.steps.outputs {
			if !o.eval.Deterministic {
				weaken("column %q of table %q gets another value when a row is replayed: %s", r.dst.table.Columns[o.column].Name.Name, r.dst.table.Name, exprText(o.expr))
			}
		}
		if f := r.steps.filter; f != nil && !f.Deterministic {
			weaken("WHERE may let other rows through when they are replayed: %s", exprText(r.filter))
		}
	}
}
