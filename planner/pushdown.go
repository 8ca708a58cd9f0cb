package planner

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
)

// pushDown is step 8: only the columns that something uses are read, and the source may leave out rows that no query wants.
func pushDown(g *group) {
	for _, s := range g.sources {
		used := make([]bool, len(s.columns))
		mark := func(columns []int) {
			for _, c := range columns {
				used[c] = true
			}
		}
		for _, r := range g.routes {
			if r.src != s {
				continue
			}
			for _, o := range r.steps.outputs {
				mark(o.eval.Columns)
			}
			if r.steps.filter != nil {
				mark(r.steps.filter.Columns)
			}
		}
		if s.mode.Emits != change.Inserts || s.mode.Snapshot {
			mark(s.keyColumns())
		}
		s.read = nil
		for i, u := range used {
			if u {
				s.read = append(s.read, i)
			}
		}
		if len(s.read) == 0 {
			s.read = []int{0} // a batch counts its rows by a column
		}
	}
}

// wholeRows: unsent values must be fetched, because the sink replaces whole rows, an update may move a row to a key that
// holds nothing yet, or an expression computes with them.
func (r *route) wholeRows() bool {
	if !r.src.mode.Emits.Has(change.UpdateAfter) {
		return false
	}
	if !r.dst.mode.PartialRows || r.steps.moves {
		return true
	}
	if r.steps.filter != nil && !r.src.onKeyOnly(r.steps.filter.Columns) {
		return true
	}
	return slices.ContainsFunc(r.steps.outputs, func(o output) bool {
		return o.eval.Passes < 0 && len(o.eval.Columns) > 0 && !r.src.onKeyOnly(o.eval.Columns)
	})
}

// exactHandover: the sink absorbs no repeats, yet promises none, so the copy and the stream must not overlap.
func (r *route) exactHandover() bool {
	switch r.dst.mode.Class {
	case connectors.Transactional, connectors.TwoPhase, connectors.FileClass:
		return r.src.mode.Snapshot && !r.dst.keyed()
	}
	return false
}

// predicate is what the source may leave out: rows that no route's filter lets through. Nil: nothing.
func (s *source) predicate(g *group) *connectors.Predicate {
	if s.values != nil {
		return nil
	}
	var any []*connectors.Predicate
	var texts []string
	for _, r := range g.routes {
		if r.src != s {
			continue
		}
		p := s.conjuncts(r.filter)
		if p == nil {
			return nil
		}
		if text := s.predicateText(p); !slices.Contains(texts, text) {
			any, texts = append(any, p), append(texts, text)
		}
	}
	if len(any) == 1 {
		return any[0]
	}
	return &connectors.Predicate{Op: "OR", Args: any}
}

// conjuncts is the simple part of a condition: what is left out of it only lets more rows through.
func (s *source) conjuncts(e ddl.Expr) *connectors.Predicate {
	var all []*connectors.Predicate
	var collect func(ddl.Expr)
	collect = func(e ddl.Expr) {
		if b, ok := e.(*ddl.Binary); ok && b.Op == "AND" {
			collect(b.L)
			collect(b.R)
			return
		}
		if p := s.simple(e); p != nil {
			all = append(all, p)
		}
	}
	if e != nil {
		collect(e)
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &connectors.Predicate{Op: "AND", Args: all}
}

var flipped = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// simple is a condition that every system understands alike. Where systems differ (the order of text, fractions of binary
// numbers, zones), it is nil and the engine alone decides.
func (s *source) simple(e ddl.Expr) *connectors.Predicate {
	switch e := e.(type) {
	case *ddl.Binary:
		if e.Op == "AND" || e.Op == "OR" {
			l, r := s.simple(e.L), s.simple(e.R)
			if l == nil || r == nil {
				return nil
			}
			if l.Op == e.Op { // a long chain leans to the left: one flat node, not a deep tree
				l.Args = append(l.Args, r)
				return l
			}
			return &connectors.Predicate{Op: e.Op, Args: []*connectors.Predicate{l, r}}
		}
		if back, ok := flipped[e.Op]; ok {
			if p := s.comparison(e.Op, e.L, e.R); p != nil {
				return p
			}
			return s.comparison(back, e.R, e.L)
		}
	case *ddl.Between:
		lo, hi := s.comparison(">=", e.X, e.Lo), s.comparison("<=", e.X, e.Hi)
		if e.Not || lo == nil || hi == nil {
			return nil
		}
		return &connectors.Predicate{Op: "AND", Args: []*connectors.Predicate{lo, hi}}
	case *ddl.In:
		return s.in(e)
	case *ddl.Is:
		c, ok := s.pushed(e.X)
		if !ok || e.What != "NULL" {
			return nil
		}
		op := "IS NULL"
		if e.Not {
			op = "IS NOT NULL"
		}
		return &connectors.Predicate{Op: op, Column: c}
	case *ddl.LikeExpr:
		c, ok := s.pushed(e.X)
		pattern, text := e.Pattern.(*ddl.Literal)
		if !ok || !text || e.Not || e.Similar || e.Escape != nil || pattern.Kind != ddl.StringLiteral ||
			!s.isText(c) || strings.Contains(pattern.Text, `\`) {
			return nil
		}
		return &connectors.Predicate{Op: "LIKE", Column: c, Values: []any{pattern.Text}}
	}
	return nil
}

func (s *source) comparison(op string, column, value ddl.Expr) *connectors.Predicate {
	c, ok := s.pushed(column)
	if !ok || s.isText(c) && op != "=" {
		return nil
	}
	v, ok := s.value(c, value)
	if !ok {
		return nil
	}
	return &connectors.Predicate{Op: op, Column: c, Values: []any{v}}
}

func (s *source) in(e *ddl.In) *connectors.Predicate {
	c, ok := s.pushed(e.X)
	if !ok || e.Not || len(e.List) == 0 {
		return nil
	}
	p := &connectors.Predicate{Op: "IN", Column: c}
	for _, x := range e.List {
		v, ok := s.value(c, x)
		if !ok {
			return nil
		}
		p.Values = append(p.Values, v)
	}
	return p
}

// pushed is the place of a plain column among those that are read.
func (s *source) pushed(e ddl.Expr) (int, bool) {
	ref, ok := e.(*ddl.ColumnRef)
	if !ok || len(ref.Path) != 1 {
		return 0, false
	}
	for place, i := range s.read {
		if b := s.columns[i]; b.name == ref.Path[0].Name && b.metadata == "" {
			return place, true
		}
	}
	return 0, false
}

func (s *source) typeAt(place int) *ddl.Type { return s.columns[s.read[place]].typ }

func (s *source) isText(place int) bool {
	k := s.typeAt(place).Kind
	return k == ddl.Varchar || k == ddl.Char
}

// value is a literal as a Go value of the column's type, when it is exactly that.
func (s *source) value(place int, e ddl.Expr) (any, bool) {
	sign := ""
	if u, ok := e.(*ddl.Unary); ok && u.Op == "-" {
		e, sign = u.X, "-"
	}
	l, ok := e.(*ddl.Literal)
	if !ok || sign != "" && l.Kind != ddl.IntLiteral && l.Kind != ddl.DecimalLiteral {
		return nil, false
	}
	t := s.typeAt(place)
	switch {
	case t.Kind >= ddl.TinyInt && t.Kind <= ddl.BigInt && l.Kind == ddl.IntLiteral:
		n, err := strconv.ParseInt(sign+l.Text, 10, 64)
		return n, err == nil && fits(n, t.Kind)
	case t.Kind == ddl.Decimal && (l.Kind == ddl.IntLiteral || l.Kind == ddl.DecimalLiteral):
		return sign + l.Text, true
	case t.Kind == ddl.Varchar && l.Kind == ddl.StringLiteral:
		return l.Text, true
	case t.Kind == ddl.Boolean && l.Kind == ddl.BoolLiteral:
		return l.Text == "TRUE", true
	case t.Kind == ddl.Date && l.Kind == ddl.DateLiteral:
		d, err := time.Parse(time.DateOnly, l.Text)
		return d, err == nil
	case t.Kind == ddl.Timestamp && l.Kind == ddl.TimestampLiteral:
		d, err := time.Parse("2006-01-02 15:04:05.999999", l.Text)
		return d, err == nil && d.Nanosecond()%1000 == 0
	}
	return nil, false
}

func fits(n int64, kind ddl.TypeKind) bool {
	bits := map[ddl.TypeKind]uint{ddl.TinyInt: 8, ddl.SmallInt: 16, ddl.Int: 32, ddl.BigInt: 64}[kind]
	return n>>(bits-1) == 0 || n>>(bits-1) == -1
}
