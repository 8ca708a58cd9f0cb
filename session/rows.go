package session

import (
	"context"
	"errors"
	"strings"
)

// Rows is the result of one query, as text: what the script tests compare.
type Rows struct {
	// Types has one letter per column: I whole numbers, R other numbers, B booleans, T everything else.
	Types string
	Rows  [][]string
}

// Query runs a script that consists of one query, SHOW, DESCRIBE or EXPLAIN and returns its rows. A plan is one column, a
// row for each line.
func (s *Session) Query(ctx context.Context, f File) (*Rows, error) {
	sc, err := s.Plan(f)
	if err != nil {
		return nil, err
	}
	if len(sc.steps) != 1 || sc.steps[0].pipeline != nil {
		return nil, errors.New("exactly one query, SHOW, DESCRIBE or EXPLAIN is wanted here")
	}
	rows := &Rows{}
	if st := sc.steps[0]; st.show != nil {
		return rows, st.show.print(rows)
	}
	// Rows of a query print as text whatever the session's format is.
	sc.steps[0].query.target.format = TableFormat
	err = s.runQuery(ctx, sc.steps[0].query, rows)
	if failed := s.Wait(); err == nil {
		err = failed
	}
	return rows, err
}

func (r *Rows) begin(columns []heading) error {
	for _, c := range columns {
		r.Types += string(c.letter())
	}
	return nil
}

func (r *Rows) row(cells []cell) error {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = c.text
		if c.null {
			row[i] = "NULL"
		} else if c.text == "NULL" {
			row[i] = "'NULL'" // the word, not the absence of a value
		}
	}
	r.Rows = append(r.Rows, row)
	return nil
}

func (r *Rows) flush() error { return nil }
func (r *Rows) end() error   { return nil }

func (r *Rows) text(s string) error {
	r.Types = "T"
	for line := range strings.Lines(s) {
		r.Rows = append(r.Rows, []string{strings.TrimRight(line, "\n")})
	}
	return nil
}
