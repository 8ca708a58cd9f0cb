package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/connectors"
)

// whereSQL spells a predicate for the server, or "" when it has a part whose meaning could differ there: the engine applies
// it again, so the server may let too much through but never too little. Under NOT that turns round, so everything is
// spelled or nothing is. columns collects the columns that it reads.
func (t *tableRead) whereSQL(p *connectors.Predicate, columns map[string]bool) string {
	if p == nil {
		return ""
	}
	switch p.Op {
	case "AND", "OR":
		var parts []string
		for _, a := range p.Args {
			s := t.whereSQL(a, columns)
			if s == "" {
				return ""
			}
			parts = append(parts, s)
		}
		return "(" + strings.Join(parts, " "+p.Op+" ") + ")"
	case "NOT":
		if s := t.whereSQL(p.Args[0], columns); s != "" {
			return "(NOT " + s + ")"
		}
		return ""
	}
	return t.conditionSQL(p, columns)
}

func (t *tableRead) conditionSQL(p *connectors.Predicate, columns map[string]bool) string {
	if p.Column < 0 || p.Column >= len(t.physical) || t.physical[p.Column] < 0 {
		return ""
	}
	col := &t.info.columns[t.physical[p.Column]]
	id := quoteIdent(col.name)
	columns[col.name] = true
	switch p.Op {
	case "IS NULL", "IS NOT NULL":
		return "(" + id + " " + p.Op + ")"
	}
	if !comparable(col.oid, p.Op) {
		return ""
	}
	var values []string
	for _, v := range p.Values {
		s := literalSQL(v, t.Columns[p.Column].Type, col)
		if s == "" {
			return ""
		}
		values = append(values, s)
	}
	if isText(col.oid) {
		id += ` COLLATE "C"` // the engine compares bytes
	}
	switch p.Op {
	case "IN":
		return "(" + id + " IN (" + strings.Join(values, ", ") + "))"
	case "=", "<>", "<", "<=", ">", ">=":
		if len(values) == 1 {
			return "(" + id + " " + p.Op + " " + values[0] + ")"
		}
	}
	return ""
}

func isText(oid uint32) bool { return oid == pgText || oid == pgVarchar }

// comparable names the types that Postgres and the engine compare alike: not those with NaN, padding or case folding.
func comparable(oid uint32, _ string) bool {
	switch oid {
	case pgBool, pgInt2, pgInt4, pgInt8, pgDate, pgTimestamp, pgTimestampTZ, pgNumeric:
		return true
	}
	return isText(oid)
}

// literalSQL spells a constant, "" when it cannot.
func literalSQL(v any, declared arrow.DataType, col *sourceColumn) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		if strings.ContainsRune(v, 0) {
			return ""
		}
		if col.oid == pgNumeric {
			if declared.ID() != arrow.DECIMAL128 {
				return ""
			}
			return quoteLiteral(v) + "::pg_catalog.numeric"
		}
		if isText(col.oid) {
			return quoteLiteral(v)
		}
	case time.Time:
		if v.Year() < 1 || v.Year() > 9999 {
			return ""
		}
		switch col.oid {
		case pgDate:
			return fmt.Sprintf("'%s'::pg_catalog.date", v.UTC().Format("2006-01-02"))
		case pgTimestamp, pgTimestampTZ:
			if v.Nanosecond()%1000 != 0 {
				return ""
			}
			if col.oid == pgTimestamp {
				return fmt.Sprintf("'%s'::pg_catalog.timestamp", v.UTC().Format("2006-01-02 15:04:05.000000"))
			}
			return fmt.Sprintf("'%s+00'::pg_catalog.timestamptz", v.UTC().Format("2006-01-02 15:04:05.000000"))
		}
	}
	return ""
}
