package planner

import (
	"slices"
	"sort"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
)

// Planner turns statements into pipelines. It is used from one goroutine, like its catalog.
type Planner struct {
	Catalog    *catalog.Catalog
	Connectors []*connectors.Connector
}

// work is one call of Plan on its way through the steps.
type work struct {
	*Planner
	sources []*source
	sinks   []*sink
	routes  []*route
	errs    ddl.Errors
}

// Plan plans the inserts of one statement, or of one statement set, as pipelines: one for each system that is read. All
// mistakes are reported at once, in the order of their places. An insert that uses a table whose declaration Apply has
// complained about is left out without a second complaint.
func (p *Planner) Plan(inserts []*ddl.Insert) ([]*Pipeline, ddl.Errors) {
	w := &work{Planner: p}
	for _, in := range inserts {
		w.resolve(in)
	}
	return w.plan()
}

// PlanSelect plans a query on its own into a result sink, whose first write mode is taken. The columns of the result are
// those of the query.
func (p *Planner) PlanSelect(q *ddl.Query, result *connectors.Connector) (*Pipeline, ddl.Errors) {
	w := &work{Planner: p}
	limit := w.takeLimit(&q)
	w.resolveSelect(q, result)
	pipelines, errs := w.plan()
	if len(errs) > 0 || len(pipelines) == 0 {
		return nil, errs
	}
	if len(pipelines) > 1 {
		return nil, ddl.Errors{ddl.Errorf(q.At, "unsupported-query", "a SELECT reads from one system, this one reads from %d", len(pipelines)).
			WithHelp("select from each system on its own")}
	}
	pipelines[0].Limit = limit
	return pipelines[0], nil
}

// plan runs the steps after the names are resolved. Each step leaves out what an earlier one has refused.
func (w *work) plan() ([]*Pipeline, ddl.Errors) {
	for _, s := range w.sources {
		w.sourceOptions(s)
	}
	for _, s := range w.sinks {
		w.sinkOptions(s)
	}
	for _, r := range w.routes {
		w.types(r)
	}
	for _, r := range w.routes {
		w.kinds(r)
	}
	for _, s := range w.sinks {
		w.writeMode(s)
		w.missingColumns(s)
	}
	for _, r := range w.routes {
		w.keys(r)
	}
	w.sharedKeys()
	errs := sorted(w.errs)
	var pipelines []*Pipeline
	for _, g := range w.groups() {
		pipelines = append(pipelines, w.assemble(g))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return pipelines, nil
}

func (w *work) fail(e *ddl.Error) { w.errs = append(w.errs, e) }

// sorted orders diagnostics by place and leaves out repeats: two branches over one expression meet the same mistake.
func sorted(errs ddl.Errors) ddl.Errors {
	sort.SliceStable(errs, func(i, j int) bool { return errs[i].Span.Start < errs[j].Span.Start })
	var out ddl.Errors
	for _, e := range errs {
		if !slices.ContainsFunc(out, func(o *ddl.Error) bool { return *o == *e }) {
			out = append(out, e)
		}
	}
	return out
}

// Apply takes a statement into the catalog and checks what it declares: a table's options, columns and types as its
// connector sees them, a view's query. Mistakes in tables that nothing uses are found here.
func (p *Planner) Apply(stmt ddl.Statement) (errs, warnings ddl.Errors) {
	errs, warnings = p.Catalog.Apply(stmt)
	switch s := stmt.(type) {
	case *ddl.CreateTable:
		t, ok := p.Catalog.Declared(s)
		if !ok || t.Heir {
			break
		}
		more := p.CheckTable(t)
		t.Broken = t.Broken || len(more) > 0
		errs = append(errs, more...)
	case *ddl.CreateView:
		if v, ok := p.Catalog.View(s.Name); ok && v.Statement == s {
			more := p.checkView(v)
			v.Broken = len(more) > 0
			errs = append(errs, more...)
		}
	}
	return sorted(errs), warnings
}

func (p *Planner) checkView(v *catalog.View) ddl.Errors {
	w := &work{Planner: p}
	if rel := w.view(v, v.Statement.Name, 0); rel != nil {
		for _, b := range rel.branches {
			for _, e := range append(b.exprs, b.filter) {
				w.check(b.src, e)
			}
		}
	}
	return w.errs
}
