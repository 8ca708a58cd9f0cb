// Package connectortest is the suite that every connector passes: Run checks each write mode and each read mode of a
// connector against the contract of package connectors, on generated tables with every type and generated changes.
//
// It must never know a system: what it needs to know stands in Case. README.md says how to plug a connector in.
package connectortest

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/connectors"
)

// Columns are two key columns, id and region, and one nullable column of every Flink SQL type.
func Columns() []connectors.Column {
	list := arrow.ListOfField(arrow.Field{Name: "item", Type: arrow.BinaryTypes.String, Nullable: true})
	dict := arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64)
	dict.SetItemNullable(true)
	row := arrow.StructOf(
		arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		arrow.Field{Name: "y", Type: &arrow.Decimal128Type{Precision: 20, Scale: 4}, Nullable: true})
	micro, nano := arrow.Microsecond, arrow.Nanosecond
	return append([]connectors.Column{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, SQL: "BIGINT"},
		{Name: "region", Type: arrow.BinaryTypes.String, SQL: "VARCHAR(20)"},
	}, nullable(
		"bool", "BOOLEAN", arrow.FixedWidthTypes.Boolean,
		"tiny", "TINYINT", arrow.PrimitiveTypes.Int8,
		"small", "SMALLINT", arrow.PrimitiveTypes.Int16,
		"int", "INT", arrow.PrimitiveTypes.Int32,
		"big", "BIGINT", arrow.PrimitiveTypes.Int64,
		"float", "FLOAT", arrow.PrimitiveTypes.Float32,
		"double", "DOUBLE", arrow.PrimitiveTypes.Float64,
		"dec10", "DECIMAL(10, 2)", &arrow.Decimal128Type{Precision: 10, Scale: 2},
		"dec38", "DECIMAL(38, 18)", &arrow.Decimal128Type{Precision: 38, Scale: 18},
		"char", "CHAR(4)", arrow.BinaryTypes.String,
		"varchar", "VARCHAR(20)", arrow.BinaryTypes.String,
		"string", "STRING", arrow.BinaryTypes.String,
		"binary", "BINARY(4)", arrow.BinaryTypes.Binary,
		"bytes", "BYTES", arrow.BinaryTypes.Binary,
		"date", "DATE", arrow.PrimitiveTypes.Date32,
		"time0", "TIME(0)", &arrow.Time64Type{Unit: micro},
		"time9", "TIME(9)", &arrow.Time64Type{Unit: nano},
		"ts3", "TIMESTAMP(3)", &arrow.TimestampType{Unit: micro},
		"ts6", "TIMESTAMP(6)", &arrow.TimestampType{Unit: micro},
		"ts9", "TIMESTAMP(9)", &arrow.TimestampType{Unit: nano},
		"ltz3", "TIMESTAMP_LTZ(3)", &arrow.TimestampType{Unit: micro, TimeZone: "UTC"},
		"ltz6", "TIMESTAMP_LTZ(6)", &arrow.TimestampType{Unit: micro, TimeZone: "UTC"},
		"months", "INTERVAL YEAR TO MONTH", arrow.FixedWidthTypes.MonthInterval,
		"span", "INTERVAL DAY TO SECOND(6)", &arrow.DurationType{Unit: micro},
		"list", "ARRAY<STRING>", list,
		"dict", "MAP<STRING, BIGINT>", dict,
		"row", "ROW<`x` INT, `y` DECIMAL(20, 4)>", row,
	)...)
}

func nullable(triples ...any) []connectors.Column {
	var cols []connectors.Column
	for i := 0; i < len(triples); i += 3 {
		cols = append(cols, connectors.Column{Name: "c_" + triples[i].(string), SQL: triples[i+1].(string),
			Type: triples[i+2].(arrow.DataType), Nullable: true})
	}
	return cols
}

// Without leaves out the columns whose declared type starts with one of the words, such as "ARRAY" or "TIME(9)".
func Without(cols []connectors.Column, types ...string) []connectors.Column {
	var kept []connectors.Column
next:
	for _, c := range cols {
		for _, t := range types {
			if strings.HasPrefix(c.SQL, t) {
				continue next
			}
		}
		kept = append(kept, c)
	}
	return kept
}

// parameter is the number between the parentheses of a declared type, or otherwise.
func parameter(sql string, otherwise int) int {
	_, rest, ok := strings.Cut(sql, "(")
	if !ok {
		return otherwise
	}
	text, _, _ := strings.Cut(strings.TrimRight(rest, ")"), ",")
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return n
}

// Holds says which unusual values a system can hold. Values that it cannot hold are generated only as bad rows, which the
// connector must hand to Reject.
type Holds struct {
	NaN           bool // in FLOAT and DOUBLE
	Infinity      bool // in FLOAT and DOUBLE
	NegativeZero  bool // as a value of its own; false: not generated at all
	NUL           bool // the character U+0000 in text
	InfiniteTimes bool // infinite dates and timestamps
	FarYears      bool // years outside 1 to 9999
}
