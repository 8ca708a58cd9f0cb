package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/ddl"
)

// run is the scratch memory of a Program and the state of one batch.
type run struct {
	filter *Expr   // of the program, with scratch memory of its own
	exprs  []*Expr // its outputs
	ctx    *Context
	in     *change.Batch
	keep   mask
	live   mask
	hidden mask          // rows whose output is unsent
	kinds  []change.Kind // of the batch, as they become; nil when all are +I
	rows   []int32       // of the batch, that are kept; nil when all are
	failed []failedRow
	// The kept rows, once chosen.
	n       int
	columns []arrow.Array
	taken   []arrow.Array // of columns, to be released
	unsent  *change.Unsent
	outputs []arrow.Array
	marks   *change.Unsent // of the outputs
	schema  *arrow.Schema
}

type failedRow struct {
	row            int
	column, reason string
}

// acquire takes the scratch memory of the last Run, or makes one when another goroutine has it.
func (p *Program) acquire() *run {
	if r := (*run)(atomic.SwapPointer(&p.idle, nil)); r != nil {
		return r
	}
	r := &run{exprs: make([]*Expr, len(p.Outputs))}
	if p.Filter != nil {
		r.filter = p.Filter.Clone()
	}
	for i, e := range p.Outputs {
		r.exprs[i] = e.Clone()
	}
	return r
}

// Run computes a sink batch; it borrows in, the caller releases the result. A row that cannot be evaluated, or that breaks
// a rule of the sink, goes to ctx.Fail once; where that returns nil the row is left out. When every row is left out the
// result has no record: only its position moves on.
func (p *Program) Run(ctx *Context, in *change.Batch) (change.Batch, error) {
	out := change.Batch{Table: in.Table, Position: in.Position, Bytes: in.Bytes}
	if in.Len() == 0 {
		return out, nil
	}
	r := p.acquire()
	r.start(ctx, in)
	defer func() {
		r.release()
		atomic.StorePointer(&p.idle, unsafe.Pointer(r))
	}()
	if err := p.filter(r); err != nil {
		return out, err
	}
	if err := p.decide(r); err != nil {
		return out, err
	}
	r.choose()
	if r.n > 0 {
		if err := p.project(r); err != nil {
			return out, err
		}
	}
	if len(r.failed) > 0 {
		if err := r.reject(); err != nil {
			return out, err
		}
	}
	if r.n == 0 {
		return out, nil
	}
	r.finish(p, &out)
	return out, nil
}

func (r *run) start(ctx *Context, in *change.Batch) {
	n := in.Len()
	r.ctx, r.in = ctx, in
	r.keep, r.live, r.hidden = r.keep.grow(n), r.live.grow(n), r.hidden.grow(n)
	r.keep.fill(true)
	r.kinds, r.rows = nil, r.rows[:0]
	r.failed, r.unsent, r.marks = r.failed[:0], nil, nil
	r.outputs, r.taken = r.outputs[:0], r.taken[:0]
}

// release gives back what a run holds; finish has handed the outputs to a record by then.
func (r *run) release() {
	for _, a := range r.outputs {
		a.Release()
	}
	for _, a := range r.taken {
		a.Release()
	}
	clear(r.outputs)
	clear(r.taken)
	clear(r.columns)
	r.outputs, r.taken, r.columns = r.outputs[:0], r.taken[:0], r.columns[:0]
	r.in, r.ctx, r.unsent, r.marks, r.kinds = nil, nil, nil, nil, nil
}

func (r *run) fail(row int, column, format string, args ...any) {
	r.failed = append(r.failed, failedRow{row, column, fmt.Sprintf(format, args...)})
}

// filter clears keep where the WHERE does not hold. A delete of keys only passes unseen: deleting what is not there
// changes nothing.
func (p *Program) filter(r *run) error {
	if p.Filter == nil {
		return nil
	}
	in, n := r.in, r.in.Len()
	live := r.live
	live.fill(true)
	if p.KeyedDeletes && in.Kinds != nil {
		for i, k := range in.Kinds {
			if k == change.Delete {
				live.clear(i)
			}
		}
	}
	r.unsentIn(r.filter, in.Unsent, n, func(row, col int) {
		if live.has(row) {
			live.clear(row)
			r.keep.clear(row)
			r.fail(row, r.columnName(col), "the source did not send the value, and WHERE needs it")
		}
	})
	f := r.filter.start(r.ctx, in.Record.Columns(), n)
	v := r.filter.root.eval(f, live)
	if f.err != nil {
		return f.err
	}
	for w := range r.keep {
		var holds uint64
		if v.bits != nil {
			holds = v.valid.word(w) & v.bits[w]
		}
		r.keep[w] &= holds | ^live[w]
	}
	for _, x := range f.failures {
		r.keep.clear(x.row)
		r.fail(x.row, "", "WHERE: %s", x.reason)
	}
	return nil
}

// unsentIn visits the rows in which a column that e reads was not sent.
func (r *run) unsentIn(e *Expr, unsent *change.Unsent, n int, visit func(row, col int)) {
	if unsent == nil {
		return
	}
	for _, col := range e.Columns {
		if !unsent.Any(col) {
			continue
		}
		for i := range n {
			if unsent.Has(col, i) {
				visit(i, col)
			}
		}
	}
}

func (r *run) columnName(col int) string { return r.in.Record.ColumnName(col) }

// decide settles what becomes of each row: its kind, and whether it goes on.
func (p *Program) decide(r *run) error {
	in := r.in
	if in.Kinds == nil {
		if p.Drop.Has(change.Insert) {
			r.keep.fill(false)
		}
		return nil
	}
	r.kinds = in.Kinds
	moved, err := p.movedRows(r)
	if err != nil {
		return err
	}
	set := func(i int, k change.Kind) {
		if &r.kinds[0] == &in.Kinds[0] {
			r.kinds = slices.Clone(in.Kinds)
		}
		r.kinds[i] = k
	}
	last := len(in.Kinds) - 1
	for i, k := range in.Kinds {
		passes := r.keep.has(i)
		switch {
		case k == change.UpdateBefore && passes && p.Drop.Has(change.UpdateBefore) && len(p.Key) > 0:
			paired := i < last && in.Kinds[i+1] == change.UpdateAfter
			// The row leaves its old key when the update moved it, when the new row does not match any more, or when
			// the new row is not next to the old one: a delete before an upsert of the same key changes nothing.
			left := !paired || r.keep.has(i+1) && moved.has(i)
			if paired && !r.keep.has(i+1) && !r.hasFailed(i+1) {
				left = p.MissedUpdate == MissedDeleted
			}
			if left {
				set(i, change.Delete)
			}
		case k == change.UpdateAfter && !passes && p.MissedUpdate == MissedDeleted && !r.hasFailed(i):
			// With the old row at hand, that one decides; else the old row may have matched.
			if i == 0 || in.Kinds[i-1] != change.UpdateBefore {
				set(i, change.Delete)
				r.keep.set(i)
			}
		}
		if p.Drop.Has(r.kinds[i]) {
			r.keep.clear(i)
		}
	}
	return nil
}

func (r *run) hasFailed(row int) bool {
	for _, f := range r.failed {
		if f.row == row {
			return true
		}
	}
	return false
}

// movedRows marks each -U whose +U, the next row, has another sink key. Only a sink that is not sent -U needs to know.
func (p *Program) movedRows(r *run) (mask, error) {
	in := r.in
	if !p.Drop.Has(change.UpdateBefore) || len(p.Key) == 0 || !slices.Contains(in.Kinds, change.UpdateBefore) {
		return r.hidden, nil
	}
	moved := r.hidden
	moved.fill(false)
	for _, o := range p.Key {
		e := r.exprs[o]
		if layoutOf(e.Type) == nestedValues {
			moved.fill(true)
			continue
		}
		f := e.start(r.ctx, in.Record.Columns(), in.Len())
		v := e.root.eval(f, r.keep)
		if f.err != nil {
			return nil, f.err
		}
		for _, x := range f.failures {
			// The row itself fails when its outputs are computed; until then its key is unknown.
			if in.Kinds[x.row] == change.UpdateBefore {
				moved.set(x.row)
			}
		}
		for i, k := range in.Kinds[:len(in.Kinds)-1] {
			if k == change.UpdateBefore && in.Kinds[i+1] == change.UpdateAfter && !r.keyUnsent(e, i) && !sameValue(v, e.Type, i, i+1) {
				moved.set(i)
			}
		}
	}
	return moved, nil
}

// keyUnsent reports that one of the two rows of an update lacks a key column, which then has not changed.
func (r *run) keyUnsent(e *Expr, i int) bool {
	for _, col := range e.Columns {
		if !r.in.Sent(col, i) || !r.in.Sent(col, i+1) {
			return true
		}
	}
	return false
}

func sameValue(v *vec, t *ddl.Type, i, j int) bool {
	if v.valid.has(i) != v.valid.has(j) {
		return false
	}
	if !v.valid.has(i) {
		return true
	}
	switch layoutOf(t) {
	case bitValues:
		return v.bits.has(i) == v.bits.has(j)
	case fixedValues:
		w := width(t)
		return bytes.Equal(v.raw[i*w:(i+1)*w], v.raw[j*w:(j+1)*w])
	case textValues:
		return bytes.Equal(v.at(i), v.at(j))
	}
	return true
}

// choose makes the columns of the kept rows: those of the batch when every row is kept.
func (r *run) choose() {
	n := r.in.Len()
	r.n = r.keep.count(n)
	r.unsent = r.in.Unsent
	if r.n == n {
		r.columns = append(r.columns[:0], r.in.Record.Columns()...)
		return
	}
	r.columns = append(r.columns[:0], make([]arrow.Array, r.in.Record.NumCols())...)
	if r.n == 0 {
		return
	}
	for i := range n {
		if r.keep.has(i) {
			r.rows = append(r.rows, int32(i))
		}
	}
	for _, e := range r.exprs {
		for _, col := range e.Columns {
			if r.columns[col] == nil {
				r.columns[col] = take(allocator(r.ctx), r.in.Record.Column(col), r.rows)
				r.taken = append(r.taken, r.columns[col])
			}
		}
	}
	if r.kinds != nil {
		r.kinds = takeKinds(r.kinds, r.rows)
	}
	if r.unsent != nil {
		r.unsent = takeUnsent(r.unsent, int(r.in.Record.NumCols()), r.rows)
	}
}

func takeKinds(kinds []change.Kind, rows []int32) []change.Kind {
	out := make([]change.Kind, len(rows))
	for j, i := range rows {
		out[j] = kinds[i]
	}
	return out
}

func takeUnsent(in *change.Unsent, columns int, rows []int32) *change.Unsent {
	out := change.NewUnsent(columns)
	for col := range columns {
		if !in.Any(col) {
			continue
		}
		for j, i := range rows {
			if in.Has(col, int(i)) {
				out.Set(col, j)
			}
		}
	}
	return out
}

// original is the row of the batch that kept row j was.
func (r *run) original(j int) int {
	if len(r.rows) == 0 {
		return j
	}
	return int(r.rows[j])
}

func (r *run) kind(j int) change.Kind {
	if r.kinds == nil {
		return change.Insert
	}
	return r.kinds[j]
}

// reject hands the failed rows over, each once and in order, and takes them out of the outputs.
func (r *run) reject() error {
	slices.SortStableFunc(r.failed, func(a, b failedRow) int { return cmp.Compare(a.row, b.row) })
	for i, f := range r.failed {
		if i > 0 && r.failed[i-1].row == f.row {
			continue
		}
		if err := r.ctx.fail(f.row, f.column, f.reason); err != nil {
			return err
		}
	}
	if r.n == 0 {
		return nil
	}
	var left, rows []int32
	next := 0
	for j := range r.n {
		row := r.original(j)
		for next < len(r.failed) && r.failed[next].row < row {
			next++
		}
		if next < len(r.failed) && r.failed[next].row == row {
			continue
		}
		left, rows = append(left, int32(j)), append(rows, int32(row))
	}
	if len(left) == r.n {
		return nil
	}
	for o, a := range r.outputs {
		r.outputs[o] = take(allocator(r.ctx), a, left)
		a.Release()
	}
	if r.marks != nil {
		r.marks = takeUnsent(r.marks, len(r.outputs), left)
	}
	if r.kinds != nil {
		r.kinds = takeKinds(r.kinds, left)
	}
	r.n, r.rows = len(left), rows
	return nil
}

// finish puts the batch together.
func (r *run) finish(p *Program, out *change.Batch) {
	out.Record = array.NewRecordBatch(r.schemaFor(p), r.outputs, int64(r.n))
	out.Kinds, out.Unsent = r.kinds, r.marks
	size := r.in.RowPositionSize
	out.RowPositions, out.RowPositionSize = r.in.RowPositions, size
	if r.in.RowPositions == nil || len(r.rows) == 0 {
		return
	}
	out.RowPositions = make([]byte, 0, len(r.rows)*size)
	for _, i := range r.rows {
		out.RowPositions = append(out.RowPositions, r.in.RowPositions[int(i)*size:(int(i)+1)*size]...)
	}
}

// schemaFor names the outputs after the sink's columns. Types are those of the arrays: a column that is passed through
// keeps the type of its source.
func (r *run) schemaFor(p *Program) *arrow.Schema {
	if s := r.schema; s != nil && s.NumFields() == len(r.outputs) {
		same := true
		for i, a := range r.outputs {
			dt := s.Field(i).Type
			same = same && (dt == a.DataType() || arrow.TypeEqual(dt, a.DataType()))
		}
		if same {
			return s
		}
	}
	fields := make([]arrow.Field, len(r.outputs))
	for i, a := range r.outputs {
		fields[i] = arrow.Field{Name: p.outputName(i), Type: a.DataType(), Nullable: true}
	}
	r.schema = arrow.NewSchema(fields, nil)
	return r.schema
}

func (p *Program) outputName(i int) string {
	if i < len(p.Rules) {
		return p.Rules[i].Column
	}
	return fmt.Sprintf("EXPR$%d", i)
}
