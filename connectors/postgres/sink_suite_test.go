package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// TestSinkSuite is the suite of every connector, for the write modes.
func TestSinkSuite(t *testing.T) {
	connectortest.Run(t, connectortest.Case{
		Connector: Connector(),
		// Postgres has no maps, and its times keep microseconds; rows and maps are declared STRING.
		Columns: connectortest.Without(connectortest.Columns(), "MAP", "ROW", "TIME(9)", "TIMESTAMP(9)"),
		Holds:   connectortest.Holds{NaN: true, Infinity: true, NegativeZero: true, InfiniteTimes: true, FarYears: true},
		Target: func(t *testing.T, _ connectors.WriteMode, table connectors.Table) connectortest.Target {
			url := pgtest.Start(t).CreateDB(t)
			return connectortest.Target{
				Options: map[string]string{"url": url, "table-name": "t", createDisposition.Key: "create-if-needed"},
				Rows:    func(t *testing.T) []connectortest.Row { return readTable(t, url, table.Columns) },
			}
		},
	})
}

// readTable reads the table with a plain query; times come as numbers, so that nothing depends on a text form.
func readTable(t *testing.T, url string, columns []connectors.Column) []connectortest.Row {
	t.Helper()
	var exprs []string
	for _, c := range columns {
		exprs = append(exprs, fmt.Sprintf(readForm(c.Type), quoteIdent(c.Name)))
	}
	bld := array.NewRecordBuilder(memory.NewGoAllocator(), connectortest.Schema(columns))
	defer bld.Release()
	rows := pgtest.Rows(t, url, "select "+strings.Join(exprs, ", ")+" from t")
	for _, r := range rows {
		for c, text := range r {
			if text == "NULL" {
				bld.Field(c).AppendNull()
				continue
			}
			appendText(t, bld.Field(c), strings.TrimPrefix(text, "="))
		}
	}
	b := change.Batch{Record: bld.NewRecordBatch()}
	defer b.Release()
	return connectortest.Rows(&b)
}

// readForm begins a text with =, so that NULL is not mixed up with the text NULL.
func readForm(t arrow.DataType) string {
	const infinite = "case when isfinite(%[1]s) then (extract(epoch from %[1]s) * 1000000)::bigint when %[1]s > '2000-01-01' then 9223372036854775807 when %[1]s < '2000-01-01' then -9223372036854775808 end"
	switch t.ID() {
	case arrow.STRING:
		return "'=' || %s"
	case arrow.BINARY:
		return "'=' || encode(%s, 'hex')"
	case arrow.DATE32:
		return "case when isfinite(%[1]s) then %[1]s - date '1970-01-01' when %[1]s > '2000-01-01' then 2147483647 when %[1]s < '2000-01-01' then -2147483648 end"
	case arrow.TIME64, arrow.DURATION:
		return "(extract(epoch from %s) * 1000000)::bigint"
	case arrow.TIMESTAMP:
		return infinite
	case arrow.INTERVAL_MONTHS:
		return "(extract(year from %[1]s) * 12 + extract(month from %[1]s))::int"
	case arrow.LIST:
		return "array_to_json(%s)::text"
	}
	return "%s::text"
}

func appendText(t *testing.T, b array.Builder, text string) {
	t.Helper()
	whole := func() int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(text)
	case *array.BinaryBuilder:
		var v []byte
		if _, err := fmt.Sscanf(text, "%x", &v); err != nil && text != "" {
			t.Fatal(err)
		}
		b.Append(v)
	case *array.Date32Builder:
		b.Append(arrow.Date32(whole()))
	case *array.Time64Builder:
		b.Append(arrow.Time64(whole()))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(whole()))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(whole()))
	case *array.MonthIntervalBuilder:
		b.Append(arrow.MonthInterval(whole()))
	default:
		if err := b.AppendValueFromString(text); err != nil {
			t.Fatalf("%s for %s: %v", text, b.Type(), err)
		}
	}
}
