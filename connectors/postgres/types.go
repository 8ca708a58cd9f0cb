package postgres

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// OIDs of the built-in types that have a binary form here.
const (
	pgBool        = 16
	pgBytea       = 17
	pgChar        = 18
	pgName        = 19
	pgInt8        = 20
	pgInt2        = 21
	pgInt4        = 23
	pgText        = 25
	pgOID         = 26
	pgTID         = 27
	pgXID         = 28
	pgCID         = 29
	pgJSON        = 114
	pgXML         = 142
	pgCIDR        = 650
	pgFloat4      = 700
	pgFloat8      = 701
	pgUnknown     = 705
	pgMacaddr8    = 774
	pgMoney       = 790
	pgMacaddr     = 829
	pgInet        = 869
	pgBpchar      = 1042
	pgVarchar     = 1043
	pgDate        = 1082
	pgTime        = 1083
	pgTimestamp   = 1114
	pgTimestampTZ = 1184
	pgInterval    = 1186
	pgTimeTZ      = 1266
	pgBit         = 1560
	pgVarbit      = 1562
	pgNumeric     = 1700
	pgUUID        = 2950
	pgLSN         = 3220
	pgJSONB       = 3802
	pgXID8        = 5069
)

// sourceType is a type of the server.
type sourceType struct {
	oid    uint32
	name   string // as format_type prints it
	kind   byte   // pg_type.typtype: b base, c composite, d domain, e enum, r range, m multirange, p pseudo
	base   uint32 // of a domain
	mod    int32  // of a domain's base
	elem   uint32 // of an array
	output string // the quoted output function
}

// typeSet holds the types that a connection has met.
type typeSet map[uint32]*sourceType

// resolve reduces domains to what they are made of.
func (s typeSet) resolve(oid uint32, mod int32) (*sourceType, int32) {
	t := s[oid]
	for t != nil && t.kind == 'd' {
		if t.mod >= 0 {
			mod = t.mod
		}
		t = s[t.base]
	}
	return t, mod
}

// textual reports whether the binary form of a type is its text.
func textual(t *sourceType) bool {
	switch t.oid {
	case pgText, pgVarchar, pgBpchar, pgName, pgChar, pgJSON, pgXML, pgUnknown:
		return true
	}
	return t.kind == 'e'
}

// form is how the server sends a value.
type form byte

const (
	inBinary form = 'b'
	inText   form = 't'
)

// decoder appends one value. On an error the caller takes back the row; a half-begun value does no harm.
type decoder func(c *column, p []byte) error

// errNeedsText says that a declared STRING stands over a type whose binary form is not known here: such a column is read
// as text.
var errNeedsText = errors.New("only its text form is known")

// errRange is a value that the declared type cannot hold.
var errRange = errors.New("the value is out of the declared type's range")

// newDecoder chooses the decoder for a column, once. want is the declared type.
func newDecoder(types typeSet, oid uint32, f form, want arrow.DataType) (decoder, error) {
	t, _ := types.resolve(oid, -1)
	if t == nil {
		return nil, fmt.Errorf("type with OID %d is unknown", oid)
	}
	if want.ID() == arrow.LIST {
		return listDecoder(types, t, f, want.(*arrow.ListType).Elem())
	}
	if f == inText {
		return textDecoder(t, want)
	}
	return binaryDecoder(types, t, want)
}

// misfit is the error for a type that the declared one cannot carry.
func misfit(t *sourceType, want arrow.DataType) error {
	return fmt.Errorf("%s does not fit the declared type; declare %s", t.name, suggest(t))
}

// suggest is the declaration that holds every value of a type, or says what is closest.
func suggest(t *sourceType) string {
	switch t.oid {
	case pgBool:
		return "BOOLEAN"
	case pgInt2:
		return "SMALLINT, INT or BIGINT"
	case pgInt4:
		return "INT or BIGINT"
	case pgInt8, pgOID, pgXID:
		return "BIGINT"
	case pgFloat4:
		return "FLOAT or DOUBLE"
	case pgFloat8:
		return "DOUBLE"
	case pgNumeric, pgMoney:
		return "DECIMAL or STRING"
	case pgBytea:
		return "BYTES"
	case pgDate:
		return "DATE"
	case pgTime:
		return "TIME(6)"
	case pgTimestamp:
		return "TIMESTAMP(6)"
	case pgTimestampTZ:
		return "TIMESTAMP_LTZ(6)"
	case pgInterval:
		return "INTERVAL DAY TO SECOND, INTERVAL YEAR TO MONTH or STRING"
	}
	if t.elem != 0 {
		return "ARRAY or STRING"
	}
	return "STRING"
}

// integerType reports whether Arrow's integers of a width hold a Postgres integer.
func integerFits(oid uint32, want arrow.Type) bool {
	switch want {
	case arrow.INT16:
		return oid == pgInt2
	case arrow.INT32:
		return oid == pgInt2 || oid == pgInt4
	case arrow.INT64:
		return oid == pgInt2 || oid == pgInt4 || oid == pgInt8 || oid == pgOID || oid == pgXID
	}
	return false
}

// unitScale is the number of units of an Arrow time in a microsecond.
func unitScale(u arrow.TimeUnit) int64 {
	if u == arrow.Nanosecond {
		return 1000
	}
	return 1
}
