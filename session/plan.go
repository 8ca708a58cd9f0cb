package session

import (
	"fmt"
	"maps"
	"strings"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/planner"
)

// Script is one or more files, parsed and planned as a whole.
type Script struct {
	steps    []step
	Warnings Diagnostics
}

// step is one statement that does something when the script runs: exactly one field is set.
type step struct {
	pipeline *planner.Pipeline
	query    *query
	show     *shown
}

// Pipelines are the pipelines of the INSERT statements and statement sets, in order.
func (sc *Script) Pipelines() []*planner.Pipeline {
	var out []*planner.Pipeline
	for _, st := range sc.steps {
		if st.pipeline != nil {
			out = append(out, st.pipeline)
		}
	}
	return out
}

// Explain is the plan of every pipeline and query.
func (s *Session) Explain(sc *Script) string {
	var plans []string
	for _, st := range sc.steps {
		switch {
		case st.pipeline != nil:
			plans = append(plans, s.explain(st.pipeline))
		case st.query != nil:
			plans = append(plans, explainQuery(st.query.pipeline))
		}
	}
	return strings.Join(plans, "\n")
}

// explain names the place of the checkpoints, which the plan itself does not know.
func (s *Session) explain(p *planner.Pipeline) string {
	p.State = s.config.StoreName
	return p.Explain()
}

// explainQuery leaves out what concerns checkpoints and their guarantee: a query on its own prints its rows once and keeps
// nothing.
func explainQuery(p *planner.Pipeline) string {
	var b strings.Builder
	for line := range strings.Lines(p.Explain()) {
		switch node, _, _ := strings.Cut(strings.TrimSpace(line), "  "); {
		case node == "guarantee", node == "checkpoint", strings.HasPrefix(node, "weakened by"):
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// Plan parses and plans files as one script. When it has mistakes, the error is Diagnostics with all of them, and the
// session is as it was before.
func (s *Session) Plan(files ...File) (*Script, error) {
	var (
		sc      = &Script{}
		errs    ddl.Errors
		warns   ddl.Errors
		claimed = maps.Clone(s.claimed)
		applied = len(s.applied)
	)
	for _, f := range files {
		statements, es := s.parse(f)
		errs = append(errs, es...)
		for _, stmt := range statements {
			es, ws := s.planStatement(sc, stmt)
			errs, warns = append(errs, es...), append(warns, ws...)
		}
	}
	if len(errs) > 0 {
		s.applied = s.applied[:applied]
		s.rollBack(claimed)
		return nil, s.diagnostics(sortErrors(errs))
	}
	sc.Warnings = s.diagnostics(sortErrors(warns))
	return sc, nil
}

func (s *Session) planStatement(sc *Script, stmt ddl.Statement) (errs, warns ddl.Errors) {
	switch stmt := stmt.(type) {
	case *ddl.Insert:
		return s.planInserts(sc, stmt.Target.Span(), []*ddl.Insert{stmt})
	case *ddl.StatementSet:
		return s.planInserts(sc, stmt.At, stmt.Inserts)
	case *ddl.SelectStatement:
		q, errs := s.planQuery(stmt.Query)
		if q != nil {
			sc.steps = append(sc.steps, step{query: q})
		}
		return errs, nil
	case *ddl.Explain:
		text, errs := s.planExplain(stmt)
		if len(errs) == 0 {
			sc.steps = append(sc.steps, step{show: &shown{text: text}})
		}
		return errs, nil
	case *ddl.Show, *ddl.Describe:
		sh, errs := s.show(stmt)
		if len(errs) == 0 {
			sc.steps = append(sc.steps, step{show: sh})
		}
		return errs, nil
	case *ddl.Set:
		if stmt.Key == "" {
			sc.steps = append(sc.steps, step{show: &shown{Rows: s.catalog.SettingRows()}})
			return nil, nil
		}
	}
	s.applied = append(s.applied, stmt)
	return s.planner.Apply(stmt)
}

func (s *Session) planInserts(sc *Script, at ddl.Span, inserts []*ddl.Insert) (errs, warns ddl.Errors) {
	pipelines, errs := s.planner.Plan(inserts)
	if len(errs) > 0 {
		return errs, nil
	}
	for _, p := range pipelines {
		if e := s.claim(at, p.Name); e != nil {
			return ddl.Errors{e}, nil
		}
		sc.steps = append(sc.steps, step{pipeline: p})
		for _, w := range p.Warnings {
			warns = append(warns, ddl.Errorf(at, "plan-warning", "%s", w))
		}
	}
	return nil, warns
}

// claim takes a name for a pipeline. Two pipelines of one name would take over each other's checkpoints.
func (s *Session) claim(at ddl.Span, name string) *ddl.Error {
	if s.claimed[name] {
		return ddl.Errorf(at, "duplicate-pipeline", "another pipeline of this session is named %q", name).
			WithHelp("give one of them a name with SET 'pipeline.name' = '...' before it, or put both into one EXECUTE STATEMENT SET")
	}
	s.claimed[name] = true
	return nil
}

func (s *Session) planExplain(stmt *ddl.Explain) (string, ddl.Errors) {
	var (
		pipelines []*planner.Pipeline
		errs      ddl.Errors
	)
	switch inner := stmt.Statement.(type) {
	case *ddl.Insert:
		pipelines, errs = s.planner.Plan([]*ddl.Insert{inner})
	case *ddl.StatementSet:
		pipelines, errs = s.planner.Plan(inner.Inserts)
	case *ddl.SelectStatement:
		var q *query
		if q, errs = s.planQuery(inner.Query); q != nil {
			return explainQuery(q.pipeline), nil
		}
	default:
		errs = ddl.Errors{ddl.Errorf(stmt.At, "unsupported-statement", "EXPLAIN takes an INSERT, a statement set or a SELECT")}
	}
	if len(errs) > 0 {
		return "", errs
	}
	plans := make([]string, len(pipelines))
	for i, p := range pipelines {
		plans[i] = s.explain(p)
	}
	return strings.Join(plans, "\n"), nil
}

// query is one SELECT and where its rows go.
type query struct {
	pipeline *planner.Pipeline
	target   *target
}

func (s *Session) planQuery(q *ddl.Query) (*query, ddl.Errors) {
	t := &target{format: s.config.Format}
	p, errs := s.planner.PlanSelect(q, t.connector())
	if len(errs) > 0 || p == nil {
		return nil, errs
	}
	for _, r := range p.Routes {
		t.changelog = t.changelog || r.Emits != change.Inserts
	}
	return &query{p, t}, nil
}

// Summary is the line that check prints for a pipeline.
func Summary(p *planner.Pipeline) string {
	line := fmt.Sprintf("pipeline %s: %s", p.Name, p.Deliver.Guarantee)
	if p.Deliver.Because != "" {
		line += ": " + p.Deliver.Because
	}
	for _, w := range p.Deliver.Weakened {
		line += "; " + w
	}
	return line
}

// ExplainStatement is the plan of one statement, or of each of several; nothing is declared by it.
func (s *Session) ExplainStatement(f File) (string, error) {
	statements, errs := s.parse(f)
	var plans []string
	for _, stmt := range statements {
		text, es := s.planExplain(&ddl.Explain{At: stmt.Span(), Statement: stmt})
		errs = append(errs, es...)
		plans = append(plans, text)
	}
	if len(errs) > 0 {
		return "", s.diagnostics(sortErrors(errs))
	}
	return strings.Join(plans, "\n"), nil
}
