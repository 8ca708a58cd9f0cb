package eval

import (
	"strings"

	"github.com/syncsql/syncsql/ddl"
)

// Resolve finds the column that a path names. The parts after the column name fields of a ROW and are returned as rest.
func (s *Scope) Resolve(path ddl.Path) (col Column, rest ddl.Path, err *ddl.Error) {
	for _, k := range [...]int{1, 0, 2, 3} {
		if k >= len(path) {
			continue
		}
		found, n := s.match(path, k)
		switch {
		case n > 1:
			return Column{}, nil, s.ambiguous(path, k)
		case n == 1:
			return found, path[k+1:], nil
		}
	}
	return Column{}, nil, s.unknown(path)
}

// match looks for path[k] as a column, qualified by the part before it.
func (s *Scope) match(path ddl.Path, k int) (found Column, n int) {
	for _, c := range s.Columns {
		if c.Name != path[k].Name || k > 0 && c.Qualifier != path[k-1].Name {
			continue
		}
		if len(path) > k+1 && c.Type.Kind != ddl.Row {
			continue
		}
		found = c
		n++
	}
	return found, n
}

func (s *Scope) ambiguous(path ddl.Path, k int) *ddl.Error {
	var of []string
	for _, c := range s.Columns {
		if c.Name == path[k].Name && c.Qualifier != "" {
			of = append(of, c.Qualifier+"."+c.Name)
		}
	}
	e := ddl.Errorf(path.Span(), "ambiguous-column", "column %q is ambiguous", spell(path))
	if len(of) > 0 {
		e.WithHelp("write one of %s", strings.Join(of, ", "))
	}
	return e
}

func (s *Scope) unknown(path ddl.Path) *ddl.Error {
	e := ddl.Errorf(path.Span(), "unknown-column", "unknown column %q", spell(path))
	names := make([]string, 0, len(s.Columns))
	qualified := len(path) > 1
	for _, c := range s.Columns {
		if qualified && c.Qualifier != "" {
			names = append(names, c.Qualifier+"."+c.Name)
		} else {
			names = append(names, c.Name)
		}
	}
	if near := nearest(spell(path), names); near != "" {
		return e.WithHelp("did you mean %q?", near)
	}
	if near := nearest(path.Last(), names); near != "" {
		return e.WithHelp("did you mean %q?", near)
	}
	if len(names) > 0 && len(names) <= 12 {
		e.WithHelp("the columns are %s", strings.Join(names, ", "))
	}
	return e
}

func spell(path ddl.Path) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = p.Name
	}
	return strings.Join(parts, ".")
}

// nearest is the candidate that a misspelt name most likely stands for, "" when none is close.
func nearest(name string, candidates []string) string {
	best, bestCost := "", 2+len(name)/4
	for _, c := range candidates {
		if strings.EqualFold(c, name) {
			return c
		}
		if cost := distance(strings.ToLower(name), strings.ToLower(c)); cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

// distance counts insertions, deletions, replacements and swaps of neighbours.
func distance(a, b string) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(prev[j+1]+1, row[j]+1, prev[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
