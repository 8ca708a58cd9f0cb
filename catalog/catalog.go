// Package catalog keeps what a session has declared: tables, views, functions and settings; and the one table of SQL types
// and the Arrow types that carry them.
//
// It must never know a connector or open a connection: what a declaration means to a system is the planner's business.
package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/option"
)

// Catalog is the state of one session. The zero value is an empty session. It is used from one goroutine.
type Catalog struct {
	tables   names[*Table]
	views    names[*View]
	settings option.Set
}

// Table is one declared table, LIKE merged and key columns made NOT NULL.
type Table struct {
	Name      string // as written, without quotes
	At        ddl.Span
	Temporary bool
	// Columns are all columns in order; none is shared with the statement.
	Columns       []ddl.Column
	Key           []int // in Columns; nil when there is no PRIMARY KEY
	KeyAt         ddl.Span
	PartitionedBy []int
	Options       option.Set
	OptionsAt     ddl.Span
	Statement     *ddl.CreateTable // LIKE merged
	Written       *ddl.CreateTable // as the user wrote it
	// Broken: its declaration was complained about; what uses it is not complained about again.
	Broken bool
	// Heir: it takes over, by LIKE, a declaration that was complained about.
	Heir bool
	// Secrets are option keys that the connector declares secret.
	Secrets map[string]bool
	// Computed are the types of computed columns, by index, as far as they have been found out.
	Computed map[int]*ddl.Type
}

// View is one declared view.
type View struct {
	Name      string
	Statement *ddl.CreateView
	Broken    bool
}

// Column is the index of a column by name, -1 when there is none.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c ddl.Column) bool { return c.Name.Name == name })
}

// KeyNames are the names of the PRIMARY KEY columns.
func (t *Table) KeyNames() []string {
	var names []string
	for _, i := range t.Key {
		names = append(names, t.Columns[i].Name.Name)
	}
	return names
}

// names holds objects by full name. A temporary one hides a permanent one of the same name, as in Flink.
type names[T any] struct{ temporary, permanent map[string]T }

func (n *names[T]) get(name string) (T, bool) {
	if v, ok := n.temporary[name]; ok {
		return v, true
	}
	v, ok := n.permanent[name]
	return v, ok
}

func (n *names[T]) in(temporary bool) *map[string]T {
	m := &n.permanent
	if temporary {
		m = &n.temporary
	}
	if *m == nil {
		*m = map[string]T{}
	}
	return m
}

func (n *names[T]) list() []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(n.temporary)), maps.Keys(n.permanent))
	slices.Sort(all)
	return slices.Compact(all)
}

// The names that Flink gives to the catalog and database that every session starts in.
const (
	DefaultCatalog  = "default_catalog"
	DefaultDatabase = "default_database"
)

// FullName is how the catalog knows a path: dotted, without the default catalog and database.
func FullName(p ddl.Path) string {
	if len(p) == 3 && p[0].Name == DefaultCatalog {
		p = p[1:]
	}
	if len(p) == 2 && p[0].Name == DefaultDatabase {
		p = p[1:]
	}
	parts := make([]string, len(p))
	for i, id := range p {
		parts[i] = id.Name
	}
	return strings.Join(parts, ".")
}

// Table finds a table.
func (c *Catalog) Table(p ddl.Path) (*Table, bool) { return c.tables.get(FullName(p)) }

// Declared is the table that a statement has made, also when another one hides it. False when the statement made none.
func (c *Catalog) Declared(s *ddl.CreateTable) (*Table, bool) {
	t, ok := (*c.tables.in(s.Temporary))[FullName(s.Name)]
	return t, ok && t.Written == s
}

// View finds a view.
func (c *Catalog) View(p ddl.Path) (*View, bool) { return c.views.get(FullName(p)) }

// Tables are all tables in the order of their names.
func (c *Catalog) Tables() []*Table {
	var list []*Table
	for _, n := range c.tables.list() {
		t, _ := c.tables.get(n)
		list = append(list, t)
	}
	return list
}

// Settings are the session's settings as the user wrote them; the declarations in this package read them.
func (c *Catalog) Settings() option.Set { return c.settings }

// Unknown is the complaint about a name that is neither a table nor a view.
func (c *Catalog) Unknown(p ddl.Path) *ddl.Error {
	name := FullName(p)
	e := ddl.Errorf(p.Span(), "unknown-table", "table %q is not declared", name)
	known := append(c.tables.list(), c.views.list()...)
	if near := ddl.Nearest(name, known); near != "" {
		return e.WithHelp("did you mean %q?", near)
	}
	return e.WithHelp("declare it with CREATE TABLE before it is used")
}

// Apply takes a declaration or a setting into the session: CREATE, DROP, SET and RESET. Other statements change nothing.
// A table whose declaration has mistakes is kept, marked Broken, so that its users are not complained about as well.
func (c *Catalog) Apply(stmt ddl.Statement) (errs, warnings ddl.Errors) {
	switch s := stmt.(type) {
	case *ddl.CreateTable:
		return c.createTable(s), nil
	case *ddl.CreateView:
		return c.createView(s), nil
	case *ddl.CreateFunction:
		return ddl.Errors{ddl.Errorf(s.Name.Span(), "unsupported-statement", "functions of one's own are not part of the language").
			WithHelp("write the expression in a view, and select from the view")}, nil
	case *ddl.Drop:
		return c.drop(s), nil
	case *ddl.Set:
		return c.set(s)
	case *ddl.Reset:
		return c.reset(s), nil
	case *ddl.Unsupported:
		return ddl.Errors{s.Error}, nil
	}
	return nil, nil
}

// taken complains when a name is in use by a table or a view of the same kind of lifetime.
func (c *Catalog) taken(p ddl.Path, temporary bool) *ddl.Error {
	name := FullName(p)
	_, table := (*c.tables.in(temporary))[name]
	_, view := (*c.views.in(temporary))[name]
	if !table && !view {
		return nil
	}
	what := "table"
	if view {
		what = "view"
	}
	return ddl.Errorf(p.Span(), "table-exists", "%s %q is declared already", what, name).
		WithHelp("drop it first, or write CREATE ... IF NOT EXISTS")
}

func (c *Catalog) createView(s *ddl.CreateView) ddl.Errors {
	if e := c.taken(s.Name, s.Temporary); e != nil {
		if s.IfNotExists {
			return nil
		}
		return ddl.Errors{e}
	}
	name := FullName(s.Name)
	(*c.views.in(s.Temporary))[name] = &View{Name: name, Statement: s}
	return nil
}

func (c *Catalog) drop(s *ddl.Drop) ddl.Errors {
	name := FullName(s.Name)
	switch s.What {
	case "TABLE":
		if dropped(&c.tables, name, s.Temporary) {
			return nil
		}
		if _, ok := c.views.get(name); ok {
			return ddl.Errors{ddl.Errorf(s.Name.Span(), "unknown-table", "%q is a view, not a table", name).WithHelp("write DROP VIEW %s", name)}
		}
	case "VIEW":
		if dropped(&c.views, name, s.Temporary) {
			return nil
		}
		if _, ok := c.tables.get(name); ok {
			return ddl.Errors{ddl.Errorf(s.Name.Span(), "unknown-table", "%q is a table, not a view", name).WithHelp("write DROP TABLE %s", name)}
		}
	case "FUNCTION":
		if s.IfExists {
			return nil
		}
		return ddl.Errors{ddl.Errorf(s.Name.Span(), "unknown-function", "function %q is not declared", name)}
	default:
		return ddl.Errors{ddl.Errorf(s.At, "unsupported-statement", "DROP %s is not supported: a session has one catalog and one database", s.What)}
	}
	if s.IfExists {
		return nil
	}
	e := c.Unknown(s.Name)
	if e.Help == "" || strings.HasPrefix(e.Help, "declare") {
		e.WithHelp("write DROP %s IF EXISTS when it may be missing", s.What)
	}
	return ddl.Errors{e}
}

// dropped removes a name, the temporary one first; onlyTemporary leaves a permanent one alone.
func dropped[T any](n *names[T], name string, onlyTemporary bool) bool {
	for _, m := range []map[string]T{n.temporary, n.permanent} {
		if _, ok := m[name]; ok {
			delete(m, name)
			return true
		}
		if onlyTemporary {
			return false
		}
	}
	return false
}
