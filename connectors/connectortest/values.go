package connectortest

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// appendValue adds one value of a column: NULL, an edge of the type, or anything else. The same draws give the same value.
func appendValue(b array.Builder, c connectors.Column, r *rand.Rand, holds Holds) {
	if c.Nullable && r.IntN(6) == 0 {
		b.AppendNull()
		return
	}
	edge := r.IntN(3) == 0
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(r.IntN(2) == 0)
	case *array.Int8Builder:
		b.Append(int8(whole(r, edge, 8)))
	case *array.Int16Builder:
		b.Append(int16(whole(r, edge, 16)))
	case *array.Int32Builder:
		b.Append(int32(whole(r, edge, 32)))
	case *array.Int64Builder:
		b.Append(whole(r, edge, 64))
	case *array.Float32Builder:
		b.Append(float32(float(r, edge, holds, 32)))
	case *array.Float64Builder:
		b.Append(float(r, edge, holds, 64))
	case *array.Decimal128Builder:
		b.Append(decimal(r, edge, b.Type().(*arrow.Decimal128Type).Precision))
	case *array.StringBuilder:
		b.Append(text(r, edge, c, holds))
	case *array.BinaryBuilder:
		b.Append(raw(r, edge, c))
	case *array.MonthIntervalBuilder:
		b.Append(arrow.MonthInterval(r.IntN(24000) - 12000))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(r.Int64N(2e15) - 1e15))
	default:
		appendMoment(b, c, r, edge, holds)
	}
}

func appendMoment(b array.Builder, c connectors.Column, r *rand.Rand, edge bool, holds Holds) {
	switch b := b.(type) {
	case *array.Date32Builder:
		b.Append(date(r, edge, holds))
	case *array.Time64Builder:
		t := b.Type().(*arrow.Time64Type)
		day := 86400 * ticks(t.Unit)
		v := r.Int64N(day)
		if edge {
			v = [...]int64{0, day - 1}[r.IntN(2)]
		}
		b.Append(arrow.Time64(v - v%step(t.Unit, parameter(c.SQL, 6))))
	case *array.TimestampBuilder:
		b.Append(timestamp(r, edge, holds, c, b.Type().(*arrow.TimestampType).Unit))
	default:
		appendNested(b, r, edge, holds)
	}
}

func appendNested(b array.Builder, r *rand.Rand, edge bool, holds Holds) {
	n := r.IntN(4)
	if edge {
		n = 0
	}
	switch b := b.(type) {
	case *array.MapBuilder: // before ListBuilder, which it resembles
		t := b.Type().(*arrow.MapType)
		b.Append(true)
		for i := range n {
			b.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprintf("k%d", i))
			appendValue(b.ItemBuilder(), connectors.Column{Type: t.ItemType(), Nullable: true}, r, holds)
		}
	case *array.ListBuilder:
		t := b.Type().(*arrow.ListType)
		b.Append(true)
		for range n {
			appendValue(b.ValueBuilder(), connectors.Column{Type: t.Elem(), Nullable: true}, r, holds)
		}
	case *array.StructBuilder:
		t := b.Type().(*arrow.StructType)
		b.Append(true)
		for i, f := range t.Fields() {
			appendValue(b.FieldBuilder(i), connectors.Column{Type: f.Type, Nullable: f.Nullable}, r, holds)
		}
	default:
		panic("no generator for " + b.Type().String())
	}
}

func whole(r *rand.Rand, edge bool, bits int) int64 {
	top := int64(1)<<(bits-1) - 1
	if edge {
		return [...]int64{0, -1, 1, top, -top - 1}[r.IntN(5)]
	}
	return int64(r.Uint64()) >> (64 - bits)
}

func float(r *rand.Rand, edge bool, holds Holds, bits int) float64 {
	largest, smallest := math.MaxFloat64, math.SmallestNonzeroFloat64
	if bits == 32 {
		largest, smallest = math.MaxFloat32, math.SmallestNonzeroFloat32
	}
	if !edge {
		f := (r.Float64() - 0.5) * 1e6
		if bits == 32 {
			return float64(float32(f))
		}
		return f
	}
	pool := []float64{0, 1, -1.5, largest, -largest, smallest, 16777216, 0.1}
	if bits == 32 {
		pool[7] = float64(float32(0.1))
	}
	if holds.NaN {
		pool = append(pool, math.NaN())
	}
	if holds.Infinity {
		pool = append(pool, math.Inf(1), math.Inf(-1))
	}
	if holds.NegativeZero {
		pool = append(pool, math.Copysign(0, -1))
	}
	return pool[r.IntN(len(pool))]
}

func decimal(r *rand.Rand, edge bool, precision int32) decimal128.Num {
	digits := 1 + r.IntN(int(precision))
	if edge {
		digits = int(precision)
	}
	n := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	n.Sub(n, big.NewInt(1)) // all nines
	if !edge {
		n.Sub(n, new(big.Int).Mod(new(big.Int).SetUint64(r.Uint64()), n))
	}
	if r.IntN(2) == 0 {
		n.Neg(n)
	}
	return decimal128.FromBigInt(n)
}

var words = []string{"", " ", "NULL", "null", `\N`, `"`, `a"b`, "'", "a,b;c|d", "line\nbreak", "cr\r\nlf", "tab\there", `back\slash`,
	"zażółć", "日本語", "🦆", "{}", "[1]", "$1", "%s", "--", "\u00a0", "007", "1e3", "e\u0301"}

func text(r *rand.Rand, edge bool, c connectors.Column, holds Holds) string {
	if strings.HasPrefix(c.SQL, "CHAR") { // no blanks at the end: systems differ in whether they belong to the value
		return fmt.Sprintf("%0*d", parameter(c.SQL, 1), r.IntN(1000))
	}
	if !edge {
		return fmt.Sprintf("w%x", r.Uint32())
	}
	if n := r.IntN(len(words) + 1); n < len(words) {
		return words[n]
	}
	if holds.NUL {
		return "nul\x00inside"
	}
	return "plain"
}

func raw(r *rand.Rand, edge bool, c connectors.Column) []byte {
	n := r.IntN(12)
	if edge {
		n = 0
	}
	if strings.HasPrefix(c.SQL, "BINARY") {
		n = parameter(c.SQL, 1)
	}
	v := make([]byte, n)
	for i := range v {
		v[i] = byte(r.Uint32())
	}
	return v
}

func date(r *rand.Rand, edge bool, holds Holds) arrow.Date32 {
	if !edge {
		return arrow.Date32(r.IntN(40000) - 10000)
	}
	pool := []arrow.Date32{0, -1, 11016, arrow.Date32(connectors.Days(1, 1, 1)), arrow.Date32(connectors.Days(1582, 10, 10)),
		arrow.Date32(connectors.Days(9999, 12, 31)), arrow.Date32(connectors.Days(2024, 2, 29))}
	if holds.InfiniteTimes {
		pool = append(pool, change.DateInfinity, change.DateNegInfinity)
	}
	if holds.FarYears {
		pool = append(pool, arrow.Date32(connectors.Days(-849, 7, 4)), arrow.Date32(connectors.Days(20000, 1, 1)))
	}
	return pool[r.IntN(len(pool))]
}

func timestamp(r *rand.Rand, edge bool, holds Holds, c connectors.Column, unit arrow.TimeUnit) arrow.Timestamp {
	per := ticks(unit)
	round := step(unit, parameter(c.SQL, 6))
	v := r.Int64N(4e9)*per - 1e9*per + r.Int64N(per)
	if edge {
		secs := []int64{0, -1, 951782400, -2208988800}
		if unit != arrow.Nanosecond {
			secs = append(secs, connectors.Days(1, 1, 1)*86400, connectors.Days(9999, 12, 31)*86400+86399)
			if holds.FarYears {
				secs = append(secs, connectors.Days(-119, 5, 6)*86400+43200, connectors.Days(20000, 1, 1)*86400)
			}
		}
		n := r.IntN(len(secs) + 2)
		if n >= len(secs) && holds.InfiniteTimes {
			return [...]arrow.Timestamp{change.TimestampInfinity, change.TimestampNegInfinity}[n-len(secs)]
		}
		v = secs[n%len(secs)] * per
	}
	return arrow.Timestamp(v - ((v%round)+round)%round)
}

func ticks(u arrow.TimeUnit) int64 {
	if u == arrow.Nanosecond {
		return 1e9
	}
	return 1e6
}

// step is how many units lie between two values with that many fractional digits.
func step(u arrow.TimeUnit, digits int) int64 {
	n := ticks(u)
	for range digits {
		if n > 1 {
			n /= 10
		}
	}
	return n
}
