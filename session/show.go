package session

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/ddl"
)

// shown is the result of SHOW, DESCRIBE, EXPLAIN or SET: a table, or one piece of text.
type shown struct {
	catalog.Rows
	text string
}

func (r *shown) print(p printer) error {
	if r.Columns == nil {
		return p.text(r.text)
	}
	columns := make([]heading, len(r.Columns))
	for i, name := range r.Columns {
		columns[i].Name = name
	}
	if err := p.begin(columns); err != nil {
		return err
	}
	for _, row := range r.Values {
		cells := make([]cell, len(row))
		for i, v := range row {
			cells[i] = textCell(v)
		}
		if err := p.row(cells); err != nil {
			return err
		}
	}
	return p.end()
}

// show answers SHOW and DESCRIBE from the catalog as it is at that place of the script.
func (s *Session) show(stmt ddl.Statement) (*shown, ddl.Errors) {
	var rows catalog.Rows
	var errs ddl.Errors
	switch stmt := stmt.(type) {
	case *ddl.Describe:
		if v, ok := s.catalog.View(stmt.Name); ok {
			return s.describeView(stmt, v)
		}
		rows, errs = s.catalog.Describe(stmt)
	case *ddl.Show:
		rows, errs = s.catalog.Show(stmt)
		if len(errs) == 0 && strings.HasPrefix(stmt.What, "CREATE ") {
			return &shown{text: rows.Values[0][0]}, nil
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return &shown{Rows: rows}, nil
}

// describeView lists the columns of a view, which only its query knows.
func (s *Session) describeView(d *ddl.Describe, v *catalog.View) (*shown, ddl.Errors) {
	star := &ddl.Select{At: d.At, Items: []ddl.SelectItem{{At: d.At, Star: true}}, From: &ddl.TableName{At: d.Name.Span(), Name: d.Name}}
	q, errs := s.planQuery(&ddl.Query{At: d.At, Body: star})
	if q == nil {
		return nil, errs
	}
	r := &shown{Rows: catalog.Rows{Columns: []string{"name", "type", "null"}}}
	for _, c := range q.pipeline.Sinks[0].Table.Columns {
		null := strings.ToUpper(strconv.FormatBool(c.Nullable))
		r.Values = append(r.Values, []string{c.Name, strings.TrimSuffix(c.SQL, " NOT NULL"), null})
	}
	return r, nil
}

// Physical is what a declared table is called in its system, and its columns there: neither computed nor metadata.
func (s *Session) Physical(table string) (name string, columns []string, err error) {
	t, ok := s.catalog.Table(ddl.Path{{Name: table}})
	if !ok {
		return "", nil, fmt.Errorf("table %q is not declared", table)
	}
	name = t.Name
	if e, ok := t.Options.Lookup("table-name"); ok {
		name = e.Text
	}
	for _, c := range t.Columns {
		if c.Type != nil && !c.Metadata {
			columns = append(columns, c.Name.Name)
		}
	}
	return name, columns, nil
}
