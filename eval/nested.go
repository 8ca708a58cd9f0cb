package eval

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/ddl"
)

func (c *compiler) fieldExpr(e *ddl.Field) *node {
	x := c.expr(e.X)
	if x == nil {
		return nil
	}
	return c.field(x, e.Name)
}

// field is x.name on a ROW: a view of the child column.
func (c *compiler) field(x *node, name ddl.Ident) *node {
	if x.typ.Kind != ddl.Row {
		c.mismatch(name.At, "%s has no fields, so no %q", base(x.typ), name.Name)
		return nil
	}
	var names []string
	for i, f := range x.typ.Fields {
		if f.Name != name.Name {
			names = append(names, f.Name)
			continue
		}
		dt, err := catalog.ArrowType(f.Type)
		if err != nil {
			c.fail(name.At, "unsupported-expression", "field %q has the type %s, which cannot be read", f.Name, f.Type)
			return nil
		}
		t := *f.Type
		t.NotNull = f.Type.NotNull && x.typ.NotNull
		n := c.node(&t, x.at.Cover(name.At), evalField(i), x)
		n.arrow = dt
		return n
	}
	err := c.fail(name.At, "unknown-column", "unknown field %q", name.Name)
	if near := nearest(name.Name, names); near != "" {
		err.WithHelp("did you mean %q?", near)
	}
	return nil
}

func evalField(i int) func(*node, *frame, mask) *vec {
	return func(n *node, f *frame, live mask) *vec {
		x := n.args[0].eval(f, live)
		v := &f.slots[n.slot].out
		row, ok := x.arr.(*array.Struct)
		if !ok || i >= row.NumField() {
			f.stop(fmt.Errorf("column without the declared field %d of %s", i, n.args[0].typ))
		} else if err := v.load(n.typ, n.arrow, row.Field(i)); err != nil {
			f.stop(err)
		}
		if f.err != nil {
			v.arr = nil
			v.allNull(n.typ, f.n)
			return v
		}
		if x.valid != nil {
			valid := v.ownValid()
			for w := range valid {
				valid[w] &= x.valid[w]
			}
		}
		return v
	}
}

// item is x[i]: an element of an ARRAY, counted from 1.
func (c *compiler) item(e *ddl.Item) *node {
	args, ok := c.all(e.X, e.Index)
	if !ok {
		return nil
	}
	x := args[0]
	if x.typ.Kind != ddl.Array || layoutOf(x.typ.Elem) == nestedValues || !isInteger(args[1].typ) {
		c.fail(e.At, "unsupported-expression", "only ARRAYs of plain values can be indexed, and by numbers; found %s[%s]",
			base(x.typ), base(args[1].typ))
		return nil
	}
	dt, err := catalog.ArrowType(x.typ.Elem)
	if err != nil {
		c.fail(e.At, "unsupported-expression", "an element of type %s cannot be read", x.typ.Elem)
		return nil
	}
	t := *x.typ.Elem
	t.NotNull = false
	n := c.node(&t, e.At, evalItem, x, c.implicit(args[1], of(ddl.BigInt)))
	n.arrow = dt
	return n
}

// evalItem is NULL where the index is outside the array, as in Flink.
func evalItem(n *node, f *frame, live mask) *vec {
	x, index := n.args[0].eval(f, live), n.args[1].eval(f, live)
	s := &f.slots[n.slot]
	list, ok := x.arr.(array.ListLike)
	if !ok {
		f.stop(fmt.Errorf("column without the lists of %s", n.args[0].typ))
		s.out.allNull(n.typ, f.n)
		return &s.out
	}
	rows := makeChoice(s, f.n, -1)
	at := values[int64](index)
	for i := range rows {
		if !x.valid.has(i) || !index.valid.has(i) {
			continue
		}
		lo, hi := list.ValueOffsets(i)
		if at[i] >= 1 && at[i] <= hi-lo {
			rows[i] = int32(lo + at[i] - 1)
		}
	}
	// The elements are copied with Go's allocator: they live no longer than the slot's next batch.
	elems := take(allocator(&Context{}), list.ListValues(), rows)
	if err := s.out.load(n.typ, n.arrow, elems); err != nil {
		f.stop(err)
		s.out.allNull(n.typ, f.n)
	}
	return &s.out
}
