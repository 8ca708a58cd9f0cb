package eval

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/ddl"
)

// Expr is a compiled expression.
type Expr struct {
	Type          *ddl.Type
	Deterministic bool
	Columns       []int // of the batch, that it reads
	// Passes is the batch column that the expression hands through unchanged, -1 when it computes.
	Passes int
}

// Compile resolves names, checks types and builds the expression.
func Compile(e ddl.Expr, scope *Scope) (*Expr, ddl.Errors) { return nil, nil }

// Eval computes the column; the caller releases it.
func (e *Expr) Eval(ctx *Context, in *change.Batch) (arrow.Array, error) {
	return nil, errors.New("eval")
}

// Run computes a sink batch; it borrows in, the caller releases the result.
func (p *Program) Run(ctx *Context, in *change.Batch) (change.Batch, error) {
	return change.Batch{}, errors.New("eval")
}
