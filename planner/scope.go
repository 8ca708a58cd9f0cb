package planner

import (
	"slices"
	"strings"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/ddl"
)

// scope is what column names mean inside one SELECT block.
type scope struct {
	rel        *relation
	qualifiers [][]string
	table      bool // rel is a declared table itself: its metadata can be named as _meta.key
}

// meta is the qualifier of a connector's metadata columns.
const meta = "_meta"

func (in *scope) qualifies(p ddl.Path) bool {
	return slices.ContainsFunc(in.qualifiers, func(q []string) bool { return len(q) == len(p) && hasPrefix(p, q) })
}

func hasPrefix(p ddl.Path, q []string) bool {
	if len(p) < len(q) {
		return false
	}
	for i, part := range q {
		if p[i].Name != part {
			return false
		}
	}
	return true
}

// bind replaces the column names of an expression by what they stand for in a branch.
func (w *work) bind(e ddl.Expr, in *scope, b *branch) ddl.Expr {
	return rewrite(e, func(ref *ddl.ColumnRef) ddl.Expr {
		x, err := in.column(ref.Path, b)
		if err != nil {
			w.fail(err)
			return ref
		}
		return x
	})
}

func (in *scope) column(p ddl.Path, b *branch) (ddl.Expr, *ddl.Error) {
	c, rest, err := in.find(p, b)
	if err != nil {
		return nil, err
	}
	named := p[:len(p)-len(rest)].Span()
	var x ddl.Expr
	switch {
	case c < 0:
		key := p[len(p)-len(rest)-1].Name
		x = &ddl.ColumnRef{Path: ddl.Path{{Name: meta + "." + key, At: named}}}
	default:
		x = b.exprs[c]
		if ref, ok := x.(*ddl.ColumnRef); ok {
			x = placed(ref, named)
		}
	}
	for _, id := range rest {
		x = &ddl.Field{At: named.Cover(id.At), X: x, Name: id}
	}
	return x, nil
}

// placed is a reference to the same column, standing where the user named it.
func placed(ref *ddl.ColumnRef, at ddl.Span) *ddl.ColumnRef {
	p := slices.Clone(ref.Path)
	for i := range p {
		p[i].At = at
	}
	return &ddl.ColumnRef{Path: p}
}

// find is the column that a path names, -1 for a metadata column, and the parts that name fields inside it.
func (in *scope) find(p ddl.Path, b *branch) (column int, rest ddl.Path, err *ddl.Error) {
	for _, q := range in.qualifiers {
		if len(p) > len(q) && hasPrefix(p, q) {
			if c, rest, err := in.unqualified(p, p[len(q):], b); c != none || err != nil {
				return c, rest, err
			}
		}
	}
	if c, rest, err := in.unqualified(p, p, b); c != none || err != nil {
		return c, rest, err
	}
	return none, nil, in.unknown(p, b)
}

const none = -2

func (in *scope) unqualified(whole, p ddl.Path, b *branch) (int, ddl.Path, *ddl.Error) {
	c := slices.Index(in.rel.columns, p[0].Name)
	if c >= 0 {
		if slices.Contains(in.rel.columns[c+1:], p[0].Name) {
			return none, nil, ddl.Errorf(whole.Span(), "ambiguous-column", "column %q is ambiguous", p[0].Name).
				WithHelp("give the columns of the subquery different names with AS")
		}
		return c, p[1:], nil
	}
	if in.table && len(p) > 1 && p[0].Name == meta && b.src.metadata(p[1].Name) != nil {
		return -1, p[2:], nil
	}
	return none, nil, nil
}

func (in *scope) unknown(p ddl.Path, b *branch) *ddl.Error {
	if in.table && len(p) > 1 && p[len(p)-2].Name == meta {
		e := ddl.Errorf(p.Span(), "unknown-metadata", "table %q has no metadata %q", b.src.table.Name, p.Last())
		return helpMetadata(e, p.Last(), b.src.connector)
	}
	e := ddl.Errorf(p.Span(), "unknown-column", "unknown column %q", catalog.FullName(p))
	if near := ddl.Nearest(p.Last(), in.rel.columns); near != "" {
		return e.WithHelp("did you mean %q?", near)
	}
	if slices.Contains(in.rel.columns, p.Last()) && len(in.qualifiers) > 0 {
		return e.WithHelp("the table is called %q here", strings.Join(in.qualifiers[len(in.qualifiers)-1], "."))
	}
	if n := len(in.rel.columns); n > 0 && n <= 12 {
		e.WithHelp("the columns are %s", strings.Join(in.rel.columns, ", "))
	}
	return e
}

// uses counts how often an expression names column c.
func (in *scope) uses(e ddl.Expr, c int) (n int) {
	walk(e, func(e ddl.Expr) bool {
		if ref, ok := e.(*ddl.ColumnRef); ok {
			if found, _, err := in.find(ref.Path, nil); err == nil && found == c {
				n++
			}
		}
		return true
	})
	return n
}
