package catalog

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/ddl"
)

// SQLType is the widest SQL type that an Arrow type carries: STRING for every text, BYTES for every binary, the precision
// of the unit for times, MAP for MULTISET. ArrowType of the result is the Arrow type again.
func SQLType(t arrow.DataType) (*ddl.Type, error) {
	switch t := t.(type) {
	case *arrow.Decimal128Type:
		return &ddl.Type{Kind: ddl.Decimal, Precision: int(t.Precision), Scale: int(t.Scale)}, nil
	case *arrow.Time64Type:
		return &ddl.Type{Kind: ddl.Time, Precision: precision(t.Unit)}, known(t, t.Unit)
	case *arrow.TimestampType:
		kind := ddl.Timestamp
		if t.TimeZone == "UTC" {
			kind = ddl.TimestampLTZ
		} else if t.TimeZone != "" {
			return nil, fmt.Errorf("no SQL type for %s", t)
		}
		return &ddl.Type{Kind: kind, Precision: precision(t.Unit)}, known(t, t.Unit)
	case *arrow.DurationType:
		return &ddl.Type{Kind: ddl.IntervalDaySecond, Precision: precision(t.Unit)}, known(t, t.Unit)
	case *arrow.ListType:
		elem, err := fieldType(t.ElemField())
		return &ddl.Type{Kind: ddl.Array, Elem: elem}, err
	case *arrow.MapType:
		key, err := fieldType(t.KeyField())
		if err != nil {
			return nil, err
		}
		elem, err := fieldType(t.ItemField())
		return &ddl.Type{Kind: ddl.Map, Key: key, Elem: elem}, err
	case *arrow.StructType:
		row := &ddl.Type{Kind: ddl.Row}
		for _, f := range t.Fields() {
			ft, err := fieldType(f)
			if err != nil {
				return nil, err
			}
			row.Fields = append(row.Fields, ddl.RowField{Name: f.Name, Type: ft})
		}
		return row, nil
	}
	return plainSQLType(t)
}

func plainSQLType(t arrow.DataType) (*ddl.Type, error) {
	switch t.ID() {
	case arrow.NULL:
		return &ddl.Type{Kind: ddl.Null}, nil
	case arrow.BOOL:
		return &ddl.Type{Kind: ddl.Boolean}, nil
	case arrow.INT8:
		return &ddl.Type{Kind: ddl.TinyInt}, nil
	case arrow.INT16:
		return &ddl.Type{Kind: ddl.SmallInt}, nil
	case arrow.INT32:
		return &ddl.Type{Kind: ddl.Int}, nil
	case arrow.INT64:
		return &ddl.Type{Kind: ddl.BigInt}, nil
	case arrow.FLOAT32:
		return &ddl.Type{Kind: ddl.Float}, nil
	case arrow.FLOAT64:
		return &ddl.Type{Kind: ddl.Double}, nil
	case arrow.STRING:
		return &ddl.Type{Kind: ddl.Varchar, Length: ddl.MaxLength}, nil
	case arrow.BINARY:
		return &ddl.Type{Kind: ddl.Varbinary, Length: ddl.MaxLength}, nil
	case arrow.DATE32:
		return &ddl.Type{Kind: ddl.Date}, nil
	case arrow.INTERVAL_MONTHS:
		return &ddl.Type{Kind: ddl.IntervalYearMonth}, nil
	}
	return nil, fmt.Errorf("no SQL type for %s", t)
}

func fieldType(f arrow.Field) (*ddl.Type, error) {
	t, err := SQLType(f.Type)
	if err != nil {
		return nil, err
	}
	t.NotNull = !f.Nullable
	return t, nil
}

func precision(u arrow.TimeUnit) int {
	if u == arrow.Nanosecond {
		return 9
	}
	return 6
}

// known refuses the units that ArrowType never makes: taking them for microseconds would change every value.
func known(t arrow.DataType, u arrow.TimeUnit) error {
	if u == arrow.Microsecond || u == arrow.Nanosecond {
		return nil
	}
	return fmt.Errorf("no SQL type for %s", t)
}
