package postgres

import (
	"fmt"
	"strings"
)

// The statements of a target. Columns are in writing order: the key first. In a set statement every column is one array,
// and u is the relation that they make.

// list joins what f says of the columns from first on.
func (t *target) list(first int, sep string, f func(i int, c *targetColumn) string) string {
	var parts []string
	for i := first; i < len(t.columns); i++ {
		parts = append(parts, f(i, &t.columns[i]))
	}
	return strings.Join(parts, sep)
}

func (t *target) columnList() string {
	return t.list(0, ", ", func(_ int, c *targetColumn) string { return quoteIdent(c.name) })
}

func (t *target) copySQL() string {
	return fmt.Sprintf("copy %s (%s) from stdin (format binary)", t.name.sql(), t.columnList())
}

// insertInto is the head of an INSERT. A value for an identity column is a value like any other here.
func (t *target) insertInto() string {
	s := fmt.Sprintf("insert into %s (%s)", t.name.sql(), t.columnList())
	if t.identity {
		s += " overriding system value"
	}
	return s
}

// onConflict makes an insert an upsert; "" without a key.
func (t *target) onConflict() string {
	if t.keys == 0 {
		return ""
	}
	var keys []string
	for _, c := range t.columns[:t.keys] {
		keys = append(keys, quoteIdent(c.name))
	}
	s := " on conflict (" + strings.Join(keys, ", ") + ") do "
	if t.keys == len(t.columns) {
		return s + "nothing"
	}
	return s + "update set " + t.list(t.keys, ", ", func(_ int, c *targetColumn) string {
		return quoteIdent(c.name) + " = excluded." + quoteIdent(c.name)
	})
}

// rowInsertSQL writes one row.
func (t *target) rowInsertSQL() string {
	values := t.list(0, ", ", func(i int, _ *targetColumn) string { return fmt.Sprintf("$%d", i+1) })
	return t.insertInto() + " values (" + values + ")" + t.onConflict()
}

// rowDeleteSQL deletes by key.
func (t *target) rowDeleteSQL() string {
	return fmt.Sprintf("delete from %s where %s", t.name.sql(), t.keyIs(func(i int, c *targetColumn) string {
		return fmt.Sprintf("$%d::%s", i+1, c.typ.name)
	}))
}

// rowUpdateSQL sets the sent columns of one row; sent are columns after the key.
func (t *target) rowUpdateSQL(sent []int) string {
	var set []string
	for n, i := range sent {
		set = append(set, fmt.Sprintf("%s = $%d", quoteIdent(t.columns[i].name), t.keys+n+1))
	}
	return fmt.Sprintf("update %s set %s where %s", t.name.sql(), strings.Join(set, ", "),
		t.keyIs(func(i int, c *targetColumn) string { return fmt.Sprintf("$%d::%s", i+1, c.typ.name) }))
}

func (t *target) keyIs(value func(i int, c *targetColumn) string) string {
	var parts []string
	for i := range t.columns[:t.keys] {
		parts = append(parts, quoteIdent(t.columns[i].name)+" = "+value(i, &t.columns[i]))
	}
	return strings.Join(parts, " and ")
}

// unnest is the relation u over arrays of the given columns.
func (t *target) unnest(columns []int) string {
	var params, names []string
	for n, i := range columns {
		params = append(params, fmt.Sprintf("$%d", n+1))
		names = append(names, fmt.Sprintf("c%d", i))
	}
	return "unnest(" + strings.Join(params, ", ") + ") u(" + strings.Join(names, ", ") + ")"
}

// fromSet is column i of u, in its own type. A length or precision is left out: an explicit cast to one would cut values
// off in silence, the assignment to the column does not.
func fromSet(i int, c *targetColumn) string {
	if c.enc.text {
		return fmt.Sprintf("u.c%d::%s", i, c.typ.name)
	}
	return fmt.Sprintf("u.c%d", i)
}

func (t *target) all() []int {
	columns := make([]int, len(t.columns))
	for i := range columns {
		columns[i] = i
	}
	return columns
}

func (t *target) setInsertSQL() string {
	return t.insertInto() + " select " + t.list(0, ", ", fromSet) + " from " + t.unnest(t.all()) + t.onConflict()
}

// setUpdateSQL sets the sent columns; nil means all that follow the key.
func (t *target) setUpdateSQL(sent []int) string {
	var set []string
	columns := t.all()[:t.keys:t.keys]
	for _, i := range sent {
		columns = append(columns, i)
		set = append(set, quoteIdent(t.columns[i].name)+" = "+fromSet(i, &t.columns[i]))
	}
	return fmt.Sprintf("update %s t set %s from %s where %s", t.name.sql(), strings.Join(set, ", "), t.unnest(columns), t.keyOfSet())
}

func (t *target) keyOfSet() string {
	var parts []string
	for i := range t.columns[:t.keys] {
		parts = append(parts, "t."+quoteIdent(t.columns[i].name)+" = "+fromSet(i, &t.columns[i]))
	}
	return strings.Join(parts, " and ")
}

func (t *target) setDeleteSQL() string {
	if t.keys == 1 && !t.columns[0].enc.text {
		return fmt.Sprintf("delete from %s where %s = any($1)", t.name.sql(), quoteIdent(t.columns[0].name))
	}
	return fmt.Sprintf("delete from %s t using %s where %s", t.name.sql(), t.unnest(t.all()[:t.keys]), t.keyOfSet())
}

// arrayTypes are the types of the parameters of a set statement.
func (t *target) arrayTypes(columns []int) []uint32 {
	oids := make([]uint32, len(columns))
	for n, i := range columns {
		oids[n] = t.columns[i].typ.array
		if t.columns[i].enc.text {
			oids[n] = typeTextArray
		}
	}
	return oids
}

// createSQL is the statement that makes the table as it was declared.
func createSQL(n name, columns []declaredColumn, key []string) string {
	var lines []string
	for _, c := range columns {
		line := "  " + quoteIdent(c.name) + " " + c.typ
		if c.notNull {
			line += " not null"
		}
		lines = append(lines, line)
	}
	if len(key) > 0 {
		lines = append(lines, "  primary key ("+quoteList(key)+")")
	}
	return "create table " + n.sql() + " (\n" + strings.Join(lines, ",\n") + "\n)"
}

func quoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quoteIdent(n)
	}
	return strings.Join(quoted, ", ")
}
