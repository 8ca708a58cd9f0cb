package eval

import (
	"github.com/syncsql/syncsql/ddl"
)

// logic is AND and OR with three values. The right side is not evaluated where the left decides, so that its mistakes
// there are none: x <> 0 AND 1 / x > 2.
func (c *compiler) logic(op string, at ddl.Span, l, r *node) *node {
	eval := evalAnd
	if op == "OR" {
		eval = evalOr
	}
	return c.fold(c.node(of(ddl.Boolean), at, eval, l, r))
}

func evalAnd(n *node, f *frame, live mask) *vec {
	s := &f.slots[n.slot]
	l := n.args[0].eval(f, live)
	rest := s.live.grow(f.n)
	s.live = rest
	for w := range rest {
		isFalse := l.valid.word(w) &^ l.bits[w]
		rest[w] = live.word(w) &^ isFalse
	}
	out := &s.out
	if !rest.any(f.n) {
		out.makeBits(f.n).fill(false)
		out.valid = nil
		return out
	}
	r := n.args[1].eval(f, rest)
	bits, valid := out.makeBits(f.n), out.nullStore.grow(f.n)
	out.nullStore = valid
	for w := range bits {
		lv, rv := l.valid.word(w), r.valid.word(w)
		yes := lv & l.bits[w] & rv & r.bits[w]
		no := lv&^l.bits[w] | rv&^r.bits[w]
		bits[w], valid[w] = yes, yes|no
	}
	out.valid = validOrNil(valid, l, r)
	return out
}

func evalOr(n *node, f *frame, live mask) *vec {
	s := &f.slots[n.slot]
	l := n.args[0].eval(f, live)
	rest := s.live.grow(f.n)
	s.live = rest
	for w := range rest {
		isTrue := l.valid.word(w) & l.bits[w]
		rest[w] = live.word(w) &^ isTrue
	}
	out := &s.out
	if !rest.any(f.n) {
		out.makeBits(f.n).fill(true)
		out.valid = nil
		return out
	}
	r := n.args[1].eval(f, rest)
	bits, valid := out.makeBits(f.n), out.nullStore.grow(f.n)
	out.nullStore = valid
	for w := range bits {
		lv, rv := l.valid.word(w), r.valid.word(w)
		yes := lv&l.bits[w] | rv&r.bits[w]
		no := lv &^ l.bits[w] & (rv &^ r.bits[w])
		bits[w], valid[w] = yes, yes|no
	}
	out.valid = validOrNil(valid, l, r)
	return out
}

// validOrNil drops a mask that cannot have NULLs in it.
func validOrNil(m mask, args ...*vec) mask {
	for _, a := range args {
		if a.valid != nil {
			return m
		}
	}
	return nil
}

func notKernel(k *call) {
	out := k.out.makeBits(k.n)
	for w, x := range k.args[0].bits[:len(out)] {
		out[w] = ^x
	}
}

// is compiles IS [NOT] NULL, TRUE, FALSE, UNKNOWN.
func (c *compiler) is(e *ddl.Is) *node {
	x := c.expr(e.X)
	if x == nil {
		return nil
	}
	if e.What != "NULL" {
		if x = c.boolean(x, "IS "+e.What); x == nil {
			return nil
		}
	}
	var test func(valid, bits uint64) uint64
	switch e.What {
	case "NULL", "UNKNOWN":
		test = func(valid, _ uint64) uint64 { return ^valid }
	case "TRUE":
		test = func(valid, bits uint64) uint64 { return valid & bits }
	case "FALSE":
		test = func(valid, bits uint64) uint64 { return valid &^ bits }
	default:
		c.fail(e.At, "unsupported-expression", "IS %s cannot be evaluated", e.What)
		return nil
	}
	return c.isTest(e.At, x, test, e.Not)
}

func (c *compiler) isTest(at ddl.Span, x *node, test func(valid, bits uint64) uint64, not bool) *node {
	var flip uint64
	if not {
		flip = ^uint64(0)
	}
	n := c.node(&ddl.Type{Kind: ddl.Boolean, NotNull: true}, at, func(n *node, f *frame, live mask) *vec {
		a := n.args[0].eval(f, live)
		out := &f.slots[n.slot].out
		bits := out.makeBits(f.n)
		out.valid = nil
		for w := range bits {
			var b uint64
			if w < len(a.bits) {
				b = a.bits[w]
			}
			bits[w] = test(a.valid.word(w), b) ^ flip
		}
		return out
	}, x)
	return c.fold(n)
}

// caseExpr compiles both forms of CASE.
func (c *compiler) caseExpr(e *ddl.Case) *node {
	var operand *node
	ok := true
	if e.Operand != nil {
		if operand = c.expr(e.Operand); operand == nil {
			ok = false
		} else {
			operand = c.memo(operand)
		}
	}
	var conds, results []*node
	for _, w := range e.Whens {
		cond, result := c.expr(w.Cond), c.expr(w.Result)
		if cond != nil && e.Operand == nil {
			cond = c.boolean(cond, "WHEN")
		} else if cond != nil && operand != nil {
			cond = c.compare("=", w.Cond.Span(), operand, cond)
		}
		ok = ok && cond != nil && result != nil
		conds, results = append(conds, cond), append(results, result)
	}
	if e.Else != nil {
		other := c.expr(e.Else)
		ok = ok && other != nil
		results = append(results, other)
	}
	if !ok {
		return nil
	}
	return c.branches(e.At, "CASE", conds, results)
}

// branches makes a CASE of its conditions and results; one result more than conditions is the ELSE.
func (c *compiler) branches(at ddl.Span, what string, conds, results []*node) *node {
	t := c.commonOf(at, what, results)
	if t == nil {
		return nil
	}
	if len(results) == len(conds) {
		results = append(results, c.null(t, at))
	}
	args := append([]*node{}, conds...)
	for _, r := range results {
		args = append(args, c.implicit(r, t))
	}
	n := c.node(t, at, evalCase, args...)
	return c.fold(n)
}

// commonOf is the type that all nodes meet in; it complains when there is none.
func (c *compiler) commonOf(at ddl.Span, what string, nodes []*node) *ddl.Type {
	t := nodes[0].typ
	for _, n := range nodes[1:] {
		next := common(t, n.typ)
		if next == nil {
			c.mismatch(n.at, "the results of %s have the types %s and %s", what, base(t), base(n.typ)).
				WithHelp("write CAST(... AS %s)", base(t))
			return nil
		}
		t = next
	}
	if layoutOf(t) == nestedValues {
		c.fail(at, "unsupported-expression", "%s cannot choose between values of type %s", what, base(t))
		return nil
	}
	return &ddl.Type{Kind: t.Kind, Length: t.Length, Precision: t.Precision, Scale: t.Scale}
}

func base(t *ddl.Type) string {
	b := *t
	b.NotNull = false
	return b.String()
}

// evalCase evaluates each branch only for the rows that reach it.
func evalCase(n *node, f *frame, live mask) *vec {
	s := &f.slots[n.slot]
	branches := (len(n.args) - 1) / 2
	results := n.args[branches:]
	choice := makeChoice(s, f.n, int32(branches))
	rest, take := s.rest.grow(f.n), s.live.grow(f.n)
	s.rest, s.live = rest, take
	for w := range rest {
		rest[w] = live.word(w)
	}
	vecs := s.call.args[:0]
	for b := range branches {
		if !rest.any(f.n) {
			vecs = append(vecs, nil)
			continue
		}
		cond := n.args[b].eval(f, rest)
		for w := range take {
			take[w] = rest[w] & cond.valid.word(w) & cond.bits[w]
			rest[w] &^= take[w]
		}
		if !take.any(f.n) {
			vecs = append(vecs, nil)
			continue
		}
		vecs = append(vecs, results[b].eval(f, take))
		mark(choice, take, int32(b))
	}
	if rest.any(f.n) {
		vecs = append(vecs, results[branches].eval(f, rest))
	} else {
		vecs = append(vecs, nil)
	}
	s.call.args = vecs
	pick(&s.out, n.typ, vecs, choice)
	return &s.out
}

func makeChoice(s *slot, n int, first int32) []int32 {
	if cap(s.choice) < n {
		s.choice = make([]int32, max(n, 1024))
	}
	choice := s.choice[:n]
	for i := range choice {
		choice[i] = first
	}
	return choice
}

func mark(choice []int32, take mask, b int32) {
	for i := range choice {
		if take[i>>6]&(1<<(i&63)) != 0 {
			choice[i] = b
		}
	}
}

// pick builds a column whose row i comes from vecs[choice[i]]. A nil vec stands for rows that do not matter.
func pick(out *vec, t *ddl.Type, vecs []*vec, choice []int32) {
	n := len(choice)
	nulls := false
	for b, v := range vecs {
		if v == nil {
			vecs[b] = &undefined
		}
		nulls = nulls || v != nil && v.valid != nil
	}
	switch layoutOf(t) {
	case bitValues:
		bits := out.makeBits(n)
		bits.fill(false)
		for i, b := range choice {
			if v := vecs[b]; v.n > 0 && v.bits.has(i) {
				bits.set(i)
			}
		}
	case fixedValues:
		pickFixed(out, width(t), vecs, choice)
	case textValues:
		off, data := out.makeText(n)
		for i, b := range choice {
			if v := vecs[b]; v.n > 0 && v.valid.has(i) {
				data = append(data, v.at(i)...)
			}
			off[i+1] = int32(len(data))
		}
		out.endText(data)
	}
	out.n, out.valid = n, nil
	if nulls || layoutOf(t) == noValues {
		valid := out.nullStore.grow(n)
		valid.fill(true)
		for i, b := range choice {
			if v := vecs[b]; v.n > 0 && !v.valid.has(i) {
				valid.clear(i)
			}
		}
		out.nullStore, out.valid = valid, valid
	}
}

// undefined stands for a branch that no row took.
var undefined vec

func pickFixed(out *vec, width int, vecs []*vec, choice []int32) {
	switch width {
	case 1:
		pickOf[uint8](out, vecs, choice)
	case 2:
		pickOf[uint16](out, vecs, choice)
	case 4:
		pickOf[uint32](out, vecs, choice)
	case 8:
		pickOf[uint64](out, vecs, choice)
	default:
		pickOf[[2]uint64](out, vecs, choice)
	}
}

func pickOf[T any](out *vec, vecs []*vec, choice []int32) {
	o := makeValues[T](out, len(choice))
	if len(vecs) == 2 && vecs[0].n > 0 && vecs[1].n > 0 {
		a, b := values[T](vecs[0]), values[T](vecs[1])
		for i, c := range choice {
			if c == 0 {
				o[i] = a[i]
			} else {
				o[i] = b[i]
			}
		}
		return
	}
	var zero T
	for i, c := range choice {
		if v := vecs[c]; v.n > 0 {
			o[i] = values[T](v)[i]
		} else {
			o[i] = zero
		}
	}
}

// coalesce is the first operand that is not NULL; later ones are evaluated only where all before are NULL.
func (c *compiler) coalesce(at ddl.Span, args []*node) *node {
	t := c.commonOf(at, "COALESCE", args)
	if t == nil {
		return nil
	}
	cast := make([]*node, len(args))
	for i, a := range args {
		cast[i] = c.implicit(a, t)
	}
	return c.fold(c.node(t, at, evalCoalesce, cast...))
}

func evalCoalesce(n *node, f *frame, live mask) *vec {
	s := &f.slots[n.slot]
	last := len(n.args) - 1
	choice := makeChoice(s, f.n, int32(last))
	rest, take := s.rest.grow(f.n), s.live.grow(f.n)
	s.rest, s.live = rest, take
	for w := range rest {
		rest[w] = live.word(w)
	}
	vecs := s.call.args[:0]
	for b, a := range n.args {
		if !rest.any(f.n) {
			vecs = append(vecs, nil)
			continue
		}
		v := a.eval(f, rest)
		vecs = append(vecs, v)
		for w := range take {
			take[w] = rest[w] & v.valid.word(w)
			rest[w] &^= take[w]
		}
		mark(choice, take, int32(b))
	}
	s.call.args = vecs
	pick(&s.out, n.typ, vecs, choice)
	return &s.out
}

// nullif is NULL where a equals b, else a.
func (c *compiler) nullif(at ddl.Span, a, b *node) *node {
	if layoutOf(a.typ) == nestedValues {
		c.fail(at, "unsupported-expression", "NULLIF cannot compare values of type %s", base(a.typ))
		return nil
	}
	a = c.memo(a)
	same := c.compare("=", at, a, b)
	if same == nil {
		return nil
	}
	return c.branches(at, "NULLIF", []*node{same}, []*node{c.null(a.typ, at), a})
}
