package eval

import (
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/ddl"
)

// Expr is a compiled expression. It keeps scratch memory between batches, so it belongs to one goroutine; Clone makes one
// for another.
type Expr struct {
	Type          *ddl.Type
	Deterministic bool
	Columns       []int // of the batch, that it reads
	// Passes is the batch column that the expression hands through unchanged, -1 when it computes.
	Passes int

	root  *node
	slots int // of scratch memory that the nodes use
	arrow arrow.DataType
	frame *frame
}

// Compile resolves names, checks types and builds the expression. All mistakes are reported, not only the first.
func Compile(e ddl.Expr, scope *Scope) (*Expr, ddl.Errors) {
	c := &compiler{scope: scope}
	root := c.expr(e)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return newExpr(root, c.slots), nil
}

func newExpr(root *node, slots int) *Expr {
	x := &Expr{Type: root.typ, Deterministic: true, Passes: -1, root: root, slots: slots}
	dt, err := catalog.ArrowType(root.typ)
	if err != nil {
		panic(err) // the compiler makes only types that Arrow carries
	}
	x.arrow = dt
	seen := map[int]bool{}
	root.walk(func(n *node) {
		if n.volatile {
			x.Deterministic = false
		}
		if n.column >= 0 && !seen[n.column] {
			seen[n.column] = true
			x.Columns = append(x.Columns, n.column)
		}
	})
	sort.Ints(x.Columns)
	if root.column >= 0 {
		x.Passes = root.column
	}
	return x
}

// Clone returns the same expression with scratch memory of its own, for another goroutine.
func (e *Expr) Clone() *Expr {
	c := *e
	c.frame = nil
	return &c
}

// Eval computes the column; the caller releases it. A row that cannot be evaluated goes to ctx.Fail; where that returns
// nil the row's value is NULL.
func (e *Expr) Eval(ctx *Context, in *change.Batch) (arrow.Array, error) {
	if e.Passes >= 0 {
		a := in.Record.Column(e.Passes)
		a.Retain()
		return a, nil
	}
	f := e.start(ctx, in.Record.Columns(), in.Len())
	v := e.root.eval(f, nil)
	if f.err != nil {
		return nil, f.err
	}
	for _, x := range f.failures {
		if err := ctx.fail(x.row, "", x.reason); err != nil {
			return nil, err
		}
		v.ownValid().clear(x.row)
	}
	return e.finish(ctx, v), nil
}

// start readies the scratch memory for a batch.
func (e *Expr) start(ctx *Context, columns []arrow.Array, n int) *frame {
	if e.frame == nil {
		e.frame = &frame{slots: make([]slot, e.slots)}
	}
	f := e.frame
	f.ctx, f.columns, f.n, f.err = ctx, columns, n, nil
	f.gen++
	f.now, f.hasNow = 0, false
	f.failures = f.failures[:0]
	return f
}

func (e *Expr) finish(ctx *Context, v *vec) arrow.Array {
	if layoutOf(e.Type) == nestedValues {
		v.arr.Retain()
		return v.arr
	}
	return v.build(allocator(ctx), e.arrow, e.Type)
}

func allocator(ctx *Context) memory.Allocator {
	if ctx.Alloc == nil {
		return memory.DefaultAllocator
	}
	return ctx.Alloc
}

// node is one operation. Nodes never change after compilation; what an evaluation needs lies in the frame.
type node struct {
	typ  *ddl.Type
	at   ddl.Span
	args []*node
	slot int
	// op computes rows; where live is unset a row's result does not matter and its mistakes are not mistakes.
	op func(n *node, f *frame, live mask) *vec
	// kernel is the loop of a strict operation: NULL in, NULL out. Set when op is strict.
	kernel   kernel
	column   int            // of the batch; -1 when the node is no column
	arrow    arrow.DataType // of the column
	constant *vec           // one row
	volatile bool           // two evaluations may differ
	zoned    bool           // depends on the session's time zone
	try      bool           // a failure of this node alone is NULL
}

// kernel fills k.out from k.args. Rows that cannot be computed are reported with k.fail.
type kernel func(k *call)

// call is one evaluation of a strict node.
type call struct {
	f    *frame
	out  *vec
	args []*vec
	n    int
	live mask
	try  bool
}

// slot is the scratch memory of one node.
type slot struct {
	out    vec
	call   call
	gen    uint64 // of the frame, when the slot's result was made (memo, constants)
	memo   *vec
	choice []int32
	live   mask
	rest   mask
}

// frame is one evaluation of an expression over one batch.
type frame struct {
	ctx      *Context
	columns  []arrow.Array
	n        int
	slots    []slot
	gen      uint64
	failures []failure
	err      error // not of a row: a batch that does not fit the declaration
	now      int64
	hasNow   bool
	zone     zone
	big      bigScratch
}

type failure struct {
	row    int
	reason string
}

func (n *node) eval(f *frame, live mask) *vec { return n.op(n, f, live) }

func (n *node) walk(visit func(*node)) {
	visit(n)
	for _, a := range n.args {
		a.walk(visit)
	}
}

// evalStrict evaluates the operands and then the kernel.
func evalStrict(n *node, f *frame, live mask) *vec {
	s := &f.slots[n.slot]
	args := s.call.args[:0]
	for _, a := range n.args {
		args = append(args, a.eval(f, live))
	}
	s.call = call{f: f, out: &s.out, args: args, n: f.n, live: live, try: n.try}
	s.out.n = f.n
	s.out.valid = bothValid(&s.out, args)
	n.kernel(&s.call)
	return &s.out
}

// bothValid is where no argument is NULL. A single mask is shared, several are joined in out's own memory.
func bothValid(out *vec, args []*vec) mask {
	var m mask
	owned := false
	for _, a := range args {
		switch {
		case a.valid == nil:
		case m == nil:
			m = a.valid
		default:
			if !owned {
				own := out.nullStore.grow(out.n)
				out.nullStore = own
				copy(own, m)
				m, owned = own, true
			}
			for w := range m {
				m[w] &= a.valid[w]
			}
		}
	}
	return m
}

// fail reports that row i cannot be computed, unless its result does not matter. Under TRY_CAST the row becomes NULL.
func (k *call) fail(i int, format string, args ...any) {
	if !k.out.valid.has(i) || !k.live.has(i) {
		return
	}
	if k.try {
		k.out.ownValid().clear(i)
		return
	}
	k.f.fail(i, fmt.Sprintf(format, args...))
}

// skip reports that row i needs no work.
func (k *call) skip(i int) bool { return !k.out.valid.has(i) || !k.live.has(i) }

func (f *frame) fail(row int, reason string) {
	f.failures = append(f.failures, failure{row, reason})
}

func (f *frame) stop(err error) {
	if f.err == nil {
		f.err = err
	}
}

// evalColumn views a column of the batch.
func evalColumn(n *node, f *frame, _ mask) *vec {
	v := &f.slots[n.slot].out
	if err := v.load(n.typ, n.arrow, f.columns[n.column]); err != nil {
		f.stop(err)
		v.arr = nil
		v.allNull(n.typ, f.n)
	}
	return v
}

// evalConstant repeats a constant; the copies are kept from batch to batch.
func evalConstant(n *node, f *frame, _ mask) *vec {
	s := &f.slots[n.slot]
	if s.memo == nil || int(s.gen) < f.n {
		size := max(f.n, 1024)
		repeat(&s.out, n.constant, n.typ, size)
		s.memo, s.gen = &s.out, uint64(size)
	}
	v := &s.out
	v.n = f.n
	return v
}

func repeat(out, one *vec, t *ddl.Type, n int) {
	if one.valid != nil && !one.valid.has(0) {
		out.allNull(t, n)
		return
	}
	out.valid = nil
	switch layoutOf(t) {
	case bitValues:
		out.makeBits(n).fill(one.bits.has(0))
	case fixedValues:
		w := width(t)
		out.makeFixed(n, w)
		for i := 0; i < n; i++ {
			copy(out.raw[i*w:], one.raw[:w])
		}
	case textValues:
		off, data := out.makeText(n)
		for i := range n {
			data = append(data, one.at(0)...)
			off[i+1] = int32(len(data))
		}
		out.endText(data)
	}
}

// evalMemo evaluates its operand once per batch, for operands that an expression uses twice.
func evalMemo(n *node, f *frame, live mask) *vec {
	s := &f.slots[n.slot]
	if s.memo == nil || s.gen != f.gen {
		s.memo, s.gen = n.args[0].eval(f, live), f.gen
	}
	return s.memo
}
