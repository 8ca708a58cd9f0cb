package planner

import (
	"fmt"
	"strings"
	"time"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
)

// explain keeps the texts of a route for Explain.
func (r *Route) explain(from *route) {
	if from.filter != nil {
		r.filter = exprText(from.filter)
		r.missed = from.steps.missed && !from.retracts(&from.dst.mode)
	}
	plainOnly := true
	var list []string
	for _, o := range from.steps.outputs {
		name := identText(from.dst.table.Columns[o.column].Name.Name)
		text := exprText(o.expr)
		if text != name {
			text, plainOnly = text+" AS "+name, false
		}
		list = append(list, text)
	}
	if !plainOnly {
		r.project = strings.Join(list, ", ")
	}
}

// Explain is the plan as text: fixed order, one node a line, every decision visible, no secret.
func (p *Pipeline) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline %s\n", p.Name)
	line := func(node, format string, args ...any) {
		fmt.Fprintf(&b, "  %-11s %s\n", node, fmt.Sprintf(format, args...))
	}
	for i := range p.Source.Read.Tables {
		p.explainSource(i, line)
	}
	for i := range p.Routes {
		p.explainRoute(&p.Routes[i], line)
	}
	for i := range p.Sinks {
		p.explainSink(&p.Sinks[i], line)
	}
	if p.Limit > 0 {
		line("limit", "%s", count(int(p.Limit), "row"))
	}
	line("guarantee", "%s: %s", p.Deliver.Guarantee, p.Deliver.Because)
	for _, w := range p.Deliver.Weakened {
		line("weakened by", "%s", w)
	}
	for _, w := range p.Warnings {
		line("warning", "%s", w)
	}
	where := ""
	if p.State != "" {
		where = ", in " + ddl.RedactValue(p.State, false)
	}
	line("checkpoint", "at most every %s or %d rows%s", p.Interval(), p.CheckpointRows, where)
	return b.String()
}

func (p *Pipeline) explainSource(i int, line func(string, string, ...any)) {
	t, m := &p.Source.Read.Tables[i], &p.Source.Modes[i]
	text := fmt.Sprintf("%s %s mode=%s emits=%s", p.Source.Connector.Name, t.Name, m.Name, m.Emits)
	if len(t.Key) > 0 {
		text += " key=(" + columnNames(t.Columns, t.Key) + ")"
	}
	all := make([]int, len(t.Columns))
	for c := range all {
		all[c] = c
	}
	text += " columns=(" + columnNames(t.Columns, all) + ")"
	if t.Where != nil {
		text += " where=(" + predicateText(t.Where, t.Columns) + ")"
	}
	if t.WholeRows {
		text += " whole-rows"
	}
	if t.ExactHandover {
		text += " exact-handover"
	}
	line("source", "%s", text)
}

func (p *Pipeline) explainRoute(r *Route, line func(string, string, ...any)) {
	path := ""
	if len(p.Routes) > 1 {
		path = fmt.Sprintf("%s -> %s: ", p.Source.Read.Tables[r.Table].Name, p.Sinks[r.Sink].Table.Name)
	}
	if r.filter != "" {
		text := r.filter
		if r.missed {
			text += ", an update that no longer matches becomes -D"
		}
		line("filter", "%s%s", path, text)
	}
	if r.project != "" {
		line("project", "%s%s", path, r.project)
	}
	if r.why != "" {
		line("drop", "%s-U because %s", path, r.why)
	}
	if path != "" {
		line("route", "%semits=%s", path, r.Emits)
	}
}

func (p *Pipeline) explainSink(s *Sink, line func(string, string, ...any)) {
	text := fmt.Sprintf("%s %s mode=%s accepts=%s", s.Connector.Name, s.Table.Name, s.Mode.Name, s.Mode.Accepts)
	if len(s.Table.Key) > 0 {
		text += " key=(" + columnNames(s.Table.Columns, s.Table.Key) + ")"
	}
	text += " delivery=" + string(s.Mode.Class)
	if s.OnError.Policy != Fail && s.OnError.Policy != "" {
		text += " on-row-error=" + string(s.OnError.Policy)
	}
	line("sink", "%s", text)
	if s.OnError.DeadLetter != nil {
		d := s.OnError.DeadLetter
		line("dead-letter", "%s %s mode=%s delivery=%s", d.Connector.Name, d.Table.Name, d.Mode.Name, d.Mode.Class)
	}
}

func columnNames(columns []connectors.Column, which []int) string {
	var names []string
	for _, i := range which {
		names = append(names, columns[i].Name)
	}
	return strings.Join(names, ", ")
}

func (s *source) predicateText(p *connectors.Predicate) string {
	columns := make([]connectors.Column, len(s.read))
	for place, i := range s.read {
		columns[place].Name = s.columns[i].name
	}
	return predicateText(p, columns)
}

func predicateText(p *connectors.Predicate, columns []connectors.Column) string {
	switch p.Op {
	case "AND", "OR":
		var parts []string
		for _, a := range p.Args {
			text := predicateText(a, columns)
			if len(a.Args) > 0 && a.Op != p.Op {
				text = "(" + text + ")"
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, " "+p.Op+" ")
	case "IS NULL", "IS NOT NULL":
		return identText(columns[p.Column].Name) + " " + p.Op
	}
	var values []string
	for _, v := range p.Values {
		values = append(values, valueText(v))
	}
	text := strings.Join(values, ", ")
	if p.Op == "IN" {
		text = "(" + text + ")"
	}
	return identText(columns[p.Column].Name) + " " + p.Op + " " + text
}

func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return ddl.QuoteString(v)
	case bool:
		return strings.ToUpper(fmt.Sprint(v))
	case time.Time:
		return ddl.QuoteString(v.Format("2006-01-02 15:04:05.999999"))
	}
	return fmt.Sprint(v)
}

// exprText spells a resolved expression, metadata as the user names it.
func exprText(e ddl.Expr) string {
	return ddl.PrintExpr(rewrite(e, func(ref *ddl.ColumnRef) ddl.Expr {
		key, ok := strings.CutPrefix(ref.Path.Last(), meta+".")
		if !ok {
			return ref
		}
		return &ddl.ColumnRef{Path: ddl.Path{{Name: meta}, {Name: key}}}
	}))
}

// identText quotes a name only where it needs it.
func identText(name string) string {
	return ddl.PrintExpr(&ddl.ColumnRef{Path: ddl.Path{{Name: name}}})
}
