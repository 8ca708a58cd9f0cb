package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/syncsql/syncsql/connectors"
)

// create makes the table when it is missing, and otherwise checks that it keeps the values it is given.
func (s *sink) create(ctx context.Context) error {
	t := &s.write.Table
	name := tableName(t)
	l, err := s.conn.look(ctx, name)
	if err != nil {
		return err
	}
	if l != nil {
		return checkLayout(t, name, l)
	}
	if disposition.Get(t.Options) == "create-never" {
		return connectors.Permanent(fmt.Errorf("the file has no table %q", name),
			"create it, or set 'sink.create-disposition' = 'create-if-needed'")
	}
	if _, err := s.conn.exec(ctx, createStatement(t, name)); err != nil {
		return fmt.Errorf("create table %q: %w", name, err)
	}
	return nil
}

func createStatement(t *connectors.Table, name string) string {
	var parts []string
	for _, c := range t.Columns {
		part := quote(c.Name) + " " + storageOf(c.Type)
		if !c.Nullable {
			part += " NOT NULL"
		}
		parts = append(parts, part)
	}
	// A table for appending has no key, even where one is declared: every row is new.
	if len(t.Key) > 0 && t.Mode == "upsert" {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(keyNames(t), ", ")+")")
	}
	return "CREATE TABLE " + quote(name) + " (" + strings.Join(parts, ", ") + ")"
}

func keyNames(t *connectors.Table) []string {
	names := make([]string, len(t.Key))
	for i, k := range t.Key {
		names[i] = quote(t.Columns[k].Name)
	}
	return names
}

func checkLayout(t *connectors.Table, name string, l *layout) error {
	var wrong []string
	for _, c := range t.Columns {
		declared, ok := l.columns[strings.ToLower(c.Name)]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("it has no column %q", c.Name))
			continue
		}
		if why := fits(c.Type, affinity(declared, l.strict)); why != "" {
			wrong = append(wrong, fmt.Sprintf("column %q, declared as %q, %s: declare it %s", c.Name, declared, why, storageOf(c.Type)))
		}
	}
	if wrong == nil {
		return nil
	}
	return connectors.Permanent(fmt.Errorf("SQLite table %q: %s", name, strings.Join(wrong, "; ")), "")
}
