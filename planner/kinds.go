package planner

import (
	"slices"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
)

const fullImages = "full"

// kinds is step 4: what the query makes of the kinds that the source emits. A projection keeps them; a filter may have let
// the former version of a row through.
func (w *work) kinds(r *route) {
	if r.failed {
		return
	}
	s := r.src
	updating := s.mode.Emits.Has(change.UpdateAfter) || s.mode.Emits.Has(change.Delete)
	if updating && len(s.table.Key) == 0 && s.mode.BeforeImages != fullImages {
		e := ddl.Errorf(s.at, "missing-key", "table %q sends %s without the row before, so it needs a PRIMARY KEY", s.table.Name, s.mode.Emits.Minus(change.Inserts))
		help := "declare PRIMARY KEY (...) NOT ENFORCED on " + quote(s.table.Name)
		if alt := s.modeWith(func(m *connectors.ReadMode) bool { return m.BeforeImages == fullImages }); alt != "" {
			help += ", or read it with " + alt
		}
		w.fail(e.WithHelp("%s", help))
		r.failed = true
		return
	}
	r.steps.missed = r.filter != nil && s.mode.Emits.Has(change.UpdateAfter) && !s.onKeyOnly(r.steps.filter.Columns)
}

// onKeyOnly reports whether columns are all part of the source's key. What depends on the key alone gives every version of
// a row the same answer.
func (s *source) onKeyOnly(columns []int) bool {
	if len(s.table.Key) == 0 {
		return false
	}
	for _, c := range columns {
		if s.columns[c].column < 0 || !slices.Contains(s.table.Key, s.columns[c].column) {
			return false
		}
	}
	return true
}

// arriving are the kinds that reach a sink that writes with mode m. -U is dropped for a mode that takes +U and has no use
// for the row before; an update that the filter no longer lets through becomes a delete.
func (r *route) arriving(m *connectors.WriteMode) change.Kinds {
	k := r.src.mode.Emits
	if m.Accepts.Has(change.UpdateAfter) && !m.NeedsBefore {
		k = k.Minus(change.Of(change.UpdateBefore))
	}
	if r.steps.missed && !r.retracts(m) {
		k |= change.Of(change.Delete)
	}
	return k
}

// retracts: the sink takes the row before as it is, so an update that leaves the filter leaves its -U alone.
func (r *route) retracts(m *connectors.WriteMode) bool {
	return m.NeedsBefore && r.src.mode.BeforeImages == fullImages
}

// modeWith describes the options that select another read mode of the source's connector; "" when there is none.
func (s *source) modeWith(fits func(*connectors.ReadMode) bool) string {
	for _, bounded := range []bool{s.mode.Bounded, !s.mode.Bounded} { // one that ends as this one does is nearer
		for i := range s.connector.ReadModes {
			m := &s.connector.ReadModes[i]
			if m.Bounded != bounded || !fits(m) {
				continue
			}
			var missing []connectors.When
			for _, c := range m.When {
				if !s.holds([]connectors.When{c}) {
					missing = append(missing, c)
				}
			}
			if len(missing) > 0 {
				return options(missing, s.names)
			}
		}
	}
	return ""
}

// keyed reports whether the sink finds a row by its PRIMARY KEY.
func (s *sink) keyed() bool {
	return len(s.table.Key) > 0 && s.mode.Accepts.Has(change.UpdateAfter) && !s.mode.NeedsBefore
}
