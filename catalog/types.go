package catalog

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/ddl"
)

// ArrowType is the Arrow type that carries a SQL type. The table, both directions:
//
//	BOOLEAN bool · TINYINT int8 · SMALLINT int16 · INT int32 · BIGINT int64 · FLOAT float32 · DOUBLE float64
//	DECIMAL(p,s) decimal128(p,s) · CHAR VARCHAR STRING utf8 · BINARY VARBINARY BYTES binary · DATE date32
//	TIME(p) time64[us], p > 6 time64[ns] · TIMESTAMP(p) timestamp[us], p > 6 [ns]
//	TIMESTAMP_LTZ(p) timestamp[us, UTC], p > 6 [ns, UTC] · INTERVAL YEAR TO MONTH interval[months]
//	INTERVAL DAY TO SECOND duration[us], p > 6 [ns] · ARRAY list · MAP map · MULTISET map to int32 · ROW struct
func ArrowType(t *ddl.Type) (arrow.DataType, error) {
	switch t.Kind {
	case ddl.Null:
		return arrow.Null, nil
	case ddl.Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case ddl.TinyInt:
		return arrow.PrimitiveTypes.Int8, nil
	case ddl.SmallInt:
		return arrow.PrimitiveTypes.Int16, nil
	case ddl.Int:
		return arrow.PrimitiveTypes.Int32, nil
	case ddl.BigInt:
		return arrow.PrimitiveTypes.Int64, nil
	case ddl.Float:
		return arrow.PrimitiveTypes.Float32, nil
	case ddl.Double:
		return arrow.PrimitiveTypes.Float64, nil
	case ddl.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case ddl.Char, ddl.Varchar:
		return arrow.BinaryTypes.String, nil
	case ddl.BinaryType, ddl.Varbinary:
		return arrow.BinaryTypes.Binary, nil
	case ddl.Date:
		return arrow.PrimitiveTypes.Date32, nil
	case ddl.Time:
		return &arrow.Time64Type{Unit: unit(t.Precision)}, nil
	case ddl.Timestamp:
		return &arrow.TimestampType{Unit: unit(t.Precision)}, nil
	case ddl.TimestampLTZ:
		return &arrow.TimestampType{Unit: unit(t.Precision), TimeZone: "UTC"}, nil
	case ddl.IntervalYearMonth:
		return arrow.FixedWidthTypes.MonthInterval, nil
	case ddl.IntervalDaySecond:
		return &arrow.DurationType{Unit: unit(t.Precision)}, nil
	}
	return nestedType(t)
}

func nestedType(t *ddl.Type) (arrow.DataType, error) {
	switch t.Kind {
	case ddl.Array:
		elem, err := ArrowType(t.Elem)
		if err != nil {
			return nil, err
		}
		return arrow.ListOfField(arrow.Field{Name: "item", Type: elem, Nullable: !t.Elem.NotNull}), nil
	case ddl.Map, ddl.Multiset:
		key, value := t.Key, t.Elem
		if t.Kind == ddl.Multiset {
			key, value = t.Elem, &ddl.Type{Kind: ddl.Int, NotNull: true}
		}
		k, err := ArrowType(key)
		if err != nil {
			return nil, err
		}
		v, err := ArrowType(value)
		if err != nil {
			return nil, err
		}
		m := arrow.MapOf(k, v)
		m.SetItemNullable(!value.NotNull)
		return m, nil
	case ddl.Row:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			ft, err := ArrowType(f.Type)
			if err != nil {
				return nil, err
			}
			fields[i] = arrow.Field{Name: f.Name, Type: ft, Nullable: !f.Type.NotNull}
		}
		return arrow.StructOf(fields...), nil
	}
	return nil, fmt.Errorf("no Arrow type for %s", t)
}

func unit(precision int) arrow.TimeUnit {
	if precision > 6 {
		return arrow.Nanosecond
	}
	return arrow.Microsecond
}
