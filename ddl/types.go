package ddl

import (
	"fmt"
	"strings"
)

// TypeKind is a Flink SQL type without its parameters.
type TypeKind uint8

const (
	Invalid TypeKind = iota
	Null             // the type of a bare NULL
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	Varchar // STRING is VARCHAR(MaxLength)
	BinaryType
	Varbinary // BYTES is VARBINARY(MaxLength)
	Date
	Time
	Timestamp
	TimestampLTZ
	IntervalYearMonth
	IntervalDaySecond
	Array
	Map
	Multiset
	Row
)

// MaxLength is the length of STRING and BYTES.
const MaxLength = 1<<31 - 1

// Type is a SQL type. Length counts characters or bytes; Precision is that of DECIMAL or the fractional digits of a time.
type Type struct {
	At        Span
	Kind      TypeKind
	Length    int
	Precision int
	Scale     int
	NotNull   bool
	Elem      *Type // ARRAY, MULTISET, MAP's value
	Key       *Type // MAP
	Fields    []RowField
}

// RowField is one field of ROW.
type RowField struct {
	Name    string
	Type    *Type
	Comment string
}

// String spells the type as SQL; parsing it gives an equal type.
func (t *Type) String() string {
	s := t.base()
	if t.NotNull {
		s += " NOT NULL"
	}
	return s
}

func (t *Type) base() string {
	switch t.Kind {
	case Null:
		return "NULL"
	case Boolean:
		return "BOOLEAN"
	case TinyInt:
		return "TINYINT"
	case SmallInt:
		return "SMALLINT"
	case Int:
		return "INT"
	case BigInt:
		return "BIGINT"
	case Float:
		return "FLOAT"
	case Double:
		return "DOUBLE"
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Char:
		return fmt.Sprintf("CHAR(%d)", t.Length)
	case Varchar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return fmt.Sprintf("VARCHAR(%d)", t.Length)
	case BinaryType:
		return fmt.Sprintf("BINARY(%d)", t.Length)
	case Varbinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return fmt.Sprintf("VARBINARY(%d)", t.Length)
	case Date:
		return "DATE"
	case Time:
		return fmt.Sprintf("TIME(%d)", t.Precision)
	case Timestamp:
		return fmt.Sprintf("TIMESTAMP(%d)", t.Precision)
	case TimestampLTZ:
		return fmt.Sprintf("TIMESTAMP_LTZ(%d)", t.Precision)
	case IntervalYearMonth:
		return "INTERVAL YEAR TO MONTH"
	case IntervalDaySecond:
		return fmt.Sprintf("INTERVAL DAY TO SECOND(%d)", t.Precision)
	case Array:
		return "ARRAY<" + t.Elem.String() + ">"
	case Multiset:
		return "MULTISET<" + t.Elem.String() + ">"
	case Map:
		return "MAP<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case Row:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = QuoteIdent(f.Name) + " " + f.Type.String()
		}
		return "ROW<" + strings.Join(fields, ", ") + ">"
	}
	return "INVALID"
}

// Equal compares two types, nullability and places aside.
func (t *Type) Equal(o *Type) bool {
	a, b := *t, *o
	a.NotNull, b.NotNull = false, false
	return a.base() == b.base()
}

// QuoteIdent writes a name between backticks, doubling those inside.
func QuoteIdent(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// QuoteString writes a string literal.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
