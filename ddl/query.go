package ddl

type (
	// Query is a whole query: WITH, body, ORDER BY, LIMIT.
	Query struct {
		At            Span
		With          []CTE
		Body          QueryBody
		OrderBy       []OrderItem
		Limit, Offset Expr
	}
	// CTE is one named query of WITH.
	CTE struct {
		Name    Ident
		Columns []Ident
		Query   *Query
	}
	// OrderItem is one ORDER BY item. NullsFirst is nil when the user did not say.
	OrderItem struct {
		Expr       Expr
		Desc       bool
		NullsFirst *bool
	}
	// QueryBody is *Select, *SetOp, *Values or *Query (in brackets).
	QueryBody interface {
		Span() Span
		queryBody()
	}
	// Select is one SELECT block.
	Select struct {
		At       Span
		Distinct bool
		Hints    []string
		Items    []SelectItem
		From     TableRef // nil: no FROM
		Where    Expr
		GroupBy  []Expr
		Having   Expr
	}
	// SelectItem is an expression with an optional alias, or a star with an optional qualifier.
	SelectItem struct {
		At    Span
		Expr  Expr
		Alias Ident // Name "" when there is none
		Star  bool
		Of    Path // the t of t.*
	}
	// SetOp is UNION, INTERSECT or EXCEPT; INTERSECT already binds tighter in the tree.
	SetOp struct {
		At          Span
		Op          string
		All         bool
		Left, Right QueryBody
	}
	// Values is VALUES (...), (...).
	Values struct {
		At   Span
		Rows [][]Expr
	}
	// TableRef is *TableName, *Derived, *Join or *TableFunction.
	TableRef interface {
		Span() Span
		tableRef()
	}
	// TableName is a table in FROM, with its dynamic options and FOR SYSTEM_TIME AS OF.
	TableName struct {
		At      Span
		Name    Path
		Alias   Ident
		Columns []Ident
		Hints   []Option
		AsOf    Expr
	}
	// Derived is a subquery in FROM.
	Derived struct {
		At      Span
		Query   *Query
		Alias   Ident
		Columns []Ident
		Lateral bool
	}
	// Join is a join; Kind is INNER, LEFT, RIGHT, FULL, CROSS (a comma too).
	Join struct {
		At          Span
		Kind        string
		Natural     bool
		Left, Right TableRef
		On          Expr
		Using       []Ident
	}
	// TableFunction is TABLE(f(...)), LATERAL TABLE(f(...)), UNNEST(...), TUMBLE(...) in FROM.
	TableFunction struct {
		At      Span
		Call    *Call
		Alias   Ident
		Columns []Ident
	}
)

func (q *Query) Span() Span         { return q.At }
func (s *Select) Span() Span        { return s.At }
func (s *SetOp) Span() Span         { return s.At }
func (v *Values) Span() Span        { return v.At }
func (*Query) queryBody()           {}
func (*Select) queryBody()          {}
func (*SetOp) queryBody()           {}
func (*Values) queryBody()          {}
func (t *TableName) Span() Span     { return t.At }
func (t *Derived) Span() Span       { return t.At }
func (t *Join) Span() Span          { return t.At }
func (t *TableFunction) Span() Span { return t.At }
func (*TableName) tableRef()        {}
func (*Derived) tableRef()          {}
func (*Join) tableRef()             {}
func (*TableFunction) tableRef()    {}

// Expr is a scalar (or, in Call, aggregate) expression.
type Expr interface {
	Span() Span
	expr()
}

// LiteralKind says what a Literal's Text is.
type LiteralKind uint8

const (
	NullLiteral      LiteralKind = iota // Text is empty
	BoolLiteral                         // "TRUE" or "FALSE"
	IntLiteral                          // decimal digits
	DecimalLiteral                      // digits with a point
	DoubleLiteral                       // with an exponent
	StringLiteral                       // the string itself, quotes and doubling removed
	BytesLiteral                        // x'..': the bytes
	DateLiteral                         // the text between the quotes
	TimeLiteral                         // the text between the quotes
	TimestampLiteral                    // the text between the quotes
	IntervalLiteral                     // the text between the quotes; Unit is "DAY" or "DAY TO SECOND"
)

type (
	// Literal is a constant.
	Literal struct {
		At   Span
		Kind LiteralKind
		Text string
		Unit string // upper case, singular; intervals only
	}
	// ColumnRef names a column, with qualifiers.
	ColumnRef struct{ Path Path }
	// Call is a function call. Name is as written; functions are matched without case. Calls that separate their arguments
	// by keywords are plain calls here: EXTRACT('YEAR', x), FLOOR(x, 'DAY'), TIMESTAMPADD('MINUTE', n, x),
	// TRIM('BOTH' | 'LEADING' | 'TRAILING', characters, x) but TRIM(x), SUBSTRING(x, from, for), POSITION(a, x),
	// OVERLAY(x, y, from, for), JSON_OBJECT(key, value, ...). CURRENT_TIMESTAMP is a call without arguments. = ANY (query) has the
	// call ANY of a Subquery on its right, TABLE t as an argument is the call TABLE of a ColumnRef, and GROUP BY GROUPING SETS
	// is a call of that name.
	Call struct {
		At       Span
		Name     Path
		Args     []Expr
		ArgNames []string // of named arguments (=>), "" where positional; nil when there are none
		Star     bool     // COUNT(*)
		Distinct bool
		Filter   Expr
		Over     *Window
		// Extra are clauses that are not arguments, such as JSON_VALUE's RETURNING: upper-case words, with Type or Expr.
		Extra []CallClause
	}
	// CallClause is a trailing clause of a call: Words such as "RETURNING", "NULL ON EMPTY", "DEFAULT ON ERROR".
	CallClause struct {
		Words string
		Type  *Type
		Expr  Expr
	}
	// Window is OVER (...).
	Window struct {
		At          Span
		PartitionBy []Expr
		OrderBy     []OrderItem
		Frame       string
	}
	// Unary is -x, +x, NOT x; Op is upper case.
	Unary struct {
		At Span
		Op string
		X  Expr
	}
	// Binary is an operator between two operands; OpAt is the operator's own place. Op is one of
	// + - * / % || = <> < <= > >= AND OR "IS DISTINCT FROM" "IS NOT DISTINCT FROM".
	Binary struct {
		OpAt Span
		Op   string
		L, R Expr
		at   Span // of both operands; zero when the node was not made by the parser
	}
	// Case is CASE; Operand is nil for the searched form, Else may be nil.
	Case struct {
		At      Span
		Operand Expr
		Whens   []When
		Else    Expr
	}
	// When is one branch.
	When struct{ Cond, Result Expr }
	// Cast is CAST or TRY_CAST.
	Cast struct {
		At   Span
		X    Expr
		Type *Type
		Try  bool
	}
	// In is x [NOT] IN (list) or (query).
	In struct {
		At    Span
		X     Expr
		List  []Expr
		Query *Query
		Not   bool
	}
	// Between is x [NOT] BETWEEN lo AND hi.
	Between struct {
		At        Span
		X, Lo, Hi Expr
		Not       bool
	}
	// LikeExpr is x [NOT] LIKE pattern [ESCAPE e]; Similar marks SIMILAR TO. Escape is nil when there is none.
	LikeExpr struct {
		At      Span
		X       Expr
		Pattern Expr
		Escape  Expr
		Not     bool
		Similar bool
	}
	// Is is x IS [NOT] NULL | TRUE | FALSE | UNKNOWN; What is the upper-case word.
	Is struct {
		At   Span
		X    Expr
		What string
		Not  bool
	}
	// Exists is EXISTS (query).
	Exists struct {
		At    Span
		Query *Query
	}
	// Subquery is a scalar subquery.
	Subquery struct {
		At    Span
		Query *Query
	}
	// Item is x[index].
	Item struct {
		At       Span
		X, Index Expr
	}
	// Field is x.name on something that is not a plain column path.
	Field struct {
		At   Span
		X    Expr
		Name Ident
	}
	// Construct is ARRAY[..], MAP[k, v, ..], MULTISET[..] or ROW(..); Kind is the upper-case word.
	Construct struct {
		At    Span
		Kind  string
		Elems []Expr
	}
)

func (e *Literal) Span() Span   { return e.At }
func (e *ColumnRef) Span() Span { return e.Path.Span() }
func (e *Call) Span() Span      { return e.At }
func (e *Unary) Span() Span     { return e.At }
func (e *Binary) Span() Span {
	if e.at == (Span{}) {
		return e.L.Span().Cover(e.R.Span())
	}
	return e.at // without this a chain of operators would be walked once for each of them
}
func (e *Case) Span() Span      { return e.At }
func (e *Cast) Span() Span      { return e.At }
func (e *In) Span() Span        { return e.At }
func (e *Between) Span() Span   { return e.At }
func (e *LikeExpr) Span() Span  { return e.At }
func (e *Is) Span() Span        { return e.At }
func (e *Exists) Span() Span    { return e.At }
func (e *Subquery) Span() Span  { return e.At }
func (e *Item) Span() Span      { return e.At }
func (e *Field) Span() Span     { return e.At }
func (e *Construct) Span() Span { return e.At }

func (*Literal) expr()   {}
func (*ColumnRef) expr() {}
func (*Call) expr()      {}
func (*Unary) expr()     {}
func (*Binary) expr()    {}
func (*Case) expr()      {}
func (*Cast) expr()      {}
func (*In) expr()        {}
func (*Between) expr()   {}
func (*LikeExpr) expr()  {}
func (*Is) expr()        {}
func (*Exists) expr()    {}
func (*Subquery) expr()  {}
func (*Item) expr()      {}
func (*Field) expr()     {}
func (*Construct) expr() {}
