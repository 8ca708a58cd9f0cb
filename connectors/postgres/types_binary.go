package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
)

// errLength is a binary value of the wrong length; the server never sends one.
var errLength = errors.New("the binary value has the wrong length")

// binaryDecoder is the decoder for the binary form of a type into a declared type that is not an ARRAY.
func binaryDecoder(types typeSet, t *sourceType, want arrow.DataType) (decoder, error) {
	switch want := want.(type) {
	case *arrow.StringType:
		return stringDecoder(types, t)
	case *arrow.BooleanType:
		if t.oid == pgBool {
			return decodeBool, nil
		}
	case *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		if integerFits(t.oid, want.ID()) {
			return integerDecoder(t.oid, want.ID()), nil
		}
	case *arrow.Float32Type:
		if t.oid == pgFloat4 {
			return decodeFloat4, nil
		}
	case *arrow.Float64Type:
		switch t.oid {
		case pgFloat4:
			return decodeFloat4To8, nil
		case pgFloat8:
			return decodeFloat8, nil
		case pgNumeric:
			return decodeNumericFloat, nil
		}
	case *arrow.Decimal128Type:
		return decimalDecoder(t, want)
	case *arrow.BinaryType:
		if t.oid == pgBytea {
			return func(c *column, p []byte) error { c.putBytes(p); return nil }, nil
		}
	default:
		if d := timeDecoder(t, want); d != nil {
			return d, nil
		}
	}
	return nil, misfit(t, want)
}

// stringDecoder gives the text that Postgres would print.
func stringDecoder(types typeSet, t *sourceType) (decoder, error) {
	if textual(t) {
		return func(c *column, p []byte) error { c.putBytes(p); return nil }, nil
	}
	render, err := newRenderer(types, t)
	if err != nil {
		return nil, err
	}
	return func(c *column, p []byte) error {
		b, err := render(c.values, p)
		if err != nil {
			return err
		}
		c.values = b
		c.endText()
		return nil
	}, nil
}

func decodeBool(c *column, p []byte) error {
	if len(p) != 1 {
		return errLength
	}
	c.putBool(p[0] != 0)
	return nil
}

// integer reads a Postgres integer; the two unsigned ones widen to int64.
func integer(oid uint32, p []byte) (int64, error) {
	switch {
	case oid == pgInt2 && len(p) == 2:
		return int64(int16(binary.BigEndian.Uint16(p))), nil
	case oid == pgInt4 && len(p) == 4:
		return int64(int32(binary.BigEndian.Uint32(p))), nil
	case oid == pgInt8 && len(p) == 8:
		return int64(binary.BigEndian.Uint64(p)), nil
	case (oid == pgOID || oid == pgXID) && len(p) == 4:
		return int64(binary.BigEndian.Uint32(p)), nil
	}
	return 0, errLength
}

func integerDecoder(oid uint32, want arrow.Type) decoder {
	switch {
	case want == arrow.INT64 && oid == pgInt8:
		return func(c *column, p []byte) error {
			if len(p) != 8 {
				return errLength
			}
			c.put64(binary.BigEndian.Uint64(p))
			return nil
		}
	case want == arrow.INT64:
		return func(c *column, p []byte) error {
			v, err := integer(oid, p)
			if err == nil {
				c.put64(uint64(v))
			}
			return err
		}
	case want == arrow.INT32:
		return func(c *column, p []byte) error {
			v, err := integer(oid, p)
			if err == nil {
				c.put32(uint32(v))
			}
			return err
		}
	}
	return func(c *column, p []byte) error {
		v, err := integer(oid, p)
		if err == nil {
			c.put16(uint16(v))
		}
		return err
	}
}

func decodeFloat4(c *column, p []byte) error {
	if len(p) != 4 {
		return errLength
	}
	c.put32(binary.BigEndian.Uint32(p))
	return nil
}

func decodeFloat4To8(c *column, p []byte) error {
	if len(p) != 4 {
		return errLength
	}
	c.put64(math.Float64bits(float64(math.Float32frombits(binary.BigEndian.Uint32(p)))))
	return nil
}

func decodeFloat8(c *column, p []byte) error {
	if len(p) != 8 {
		return errLength
	}
	c.put64(binary.BigEndian.Uint64(p))
	return nil
}

// Postgres counts dates and times from 2000-01-01, Arrow from 1970-01-01.
const (
	epochDays   = 10957
	epochMicros = epochDays * 86400 * 1000000
)

// timeDecoder is nil when the types do not fit. A zone is never guessed: timestamp and timestamptz fit only their like.
func timeDecoder(t *sourceType, want arrow.DataType) decoder {
	switch want := want.(type) {
	case *arrow.Date32Type:
		if t.oid == pgDate {
			return decodeDate
		}
	case *arrow.Time64Type:
		if t.oid == pgTime {
			scale := unitScale(want.Unit)
			return func(c *column, p []byte) error {
				if len(p) != 8 {
					return errLength
				}
				c.put64(binary.BigEndian.Uint64(p) * uint64(scale)) // at most 24 hours
				return nil
			}
		}
	case *arrow.TimestampType:
		if t.oid == pgTimestamp && want.TimeZone == "" || t.oid == pgTimestampTZ && want.TimeZone != "" {
			scale := unitScale(want.Unit)
			return func(c *column, p []byte) error {
				if len(p) != 8 {
					return errLength
				}
				return putTimestamp(c, int64(binary.BigEndian.Uint64(p)), scale)
			}
		}
	case *arrow.DurationType:
		if t.oid == pgInterval {
			scale := unitScale(want.Unit)
			return func(c *column, p []byte) error {
				v, err := parseBinaryInterval(p)
				if err != nil {
					return err
				}
				return putDuration(c, v, scale)
			}
		}
	case *arrow.MonthIntervalType:
		if t.oid == pgInterval {
			return func(c *column, p []byte) error {
				v, err := parseBinaryInterval(p)
				if err != nil {
					return err
				}
				return putMonths(c, v)
			}
		}
	}
	return nil
}

func decodeDate(c *column, p []byte) error {
	if len(p) != 4 {
		return errLength
	}
	return putDate(c, int32(binary.BigEndian.Uint32(p)))
}

// putDate takes days since 2000; the extreme values are the infinities.
func putDate(c *column, days int32) error {
	switch {
	case days == math.MaxInt32:
		c.put32(uint32(int32(change.DateInfinity)))
	case days == math.MinInt32:
		neg := change.DateNegInfinity
		c.put32(uint32(int32(neg)))
	default:
		if days > math.MaxInt32-epochDays-1 {
			return errRange
		}
		c.put32(uint32(days + epochDays))
	}
	return nil
}

// putTimestamp takes microseconds since 2000; the extreme values are the infinities.
func putTimestamp(c *column, micros, scale int64) error {
	switch micros {
	case math.MaxInt64, math.MinInt64:
		c.put64(uint64(micros))
		return nil
	}
	v := micros + epochMicros
	if v < micros {
		return errRange
	}
	if scale != 1 {
		if v >= math.MaxInt64/scale || v <= math.MinInt64/scale {
			return fmt.Errorf("the timestamp does not fit nanoseconds; declare a precision of at most 6")
		}
		v *= scale
	}
	c.put64(uint64(v))
	return nil
}

// interval is a Postgres interval: three parts that do not convert into each other.
type interval struct {
	micros       int64
	days, months int32
}

func parseBinaryInterval(p []byte) (interval, error) {
	if len(p) != 16 {
		return interval{}, errLength
	}
	return interval{int64(binary.BigEndian.Uint64(p)), int32(binary.BigEndian.Uint32(p[8:])), int32(binary.BigEndian.Uint32(p[12:]))}, nil
}

// infinite reports 'infinity' and '-infinity' of Postgres 17.
func (v interval) infinite() bool {
	return v.micros == math.MaxInt64 && v.days == math.MaxInt32 && v.months == math.MaxInt32 ||
		v.micros == math.MinInt64 && v.days == math.MinInt32 && v.months == math.MinInt32
}

func putMonths(c *column, v interval) error {
	if v.days != 0 || v.micros != 0 {
		return errors.New("the interval has days or a time, which INTERVAL YEAR TO MONTH does not hold")
	}
	c.put32(uint32(v.months))
	return nil
}

func putDuration(c *column, v interval, scale int64) error {
	if v.months != 0 {
		return errors.New("the interval has months, which INTERVAL DAY TO SECOND does not hold")
	}
	day := int64(v.days) * 86400 * 1000000
	sum := day + v.micros
	if day > 0 && v.micros > 0 && sum < 0 || day < 0 && v.micros < 0 && sum >= 0 || sum > math.MaxInt64/scale || sum < math.MinInt64/scale {
		return errRange
	}
	c.put64(uint64(sum * scale))
	return nil
}

// listDecoder reads an array. Arrow's lists have neither dimensions nor bounds, so an array that needs them is refused.
func listDecoder(types typeSet, t *sourceType, f form, elem arrow.DataType) (decoder, error) {
	if t.elem == 0 {
		return nil, misfit(t, elem)
	}
	item, err := newDecoder(types, t.elem, f, elem)
	if err != nil {
		return nil, err
	}
	if f == inText {
		return textListDecoder(item), nil
	}
	return func(c *column, p []byte) error {
		a, err := parseArray(p)
		if err != nil {
			return err
		}
		if len(a.dims) > 1 {
			return fmt.Errorf("the array has %d dimensions, and ARRAY holds one", len(a.dims))
		}
		if len(a.dims) == 1 && a.dims[0].lower != 1 {
			return fmt.Errorf("the array begins at index %d, and ARRAY begins at 1", a.dims[0].lower)
		}
		for len(a.rest) > 0 {
			v, err := a.next()
			if err != nil {
				return err
			}
			if v == nil {
				c.items.null()
			} else if err := item(c.items, v); err != nil {
				return fmt.Errorf("element: %w", err)
			}
		}
		c.endList()
		return nil
	}, nil
}

// binaryArray walks over an array in binary form.
type binaryArray struct {
	elem uint32
	dims []dimension
	rest []byte
}

type dimension struct{ length, lower int32 }

func parseArray(p []byte) (binaryArray, error) {
	if len(p) < 12 {
		return binaryArray{}, errLength
	}
	n := int32(binary.BigEndian.Uint32(p))
	a := binaryArray{elem: binary.BigEndian.Uint32(p[8:]), rest: p[12:]}
	if n < 0 || n > 6 || len(a.rest) < int(n)*8 {
		return a, errLength
	}
	for range n {
		a.dims = append(a.dims, dimension{int32(binary.BigEndian.Uint32(a.rest)), int32(binary.BigEndian.Uint32(a.rest[4:]))})
		a.rest = a.rest[8:]
	}
	elements := int64(len(a.rest) / 4) // each has a length of 4 bytes
	for _, d := range a.dims {
		if d.length <= 0 || int64(d.length) > elements {
			return a, errLength
		}
		elements /= int64(d.length)
	}
	return a, nil
}

// next is the next element, nil for NULL.
func (a *binaryArray) next() ([]byte, error) {
	if len(a.rest) < 4 {
		return nil, errLength
	}
	n := int32(binary.BigEndian.Uint32(a.rest))
	a.rest = a.rest[4:]
	if n < 0 {
		return nil, nil
	}
	if len(a.rest) < int(n) {
		return nil, errLength
	}
	v := a.rest[:n:n]
	a.rest = a.rest[n:]
	return v, nil
}
