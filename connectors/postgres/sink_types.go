package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
)

// typeLoader reads types from the catalog, each once.
type typeLoader struct {
	conn  *pgconn.PgConn
	types map[uint32]*targetType
}

// load reads one type. A domain is what it is based on, under its own name.
func (l *typeLoader) load(ctx context.Context, oid uint32) (*targetType, error) {
	if t := l.types[oid]; t != nil {
		return t, nil
	}
	rows, err := query(ctx, l.conn, `select format_type(t.oid, -1), p.proname, t.typarray, t.typelem, t.typbasetype, t.typtypmod
		from pg_type t join pg_proc p on p.oid = t.typreceive where t.oid = $1`, fmt.Sprint(oid))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, connectors.Permanent(fmt.Errorf("type %d has no binary form", oid), "")
	}
	r := rows[0]
	t := &targetType{oid: oid, base: oid, name: r[0], receive: r[1]}
	var elem, base uint32
	if _, err := fmt.Sscan(strings.Join(r[2:], " "), &t.array, &elem, &base, &t.typmod); err != nil {
		return nil, fmt.Errorf("look at type %s: %w", t.name, err)
	}
	switch {
	case base != 0:
		b, err := l.load(ctx, base)
		if err != nil {
			return nil, err
		}
		typmod := t.typmod
		*t = *b
		t.oid, t.name = oid, r[0]
		if typmod >= 0 {
			t.setTypmod(typmod)
		}
	case t.receive == "array_recv":
		if t.elem, err = l.load(ctx, elem); err != nil {
			return nil, err
		}
	}
	l.types[oid] = t
	return t, nil
}

// columnSQL is the type of a column in a table that is created.
func columnSQL(c connectors.Column) (string, error) {
	typ := strings.ToUpper(c.SQL)
	arg := ""
	if i := strings.IndexByte(typ, '('); i >= 0 && strings.IndexByte(typ[i:], ')') > 0 {
		arg = typ[i : i+strings.IndexByte(typ[i:], ')')+1]
	}
	return typeSQL(c.Type, typ, arg)
}

func typeSQL(t arrow.DataType, typ, arg string) (string, error) {
	simple := map[arrow.Type]string{
		arrow.BOOL: "boolean", arrow.INT8: "smallint", arrow.INT16: "smallint", arrow.INT32: "integer", arrow.INT64: "bigint",
		arrow.FLOAT32: "real", arrow.FLOAT64: "double precision", arrow.BINARY: "bytea", arrow.DATE32: "date",
		arrow.DURATION: "interval", arrow.INTERVAL_MONTHS: "interval year to month",
	}
	if s, ok := simple[t.ID()]; ok {
		return s, nil
	}
	switch t := t.(type) {
	case *arrow.Decimal128Type:
		return fmt.Sprintf("numeric(%d,%d)", t.Precision, t.Scale), nil
	case *arrow.StringType:
		if arg != "" && strings.HasPrefix(typ, "VARCHAR(") {
			return "varchar" + arg, nil
		}
		if arg != "" && strings.HasPrefix(typ, "CHAR(") {
			return "char" + arg, nil
		}
		return "text", nil
	case *arrow.Time64Type:
		return "time" + precision(arg), nil
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "timestamp" + precision(arg) + " with time zone", nil
		}
		return "timestamp" + precision(arg), nil
	case *arrow.ListType:
		elem, err := typeSQL(t.Elem(), "", "")
		if err != nil || strings.HasSuffix(elem, "]") {
			return "", fmt.Errorf("no Postgres type carries %s", typ)
		}
		return elem + "[]", nil
	}
	return "", fmt.Errorf("no Postgres type carries %s", typ)
}

// precision is a declared precision as Postgres takes it, which keeps microseconds at most.
func precision(arg string) string {
	if len(arg) == 3 && arg[1] >= '0' && arg[1] <= '6' {
		return arg
	}
	return ""
}
