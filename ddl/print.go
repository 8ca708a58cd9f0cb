package ddl

import (
	"strconv"
	"strings"
)

// Print writes a statement as SQL; parsing the text gives an equal tree.
func Print(s Statement) string { return PrintRedacted(s, nil) }

// PrintRedacted is Print with every option's value passed through redact, which may hide it. A nil redact hides nothing.
func PrintRedacted(s Statement, redact func(key, value string) string) string {
	p := printer{redact: redact}
	p.statement(s)
	return p.String()
}

// PrintQuery writes a query as SQL.
func PrintQuery(q *Query) string {
	var p printer
	p.query(q)
	return p.String()
}

// PrintExpr writes an expression as SQL.
func PrintExpr(e Expr) string {
	var p printer
	p.expr(e, lowest)
	return p.String()
}

// printer appends SQL to a buffer.
type printer struct {
	strings.Builder
	redact func(key, value string) string
}

func (p *printer) put(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// list puts a separator between n things.
func (p *printer) list(n int, sep string, each func(i int)) {
	for i := range n {
		if i > 0 {
			p.put(sep)
		}
		each(i)
	}
}

func (p *printer) statement(s Statement) {
	switch x := s.(type) {
	case *CreateTable:
		p.createTable(x)
	case *CreateView:
		p.put("CREATE ", when(x.Temporary, "TEMPORARY "), "VIEW ", when(x.IfNotExists, "IF NOT EXISTS "), printPath(x.Name))
		if len(x.Columns) > 0 {
			p.put(" ", printIdents(x.Columns))
		}
		if x.Comment != "" {
			p.put(" COMMENT ", QuoteString(x.Comment))
		}
		p.put(" AS ")
		p.query(x.Query)
	case *CreateFunction:
		p.createFunction(x)
	case *Drop:
		p.put("DROP ", when(x.Temporary, "TEMPORARY "), x.What, " ", when(x.IfExists, "IF EXISTS "), printPath(x.Name))
	case *Insert:
		p.insert(x)
	case *StatementSet:
		p.put("EXECUTE ")
		p.statementSet(x)
	case *Set:
		p.put("SET")
		if x.KeyAt != (Span{}) || x.Key != "" {
			p.put(" ", QuoteString(x.Key), " = ", QuoteString(p.value(x.Key, x.Value)))
		}
	case *Reset:
		p.put("RESET")
		if x.KeyAt != (Span{}) || x.Key != "" {
			p.put(" ", QuoteString(x.Key))
		}
	case *Show:
		p.show(x)
	case *Describe:
		p.put("DESCRIBE ", printPath(x.Name))
	case *Explain:
		p.put("EXPLAIN ", strings.Join(x.Details, ", "), when(len(x.Details) > 0, " "))
		if set, ok := x.Statement.(*StatementSet); ok {
			p.statementSet(set)
		} else {
			p.statement(x.Statement)
		}
	case *SelectStatement:
		p.query(x.Query)
	}
}

func when(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

func (p *printer) value(key, value string) string {
	if p.redact != nil {
		return p.redact(key, value)
	}
	return value
}

func (p *printer) statementSet(s *StatementSet) {
	p.put("STATEMENT SET BEGIN\n")
	for _, i := range s.Inserts {
		p.insert(i)
		p.put(";\n")
	}
	p.put("END")
}

func (p *printer) show(s *Show) {
	p.put("SHOW ", s.What)
	if len(s.Name) > 0 {
		p.put(when(!strings.HasPrefix(s.What, "CREATE") && s.What != "PARTITIONS", " FROM"), " ", printPath(s.Name))
	}
	if s.Like != "" || s.NotLike {
		p.put(when(s.NotLike, " NOT"), " LIKE ", QuoteString(s.Like))
	}
}

func (p *printer) createTable(s *CreateTable) {
	p.put("CREATE ", when(s.Temporary, "TEMPORARY "), "TABLE ", when(s.IfNotExists, "IF NOT EXISTS "), printPath(s.Name))
	var lines []func()
	for i := range s.Columns {
		lines = append(lines, func() { p.column(&s.Columns[i]) })
	}
	if w := s.Watermark; w != nil {
		lines = append(lines, func() {
			p.put("WATERMARK FOR ", printPath(w.Column), " AS ")
			p.expr(w.Expr, lowest)
		})
	}
	if k := s.PrimaryKey; k != nil {
		lines = append(lines, func() { p.put("PRIMARY KEY ", printIdents(k.Columns), when(!k.Enforced, " NOT ENFORCED")) })
	}
	if len(lines) > 0 {
		p.put(" (\n  ")
		p.list(len(lines), ",\n  ", func(i int) { lines[i]() })
		p.put("\n)")
	}
	if s.Comment != "" {
		p.put("\nCOMMENT ", QuoteString(s.Comment))
	}
	p.distribution(s.Distribution)
	if len(s.PartitionedBy) > 0 {
		p.put("\nPARTITIONED BY ", printIdents(s.PartitionedBy))
	}
	if len(s.Options) > 0 {
		p.put("\nWITH (\n  ")
		p.options(s.Options, ",\n  ")
		p.put("\n)")
	} else if s.OptionsAt != (Span{}) {
		p.put("\nWITH ()")
	}
	if l := s.Like; l != nil {
		p.put("\nLIKE ", printPath(l.Table))
		if len(l.Rules) > 0 {
			p.put(" (")
			p.list(len(l.Rules), " ", func(i int) { p.put(l.Rules[i].Strategy, " ", l.Rules[i].Feature) })
			p.put(")")
		}
	}
	if s.As != nil {
		p.put("\nAS ")
		p.query(s.As)
	}
}

func (p *printer) distribution(d *Distribution) {
	if d == nil {
		return
	}
	p.put("\nDISTRIBUTED")
	if d.Columns != nil {
		p.put(" BY ", d.Kind, printIdents(d.Columns))
	}
	if d.Buckets > 0 || d.Columns == nil {
		p.put(" INTO ", strconv.Itoa(d.Buckets), " BUCKETS")
	}
}

func (p *printer) column(c *Column) {
	p.put(printName(c.Name.Name), " ")
	if c.Type == nil {
		p.put("AS ")
		p.expr(c.Expr, lowest)
	} else {
		p.put(printType(c.Type))
	}
	if c.Metadata {
		p.put(" METADATA")
		if c.Key != c.Name.Name {
			p.put(" FROM ", QuoteString(c.Key))
		}
		p.put(when(c.Virtual, " VIRTUAL"))
	}
	if c.Comment != "" {
		p.put(" COMMENT ", QuoteString(c.Comment))
	}
}

// printType spells a type with the comments of its fields, which Type.String leaves out.
func printType(t *Type) string {
	s := ""
	switch t.Kind {
	case Array:
		s = "ARRAY<" + printType(t.Elem) + ">"
	case Multiset:
		s = "MULTISET<" + printType(t.Elem) + ">"
	case Map:
		s = "MAP<" + printType(t.Key) + ", " + printType(t.Elem) + ">"
	case Row:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = QuoteIdent(f.Name) + " " + printType(f.Type)
			if f.Comment != "" {
				fields[i] += " " + QuoteString(f.Comment)
			}
		}
		s = "ROW<" + strings.Join(fields, ", ") + ">"
	default:
		return t.String()
	}
	return s + when(t.NotNull, " NOT NULL")
}

func (p *printer) options(options []Option, sep string) {
	p.list(len(options), sep, func(i int) {
		o := &options[i]
		p.put(QuoteString(o.Key), " = ", QuoteString(p.value(o.Key, o.Value)))
	})
}

func (p *printer) createFunction(s *CreateFunction) {
	p.put("CREATE ", when(s.Temporary, "TEMPORARY "), "FUNCTION ", when(s.IfNotExists, "IF NOT EXISTS "), printPath(s.Name))
	if len(s.Params) > 0 {
		p.put("(")
		p.list(len(s.Params), ", ", func(i int) { p.put(printName(s.Params[i].Name.Name), " ", printType(s.Params[i].Type)) })
		p.put(")")
	}
	if s.Returns != nil {
		p.put(" RETURNS ", printType(s.Returns))
	}
	if s.Language != "" {
		p.put(" LANGUAGE ", printName(s.Language))
	}
	p.put(" AS ", QuoteString(s.Body))
}

func (p *printer) insert(s *Insert) {
	p.put("INSERT ", when(s.Overwrite, "OVERWRITE "), when(!s.Overwrite, "INTO "), printPath(s.Target))
	p.hints(s.Hints)
	if len(s.Partition) > 0 {
		p.put(" PARTITION (")
		p.list(len(s.Partition), ", ", func(i int) {
			o := &s.Partition[i]
			p.put(printName(o.Key))
			if o.ValueAt != (Span{}) || o.Value != "" {
				p.put(" = ", QuoteString(o.Value))
			}
		})
		p.put(")")
	}
	if len(s.Columns) > 0 {
		p.put(" ", printIdents(s.Columns))
	}
	p.put(" ")
	p.query(s.Query)
}

func (p *printer) hints(options []Option) {
	if len(options) > 0 {
		p.put(" /*+ OPTIONS(")
		p.options(options, ", ")
		p.put(") */")
	}
}

// quotedNames are words that Flink reserves and people use as names; together with the words of the grammar they are
// printed between backticks, so that the text also runs there.
var quotedNames = set("VALUE VALUES USER DATE TIME TIMESTAMP SYSTEM DAY HOUR MINUTE SECOND MONTH YEAR START COUNT RESULT METHOD RANK ROWS GROUPS RANGE " +
	"CASE CAST TRY_CAST EXISTS ANY SOME ALL NULL TRUE FALSE UNKNOWN NOT TABLE INTERVAL ARRAY MAP MULTISET ROW PRIMARY CONSTRAINT WATERMARK " +
	"UNIQUE PERIOD KEY BOTH LEADING TRAILING OVERWRITE PARTITION SYMMETRIC ASYMMETRIC RECURSIVE ABSENT GROUPING DESCRIPTOR PLAN STATEMENT " +
	"EXTENDED IF JOB FUNCTION CATALOG DATABASE MATERIALIZED LANGUAGE FILTER OVER IGNORE RESPECT NULLS TO AT MEMBER DIV MOD XOR REGEXP RLIKE ILIKE ASC DESC OF")

// printName quotes a name unless it is plain and no keyword.
func printName(name string) string {
	plain := name != ""
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			plain = false
			break
		}
	}
	if plain {
		if w := strings.ToUpper(name); !quotedNames[w] && !notAlias[w] && !notOperand[w] && !niladic[w] && !typeWords[w] && !statementStart[w] {
			return name
		}
	}
	return QuoteIdent(name)
}

func printPath(path Path) string {
	parts := make([]string, len(path))
	for i, id := range path {
		parts[i] = printName(id.Name)
	}
	return strings.Join(parts, ".")
}

func printIdents(ids []Ident) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = printName(id.Name)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
