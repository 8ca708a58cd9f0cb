package eval

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/syncsql/syncsql/ddl"
)

// hashedFrom is the length from which a list of constants is looked up in a hash table.
const hashedFrom = 5

// in compiles x [NOT] IN (list).
func (c *compiler) in(e *ddl.In) *node {
	if e.Query != nil {
		c.fail(e.At, "unsupported-expression", "IN (query) cannot stand in an expression").
			WithHelp("list the values, or join the tables at their source")
		return nil
	}
	args, ok := c.all(append([]ddl.Expr{e.X}, e.List...)...)
	if !ok {
		return nil
	}
	if len(args) == 1 {
		c.fail(e.At, "wrong-arguments", "IN needs at least one value")
		return nil
	}
	n := c.inList(e, args[0], args[1:])
	if n != nil && e.Not {
		return c.strict(of(ddl.Boolean), e.At, notKernel, n)
	}
	return n
}

func (c *compiler) inList(e *ddl.In, x *node, list []*node) *node {
	if len(list) >= hashedFrom {
		if n := c.inSet(e, x, list); n != nil {
			return n
		}
	}
	x = c.memo(x)
	var out *node
	for _, item := range list {
		same := c.compare("=", item.at, x, item)
		if same == nil {
			return nil
		}
		if out == nil {
			out = same
		} else {
			out = c.logic("OR", e.At, out, same)
		}
	}
	return out
}

// inSet looks x up among constants of one type; nil when the list is not that simple.
func (c *compiler) inSet(e *ddl.In, x *node, list []*node) *node {
	t := x.typ
	for _, item := range list {
		if item.constant == nil {
			return nil
		}
		if t = common(t, item.typ); t == nil {
			return nil
		}
	}
	if k := layoutOf(t); k != fixedValues && k != textValues || isFloat(t) {
		return nil
	}
	if t.Kind == ddl.Decimal {
		// The common type must hold every value exactly, or equality would change.
		for _, n := range append([]*node{x}, list...) {
			if d := asDecimal(n.typ); n.typ.Kind != ddl.Null && (d.Scale > t.Scale || d.Precision-d.Scale > t.Precision-t.Scale) {
				return nil
			}
		}
	}
	var items []*vec
	hasNull := false
	for _, item := range list {
		cast := c.implicit(item, t)
		switch {
		case cast == nil || cast.constant == nil:
			return nil
		case !cast.constant.valid.has(0):
			hasNull = true
		default:
			items = append(items, cast.constant)
		}
	}
	lookup := lookupOf(t, items)
	k := func(k *call) {
		lookup(k)
		if hasNull {
			// Not found among the others is unknown.
			valid := k.out.ownValid()
			for w := range valid {
				valid[w] &= k.out.bits[w]
			}
		}
	}
	return c.strict(of(ddl.Boolean), e.At, k, c.implicit(x, t))
}

func lookupOf(t *ddl.Type, items []*vec) kernel {
	if layoutOf(t) == textValues {
		set := make(map[string]struct{}, len(items))
		for _, v := range items {
			set[string(v.at(0))] = struct{}{}
		}
		return func(k *call) {
			bits := k.out.makeBits(k.n)
			bits.fill(false)
			for i := range k.n {
				_, ok := set[string(k.args[0].at(i))]
				bits[i>>6] |= bit(ok) << (i & 63)
			}
		}
	}
	switch width(t) {
	case 1:
		return lookupFixed[int8](items)
	case 2:
		return lookupFixed[int16](items)
	case 4:
		return lookupFixed[int32](items)
	case 8:
		return lookupFixed[int64](items)
	}
	return lookupFixed[decimal128.Num](items)
}

func lookupFixed[T comparable](items []*vec) kernel {
	set := make(map[T]struct{}, len(items))
	for _, v := range items {
		set[values[T](v)[0]] = struct{}{}
	}
	return func(k *call) {
		bits := k.out.makeBits(k.n)
		bits.fill(false)
		for i, x := range values[T](k.args[0]) {
			_, ok := set[x]
			bits[i>>6] |= bit(ok) << (i & 63)
		}
	}
}
