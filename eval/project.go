package eval

import (
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/change"
)

// project computes the outputs of the kept rows and checks the rules on them.
func (p *Program) project(r *run) error {
	for o, e := range r.exprs {
		if e.Passes >= 0 {
			a := r.columns[e.Passes]
			a.Retain()
			r.outputs = append(r.outputs, a)
			if r.unsent != nil && r.unsent.Any(e.Passes) {
				r.outputMarks(len(p.Outputs)).SetColumn(o, r.unsent.Column(e.Passes))
			}
			continue
		}
		if err := p.compute(r, o, e); err != nil {
			return err
		}
	}
	for o := range min(len(p.Rules), len(p.Outputs)) {
		r.check(o, &p.Rules[o])
	}
	return nil
}

func (r *run) outputMarks(outputs int) *change.Unsent {
	if r.marks == nil {
		r.marks = change.NewUnsent(outputs)
	}
	return r.marks
}

// compute evaluates one output. What it cannot know because the source did not send a value is itself not sent in a
// delete, which needs only the key, and a row error anywhere else.
func (p *Program) compute(r *run, o int, e *Expr) error {
	var live, hidden mask
	r.unsentIn(e, r.unsent, r.n, func(j, col int) {
		if live == nil {
			live, hidden = r.live.grow(r.n), r.hidden.grow(r.n)
			live.fill(true)
			hidden.fill(false)
		}
		if r.kind(j) == change.Delete && !slices.Contains(p.Key, o) {
			hidden.set(j)
		} else if live.has(j) {
			r.fail(r.original(j), p.outputName(o), "the source did not send column %q, from which the value is computed", r.columnName(col))
		}
		live.clear(j)
	})
	f := e.start(r.ctx, r.columns, r.n)
	v := e.root.eval(f, live)
	if f.err != nil {
		return f.err
	}
	for _, x := range f.failures {
		r.fail(r.original(x.row), p.outputName(o), "%s", x.reason)
	}
	if hidden.any(r.n) && hidden != nil {
		marks := r.outputMarks(len(p.Outputs))
		valid := v.ownValid()
		for j := range r.n {
			if hidden.has(j) {
				valid.clear(j)
				marks.Set(o, j)
			}
		}
	}
	r.outputs = append(r.outputs, e.finish(r.ctx, v))
	return nil
}

// check applies the rule of a sink column to the rows that will be written; a row that goes away needs no valid values.
func (r *run) check(o int, rule *Rule) {
	a := r.outputs[o]
	if rule.NotNull && a.NullN() > 0 {
		for j := range r.n {
			if a.IsNull(j) && r.written(o, j) {
				r.fail(r.original(j), rule.Column, "NULL in a NOT NULL column")
			}
		}
	}
	if rule.MaxLength <= 0 {
		return
	}
	// A delete is cut too: it has to find the row by the key that was written.
	cut := false
	switch a := a.(type) {
	case *array.String:
		for j := range r.n {
			if size := a.ValueLen(j); size > rule.MaxLength && (rule.Trim || r.written(o, j)) && a.IsValid(j) {
				chars := utf8.RuneCountInString(a.Value(j))
				cut = r.tooLong(j, chars, rule, "characters") || cut
			}
		}
	case *array.Binary:
		for j := range r.n {
			if size := a.ValueLen(j); size > rule.MaxLength && (rule.Trim || r.written(o, j)) && a.IsValid(j) {
				cut = r.tooLong(j, size, rule, "bytes") || cut
			}
		}
	}
	if cut {
		r.outputs[o] = r.trim(a, rule.MaxLength)
		a.Release()
	}
}

func (r *run) written(o, j int) bool {
	k := r.kind(j)
	return (k == change.Insert || k == change.UpdateAfter) && (r.marks == nil || !r.marks.Has(o, j))
}

// tooLong reports whether the value has to be cut; without leave to cut, the row fails.
func (r *run) tooLong(j, size int, rule *Rule, unit string) bool {
	if size <= rule.MaxLength {
		return false
	}
	if !rule.Trim {
		r.fail(r.original(j), rule.Column, "the value has %d %s, the column holds %d", size, unit, rule.MaxLength)
	}
	return rule.Trim
}

// trim copies a text or binary column with every value cut to a length.
func (r *run) trim(a arrow.Array, length int) arrow.Array {
	var v, out vec
	n := a.Len()
	v.n = n
	v.loadText(a.Data().Buffers(), a.Data().Offset(), n)
	off, data := out.makeText(n)
	_, binary := a.(*array.Binary)
	for j := range n {
		s := v.at(j)
		if binary {
			s = s[:min(len(s), length)]
		} else {
			s = cutRunes(s, length)
		}
		data = append(data, s...)
		off[j+1] = int32(len(data))
	}
	out.endText(data)
	if a.NullN() > 0 {
		out.valid = loadBits(nil, a.NullBitmapBytes(), a.Data().Offset(), n)
	}
	return out.build(allocator(r.ctx), a.DataType(), textType())
}
