package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// storageOf is the storage class that carries a type, which is also the declared type of columns that syncsql makes; "" when
// there is none. README.md has the table.
func storageOf(t arrow.DataType) string {
	switch t.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.INTERVAL_MONTHS, arrow.DURATION:
		return "INTEGER"
	case arrow.FLOAT32, arrow.FLOAT64:
		return "REAL"
	case arrow.DECIMAL128, arrow.STRING, arrow.DATE32, arrow.TIME64, arrow.TIMESTAMP:
		return "TEXT"
	case arrow.BINARY:
		return "BLOB"
	}
	return ""
}

// affinity is what SQLite makes of a declared type.
func affinity(declared string, strict bool) string {
	d := strings.ToUpper(declared)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(d, p) {
				return true
			}
		}
		return false
	}
	switch {
	case strict && d == "ANY":
		return "BLOB" // keeps what it is given
	case has("INT"):
		return "INTEGER"
	case has("CHAR", "CLOB", "TEXT"):
		return "TEXT"
	case has("BLOB") || d == "":
		return "BLOB"
	case has("REAL", "FLOA", "DOUB"):
		return "REAL"
	}
	return "NUMERIC"
}

// fits says why a column with that affinity would change values of the type; "" when it keeps them.
func fits(t arrow.DataType, affinity string) string {
	storage := storageOf(t)
	if affinity == "BLOB" || storage == "BLOB" || storage == affinity {
		return ""
	}
	switch {
	case storage == "INTEGER" && affinity == "NUMERIC":
		return ""
	case storage == "REAL" && affinity != "TEXT":
		return "" // 3.0 becomes 3, which reads back as 3.0
	case storage == "TEXT" && t.ID() != arrow.DECIMAL128 && t.ID() != arrow.STRING:
		return "" // no date or time looks like a number
	case storage == "TEXT":
		return "would turn text that looks like a number into a number"
	}
	return fmt.Sprintf("would turn %s values into something else", strings.ToLower(storage))
}

// encode gives the value of row i, or says why SQLite cannot hold it.
type encode func(i int) (v driver.Value, reason string)

func encoder(a arrow.Array) encode {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) (driver.Value, string) {
			if a.Value(i) {
				return int64(1), ""
			}
			return int64(0), ""
		}
	case *array.Int8:
		return func(i int) (driver.Value, string) { return int64(a.Value(i)), "" }
	case *array.Int16:
		return func(i int) (driver.Value, string) { return int64(a.Value(i)), "" }
	case *array.Int32:
		return func(i int) (driver.Value, string) { return int64(a.Value(i)), "" }
	case *array.Int64:
		return func(i int) (driver.Value, string) { return a.Value(i), "" }
	case *array.MonthInterval:
		return func(i int) (driver.Value, string) { return int64(a.Value(i)), "" }
	case *array.Duration:
		return func(i int) (driver.Value, string) { return int64(a.Value(i)), "" }
	case *array.Float32:
		return func(i int) (driver.Value, string) { return float(float64(a.Value(i))) }
	case *array.Float64:
		return func(i int) (driver.Value, string) { return float(a.Value(i)) }
	case *array.String:
		return func(i int) (driver.Value, string) { return a.Value(i), "" }
	case *array.Binary:
		return func(i int) (driver.Value, string) { return append([]byte{}, a.Value(i)...), "" } // nil would be NULL
	}
	return textEncoder(a)
}

func float(f float64) (driver.Value, string) {
	if math.IsNaN(f) {
		return nil, "SQLite turns NaN into NULL"
	}
	return f, ""
}

// textEncoder spells decimals and times.
func textEncoder(a arrow.Array) encode {
	spell := connectors.Style{}.Text(a)
	var buf []byte
	return func(i int) (driver.Value, string) {
		if t, ok := a.(*array.Timestamp); ok && (t.Value(i) == change.TimestampInfinity || t.Value(i) == change.TimestampNegInfinity) {
			return nil, "SQLite has no infinite timestamp"
		}
		if d, ok := a.(*array.Date32); ok && (d.Value(i) == change.DateInfinity || d.Value(i) == change.DateNegInfinity) {
			return nil, "SQLite has no infinite date"
		}
		buf = spell(buf[:0], i)
		switch a.(type) {
		case *array.Timestamp, *array.Date32:
			if buf[0] == '-' || buf[0] == '+' || string(buf[:4]) == "0000" {
				return nil, "SQLite's dates are those of the years 0001 to 9999"
			}
		}
		return string(buf), ""
	}
}

// decode appends a value that SQLite returned; NULL is not passed to it.
type decode func(v driver.Value) error

func decoder(b array.Builder) decode {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return whole(0, 1, func(n int64) { b.Append(n == 1) })
	case *array.Int8Builder:
		return whole(math.MinInt8, math.MaxInt8, func(n int64) { b.Append(int8(n)) })
	case *array.Int16Builder:
		return whole(math.MinInt16, math.MaxInt16, func(n int64) { b.Append(int16(n)) })
	case *array.Int32Builder:
		return whole(math.MinInt32, math.MaxInt32, func(n int64) { b.Append(int32(n)) })
	case *array.Int64Builder:
		return whole(math.MinInt64, math.MaxInt64, b.Append)
	case *array.MonthIntervalBuilder:
		return whole(math.MinInt32, math.MaxInt32, func(n int64) { b.Append(arrow.MonthInterval(n)) })
	case *array.DurationBuilder:
		return whole(math.MinInt64, math.MaxInt64, func(n int64) { b.Append(arrow.Duration(n)) })
	case *array.Float32Builder:
		return real(24, func(f float64) bool {
			if float64(float32(f)) != f {
				return false
			}
			b.Append(float32(f))
			return true
		})
	case *array.Float64Builder:
		return real(53, func(f float64) bool { b.Append(f); return true })
	case *array.BinaryBuilder:
		return func(v driver.Value) error {
			blob, ok := v.([]byte)
			if !ok {
				return fmt.Errorf("%s is no BLOB", describe(v))
			}
			b.Append(blob)
			return nil
		}
	}
	return textDecoder(b)
}

func whole(low, high int64, add func(int64)) decode {
	return func(v driver.Value) error {
		n, ok := v.(int64)
		if !ok || n < low || n > high {
			return fmt.Errorf("%s is no INTEGER from %d to %d", describe(v), low, high)
		}
		add(n)
		return nil
	}
}

// real takes a REAL, or an INTEGER of so many bits that a float holds it.
func real(bits int, add func(float64) bool) decode {
	return func(v driver.Value) error {
		f, ok := v.(float64)
		if n, whole := v.(int64); whole {
			f, ok = float64(n), n >= -1<<bits && n <= 1<<bits
		}
		if !ok || !add(f) {
			return fmt.Errorf("%s does not fit", describe(v))
		}
		return nil
	}
}

func textDecoder(b array.Builder) decode {
	parse := connectors.Parser(b)
	return func(v driver.Value) error {
		if n, ok := v.(int64); ok {
			if d, isDecimal := b.(*array.Decimal128Builder); isDecimal {
				return wholeDecimal(d, n)
			}
		}
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("%s is no TEXT", describe(v))
		}
		return parse(s)
	}
}

func wholeDecimal(b *array.Decimal128Builder, n int64) error {
	t := b.Type().(*arrow.Decimal128Type)
	d := decimal128.FromI64(n).IncreaseScaleBy(t.Scale)
	if !d.FitsInPrecision(t.Precision) {
		return fmt.Errorf("%d does not fit in DECIMAL(%d, %d)", n, t.Precision, t.Scale)
	}
	b.Append(d)
	return nil
}

// describe names a value in a message.
func describe(v driver.Value) string {
	switch v := v.(type) {
	case int64:
		return fmt.Sprintf("the INTEGER %d", v)
	case float64:
		return fmt.Sprintf("the REAL %g", v)
	case string:
		return fmt.Sprintf("the TEXT %.60q", v)
	case []byte:
		return fmt.Sprintf("a BLOB of %d bytes", len(v))
	}
	return "NULL"
}

// describeRow is a row as a JSON object, as SQLite returned it.
func describeRow(columns []connectors.Column, row []driver.Value) string {
	out := []byte{'{'}
	for i, c := range columns {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(connectors.AppendJSONString(out, c.Name), ':')
		v := row[i]
		if f, ok := v.(float64); ok && math.IsInf(f, 0) {
			v = string(connectors.AppendFloat(nil, f, 64))
		}
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte("null")
		}
		out = append(out, text...)
	}
	return string(append(out, '}'))
}
