package catalog

import (
	"slices"

	"github.com/syncsql/syncsql/ddl"
)

// What LIKE can take over, and how it does when nothing is said: Flink's rules.
var likeDefaults = map[string]string{
	"CONSTRAINTS": "INCLUDING", "DISTRIBUTION": "INCLUDING", "GENERATED": "INCLUDING", "METADATA": "INCLUDING",
	"OPTIONS": "OVERWRITING", "PARTITIONS": "INCLUDING", "WATERMARKS": "INCLUDING",
}

// merge carries one LIKE clause over.
type merge struct {
	base  *ddl.CreateTable
	own   *ddl.CreateTable
	rules map[string]string
	errs  ddl.Errors
}

// like returns the statement with LIKE carried out.
func (c *Catalog) like(s *ddl.CreateTable) (*ddl.CreateTable, ddl.Errors) {
	base, ok := c.Table(s.Like.Table)
	if !ok {
		if v, isView := c.View(s.Like.Table); isView {
			return s, ddl.Errors{ddl.Errorf(s.Like.Table.Span(), "unknown-table", "LIKE needs a table, but %q is a view", v.Name)}
		}
		return s, ddl.Errors{c.Unknown(s.Like.Table)}
	}
	merged := *s
	merged.Like = nil
	m := &merge{base: base.Statement, own: &merged}
	m.readRules(s.Like.Rules)
	m.columns()
	m.constraints()
	m.options()
	return m.own, m.errs
}

func (m *merge) readRules(rules []ddl.LikeRule) {
	m.rules = map[string]string{}
	for f, strategy := range likeDefaults {
		m.rules[f] = strategy
	}
	said := map[string]bool{}
	for pass := range 2 {
		for _, r := range rules {
			if (r.Feature == "ALL") != (pass == 0) {
				continue
			}
			if said[r.Feature] {
				m.errs = append(m.errs, ddl.Errorf(r.At, "bad-like", "LIKE says twice what to do with %s", r.Feature))
			}
			said[r.Feature] = true
			m.rule(r)
		}
	}
}

func (m *merge) rule(r ddl.LikeRule) {
	if r.Feature == "ALL" {
		if r.Strategy == "OVERWRITING" {
			m.errs = append(m.errs, ddl.Errorf(r.At, "bad-like", "OVERWRITING ALL does not exist").
				WithHelp("write INCLUDING ALL, EXCLUDING ALL, or OVERWRITING of OPTIONS, GENERATED, METADATA or WATERMARKS"))
			return
		}
		for f := range m.rules {
			m.rules[f] = r.Strategy
		}
		return
	}
	if _, ok := likeDefaults[r.Feature]; !ok {
		m.errs = append(m.errs, ddl.Errorf(r.At, "bad-like", "LIKE cannot take over %s", r.Feature))
		return
	}
	overwritable := []string{"OPTIONS", "GENERATED", "METADATA", "WATERMARKS"}
	if r.Strategy == "OVERWRITING" && !slices.Contains(overwritable, r.Feature) {
		m.errs = append(m.errs, ddl.Errorf(r.At, "bad-like", "OVERWRITING %s does not exist", r.Feature).
			WithHelp("write INCLUDING %s or EXCLUDING %s", r.Feature, r.Feature))
		return
	}
	m.rules[r.Feature] = r.Strategy
}

// columns puts the base table's columns first. A physical column can never be declared again; computed and metadata
// columns can when their rule is OVERWRITING.
func (m *merge) columns() {
	var out []ddl.Column
	for _, col := range m.base.Columns {
		if f := feature(col); f == "" || m.rules[f] != "EXCLUDING" {
			out = append(out, col)
		}
	}
	for _, col := range m.own.Columns {
		i := slices.IndexFunc(out, func(c ddl.Column) bool { return c.Name.Name == col.Name.Name })
		if i < 0 {
			out = append(out, col)
			continue
		}
		f := feature(col)
		if f == "" || f != feature(out[i]) || m.rules[f] != "OVERWRITING" {
			m.errs = append(m.errs, ddl.Errorf(col.Name.At, "duplicate-column", "column %q exists already in table %q", col.Name.Name, FullName(m.base.Name)))
			continue
		}
		out[i] = col
	}
	m.own.Columns = out
}

func feature(c ddl.Column) string {
	switch {
	case c.Metadata:
		return "METADATA"
	case c.Expr != nil:
		return "GENERATED"
	}
	return ""
}

func (m *merge) constraints() {
	base, own := m.base, m.own
	if base.PrimaryKey != nil && m.rules["CONSTRAINTS"] == "INCLUDING" {
		if own.PrimaryKey != nil {
			m.errs = append(m.errs, ddl.Errorf(own.PrimaryKey.At, "bad-like", "table %q already has a PRIMARY KEY", FullName(base.Name)).
				WithHelp("write LIKE %s (EXCLUDING CONSTRAINTS) to replace it", FullName(base.Name)))
		} else {
			own.PrimaryKey = base.PrimaryKey
		}
	}
	if base.PartitionedBy != nil && m.rules["PARTITIONS"] == "INCLUDING" {
		if own.PartitionedBy != nil {
			m.errs = append(m.errs, ddl.Errorf(own.PartitionedBy[0].At, "bad-like", "table %q already has PARTITIONED BY", FullName(base.Name)).
				WithHelp("write LIKE %s (EXCLUDING PARTITIONS) to replace it", FullName(base.Name)))
		} else {
			own.PartitionedBy = base.PartitionedBy
		}
	}
	if base.Distribution != nil && own.Distribution == nil && m.rules["DISTRIBUTION"] == "INCLUDING" {
		own.Distribution = base.Distribution
	}
	if base.Watermark == nil || m.rules["WATERMARKS"] == "EXCLUDING" {
		return
	}
	if own.Watermark == nil {
		own.Watermark = base.Watermark
	} else if m.rules["WATERMARKS"] == "INCLUDING" {
		m.errs = append(m.errs, ddl.Errorf(own.Watermark.At, "bad-like", "table %q already has a WATERMARK", FullName(base.Name)).
			WithHelp("write LIKE %s (OVERWRITING WATERMARKS) to replace it", FullName(base.Name)))
	}
}

func (m *merge) options() {
	if m.rules["OPTIONS"] == "EXCLUDING" {
		return
	}
	out := slices.Clone(m.base.Options)
	for _, o := range m.own.Options {
		i := slices.IndexFunc(out, func(b ddl.Option) bool { return b.Key == o.Key })
		switch {
		case i < 0:
			out = append(out, o)
		case m.rules["OPTIONS"] == "INCLUDING":
			m.errs = append(m.errs, ddl.Errorf(o.KeyAt, "duplicate-option", "option %q exists already in table %q", o.Key, FullName(m.base.Name)).
				WithHelp("write LIKE %s (OVERWRITING OPTIONS) to replace it", FullName(m.base.Name)))
		case slices.ContainsFunc(m.own.Options, func(x ddl.Option) bool { return x.Key == o.Key && x.KeyAt.Start < o.KeyAt.Start }):
			out = append(out, o) // set twice in one statement: kept twice, so that it is complained about
		default:
			out[i] = o
		}
	}
	m.own.Options = out
	if m.own.OptionsAt == (ddl.Span{}) {
		m.own.OptionsAt = m.own.Name.Span()
	}
}
