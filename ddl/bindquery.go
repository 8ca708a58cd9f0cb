package ddl

import (
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/syncsql/syncsql/ddl/valdrv"
)

// bindQuery parses the normalised text of a query and binds it.
func (n *norm) bindQuery() *Query {
	if n.err != nil {
		return nil
	}
	stmt := n.parseTiDB()
	if n.err != nil {
		return nil
	}
	set, ok := stmt.(ast.ResultSetNode)
	if !ok {
		n.strange()
		return nil
	}
	q := n.bindSet(set)
	if n.err != nil {
		return nil
	}
	return q
}

// plainSelect checks that a SELECT has nothing that the normaliser does not emit.
func plainSelect(s *ast.SelectStmt) bool {
	return s.Kind == ast.SelectStmtKindSelect && s.LockInfo == nil && s.SelectIntoOpt == nil && len(s.TableHints) == 0 &&
		len(s.WindowSpecs) == 0 && len(s.Lists) == 0 && s.Fields != nil
}

func (n *norm) bindSet(node ast.Node) *Query {
	q := &Query{}
	switch s := node.(type) {
	case *ast.SelectStmt:
		n.bindWith(q, s.With)
		q.Body = n.bindSelect(s)
		n.bindTail(q, s.OrderBy, s.Limit)
	case *ast.SetOprStmt:
		n.bindWith(q, s.With)
		q.Body = n.bindSetOps(s.SelectList)
		n.bindTail(q, s.OrderBy, s.Limit)
	default:
		n.strange()
	}
	if n.err != nil {
		return nil
	}
	q.At = q.At.Cover(q.Body.Span())
	if inner, ok := q.Body.(*Query); ok && bracketBody(q) == q.Body {
		return inner // brackets around brackets
	}
	return q
}

func (n *norm) bindWith(q *Query, w *ast.WithClause) {
	if w == nil || n.err != nil {
		return
	}
	if w.IsRecursive {
		n.strange()
		return
	}
	for _, c := range w.CTEs {
		mark, ok := n.item(c.Name.O).(*cteMark)
		if !ok || len(c.ColNameList) > 0 {
			n.strange()
			return
		}
		mark.cte.Query = n.bindSet(c.Query.Query)
		q.With = append(q.With, mark.cte)
		q.At = q.At.Cover(mark.at)
	}
}

func (n *norm) bindTail(q *Query, order *ast.OrderByClause, limit *ast.Limit) {
	if n.err != nil {
		return
	}
	if order != nil {
		for _, item := range order.Items {
			e, at := n.bind(item.Expr)
			o, ok := e.(*orderArg)
			if !ok {
				n.strange()
				return
			}
			q.OrderBy = append(q.OrderBy, o.item)
			q.At = q.At.Cover(at)
		}
	}
	if limit != nil {
		q.Limit = n.bindLimit(q, limit.Count)
		q.Offset = n.bindLimit(q, limit.Offset)
	}
}

func (n *norm) bindLimit(q *Query, node ast.ExprNode) Expr {
	if node == nil {
		return nil
	}
	if v, ok := node.(*valdrv.Value); ok {
		if m, ok := n.item("#" + v.GetString()).(*limitMark); ok {
			q.At = q.At.Cover(m.at)
			return m.expr
		}
	}
	n.strange()
	return nil
}

// bindSetOps makes a tree of the flat list; INTERSECT binds tighter than UNION and EXCEPT.
func (n *norm) bindSetOps(list *ast.SetOprSelectList) QueryBody {
	if list == nil || list.OrderBy != nil || list.Limit != nil || list.With != nil {
		n.strange()
		return nil
	}
	var left, right QueryBody // left OP right, where right gathers INTERSECTs
	var pending *SetOp
	join := func() QueryBody {
		if pending == nil {
			return right
		}
		pending.Left, pending.Right = left, right
		pending.At = left.Span().Cover(right.Span())
		return pending
	}
	for i, node := range list.Selects {
		s, ok := node.(*ast.SelectStmt)
		if !ok || n.err != nil || s.OrderBy != nil || s.Limit != nil || s.With != nil {
			n.strange()
			return nil
		}
		body := n.bindSelect(s)
		if n.err != nil {
			return nil
		}
		if i == 0 {
			right = body
			continue
		}
		if s.AfterSetOperator == nil {
			n.strange()
			return nil
		}
		op := &SetOp{}
		switch *s.AfterSetOperator {
		case ast.Union, ast.UnionAll:
			op.Op, op.All = "UNION", *s.AfterSetOperator == ast.UnionAll
		case ast.Except, ast.ExceptAll:
			op.Op, op.All = "EXCEPT", *s.AfterSetOperator == ast.ExceptAll
		case ast.Intersect, ast.IntersectAll:
			right = &SetOp{At: right.Span().Cover(body.Span()), Op: "INTERSECT", All: *s.AfterSetOperator == ast.IntersectAll, Left: right, Right: body}
			continue
		}
		left, right, pending = join(), body, op
	}
	return join()
}

func (n *norm) bindSelect(s *ast.SelectStmt) QueryBody {
	if n.err != nil {
		return nil
	}
	if !plainSelect(s) || len(s.Fields.Fields) == 0 {
		n.strange()
		return nil
	}
	if f := s.Fields.Fields[0]; f.AsName.O == "" && f.Expr != nil {
		e, _ := n.bind(f.Expr)
		if b, ok := e.(*bodyArg); ok && len(s.Fields.Fields) == 1 && s.From == nil && s.Where == nil && s.GroupBy == nil {
			return b.body
		}
		n.strange()
		return nil
	}
	var out *Select
	for i, f := range s.Fields.Fields {
		field, ok := n.item(f.AsName.O).(*selectField)
		if !ok || f.Expr == nil || (i == 0) != (field.block != nil) {
			n.strange()
			return nil
		}
		if i == 0 {
			out = field.block
		}
		if e, _ := n.bind(f.Expr); !field.item.Star {
			field.item.Expr = e
		}
		out.Items = append(out.Items, field.item)
	}
	if s.From != nil {
		out.From = n.bindTable(s.From.TableRefs)
	}
	if s.Where != nil {
		out.Where, _ = n.bind(s.Where)
	}
	if s.GroupBy != nil {
		for _, item := range s.GroupBy.Items {
			e, _ := n.bind(item.Expr)
			out.GroupBy = append(out.GroupBy, e)
		}
	}
	if s.Having != nil {
		out.Having, _ = n.bind(s.Having.Expr)
	}
	return out
}

func (n *norm) bindTable(node ast.ResultSetNode) TableRef {
	if n.err != nil {
		return nil
	}
	switch t := node.(type) {
	case *ast.Join:
		if t.Right == nil {
			return n.bindTable(t.Left)
		}
		return n.bindJoin(t)
	case *ast.TableSource:
		if name, ok := t.Source.(*ast.TableName); ok {
			if ref, ok := n.item(name.Name.O).(TableRef); ok && t.AsName.O == "" && name.Schema.O == "" {
				return ref
			}
		} else if d, ok := n.item(t.AsName.O).(*Derived); ok {
			d.Query = n.bindSet(t.Source)
			return d
		}
	}
	n.strange()
	return nil
}

func (n *norm) bindJoin(t *ast.Join) TableRef {
	j := &Join{Natural: t.NaturalJoin}
	j.Left, j.Right = n.bindTable(t.Left), n.bindTable(t.Right)
	if n.err != nil {
		return nil
	}
	j.At = j.Left.Span().Cover(j.Right.Span())
	if t.On != nil {
		on, at := n.bind(t.On.Expr)
		if _, cross := on.(*crossArg); !cross {
			j.On, j.At = on, j.At.Cover(at)
		}
	}
	for _, c := range t.Using {
		if col, ok := n.item(c.Name.O).(*ColumnRef); ok {
			j.Using = append(j.Using, col.Path[0])
			j.At = j.At.Cover(col.Span())
			continue
		}
		n.strange()
	}
	switch {
	case t.StraightJoin:
		j.Kind = "FULL"
	case t.Tp == ast.LeftJoin:
		j.Kind = "LEFT"
	case t.Tp == ast.RightJoin:
		j.Kind = "RIGHT"
	case j.On == nil && j.Using == nil && !j.Natural:
		j.Kind = "CROSS"
	default:
		j.Kind = "INNER"
	}
	return j
}
