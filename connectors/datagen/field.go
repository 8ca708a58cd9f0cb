package datagen

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// field is how the values of one column are made.
type field struct {
	column   connectors.Column
	salt     uint64 // from the column's name, so that a projection changes no value
	sequence bool
	start    int64 // of the sequence
	end      int64
	nullRate float64
	length   int
	varLen   bool
	maxPast  int64 // microseconds
	low      *big.Int
	high     *big.Int // bounds of whole numbers and unscaled decimals, both included
	lowF     float64
	highF    float64
	key      bool // its values follow the key's number, not the change's
	first    bool // it is the key's number
}

// badField is a setting of a column that does not fit.
type badField struct{ setting, why, help string }

func (e *badField) Error() string { return e.why }

func problemOf(err error, c connectors.Column) connectors.Problem {
	p := connectors.Problem{Column: c.Name, Code: "bad-value", Message: err.Error()}
	var bad *badField
	if errors.As(err, &bad) {
		p.Help = bad.help
		if bad.setting != "" {
			p.Option, p.Column = fields.Key+c.Name+"."+bad.setting, ""
		}
	}
	return p
}

var settings = []string{"kind", "min", "max", "length", "var-len", "start", "end", "null-rate", "max-past"}

// checkFieldKey checks that 'fields.<column>.<setting>' names a column and a setting.
func checkFieldKey(key, rest string, columns map[string]connectors.Column) *connectors.Problem {
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return &connectors.Problem{Option: key, Code: "unknown-option", Message: fmt.Sprintf("unknown option %q", key),
			Help: "write 'fields.<column>.<setting>'"}
	}
	if _, ok := columns[rest[:dot]]; !ok {
		return &connectors.Problem{Option: key, Code: "unknown-column",
			Message: fmt.Sprintf("option %q names no column of the table", key)}
	}
	for _, s := range settings {
		if s == rest[dot+1:] {
			return nil
		}
	}
	return &connectors.Problem{Option: key, Code: "unknown-option", Message: fmt.Sprintf("unknown option %q", key),
		Help: "the settings of a column are " + strings.Join(settings, ", ")}
}

// newField reads the settings of a column.
func newField(o option.Set, c connectors.Column) (*field, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Name))
	f := &field{column: c, salt: h.Sum64()}
	text := func(setting string) (string, bool) {
		e, ok := o.Lookup(fields.Key + c.Name + "." + setting)
		return strings.TrimSpace(e.Text), ok
	}
	if kind, ok := text("kind"); ok {
		switch strings.ToLower(kind) {
		case "random":
		case "sequence":
			f.sequence = true
		default:
			return nil, &badField{"kind", fmt.Sprintf("%q is neither random nor sequence", kind), ""}
		}
	}
	allowed := f.allowed()
	if allowed == nil {
		return nil, &badField{"", "datagen makes no " + c.SQL + f.why(), "use a scalar type, and build the value in the query"}
	}
	for _, s := range settings[1:] {
		if v, ok := text(s); ok && !allowed[s] {
			return nil, &badField{s, fmt.Sprintf("%q = '%s' means nothing for %s%s", s, v, c.SQL, f.why()), ""}
		}
	}
	if err := f.bounds(text); err != nil {
		return nil, err
	}
	return f, f.shape(text)
}

func (f *field) why() string {
	if f.sequence {
		return " in a sequence"
	}
	return ""
}

// allowed are the settings that mean something for the type and kind; nil when such a column cannot be made.
func (f *field) allowed() map[string]bool {
	set := func(names ...string) map[string]bool {
		m := map[string]bool{"null-rate": true}
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	number, textual := false, false
	switch f.column.Type.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.FLOAT32, arrow.FLOAT64, arrow.DECIMAL128:
		number = true
	case arrow.STRING:
		textual = true
	}
	if f.sequence {
		if number || textual {
			return set("start", "end")
		}
		return nil
	}
	switch f.column.Type.ID() {
	case arrow.BOOL, arrow.DATE32, arrow.TIME64:
		return set()
	case arrow.TIMESTAMP:
		return set("max-past")
	case arrow.INTERVAL_MONTHS, arrow.DURATION:
		return set("min", "max")
	case arrow.STRING, arrow.BINARY:
		if fixedLength(f.column.SQL) {
			return set()
		}
		return set("length", "var-len")
	}
	if number {
		return set("min", "max")
	}
	return nil
}

func fixedLength(sql string) bool {
	return strings.HasPrefix(sql, "CHAR") || strings.HasPrefix(sql, "BINARY")
}

// declaredLength is n of CHAR(n), VARCHAR(n), BINARY(n), VARBINARY(n), else 0.
func declaredLength(sql string) int {
	_, rest, _ := strings.Cut(sql, "(")
	digits, _, _ := strings.Cut(rest, ")")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

type lookup func(setting string) (string, bool)

// bounds reads min and max, or start and end.
func (f *field) bounds(text lookup) error {
	if f.sequence {
		return f.sequenceBounds(text)
	}
	switch t := f.column.Type.(type) {
	case *arrow.Float32Type, *arrow.Float64Type:
		return f.floatBounds(text)
	case *arrow.Decimal128Type:
		high := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		high.Sub(high, big.NewInt(1))
		return f.wholeBounds(text, new(big.Int).Neg(high), high, func(s string) (*big.Int, error) {
			n, err := connectors.ParseDecimal(s, t.Precision, t.Scale)
			return n.BigInt(), err
		})
	case *arrow.MonthIntervalType:
		return f.wholeBounds(text, big.NewInt(0), big.NewInt(12000), parseWhole)
	case *arrow.DurationType:
		return f.wholeBounds(text, big.NewInt(0), big.NewInt(1e9), parseWhole) // milliseconds, as in Flink
	}
	if bits := wholeBits(f.column.Type); bits > 0 {
		high := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		low := new(big.Int).Neg(high)
		high.Sub(high, big.NewInt(1))
		return f.wholeBounds(text, low, high, parseWhole)
	}
	return nil
}

func wholeBits(t arrow.DataType) int {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return t.(arrow.FixedWidthDataType).BitWidth()
	}
	return 0
}

func parseWhole(s string) (*big.Int, error) {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("%q is not a whole number", s)
	}
	return n, nil
}

func (f *field) wholeBounds(text lookup, low, high *big.Int, parse func(string) (*big.Int, error)) error {
	f.low, f.high = low, high
	for n, into := range []**big.Int{&f.low, &f.high} {
		setting := [...]string{"min", "max"}[n]
		if v, ok := text(setting); ok {
			n, err := parse(v)
			if err != nil {
				return &badField{setting, err.Error(), ""}
			}
			if wholeBits(f.column.Type) > 0 && (n.Cmp(low) < 0 || n.Cmp(high) > 0) {
				return &badField{setting, fmt.Sprintf("%s is no %s", v, f.column.SQL), ""}
			}
			*into = n
		}
	}
	if f.low.Cmp(f.high) > 0 {
		return &badField{"max", "max is less than min", ""}
	}
	return nil
}

func (f *field) floatBounds(text lookup) error {
	bits := f.column.Type.(arrow.FixedWidthDataType).BitWidth()
	f.lowF, f.highF = -3e38, 3e38
	if bits == 64 {
		f.lowF, f.highF = -1.7e308, 1.7e308
	}
	for n, into := range []*float64{&f.lowF, &f.highF} {
		setting := [...]string{"min", "max"}[n]
		if v, ok := text(setting); ok {
			n, err := strconv.ParseFloat(v, bits)
			if err != nil || n-n != 0 {
				return &badField{setting, fmt.Sprintf("%q is not a finite %s", v, f.column.SQL), ""}
			}
			*into = n
		}
	}
	if f.lowF > f.highF {
		return &badField{"max", "max is less than min", ""}
	}
	return nil
}

func (f *field) sequenceBounds(text lookup) error {
	for n, into := range []*int64{&f.start, &f.end} {
		setting := [...]string{"start", "end"}[n]
		v, ok := text(setting)
		if !ok {
			return &badField{"kind", "a sequence needs a start and an end",
				fmt.Sprintf("add '%s%s.%s'", fields.Key, f.column.Name, setting)}
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return &badField{setting, fmt.Sprintf("%q is not a whole number", v), ""}
		}
		if !f.holds(n) {
			return &badField{setting, fmt.Sprintf("%s does not hold %d", f.column.SQL, n), ""}
		}
		*into = n
	}
	if f.end < f.start {
		return &badField{"end", "end is less than start", ""}
	}
	return nil
}

// holds reports whether the column's type holds a whole number exactly.
func (f *field) holds(n int64) bool {
	switch t := f.column.Type.(type) {
	case *arrow.Float32Type:
		return n >= -1<<24 && n <= 1<<24
	case *arrow.Float64Type:
		return n >= -1<<53 && n <= 1<<53
	case *arrow.Decimal128Type:
		_, err := connectors.ParseDecimal(strconv.FormatInt(n, 10), t.Precision, t.Scale)
		return err == nil
	case *arrow.StringType:
		l := declaredLength(f.column.SQL)
		return l == 0 || len(strconv.FormatInt(n, 10)) <= l
	}
	bits := wholeBits(f.column.Type)
	return n>>(bits-1) == 0 || n>>(bits-1) == -1
}

// shape reads the settings about length, NULL and time.
func (f *field) shape(text lookup) error {
	declared := declaredLength(f.column.SQL)
	if f.length = declared; declared == 0 {
		f.length = 100
	}
	if v, ok := text("length"); ok {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 1<<24 || declared > 0 && n > declared {
			return &badField{"length", fmt.Sprintf("%q is no length for %s", v, f.column.SQL), ""}
		}
		f.length = n
	}
	if v, ok := text("var-len"); ok {
		b, err := connectors.ParseBool(v)
		if err != nil {
			return &badField{"var-len", err.Error(), ""}
		}
		f.varLen = b
	}
	if v, ok := text("null-rate"); ok {
		if err := share(v); err != nil {
			return &badField{"null-rate", err.Error(), ""}
		}
		f.nullRate, _ = strconv.ParseFloat(v, 64)
		if f.nullRate > 0 && !f.column.Nullable {
			return &badField{"null-rate", fmt.Sprintf("column %q is NOT NULL", f.column.Name), ""}
		}
	}
	if v, ok := text("max-past"); ok {
		d, err := option.ParseDuration(v)
		if err != nil {
			return &badField{"max-past", err.Error(), ""}
		}
		f.maxPast = int64(d / time.Microsecond)
	}
	return nil
}

func share(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("%q is not a share between 0 and 1", text)
	}
	return nil
}

// cutField is the column of 'fields.<column><suffix>'.
func cutField(key, suffix string) (string, bool) {
	rest, ok := strings.CutPrefix(key, fields.Key)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, suffix)
}

func isSequence(kind string) bool { return strings.EqualFold(strings.TrimSpace(kind), "sequence") }

func sequenceBound(t *connectors.Table, column, suffix string) (int64, bool) {
	e, _ := t.Options.Lookup(fields.Key + column + suffix)
	n, err := strconv.ParseInt(strings.TrimSpace(e.Text), 10, 64)
	return n, err == nil
}
