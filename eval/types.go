package eval

import (
	"github.com/syncsql/syncsql/ddl"
)

func of(kind ddl.TypeKind) *ddl.Type { return &ddl.Type{Kind: kind} }

func decimalType(precision, scale int) *ddl.Type {
	return &ddl.Type{Kind: ddl.Decimal, Precision: precision, Scale: scale}
}

func textType() *ddl.Type  { return &ddl.Type{Kind: ddl.Varchar, Length: ddl.MaxLength} }
func bytesType() *ddl.Type { return &ddl.Type{Kind: ddl.Varbinary, Length: ddl.MaxLength} }

func timeType(kind ddl.TypeKind, precision int) *ddl.Type {
	return &ddl.Type{Kind: kind, Precision: precision}
}

func isInteger(t *ddl.Type) bool { return t.Kind >= ddl.TinyInt && t.Kind <= ddl.BigInt }
func isFloat(t *ddl.Type) bool   { return t.Kind == ddl.Float || t.Kind == ddl.Double }
func isExact(t *ddl.Type) bool   { return isInteger(t) || t.Kind == ddl.Decimal }
func isNumeric(t *ddl.Type) bool { return isExact(t) || isFloat(t) }
func isText(t *ddl.Type) bool    { return t.Kind == ddl.Char || t.Kind == ddl.Varchar }
func isBinary(t *ddl.Type) bool  { return t.Kind == ddl.BinaryType || t.Kind == ddl.Varbinary }
func isInterval(t *ddl.Type) bool {
	return t.Kind == ddl.IntervalYearMonth || t.Kind == ddl.IntervalDaySecond
}
func isTimestamp(t *ddl.Type) bool { return t.Kind == ddl.Timestamp || t.Kind == ddl.TimestampLTZ }
func isDatetime(t *ddl.Type) bool {
	return t.Kind == ddl.Date || t.Kind == ddl.Time || isTimestamp(t)
}

// asDecimal is the DECIMAL that holds every value of an exact numeric type.
func asDecimal(t *ddl.Type) *ddl.Type {
	switch t.Kind {
	case ddl.TinyInt:
		return decimalType(3, 0)
	case ddl.SmallInt:
		return decimalType(5, 0)
	case ddl.Int:
		return decimalType(10, 0)
	case ddl.BigInt:
		return decimalType(19, 0)
	}
	return decimalType(t.Precision, t.Scale)
}

// adjustDecimal keeps a derived DECIMAL within 38 digits as Flink does: the fraction gives way, down to six digits.
func adjustDecimal(precision, scale int) *ddl.Type {
	if precision <= 38 {
		return decimalType(precision, scale)
	}
	return decimalType(38, max(38-(precision-scale), min(scale, 6)))
}

// common is the type that values of a and b meet in: for comparison, CASE, COALESCE, IN. Nil when they do not.
func common(a, b *ddl.Type) *ddl.Type {
	switch {
	case a.Kind == ddl.Null:
		return b
	case b.Kind == ddl.Null:
		return a
	case isNumeric(a) && isNumeric(b):
		return commonNumeric(a, b)
	case isText(a) && isText(b):
		return commonString(a, b, ddl.Char, ddl.Varchar)
	case isBinary(a) && isBinary(b):
		return commonString(a, b, ddl.BinaryType, ddl.Varbinary)
	case a.Kind == b.Kind && (isDatetime(a) || isInterval(a)):
		return timeType(a.Kind, max(a.Precision, b.Precision))
	case a.Kind == ddl.Date && b.Kind == ddl.Timestamp:
		return b
	case a.Kind == ddl.Timestamp && b.Kind == ddl.Date:
		return a
	case a.Equal(b):
		return a
	}
	return nil
}

// commonNumeric: floating point wins over exact, DECIMAL over integers, wide over narrow. INT and BIGINT meet FLOAT in
// DOUBLE because a float32 does not hold them.
func commonNumeric(a, b *ddl.Type) *ddl.Type {
	if isFloat(a) || isFloat(b) {
		small := func(t *ddl.Type) bool {
			return t.Kind == ddl.Float || t.Kind == ddl.TinyInt || t.Kind == ddl.SmallInt
		}
		if small(a) && small(b) {
			return of(ddl.Float)
		}
		return of(ddl.Double)
	}
	if isInteger(a) && isInteger(b) {
		return of(max(a.Kind, b.Kind))
	}
	x, y := asDecimal(a), asDecimal(b)
	scale := max(x.Scale, y.Scale)
	return adjustDecimal(max(x.Precision-x.Scale, y.Precision-y.Scale)+scale, scale)
}

func commonString(a, b *ddl.Type, fixed, varying ddl.TypeKind) *ddl.Type {
	if a.Kind == fixed && b.Kind == fixed && a.Length == b.Length {
		return &ddl.Type{Kind: fixed, Length: a.Length}
	}
	return &ddl.Type{Kind: varying, Length: max(a.Length, b.Length, 1)}
}

// Implicit reports whether a value of type from may be assigned to a column of type to without a CAST: only where every
// value arrives unchanged. Lengths of text and NOT NULL are rules of the column, checked on the values (see Rule).
func Implicit(from, to *ddl.Type) bool {
	if from.Kind == ddl.Null || from.Equal(to) {
		return true
	}
	switch {
	case isText(from) && isText(to), isBinary(from) && isBinary(to):
		return true
	case isInteger(from) && isInteger(to):
		return from.Kind <= to.Kind
	case isExact(from) && to.Kind == ddl.Decimal:
		d := asDecimal(from)
		return d.Scale <= to.Scale && d.Precision-d.Scale <= to.Precision-to.Scale
	case isFloat(to):
		return from.Kind == ddl.Float || from.Kind == ddl.TinyInt || from.Kind == ddl.SmallInt ||
			to.Kind == ddl.Double && from.Kind == ddl.Int
	case from.Kind == to.Kind && (isDatetime(from) || isInterval(from)):
		return from.Precision <= to.Precision
	case from.Kind == ddl.Date && to.Kind == ddl.Timestamp:
		return true
	case from.Kind == to.Kind:
		return implicitNested(from, to)
	}
	return false
}

// implicitNested allows only types with the same Arrow form: nested values are passed on as they are.
func implicitNested(from, to *ddl.Type) bool {
	same := func(a, b *ddl.Type) bool {
		switch {
		case a.NotNull != b.NotNull && b.NotNull:
			return false
		case isText(a) && isText(b), isBinary(a) && isBinary(b):
			return a.Length <= b.Length
		case isDatetime(a) && a.Kind == b.Kind:
			return a.Precision <= b.Precision && (a.Precision > 6) == (b.Precision > 6)
		case a.Kind == b.Kind && layoutOf(a) == nestedValues:
			return implicitNested(a, b)
		}
		return a.Equal(b)
	}
	switch from.Kind {
	case ddl.Array, ddl.Multiset:
		return same(from.Elem, to.Elem)
	case ddl.Map:
		return same(from.Key, to.Key) && same(from.Elem, to.Elem)
	case ddl.Row:
		if len(from.Fields) != len(to.Fields) {
			return false
		}
		for i, f := range from.Fields {
			if !same(f.Type, to.Fields[i].Type) {
				return false
			}
		}
		return true
	}
	return false
}

// CastExpr converts an expression to the type of the column that it is assigned to. The types must be Implicit, or the
// expression a constant that AssignableTo accepts; any other loss is a row error, not a change of the value.
func CastExpr(e *Expr, to *ddl.Type) *Expr {
	if e.Type.Equal(to) {
		return e
	}
	c := &compiler{slots: e.slots}
	n := c.cast(e.root, to, e.root.at, exactly)
	if n == nil {
		panic("eval: " + base(e.Type) + " is not assignable to " + base(to)) // the planner asks Implicit first
	}
	return newExpr(n, c.slots)
}

// AssignableTo reports whether the expression may be assigned to a column of a type without a CAST: where its type is
// Implicit, and where it is a number literal that the column holds exactly.
func (e *Expr) AssignableTo(to *ddl.Type) bool {
	if Implicit(e.Type, to) {
		return true
	}
	if e.root.constant == nil || !isNumeric(e.Type) || !isNumeric(to) || isFloat(e.Type) && isExact(to) {
		return false
	}
	c := &compiler{slots: e.slots}
	n := c.cast(e.root, to, e.root.at, exactly)
	return n != nil && n.constant != nil
}
