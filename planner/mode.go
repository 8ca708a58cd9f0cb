package planner

import (
	"fmt"
	"strings"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
)

// writeMode is step 5: the first mode that the options allow, whose key rule fits, and that takes what arrives.
func (w *work) writeMode(s *sink) {
	routes := s.living()
	if s.failed || len(routes) == 0 {
		s.failed = true
		return
	}
	candidates := w.candidates(s)
	if len(candidates) == 0 {
		s.fail()
		return
	}
	var wrongKey, wrongKinds *connectors.WriteMode
	for _, m := range candidates {
		switch {
		case !keyFits(m.Key, len(s.table.Key) > 0):
			wrongKey = first(wrongKey, m)
		case !kindsFit(m, routes):
			wrongKinds = first(wrongKinds, m)
		default:
			s.mode = *m
			w.otherModes(s)
			for _, r := range routes {
				r.steps.emits = r.arriving(m)
			}
			return
		}
	}
	if wrongKinds != nil {
		w.kindsRefused(s, wrongKinds, routes)
	} else {
		w.keyRefused(s, wrongKey, routes)
	}
	s.fail()
}

func (s *sink) living() (out []*route) {
	for _, r := range s.routes {
		if !r.failed {
			out = append(out, r)
		}
	}
	return out
}

func (s *sink) fail() {
	s.failed = true
	for _, r := range s.routes {
		r.failed = true
	}
}

func first(a, b *connectors.WriteMode) *connectors.WriteMode {
	if a == nil {
		return b
	}
	return a
}

// candidates are the modes that the table's options allow; none was complained about.
func (w *work) candidates(s *sink) []*connectors.WriteMode {
	if s.result {
		return []*connectors.WriteMode{&s.connector.WriteModes[0]}
	}
	name, hasName := s.options.Lookup(writeModeOption)
	guarantee, hasGuarantee := s.options.Lookup(guaranteeOption)
	var out, named []*connectors.WriteMode
	for i := range s.connector.WriteModes {
		m := &s.connector.WriteModes[i]
		if hasName && !strings.EqualFold(m.Name, strings.TrimSpace(name.Text)) {
			continue
		}
		named = append(named, m)
		if hasGuarantee && m.Guarantee != "" && !strings.EqualFold(m.Guarantee, strings.TrimSpace(guarantee.Text)) {
			continue
		}
		if s.holds(m.When) {
			out = append(out, m)
		}
	}
	if len(out) > 0 {
		return out
	}
	at := s.at
	if hasGuarantee && guarantee.ValueAt != (ddl.Span{}) {
		at = guarantee.ValueAt
	}
	var lines []string
	for _, m := range named {
		line := fmt.Sprintf("mode %q", m.Name)
		if m.Guarantee != "" {
			line += fmt.Sprintf(" with '%s' = '%s'", guaranteeOption, m.Guarantee)
		}
		if len(m.When) > 0 {
			line += " and " + options(m.When, s.names)
		}
		lines = append(lines, line)
	}
	w.fail(ddl.Errorf(at, "no-mode", "table %q cannot be written with these options: no mode of connector %q has them", s.table.Name, s.connector.Name).
		WithHelp("there is %s", strings.Join(lines, "; ")))
	return nil
}

func keyFits(rule connectors.KeyRule, has bool) bool {
	switch rule {
	case connectors.KeyRequired:
		return has
	case connectors.KeyForbidden:
		return !has
	}
	return true
}

func kindsFit(m *connectors.WriteMode, routes []*route) bool {
	for _, r := range routes {
		if r.arriving(m).Minus(m.Accepts) != 0 {
			return false
		}
	}
	return true
}

// kindsRefused is the complaint of the whole program: a mode that cannot apply what arrives.
func (w *work) kindsRefused(s *sink, m *connectors.WriteMode, routes []*route) {
	for _, r := range routes {
		wrong := r.arriving(m).Minus(m.Accepts)
		if wrong == 0 {
			continue
		}
		e := ddl.Errorf(r.insert.Target.Span(), "changelog-mismatch", "table %q: mode %q cannot apply %s from table %q",
			s.table.Name, m.Name, wrong, r.src.table.Name)
		byFilter := wrong.Minus(r.src.mode.Emits) != 0
		if help := w.kindsHelp(s, m, r, byFilter); help != "" {
			e.WithHelp("%s", help)
		}
		w.fail(e)
	}
}

func (w *work) kindsHelp(s *sink, refused *connectors.WriteMode, r *route, byFilter bool) string {
	var ways []string
	for i := range s.connector.WriteModes {
		m := &s.connector.WriteModes[i]
		if r.arriving(m).Minus(m.Accepts) != 0 || m.Name == refused.Name {
			continue
		}
		_, asked := s.options.Lookup(writeModeOption)
		needsKey := m.Key == connectors.KeyRequired && len(s.table.Key) == 0
		key := fmt.Sprintf("declare PRIMARY KEY (%s) NOT ENFORCED on %q", strings.Join(r.keyHint(), ", "), s.table.Name)
		switch {
		case asked && needsKey:
			ways = append(ways, fmt.Sprintf("set '%s' = '%s' and %s", writeModeOption, m.Name, key))
		case asked:
			ways = append(ways, fmt.Sprintf("set '%s' = '%s'", writeModeOption, m.Name))
		case needsKey:
			ways = append(ways, key+" and use a mode that accepts updates")
		case len(m.When) > 0 && !s.holds(m.When):
			ways = append(ways, "set "+options(m.When, s.names)+" on "+quote(s.table.Name))
		default:
			continue
		}
		break
	}
	alt := r.src.modeWith(func(m *connectors.ReadMode) bool { return m.Emits.Minus(refused.Accepts) == 0 })
	if alt != "" {
		ways = append(ways, fmt.Sprintf("read %q with %s", r.src.table.Name, alt))
	}
	help := strings.Join(ways, ", or ")
	if byFilter {
		why := "an update that WHERE no longer lets through becomes a delete"
		if help == "" {
			return why
		}
		return why + "; " + help
	}
	return help
}

// keyHint are the sink columns that carry the source's key, for a PRIMARY KEY that would work.
func (r *route) keyHint() []string {
	var names []string
	for _, key := range r.src.keyColumns() {
		for _, o := range r.steps.outputs {
			if c, ok := r.origin(o.expr); ok && c == key {
				names = append(names, r.dst.table.Columns[o.column].Name.Name)
				break
			}
		}
	}
	if len(names) == 0 || len(names) < len(r.src.table.Key) {
		return []string{"..."}
	}
	return names
}

func (w *work) keyRefused(s *sink, m *connectors.WriteMode, routes []*route) {
	at := routes[0].insert.Target.Span()
	if m.Key == connectors.KeyForbidden {
		w.fail(ddl.Errorf(at, "unwanted-key", "table %q: mode %q takes a table without PRIMARY KEY", s.table.Name, m.Name).
			WithHelp("remove PRIMARY KEY (%s) from %q, or choose another '%s'", strings.Join(s.table.KeyNames(), ", "), s.table.Name, writeModeOption))
		return
	}
	w.fail(ddl.Errorf(at, "missing-key", "table %q: mode %q needs a PRIMARY KEY", s.table.Name, m.Name).
		WithHelp("declare PRIMARY KEY (%s) NOT ENFORCED on %q", strings.Join(routes[0].keyHint(), ", "), s.table.Name))
}

// otherModes complains about options of modes that were not chosen.
func (w *work) otherModes(s *sink) {
	if s.result {
		return
	}
	others := s.keysBut(func(m *connectors.WriteMode) bool { return m.Name == s.mode.Name && m.Guarantee == s.mode.Guarantee })
	for _, key := range s.options.Keys() {
		other, ok := others[key]
		if !ok {
			continue
		}
		e, _ := s.options.Lookup(key)
		at := e.KeyAt
		if at == (ddl.Span{}) {
			at = s.at
		}
		option, has, wants := writeModeOption, s.mode.Name, other.Name
		if has == wants {
			option, has, wants = guaranteeOption, s.mode.Guarantee, other.Guarantee
		}
		w.fail(ddl.Errorf(at, "option-of-other-mode", "option %q belongs to '%s' = '%s', but table %q is written with '%s'",
			s.spelled(key), option, wants, s.table.Name, has).WithHelp("remove '%s', or choose '%s' = '%s'", s.spelled(key), option, wants))
	}
}

func (d *declared) spelled(key string) string {
	if name, ok := d.names[key]; ok {
		return name
	}
	return key
}

// options spells conditions as the user would write them.
func options(conditions []connectors.When, names map[string]string) string {
	var out []string
	for _, c := range conditions {
		key := c.Option
		if user, ok := names[key]; ok {
			key = user
		}
		if c.Value == "" {
			out = append(out, fmt.Sprintf("no '%s'", key))
			continue
		}
		out = append(out, fmt.Sprintf("'%s' = '%s'", key, c.Value))
	}
	return strings.Join(out, " and ")
}

func quote(name string) string { return fmt.Sprintf("%q", name) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// dropped says why rows before an update do not reach the sink, "" when they do or when there are none.
func (r *route) dropped() string {
	if !r.src.mode.Emits.Has(change.UpdateBefore) || r.dst.mode.NeedsBefore {
		return ""
	}
	return fmt.Sprintf("mode %q needs only the new row", r.dst.mode.Name)
}
