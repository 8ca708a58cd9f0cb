// Package valdrv gives the TiDB parser the value nodes that it needs to run. The SQL front end hands it placeholders
// instead of literals, so a value here is only ever a small number; the package must never interpret a user's literal.
package valdrv

import (
	"fmt"
	"io"
	"sync"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
)

// Install sets the constructors of the TiDB parser. It must be called before the first parser is made; calling it again
// does nothing.
var Install = sync.OnceFunc(func() {
	ast.NewValueExpr = func(v any, _, _ string) ast.ValueExpr {
		if x, ok := v.(*Value); ok {
			return x
		}
		return &Value{value: v}
	}
	ast.NewParamMarkerExpr = func(offset int) ast.ParamMarkerExpr { return &Marker{} }
	text := func(s string) (any, error) { return s, nil }
	ast.NewDecimal, ast.NewHexLiteral, ast.NewBitLiteral = text, text, text
})

// Value is a literal: an integer, or the text of anything else.
type Value struct {
	ast.TexprNode
	value  any
	offset int
}

func (v *Value) SetValue(x any)            { v.value = x }
func (v *Value) GetValue() any             { return v.value }
func (v *Value) GetDatumString() string    { return v.GetString() }
func (v *Value) GetString() string         { return fmt.Sprint(v.value) }
func (v *Value) GetProjectionOffset() int  { return v.offset }
func (v *Value) SetProjectionOffset(o int) { v.offset = o }
func (v *Value) Format(w io.Writer)        { fmt.Fprint(w, v.value) }
func (v *Value) Restore(c *format.RestoreCtx) error {
	c.WritePlain(v.GetString())
	return nil
}

// Accept visits the node, which has no children.
func (v *Value) Accept(visitor ast.Visitor) (ast.Node, bool) {
	n, _ := visitor.Enter(v)
	return visitor.Leave(n)
}

// Marker is the `?` of a prepared statement; the front end never emits one.
type Marker struct{ Value }

// SetOrder implements ast.ParamMarkerExpr.
func (*Marker) SetOrder(int) {}
