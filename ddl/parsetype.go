package ddl

import "strings"

// Flink's defaults for types written without parameters.
const (
	defaultPrecision     = 10
	maxPrecision         = 38
	defaultTimePrecision = 6
	maxTimePrecision     = 9
)

// dataType reads a type with an optional NULL or NOT NULL.
func (p *parser) dataType() *Type {
	if !p.enter() {
		return &Type{}
	}
	defer p.leave()
	start := p.peek(0).at
	t := p.plainType()
	for p.err == nil {
		suffix := ""
		switch {
		case p.is("ARRAY") && !p.isAt(1, "<"):
			suffix = "ARRAY"
		case p.is("MULTISET") && !p.isAt(1, "<"):
			suffix = "MULTISET"
		}
		if suffix == "" {
			break
		}
		p.next()
		kind := Array
		if suffix == "MULTISET" {
			kind = Multiset
		}
		t = &Type{Kind: kind, Elem: t, At: p.since(start)}
	}
	switch {
	case p.accept("NOT", "NULL"):
		t.NotNull = true
	case p.is("NULL") && !p.isAt(1, "ON"):
		p.next()
	}
	t.At = p.since(start)
	return t
}

func (p *parser) plainType() *Type {
	t := p.peek(0)
	if t.kind != wordToken {
		p.expected("a type")
		return &Type{}
	}
	if !typeWords[strings.ToUpper(t.text)] {
		p.unknownType(t)
		return &Type{}
	}
	p.pos++
	out := &Type{}
	p.typeRest(strings.ToUpper(t.text), out)
	return out
}

func (p *parser) unknownType(t *token) {
	e := p.failAt(t.at, "unknown-type", "unknown type %q", t.text)
	if better, ok := foreignTypes[strings.ToUpper(t.text)]; ok {
		e.WithHelp("write %s", better)
		return
	}
	if near := nearestWord(t.text, typeWords); near != "" {
		e.WithHelp("did you mean %s?", near)
	}
}

// foreignTypes are types of other databases, with what to write instead.
var foreignTypes = map[string]string{
	"TEXT": "STRING", "LONGTEXT": "STRING", "NVARCHAR": "VARCHAR(n) or STRING", "UUID": "STRING", "JSON": "STRING", "JSONB": "STRING",
	"SERIAL": "INT", "BIGSERIAL": "BIGINT", "INT2": "SMALLINT", "INT4": "INT", "INT8": "BIGINT", "FLOAT4": "FLOAT", "FLOAT8": "DOUBLE",
	"BOOL": "BOOLEAN", "DATETIME": "TIMESTAMP(3)", "TIMESTAMPTZ": "TIMESTAMP_LTZ(6)", "BYTEA": "BYTES", "BLOB": "BYTES",
	"LONG": "BIGINT", "SHORT": "SMALLINT", "BYTE": "TINYINT", "MONEY": "DECIMAL(19, 2)", "STRUCT": "ROW<name TYPE, …>", "LIST": "ARRAY<TYPE>",
}

var typeWords = set("BOOLEAN TINYINT SMALLINT INT INTEGER BIGINT FLOAT REAL DOUBLE DECIMAL DEC NUMERIC CHAR CHARACTER VARCHAR STRING " +
	"BINARY VARBINARY BYTES DATE TIME TIMESTAMP TIMESTAMP_LTZ INTERVAL ARRAY MULTISET MAP ROW NULL")

var plainTypes = map[string]TypeKind{"BOOLEAN": Boolean, "TINYINT": TinyInt, "SMALLINT": SmallInt, "INT": Int, "INTEGER": Int,
	"BIGINT": BigInt, "FLOAT": Float, "REAL": Float, "DATE": Date, "NULL": Null}

// typeRest reads what follows the first word of a type.
func (p *parser) typeRest(word string, t *Type) {
	t.Kind = plainTypes[word]
	switch word {
	case "DOUBLE":
		t.Kind = Double
		p.accept("PRECISION")
	case "DECIMAL", "DEC", "NUMERIC":
		t.Kind = Decimal
		p.decimal(t)
	case "STRING":
		t.Kind, t.Length = Varchar, MaxLength
	case "BYTES":
		t.Kind, t.Length = Varbinary, MaxLength
	case "CHAR", "CHARACTER", "VARCHAR":
		t.Kind = Char
		if word == "VARCHAR" || p.accept("VARYING") {
			t.Kind = Varchar
		}
		t.Length = p.length()
		p.charset()
	case "BINARY", "VARBINARY":
		t.Kind = BinaryType
		if word == "VARBINARY" || p.accept("VARYING") {
			t.Kind = Varbinary
		}
		t.Length = p.length()
	case "TIME":
		t.Kind, t.Precision = Time, p.timePrecision(0)
		p.accept("WITHOUT", "TIME", "ZONE")
	case "TIMESTAMP":
		p.timestamp(t)
	case "TIMESTAMP_LTZ":
		t.Kind, t.Precision = TimestampLTZ, p.timePrecision(defaultTimePrecision)
	case "INTERVAL":
		p.intervalType(t)
	case "ARRAY", "MULTISET":
		t.Kind = Array
		if word == "MULTISET" {
			t.Kind = Multiset
		}
		p.element(t)
	case "MAP":
		t.Kind = Map
		p.mapType(t)
	case "ROW":
		t.Kind = Row
		p.rowFields(t)
	}
}

// length reads (n); a missing one is 1, as in Flink.
func (p *parser) length() int {
	if !p.accept("(") {
		return 1
	}
	t := p.peek(0)
	n := p.integer("the length", MaxLength)
	if p.err == nil && n == 0 {
		p.failAt(t.at, "bad-type", "the length must be at least 1")
	}
	p.expect(")")
	return n
}

// charset skips CHARACTER SET x, which changes nothing: all text is UTF-8.
func (p *parser) charset() {
	if p.accept("CHARACTER", "SET") {
		p.ident("a character set")
	}
}

func (p *parser) decimal(t *Type) {
	t.Precision = defaultPrecision
	if !p.accept("(") {
		return
	}
	at := p.peek(0).at
	t.Precision = p.integer("the precision", maxPrecision)
	if p.err == nil && t.Precision == 0 {
		p.failAt(at, "bad-type", "the precision must be between 1 and %d", maxPrecision)
	}
	if p.accept(",") {
		at = p.peek(0).at
		t.Scale = p.integer("the scale", maxPrecision)
		if p.err == nil && t.Scale > t.Precision {
			p.failAt(at, "bad-type", "the scale (%d) must not be larger than the precision (%d)", t.Scale, t.Precision)
		}
	}
	p.expect(")")
}

func (p *parser) timePrecision(fallback int) int {
	if !p.accept("(") {
		return fallback
	}
	n := p.integer("the precision", maxTimePrecision)
	p.expect(")")
	return n
}

func (p *parser) timestamp(t *Type) {
	t.Kind, t.Precision = Timestamp, p.timePrecision(defaultTimePrecision)
	switch {
	case p.accept("WITHOUT"):
		p.expect("TIME", "ZONE")
	case p.accept("WITH", "LOCAL"):
		t.Kind = TimestampLTZ
		p.expect("TIME", "ZONE")
	case p.is("WITH", "TIME"):
		p.unsupported(p.peek(0).at, "TIMESTAMP WITH TIME ZONE", "write TIMESTAMP_LTZ(p): a point in time, shown in the session's zone")
	}
}

func (p *parser) intervalType(t *Type) {
	at := p.peek(0).at
	unit := p.intervalUnit()
	t.Kind = IntervalDaySecond
	if p.err == nil && unit.months() {
		t.Kind = IntervalYearMonth
	}
	t.Precision = defaultTimePrecision
	if t.Kind == IntervalYearMonth {
		t.Precision = 0
	} else if unit.fraction >= 0 {
		t.Precision = unit.fraction
	}
	if p.err == nil && t.Precision > maxTimePrecision {
		p.failAt(p.since(at), "bad-type", "the precision must be at most %d", maxTimePrecision)
	}
}

func (p *parser) element(t *Type) {
	if p.expect("<") {
		t.Elem = p.dataType()
		p.expect(">")
	}
}

func (p *parser) mapType(t *Type) {
	if p.expect("<") {
		t.Key = p.dataType()
		p.expect(",")
		t.Elem = p.dataType()
		p.expect(">")
	}
}

// rowFields reads <a INT, b STRING 'comment'> or the same in round brackets.
func (p *parser) rowFields(t *Type) {
	end := ">"
	if p.accept("(") {
		end = ")"
	} else if p.accept("<>") || !p.expect("<") {
		return
	}
	for !p.is(end) && p.err == nil {
		f := RowField{Name: p.ident("a field name").Name}
		p.accept(":")
		f.Type = p.dataType()
		if p.accept("COMMENT") || p.peek(0).kind == stringToken {
			f.Comment, _ = p.str("a comment")
		}
		t.Fields = append(t.Fields, f)
		if !p.accept(",") {
			break
		}
	}
	p.expect(end)
}

// unit is an interval qualifier: DAY, DAY(3), DAY TO SECOND(3).
type unit struct {
	from, to string
	fraction int // of the seconds; -1 when it was not given
}

func (u unit) months() bool { return u.from == "YEAR" || u.from == "MONTH" || u.from == "QUARTER" }

func (u unit) String() string {
	if u.to == "" {
		return u.from
	}
	return u.from + " TO " + u.to
}

// intervalUnit reads a qualifier; plural units are written as singular ones.
func (p *parser) intervalUnit() unit {
	u := unit{fraction: -1}
	u.from = p.unitWord()
	if p.is("(") && p.peek(1).kind == numberToken {
		p.next()
		n := p.integer("the precision", maxPrecision)
		if u.from == "SECOND" {
			u.fraction = n
		}
		if p.accept(",") {
			u.fraction = p.integer("the precision", maxTimePrecision)
		}
		p.expect(")")
	}
	if p.err == nil && p.accept("TO") {
		u.to = p.unitWord()
		if p.accept("(") {
			u.fraction = p.integer("the precision", maxTimePrecision)
			p.expect(")")
		}
		if p.err == nil && u.months() != (unit{from: u.to}).months() {
			p.failAt(p.last().at, "bad-interval", "an interval cannot run from %s to %s", u.from, u.to)
		}
	}
	return u
}

func (p *parser) unitWord() string {
	t := p.peek(0)
	if t.kind == wordToken {
		w := strings.ToUpper(t.text)
		if timeUnits[w] || timeUnits[strings.TrimSuffix(w, "S")] {
			p.pos++
			return strings.TrimSuffix(w, "S")
		}
	}
	p.expected("a unit such as DAY, HOUR or SECOND")
	return ""
}

var timeUnits = set("YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND")
