package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/option"
)

// Options that every table has, whatever its connector.
var (
	connectorOption = option.String("connector", "The system that holds the table.")
	writeModeOption = "sink.write-mode"
	guaranteeOption = "sink.delivery-guarantee"
	// parallelism is Flink's; the engine sets its own.
	ignored = []string{"sink.parallelism", "scan.parallelism"}
)

// declarations are the options of a connector's tables: its own and those that every table has.
func declarations(c *connectors.Connector) []option.Decl {
	out := slices.Clone(c.Options)
	add := func(d option.Decl) {
		if option.Find(out, d.Key) == nil {
			out = append(out, d)
		}
	}
	add(connectorOption.Decl)
	for _, key := range ignored {
		add(option.Int(key, "Accepted as in Flink; changes nothing.").Decl)
	}
	if len(c.WriteModes) == 0 {
		return out
	}
	var modes, guarantees []string
	for _, m := range c.WriteModes {
		if !slices.Contains(modes, m.Name) {
			modes = append(modes, m.Name)
		}
		if m.Guarantee != "" && !slices.Contains(guarantees, m.Guarantee) {
			guarantees = append(guarantees, m.Guarantee)
		}
	}
	add(option.Enum(writeModeOption, "How rows are written. Unset: the first mode that fits.", modes, option.Sink()).Decl)
	if len(guarantees) > 0 {
		add(option.Enum(guaranteeOption, "What a restart may repeat. Unset: the first mode that fits.", guarantees, option.Sink()).Decl)
	}
	policy := catalog.OnRowError
	policy.Default = ""
	add(policy.Decl)
	add(catalog.DeadLetterTable.Decl)
	return out
}

// CheckTable checks a declaration before anything uses it. What only one direction complains about is left to the use, when
// the connector can do both.
func (p *Planner) CheckTable(t *catalog.Table) ddl.Errors {
	d := p.declare(t, nil)
	errs := p.checkConnector(&d)
	if d.connector == nil {
		return errs
	}
	t.Secrets = secretKeys(&d)
	errs = append(errs, d.check("")...)
	if t.Broken || len(errs) > 0 {
		return errs
	}
	errs = append(errs, p.checkComputed(t)...)
	reads, writes := len(d.connector.ReadModes) > 0, len(d.connector.WriteModes) > 0
	var problems []connectors.Problem
	switch {
	case reads && writes:
		writing := d.validate(connectors.Writing)
		for _, pr := range d.validate(connectors.Reading) {
			if slices.Contains(writing, pr) {
				problems = append(problems, pr)
			}
		}
	case reads:
		problems = d.validate(connectors.Reading)
	default:
		problems = d.validate(connectors.Writing)
	}
	return append(errs, d.report(problems)...)
}

// checkComputed compiles the computed columns and keeps their types.
func (p *Planner) checkComputed(t *catalog.Table) ddl.Errors {
	w := &work{Planner: p}
	var b *branch
	for i, c := range t.Columns {
		if c.Expr == nil {
			continue
		}
		if b == nil {
			b = w.tableRelation(t, &ddl.TableName{At: t.At}).branches[0]
		}
		if len(w.errs) > 0 {
			return w.errs
		}
		if x := w.check(b.src, b.exprs[i]); x != nil {
			if t.Computed == nil {
				t.Computed = map[int]*ddl.Type{}
			}
			t.Computed[i] = x.Type
		}
	}
	return w.errs
}

// checkConnector complains about a missing or unknown connector.
func (p *Planner) checkConnector(d *declared) ddl.Errors {
	if d.connector != nil {
		return nil
	}
	at := d.table.OptionsAt
	if at == (ddl.Span{}) {
		at = d.table.At
	}
	e, ok := d.options.Lookup(connectorOption.Key)
	if !ok {
		return ddl.Errors{ddl.Errorf(d.table.At, "missing-option", "table %q has no 'connector'", d.table.Name).
			WithHelp("add WITH ('connector' = '...', ...)")}
	}
	var names []string
	for _, c := range p.Connectors {
		names = append(names, c.Name)
		for _, a := range c.Aliases {
			names = append(names, a.Name)
		}
	}
	if e.ValueAt != (ddl.Span{}) {
		at = e.ValueAt
	}
	unknown := ddl.Errorf(at, "unknown-connector", "there is no connector %q", e.Text)
	if near := ddl.Nearest(e.Text, names); near != "" {
		return ddl.Errors{unknown.WithHelp("did you mean %q?", near)}
	}
	slices.Sort(names)
	return ddl.Errors{unknown.WithHelp("there are %s", strings.Join(names, ", "))}
}

// check checks keys and values, metadata columns and the settings that go together.
func (d *declared) check(role string) ddl.Errors {
	t := d.table
	others, mode := d.othersKeys()
	errs := append(slices.Clone(d.repeats), d.options.Check(option.Rules{Decls: d.decls, Role: role, At: t.At, Names: d.names,
		Others: others, Mode: mode})...)
	errs = append(errs, d.report(d.problems)...)
	for _, c := range t.Columns {
		if !c.Metadata || metadataOf(d.connector, c.Key) != nil {
			continue
		}
		at := c.KeyAt
		if at == (ddl.Span{}) {
			at = c.Name.At
		}
		e := ddl.Errorf(at, "unknown-metadata", "connector %q has no metadata %q", d.connector.Name, c.Key)
		errs = append(errs, helpMetadata(e, c.Key, d.connector))
	}
	return errs
}

// othersKeys are the keys of write modes that 'sink.write-mode' rules out.
func (d *declared) othersKeys() (map[string]string, string) {
	e, ok := d.options.Lookup(writeModeOption)
	if !ok {
		return nil, ""
	}
	others := map[string]string{}
	for key, m := range d.keysBut(func(m *connectors.WriteMode) bool { return strings.EqualFold(m.Name, strings.TrimSpace(e.Text)) }) {
		others[key] = m.Name
	}
	return others, e.Text
}

// keysBut are the keys that belong to modes for which chosen is false, and to none for which it is true.
func (d *declared) keysBut(chosen func(*connectors.WriteMode) bool) map[string]*connectors.WriteMode {
	others := map[string]*connectors.WriteMode{}
	for i := range d.connector.WriteModes {
		m := &d.connector.WriteModes[i]
		for _, key := range m.Options {
			if _, ok := others[key]; !ok && !chosen(m) {
				others[key] = m
			}
		}
	}
	for i := range d.connector.WriteModes {
		if m := &d.connector.WriteModes[i]; chosen(m) {
			for _, key := range m.Options {
				delete(others, key)
			}
		}
	}
	return others
}

func (d *declared) validate(role connectors.Role) []connectors.Problem {
	if d.connector.Validate == nil {
		return nil
	}
	return d.connector.Validate(d.asTable(allColumns(d.table), "", ""), role)
}

// report turns a connector's problems into diagnostics at the user's text; warnings are kept for the plan.
func (d *declared) report(problems []connectors.Problem) ddl.Errors {
	var errs ddl.Errors
	for _, pr := range problems {
		if pr.Warning {
			if text := fmt.Sprintf("table %q: %s", d.table.Name, pr.Message); !slices.Contains(d.warnings, text) {
				d.warnings = append(d.warnings, text)
			}
			continue
		}
		at := d.table.At
		if e, ok := d.options.Lookup(pr.Option); ok && e.KeyAt != (ddl.Span{}) {
			at = e.KeyAt
			if e.ValueAt != (ddl.Span{}) && pr.Code == "bad-option" {
				at = e.ValueAt
			}
		} else if e, ok := d.table.Options.Lookup(pr.Option); ok && e.KeyAt != (ddl.Span{}) {
			at = e.KeyAt
		}
		if i := d.table.Column(pr.Column); i >= 0 {
			at = d.table.Columns[i].Name.At
		}
		code := pr.Code
		if code == "" {
			code = "bad-table"
		}
		errs = append(errs, &ddl.Error{Span: at, Code: code, Message: ddl.RedactValue(pr.Message, false), Help: pr.Help})
	}
	return errs
}

func secretKeys(d *declared) map[string]bool {
	out := map[string]bool{}
	for _, decl := range d.decls {
		if decl.Secret {
			out[decl.Key] = true
			if user, ok := d.names[decl.Key]; ok {
				out[user] = true
			}
		}
	}
	return out
}

// sourceOptions is step 2 for a table that is read; it chooses the read mode.
func (w *work) sourceOptions(s *source) {
	if s.values != nil {
		return
	}
	if s.table.Broken {
		s.failed = true
		return
	}
	before := len(w.errs)
	if errs := w.checkConnector(&s.declared); len(errs) > 0 {
		w.errs, s.failed = append(w.errs, errs...), true
		return
	}
	w.errs = append(w.errs, s.check("source")...)
	s.warnIgnored()
	if len(s.connector.ReadModes) == 0 {
		w.fail(ddl.Errorf(s.at, "cannot-read", "table %q cannot be read: connector %q only writes", s.table.Name, s.connector.Name))
	} else if !s.chooseMode() {
		w.fail(ddl.Errorf(s.at, "no-mode", "table %q cannot be read with these options: no read mode of connector %q has them", s.table.Name, s.connector.Name).
			WithHelp("%s", readModes(s.connector)))
	}
	if len(w.errs) == before {
		w.errs = append(w.errs, s.report(s.validate(connectors.Reading))...)
	}
	s.failed = len(w.errs) > before
}

func (s *source) chooseMode() bool {
	for _, m := range s.connector.ReadModes {
		if s.holds(m.When) {
			s.mode = m
			return true
		}
	}
	return false
}

func readModes(c *connectors.Connector) string {
	var lines []string
	for _, m := range c.ReadModes {
		lines = append(lines, fmt.Sprintf("%s (%s)", m.Name, options(m.When, nil)))
	}
	return "there are " + strings.Join(lines, "; ")
}

// sinkOptions is step 2 for a table that is written.
func (w *work) sinkOptions(s *sink) {
	if s.result {
		return
	}
	if s.table.Broken {
		s.failed = true
		return
	}
	before := len(w.errs)
	if errs := w.checkConnector(&s.declared); len(errs) > 0 {
		w.errs, s.failed = append(w.errs, errs...), true
		return
	}
	w.errs = append(w.errs, s.check("sink")...)
	s.warnIgnored()
	if len(s.connector.WriteModes) == 0 {
		w.fail(ddl.Errorf(s.at, "cannot-write", "table %q cannot be written: connector %q only reads", s.table.Name, s.connector.Name))
	}
	if len(w.errs) == before {
		w.errs = append(w.errs, s.report(s.validate(connectors.Writing))...)
	}
	if len(w.errs) == before {
		w.rowErrors(s)
	}
	s.failed = len(w.errs) > before
}

func (d *declared) warnIgnored() {
	for _, key := range ignored {
		if d.options.Has(key) && option.Find(d.connector.Options, key) == nil {
			d.warnings = append(d.warnings, fmt.Sprintf("table %q: option %q changes nothing here", d.table.Name, key))
		}
	}
}
