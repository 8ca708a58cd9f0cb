package catalog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/option"
)

// Rows are the answer to SHOW, DESCRIBE or SET as data; every value is text. No secret is among them.
type Rows struct {
	Columns []string
	Values  [][]string
}

// Show answers SHOW.
func (c *Catalog) Show(s *ddl.Show) (Rows, ddl.Errors) {
	switch s.What {
	case "TABLES":
		return one("table name", append(c.tables.list(), c.views.list()...)).like(s), nil
	case "VIEWS":
		return one("view name", c.views.list()).like(s), nil
	case "FUNCTIONS", "USER FUNCTIONS":
		return one("function name", nil).like(s), nil
	case "CATALOGS":
		return one("catalog name", []string{DefaultCatalog}).like(s), nil
	case "DATABASES":
		return one("database name", []string{DefaultDatabase}).like(s), nil
	case "CURRENT CATALOG":
		return one("current catalog name", []string{DefaultCatalog}), nil
	case "CURRENT DATABASE":
		return one("current database name", []string{DefaultDatabase}), nil
	case "COLUMNS":
		return c.Describe(&ddl.Describe{At: s.At, Name: s.Name})
	case "CREATE TABLE":
		if t, ok := c.Table(s.Name); ok {
			return one("result", []string{t.String()}), nil
		}
		if v, ok := c.View(s.Name); ok {
			return Rows{}, ddl.Errors{ddl.Errorf(s.Name.Span(), "unknown-table", "%q is a view, not a table", v.Name).
				WithHelp("write SHOW CREATE VIEW %s", v.Name)}
		}
		return Rows{}, ddl.Errors{c.Unknown(s.Name)}
	case "CREATE VIEW":
		if v, ok := c.View(s.Name); ok {
			return one("result", []string{ddl.Print(v.Statement)}), nil
		}
		return Rows{}, ddl.Errors{c.Unknown(s.Name)}
	}
	return Rows{}, ddl.Errors{ddl.Errorf(s.At, "unsupported-statement", "SHOW %s is not supported", s.What).
		WithHelp("there are SHOW TABLES, VIEWS, FUNCTIONS, COLUMNS, CREATE TABLE and CREATE VIEW")}
}

func one(column string, values []string) Rows {
	r := Rows{Columns: []string{column}}
	for _, v := range values {
		r.Values = append(r.Values, []string{v})
	}
	return r
}

// like keeps the rows whose first value matches [NOT] LIKE.
func (r Rows) like(s *ddl.Show) Rows {
	if s.Like == "" {
		return r
	}
	pattern := strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(s.Like))
	matches := regexp.MustCompile("^(?s:" + pattern + ")$").MatchString
	kept := Rows{Columns: r.Columns}
	for _, row := range r.Values {
		if matches(row[0]) != s.NotLike {
			kept.Values = append(kept.Values, row)
		}
	}
	return kept
}

// Describe answers DESCRIBE, with Flink's columns.
func (c *Catalog) Describe(s *ddl.Describe) (Rows, ddl.Errors) {
	t, ok := c.Table(s.Name)
	if !ok {
		return Rows{}, ddl.Errors{c.Unknown(s.Name)}
	}
	r := Rows{Columns: []string{"name", "type", "null", "key", "extras", "watermark"}}
	for i, col := range t.Columns {
		row := []string{col.Name.Name, "", "TRUE", "", "", ""}
		typ := col.Type
		if typ == nil {
			typ = t.Computed[i]
		}
		if typ != nil {
			bare := *typ
			bare.NotNull = false
			row[1], row[2] = bare.String(), strings.ToUpper(strconv.FormatBool(!typ.NotNull))
		}
		if slices.Contains(t.Key, i) {
			row[3] = "PRI(" + strings.Join(t.KeyNames(), ", ") + ")"
		}
		switch {
		case col.Metadata:
			row[4] = "METADATA FROM " + ddl.QuoteString(col.Key)
			if col.Virtual {
				row[4] += " VIRTUAL"
			}
		case col.Expr != nil:
			row[4] = "AS " + ddl.PrintExpr(col.Expr)
		}
		if w := t.Statement.Watermark; w != nil && w.Column[0].Name == col.Name.Name {
			row[5] = ddl.PrintExpr(w.Expr)
		}
		r.Values = append(r.Values, row)
	}
	return r, nil
}

// String is the CREATE TABLE statement without its secrets.
func (t *Table) String() string {
	return ddl.PrintRedacted(t.Statement, func(key, value string) string {
		return ddl.RedactValue(value, t.Secrets[key] || ddl.IsSecretKey(key))
	})
}

// SettingRows answers SET without a key: every setting with its value, in the order of the declarations, then those of Flink
// that were set.
func (c *Catalog) SettingRows() Rows {
	r := Rows{Columns: []string{"key", "value", "set"}}
	for i := range Settings {
		key := Settings[i].Key
		r.Values = append(r.Values, []string{key, c.settings.Text(Settings, key), strconv.FormatBool(c.settings.Has(key))})
	}
	for _, key := range c.settings.Keys() {
		if option.Find(Settings, key) == nil {
			e, _ := c.settings.Lookup(key)
			r.Values = append(r.Values, []string{key, ddl.RedactValue(e.Text, ddl.IsSecretKey(key)), "true"})
		}
	}
	return r
}
