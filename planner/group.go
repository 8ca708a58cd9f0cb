package planner

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

// group is what becomes one pipeline: the tables of one system, what is read from them, and where it goes.
type group struct {
	name    string
	key     string
	sources []*source
	routes  []*route
	sinks   []*sink
}

// groups puts the routes that nothing has refused together by the system that they read. Tables that are read to an end
// are kept apart from those that are read for ever.
func (w *work) groups() []*group {
	var out []*group
	for _, r := range w.routes {
		if r.failed || r.dst.failed {
			continue
		}
		key := r.src.endpoint()
		i := slices.IndexFunc(out, func(g *group) bool { return g.key == key })
		if i < 0 {
			i = len(out)
			out = append(out, &group{key: key})
		}
		g := out[i]
		g.routes = append(g.routes, r)
		if !slices.Contains(g.sources, r.src) {
			g.sources = append(g.sources, r.src)
		}
		if !slices.Contains(g.sinks, r.dst) {
			g.sinks = append(g.sinks, r.dst)
		}
	}
	name := w.name()
	for i, g := range out {
		g.name = name
		if i > 0 {
			g.name = fmt.Sprintf("%s-%d", name, i+1)
		}
	}
	return out
}

// name is 'pipeline.name', else the sinks' names.
func (w *work) name() string {
	if name := catalog.PipelineName.Get(w.Catalog.Settings()); name != "" {
		return name
	}
	var names []string
	for _, s := range w.sinks {
		names = append(names, s.table.Name)
	}
	return strings.Join(names, "_")
}

// endpoint names the system that a source reads, so that tables of one system share a source.
func (s *source) endpoint() string {
	bounded := ""
	if s.mode.Bounded {
		bounded = " bounded"
	}
	if s.values != nil {
		return fmt.Sprintf("values %p", s)
	}
	if s.connector.Endpoint == nil {
		return fmt.Sprintf("%s table %s %s%s", s.connector.Name, s.table.Name, s.hints, bounded)
	}
	return s.connector.Name + " " + s.connector.Endpoint(s.asTable(allColumns(s.table), s.mode.Name, "")) + bounded
}

// assemble is the end of planning: push-down, the programs, the guarantee.
func (w *work) assemble(g *group) *Pipeline {
	settings := w.Catalog.Settings()
	p := &Pipeline{Name: g.name, Settings: w.settings()}
	p.Source.Connector = g.sources[0].connector
	p.Source.Read = connectors.Read{Pipeline: g.name, Limits: p.Limits}
	pushDown(g)
	for _, s := range g.sources {
		p.Source.Modes = append(p.Source.Modes, s.mode)
		p.Source.Read.Tables = append(p.Source.Read.Tables, s.tableRead(g))
		addTo(&p.Warnings, s.warnings)
	}
	for _, s := range g.sinks {
		p.Sinks = append(p.Sinks, Sink{Connector: s.connector, Table: s.asTable(s.write, s.mode.Name, s.mode.Guarantee), Mode: s.mode, OnError: s.onError})
		addTo(&p.Warnings, s.warnings)
	}
	length := catalog.LengthEnforcer.Get(settings)
	for _, r := range g.routes {
		program := w.program(r, length)
		route := Route{Table: slices.Index(g.sources, r.src), Sink: slices.Index(g.sinks, r.dst), Program: program, Emits: r.steps.emits, why: r.dropped()}
		route.explain(r)
		p.Routes = append(p.Routes, route)
		addTo(&p.Warnings, r.warnings)
	}
	p.Deliver = delivery(g)
	p.Fingerprint = fingerprint(g)
	return p
}

func addTo(list *[]string, more []string) {
	for _, text := range more {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
}

// program compiles a route over the columns that are read.
func (w *work) program(r *route, length string) *eval.Program {
	scope := r.src.readScope()
	compile := func(e ddl.Expr) *eval.Expr {
		x, errs := eval.Compile(e, scope)
		if len(errs) > 0 {
			w.errs = append(w.errs, errs...) // it compiled over all columns before
			return nil
		}
		return x
	}
	p := &eval.Program{RowKinds: r.src.mode.Emits != change.Inserts, KeyedDeletes: r.src.mode.KeyedDeletes}
	if r.filter != nil {
		p.Filter = compile(r.filter)
	}
	if r.dropped() != "" {
		p.Drop = change.Of(change.UpdateBefore)
	}
	if r.steps.missed && !r.retracts(&r.dst.mode) {
		p.MissedUpdate = eval.MissedDeleted
	}
	for _, col := range r.dst.write {
		i := slices.IndexFunc(r.steps.outputs, func(o output) bool { return o.column == col })
		p.Outputs = append(p.Outputs, compile(r.steps.outputs[i].expr))
		p.Rules = append(p.Rules, rule(r.dst.table.Columns[col], length))
	}
	if r.dst.keyed() {
		for _, k := range r.dst.table.Key {
			p.Key = append(p.Key, slices.Index(r.dst.write, k))
		}
	}
	return p
}

func rule(c ddl.Column, length string) eval.Rule {
	out := eval.Rule{Column: c.Name.Name, NotNull: c.Type.NotNull}
	switch c.Type.Kind {
	case ddl.Char, ddl.Varchar, ddl.BinaryType, ddl.Varbinary:
		if c.Type.Length != ddl.MaxLength && length != "ignore" {
			out.MaxLength, out.Trim = c.Type.Length, length == "trim-pad"
		}
	}
	return out
}

func (w *work) settings() Settings {
	set := w.Catalog.Settings()
	s := Settings{
		CheckpointInterval:  catalog.CheckpointInterval.Get(set),
		CheckpointRows:      catalog.CheckpointRows.Get(set),
		SnapshotParallelism: int(catalog.Parallelism.Get(set)),
		Limits: connectors.Limits{Rows: int(catalog.BatchRows.Get(set)), Bytes: catalog.BatchBytes.Get(set),
			Wait: connectors.Millis(catalog.BatchWait.Get(set) / time.Millisecond)},
		MaxRowsPerSecond:    catalog.RateRows.Get(set),
		MaxBytesPerSecond:   float64(catalog.RateBytes.Get(set)),
		RestartAttempts:     int(catalog.RestartAttempts.Get(set)),
		RestartInitialDelay: catalog.RestartInitialDelay.Get(set),
		RestartMaxDelay:     catalog.RestartMaxDelay.Get(set),
		TimeZone:            catalog.TimeZone.Get(set),
	}
	switch catalog.Restart.Get(set) {
	case "fixed-delay":
		s.RestartAttempts = int(catalog.FixedAttempts.Get(set)) + 1 // Flink counts restarts, not failures
		s.RestartInitialDelay = catalog.FixedDelay.Get(set)
		s.RestartMaxDelay = s.RestartInitialDelay
	case "none", "off", "disable":
		s.RestartAttempts = 1
	}
	return s
}

// identity are options that say which table of a system is meant; a checkpoint means nothing for another one.
var identity = []string{"hostname", "port", "url", "database", "database-name", "schema", "schema-name", "table", "table-name",
	"path", "topic", "subscription", "project", "dataset", "instance", "index", "slot.name"}

// fingerprint changes when an old checkpoint would be meaningless.
func fingerprint(g *group) string {
	h := sha256.New()
	write := func(d *declared, mode string) {
		fmt.Fprintf(h, "%q %q %q %q\n", d.connector.Name, d.table.Name, mode, d.table.KeyNames())
		for _, key := range identity {
			if e, ok := d.options.Lookup(key); ok {
				fmt.Fprintf(h, "%q=%q\n", key, ddl.RedactValue(e.Text, false))
			}
		}
	}
	for _, s := range g.sources {
		if s.values != nil {
			fmt.Fprintf(h, "values %q\n", s.values.text())
			continue
		}
		fmt.Fprintf(h, "source %q\n", s.endpoint())
		write(&s.declared, s.mode.Name)
	}
	for _, s := range g.sinks {
		fmt.Fprintln(h, "sink")
		write(&s.declared, "")
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}
