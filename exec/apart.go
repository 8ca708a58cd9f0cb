package exec

import (
	"slices"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/planner"
)

// absorbsNothing reports whether a row that is written twice would be there twice, although the sink's class promises
// otherwise: it remembers positions or tokens, not keys.
func absorbsNothing(s *planner.Sink) bool {
	keyed := len(s.Table.Key) > 0 && s.Mode.Accepts.Has(change.UpdateAfter) && !s.Mode.NeedsBefore
	switch s.Mode.Class {
	case connectors.Transactional, connectors.TwoPhase, connectors.FileClass:
		return !keyed
	}
	return false
}

// apart lists a table once more for each sink that takes its copy exactly, so that such a sink has a copy and a hand-over
// of its own. Sharing would be wrong twice: a crash between the commits of two such sinks leaves one with a copy and one
// without, and a keyed sink that saw a copy which was given up would keep rows whose deletion lies before the hand-over.
// The outcome depends on the plan alone: saved partitions name their tables by index. Origins are the indexes in p.
func apart(p *planner.Pipeline) (plan *planner.Pipeline, origins []int) {
	q := *p
	for table := range p.Source.Read.Tables {
		origins = append(origins, table)
	}
	q.Routes = slices.Clone(p.Routes)
	q.Source.Modes = slices.Clone(p.Source.Modes)
	q.Source.Read.Tables = slices.Clone(p.Source.Read.Tables)
	for table := range p.Source.Read.Tables {
		if !p.Source.Read.Tables[table].ExactHandover {
			continue
		}
		exact, others := sinksOf(p, table)
		q.Source.Read.Tables[table].ExactHandover = len(others) == 0
		if len(others) == 0 && len(exact) > 0 {
			exact = exact[1:] // the first keeps the table
		}
		for _, sink := range exact {
			own := p.Source.Read.Tables[table]
			q.Source.Read.Tables = append(q.Source.Read.Tables, own)
			q.Source.Modes = append(q.Source.Modes, p.Source.Modes[table])
			origins = append(origins, table)
			for i := range q.Routes {
				if q.Routes[i].Table == table && q.Routes[i].Sink == sink {
					q.Routes[i].Table = len(q.Source.Read.Tables) - 1
				}
			}
		}
	}
	return &q, origins
}

// sinksOf are the sinks that a table feeds, in the order of the plan.
func sinksOf(p *planner.Pipeline, table int) (exact, others []int) {
	for i := range p.Sinks {
		switch {
		case len(routesTo(p, i, table)) == 0:
		case absorbsNothing(&p.Sinks[i]):
			exact = append(exact, i)
		default:
			others = append(others, i)
		}
	}
	return exact, others
}
