package ddl

// Statement is one parsed statement. Nodes are plain data; nothing in them refers to the TiDB parser.
type Statement interface {
	Span() Span
	statement()
}

// Ident is a name as the user wrote it, without its quotes. Names are case-sensitive, keywords are not.
type Ident struct {
	Name string
	At   Span
}

// Path is a dotted name: [[catalog.]database.]table, or a column with qualifiers.
type Path []Ident

// Span covers all parts.
func (p Path) Span() Span {
	if len(p) == 0 {
		return Span{}
	}
	return p[0].At.Cover(p[len(p)-1].At)
}

// Last is the last part's name.
func (p Path) Last() string { return p[len(p)-1].Name }

// Option is one 'key' = 'value' of a WITH clause, a hint or a CREATE CATALOG.
type Option struct {
	Key, Value     string
	KeyAt, ValueAt Span
}

type (
	// CreateTable is CREATE [TEMPORARY] TABLE.
	CreateTable struct {
		At                     Span
		Temporary, IfNotExists bool
		Name                   Path
		Columns                []Column
		PrimaryKey             *PrimaryKey
		Watermark              *Watermark
		Comment                string
		PartitionedBy          []Ident
		Distribution           *Distribution
		Options                []Option
		OptionsAt              Span // of the WITH clause; zero when there is none
		Like                   *Like
		As                     *Query
	}
	// Column is one column of CREATE TABLE. Exactly one of the three forms: physical (Type only), computed (Expr),
	// metadata (Metadata true; Key is the FROM text, the column's own name when it is left out).
	Column struct {
		At       Span
		Name     Ident
		Type     *Type // nil for a computed column
		Expr     Expr
		Metadata bool
		Key      string
		KeyAt    Span
		Virtual  bool
		Comment  string
	}
	// PrimaryKey is a column or table constraint.
	PrimaryKey struct {
		At       Span
		Columns  []Ident
		Enforced bool // true when NOT ENFORCED is missing
	}
	// Watermark is WATERMARK FOR column AS expr.
	Watermark struct {
		At     Span
		Column Path
		Expr   Expr
	}
	// Distribution is DISTRIBUTED BY HASH(a, b) INTO n BUCKETS.
	Distribution struct {
		At      Span
		Kind    string
		Columns []Ident
		Buckets int
	}
	// Like is LIKE table (INCLUDING/EXCLUDING/OVERWRITING ...). Rules maps an upper-case feature to an upper-case strategy.
	Like struct {
		At    Span
		Table Path
		Rules []LikeRule
	}
	// LikeRule is one INCLUDING OPTIONS and the like.
	LikeRule struct {
		At                Span
		Strategy, Feature string
	}
	// CreateView is CREATE [TEMPORARY] VIEW.
	CreateView struct {
		At                     Span
		Temporary, IfNotExists bool
		Name                   Path
		Columns                []Ident
		Comment                string
		Query                  *Query
	}
	// CreateFunction is CREATE FUNCTION name(params) RETURNS type LANGUAGE lang AS 'body'; Flink's form has only a class name in Body.
	CreateFunction struct {
		At                     Span
		Temporary, IfNotExists bool
		Name                   Path
		Params                 []Param
		Returns                *Type
		Language               string
		Body                   string
		BodyAt                 Span
	}
	// Param is one parameter of a function.
	Param struct {
		Name Ident
		Type *Type
	}
	// Drop is DROP TABLE, VIEW, FUNCTION, CATALOG or DATABASE; What is the upper-case word.
	Drop struct {
		At                  Span
		What                string
		Temporary, IfExists bool
		Name                Path
	}
	// Insert is INSERT INTO | OVERWRITE.
	Insert struct {
		At        Span
		Overwrite bool
		Target    Path
		Hints     []Option
		Partition []Option
		Columns   []Ident
		Query     *Query
	}
	// StatementSet is EXECUTE STATEMENT SET BEGIN ... END and BEGIN STATEMENT SET; ... END;.
	StatementSet struct {
		At      Span
		Inserts []*Insert
	}
	// Set is SET 'key' = 'value'; without a key it lists all settings.
	Set struct {
		At         Span
		Key, Value string
		KeyAt      Span
		ValueAt    Span
	}
	// Reset is RESET ['key'].
	Reset struct {
		At    Span
		Key   string
		KeyAt Span
	}
	// Show is SHOW TABLES, SHOW CREATE TABLE t, and so on: What is the upper-case words ("TABLES", "CREATE TABLE").
	Show struct {
		At      Span
		What    string
		Name    Path
		Like    string
		NotLike bool
	}
	// Describe is DESCRIBE or DESC name.
	Describe struct {
		At   Span
		Name Path
	}
	// Explain is EXPLAIN statement.
	Explain struct {
		At        Span
		Details   []string
		Statement Statement
	}
	// SelectStatement is a query on its own.
	SelectStatement struct{ Query *Query }
	// Unsupported is a statement that was recognised but is not part of the language yet; Error says what to do.
	Unsupported struct {
		At    Span
		Error *Error
	}
)

func (s *CreateTable) Span() Span     { return s.At }
func (s *CreateView) Span() Span      { return s.At }
func (s *CreateFunction) Span() Span  { return s.At }
func (s *Drop) Span() Span            { return s.At }
func (s *Insert) Span() Span          { return s.At }
func (s *StatementSet) Span() Span    { return s.At }
func (s *Set) Span() Span             { return s.At }
func (s *Reset) Span() Span           { return s.At }
func (s *Show) Span() Span            { return s.At }
func (s *Describe) Span() Span        { return s.At }
func (s *Explain) Span() Span         { return s.At }
func (s *SelectStatement) Span() Span { return s.Query.At }
func (s *Unsupported) Span() Span     { return s.At }

func (*CreateTable) statement()     {}
func (*CreateView) statement()      {}
func (*CreateFunction) statement()  {}
func (*Drop) statement()            {}
func (*Insert) statement()          {}
func (*StatementSet) statement()    {}
func (*Set) statement()             {}
func (*Reset) statement()           {}
func (*Show) statement()            {}
func (*Describe) statement()        {}
func (*Explain) statement()         {}
func (*SelectStatement) statement() {}
func (*Unsupported) statement()     {}
