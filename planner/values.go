package planner

import (
	"context"
	"encoding/binary"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

// valueRows are the rows of VALUES, or the one row of a SELECT without FROM. They are read as numbers from 0; the
// expressions of each row stand in a CASE over that number.
type valueRows struct{ rows [][]ddl.Expr }

const rowColumn = "row"

func (v *valueRows) text() string {
	var lines []string
	for _, r := range v.rows {
		var texts []string
		for _, e := range r {
			texts = append(texts, ddl.PrintExpr(e))
		}
		lines = append(lines, strings.Join(texts, ", "))
	}
	return strings.Join(lines, "; ")
}

// oneRow is what a SELECT without FROM reads.
func (w *work) oneRow(at ddl.Span) *relation {
	return &relation{branches: []*branch{{src: w.valueSource([][]ddl.Expr{{}}, at), at: at}}}
}

// values resolves VALUES.
func (w *work) values(v *ddl.Values) *relation {
	width := len(v.Rows[0])
	before := len(w.errs)
	for _, row := range v.Rows {
		if len(row) != width {
			w.fail(ddl.Errorf(row[0].Span(), "column-count", "the rows of VALUES have %d and %d columns", width, len(row)))
		}
		for _, e := range row {
			if !w.refuseInside(e) {
				continue
			}
			walk(e, func(e ddl.Expr) bool {
				if ref, ok := e.(*ddl.ColumnRef); ok {
					w.fail(ddl.Errorf(ref.Span(), "unknown-column", "VALUES has no columns, so %q means nothing", ref.Path.Last()).
						WithHelp("write text between single quotes"))
				}
				return true
			})
		}
	}
	if len(w.errs) > before {
		return nil
	}
	b := &branch{src: w.valueSource(v.Rows, v.At), at: v.At}
	rel := &relation{branches: []*branch{b}}
	for c := range width {
		rel.columns = append(rel.columns, "EXPR$"+strconv.Itoa(c))
		if len(v.Rows) == 1 {
			b.exprs = append(b.exprs, v.Rows[0][c])
			continue
		}
		x := &ddl.Case{At: v.At, Operand: &ddl.ColumnRef{Path: ddl.Path{{Name: rowColumn, At: v.At}}}}
		for n, row := range v.Rows {
			number := &ddl.Literal{At: v.At, Kind: ddl.IntLiteral, Text: strconv.Itoa(n)}
			x.Whens = append(x.Whens, ddl.When{Cond: number, Result: row[c]})
		}
		b.exprs = append(b.exprs, x)
	}
	return rel
}

func (w *work) valueSource(rows [][]ddl.Expr, at ddl.Span) *source {
	number := &ddl.Type{Kind: ddl.Int, NotNull: true}
	t := &catalog.Table{Name: "values", At: at, Columns: []ddl.Column{{Name: ddl.Ident{Name: rowColumn}, Type: number}}}
	s := &source{at: at, values: &valueRows{rows}, columns: []base{{name: rowColumn, typ: number}},
		scope: eval.Scope{Columns: []eval.Column{{Name: rowColumn, Type: number}}}}
	s.table = t
	s.connector = &connectors.Connector{Name: "values", Doc: "Rows that stand in the statement.",
		OpenSource: func(_ context.Context, r connectors.Read) (connectors.Source, error) {
			return &valueSource{left: r.From == nil, rows: len(rows)}, nil
		}}
	s.mode = connectors.ReadMode{Name: "values", Emits: change.Inserts, Bounded: true, Replay: true, BeforeImages: "none"}
	w.sources = append(w.sources, s)
	return s
}

// valueSource hands the row numbers over in one batch.
type valueSource struct {
	left bool
	rows int
}

func (s *valueSource) Next(ctx context.Context) (change.Batch, error) {
	if err := ctx.Err(); err != nil {
		return change.Batch{}, err
	}
	if !s.left {
		return change.Batch{}, io.EOF
	}
	s.left = false
	b := array.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	for n := range s.rows {
		b.Append(int32(n))
	}
	column := b.NewInt32Array()
	defer column.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: rowColumn, Type: arrow.PrimitiveTypes.Int32}}, nil)
	return change.Batch{Record: array.NewRecordBatch(schema, []arrow.Array{column}, int64(s.rows)),
		Position: binary.BigEndian.AppendUint64(nil, uint64(s.rows)), Bytes: int64(4 * s.rows)}, nil
}

func (s *valueSource) Ack(context.Context, change.Position) error { return nil }
func (s *valueSource) Close() error                               { return nil }
