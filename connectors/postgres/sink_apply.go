package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// applier writes buffers, one after the other, for one goroutine. It knows three ways, and the server is always asked as
// few times as possible:
//
//   - a COPY for rows that are new in the buffer;
//   - set statements over arrays: one DELETE, one UPDATE, one INSERT … ON CONFLICT for all rows of a kind;
//   - row statements, sent ahead one after the other: for a handful of rows, for columns that no set statement takes, and
//     to find the row that the server refuses.
//
// After compaction a key occurs once in a buffer, so the order of the statements matters for other unique indexes only:
// deletes come first. Where that is not enough, the changes are applied again one by one as the source made them.
type applier struct {
	ctx        context.Context // of Reject; ends when the sink is closed
	t          *target
	w          *wire
	positions  *positions // nil: no position is kept
	reject     connectors.RejectFunc
	upsertOnly bool // never assume that an inserted row is new

	// cautious is for how many buffers inserted rows are taken for rows that may be there already: a copy that was cut
	// off is being repeated, or the stream overlaps with it.
	cautious int
	open     bool // a transaction spans buffers

	groups [groupCount][]int32
	masks  map[string]*mask
	values [][]byte
	wanted []int // by column: its array in values, -1 for none

	moved   int // which statement moves the position, -1 for none
	updated int // which statement is the UPDATE of whole rows, -1 for none
}

// The ways of a row in a set statement.
const (
	deleted = iota
	copied
	updated
	upserted
	groupCount
)

const (
	// fewRows are written one by one: a set statement has to pay first.
	fewRows = 8
	// fewCopied and fewUpdated rows go with the upserts: a COPY and a checked UPDATE have to pay, too.
	fewCopied  = 32
	fewUpdated = 16
	// cautiousBuffers is how long a COPY is not tried again after one met a row that was there.
	cautiousBuffers = 64
)

// write applies a buffer. end: commit, and keep the buffer's position with it; otherwise the transaction stays open.
func (a *applier) write(b *buffer, end bool) error {
	if end && !a.open && !b.empty() {
		return a.alone(b)
	}
	if !a.open {
		if err := a.begin(); err != nil {
			return err
		}
	}
	if !b.empty() {
		if err := a.within(b); err != nil {
			return err
		}
	}
	if !end {
		return nil
	}
	return a.commit(b)
}

// alone applies a buffer as one transaction, in one round trip if all goes well.
func (a *applier) alone(b *buffer) error {
	err := a.attempt(b, func() { a.move(b) })
	if err == nil {
		return nil
	}
	if a.isFenced(err) {
		return a.positions.fenced()
	}
	if a.repeated(err) {
		return a.alone(b)
	}
	if !aboutRow(sqlState(err)) {
		return a.t.explain("write", err)
	}
	if err := a.begin(); err != nil {
		return err
	}
	if err := a.isolate(b, sqlState(err) == codeUniqueViolation); err != nil {
		return err
	}
	return a.commit(b)
}

// within applies a buffer inside the open transaction.
func (a *applier) within(b *buffer) error {
	if err := a.command("savepoint buffer"); err != nil {
		return err
	}
	err := a.attempt(b, func() { a.w.text("release buffer") })
	if err == nil {
		return nil
	}
	if a.w.status != 'E' {
		return a.t.explain("write", err)
	}
	if err := a.command("rollback to buffer"); err != nil {
		return err
	}
	if a.repeated(err) {
		return a.within(b)
	}
	if !aboutRow(sqlState(err)) {
		return a.t.explain("write", err)
	}
	return a.isolate(b, sqlState(err) == codeUniqueViolation)
}

// repeated reports whether the rows were taken for new and one of them was not. The next attempt will not take them so.
func (a *applier) repeated(err error) bool {
	if a.t.keys == 0 || a.careful() || sqlState(err) != codeUniqueViolation || len(a.groups[copied]) == 0 {
		return false
	}
	a.cautious = cautiousBuffers
	return true
}

func (a *applier) careful() bool { return a.upsertOnly || a.cautious > 0 }

func (a *applier) isFenced(err error) bool {
	return a.moved >= 0 && a.moved == len(a.w.rows) && sqlState(err) == codeDivisionByZero
}

func (a *applier) begin() error {
	if err := a.command("begin"); err != nil {
		return err
	}
	a.open = true
	return nil
}

// command runs one statement without values and waits for it.
func (a *applier) command(sql string) error {
	a.w.reset()
	a.w.text(sql)
	if err := a.w.sync(); err != nil {
		return a.t.explain(sql, err)
	}
	return nil
}

// commit ends the open transaction with the buffer's position.
func (a *applier) commit(b *buffer) error {
	a.w.reset()
	a.move(b)
	a.w.text("commit")
	if err := a.w.sync(); err != nil {
		if a.isFenced(err) {
			return a.positions.fenced()
		}
		return a.t.explain("commit", err)
	}
	a.open = false
	return nil
}

// move sends the statement that moves the position. A buffer without one of its own leaves it where it is, but still
// checks that no other run has taken over.
func (a *applier) move(b *buffer) {
	a.moved = -1
	if a.positions == nil {
		return
	}
	var to change.Position
	if b.known {
		to = b.position
	}
	a.moved = len(a.w.rows) + a.w.asked
	a.positions.move(a.w, to)
}

// attempt sends the buffer in the fastest way, then what last adds, and reads the answers. In an implicit transaction
// that commits.
func (a *applier) attempt(b *buffer, last func()) error {
	a.w.reset()
	a.moved, a.updated = -1, -1
	for g := range a.groups {
		a.groups[g] = a.groups[g][:0]
	}
	if err := a.send(b); err != nil {
		return err
	}
	if a.cautious > 0 {
		a.cautious--
	}
	if a.updated >= 0 {
		if err := a.w.await(); err != nil {
			return err
		}
		// A row that was to be updated is missing: a filter at the source let it in just now, or the copy did not have
		// it yet. All of them are written again, which changes nothing about those that were there.
		if a.w.rows[a.updated] < int64(len(a.groups[updated])) {
			if err := a.upsert(b, a.groups[updated]); err != nil {
				return err
			}
		}
	}
	last()
	return a.w.sync()
}

func (a *applier) send(b *buffer) error {
	if b.plain && a.t.copies && !a.careful() && len(b.ops) >= fewCopied {
		a.groups[copied] = append(a.groups[copied], 0) // that there are some is all that has to be known
		return a.copyPlain(b)
	}
	if b.live <= fewRows || a.t.keys > 0 && !b.compact {
		return a.each(b, nil)
	}
	if a.t.keys == 0 {
		return a.appendRows(b)
	}
	a.sort(b)
	if err := a.delete(b, a.groups[deleted]); err != nil {
		return err
	}
	if len(a.groups[updated]) > 0 {
		a.updated = len(a.w.rows) + a.w.asked
		if err := a.update(b, "update", a.groups[updated], a.t.all()[a.t.keys:]); err != nil {
			return err
		}
	}
	if err := a.updatePartial(b); err != nil {
		return err
	}
	if err := a.upsert(b, a.groups[upserted]); err != nil {
		return err
	}
	return a.copyRows(b, a.groups[copied])
}

// sort finds the way of each live row.
func (a *applier) sort(b *buffer) {
	for _, m := range a.masks {
		m.ops = m.ops[:0]
	}
	copies := a.t.copies && !a.careful()
	updates := a.t.sets && a.t.keys < len(a.t.columns)
	for i := range b.ops {
		o := &b.ops[i]
		group := upserted
		switch {
		case o.dead:
			continue
		case o.kind == change.Delete:
			group = deleted
		case o.partial:
			a.maskOf(b, o, int32(i))
			continue
		case o.first == change.Insert && copies:
			group = copied
		case o.first == change.UpdateAfter && updates:
			group = updated
		}
		a.groups[group] = append(a.groups[group], int32(i))
	}
	if len(a.groups[copied]) < fewCopied {
		a.join(copied)
	}
	if len(a.groups[updated]) < fewUpdated {
		a.join(updated)
	}
}

// join adds a group that is too small for a statement of its own to the upserts.
func (a *applier) join(group int) {
	a.groups[upserted] = append(a.groups[upserted], a.groups[group]...)
	a.groups[group] = a.groups[group][:0]
}

// isolate applies the changes one by one and leaves out, by policy, the rows that the server refuses. replay: also those
// that later changes of the same key replaced, as the source made them, because another unique index may need the steps
// in between. The transaction is open.
func (a *applier) isolate(b *buffer, replay bool) error {
	rest := make([]int32, 0, len(b.ops))
	for i := range b.ops {
		if o := &b.ops[i]; replay || !o.dead {
			rest = append(rest, int32(i))
		}
	}
	const most = 500
	for size := most; len(rest) > 0; {
		n := min(size, len(rest))
		failed, err := a.these(b, rest[:n])
		switch {
		case err == nil:
			rest, size = rest[n:], most
		case failed < 0 || !aboutRow(sqlState(err)):
			return a.t.explain("write", err)
		case failed > 0:
			size = failed // those before it are good
		default:
			if err := a.refuse(b, &b.ops[rest[0]], err); err != nil {
				return err
			}
			rest, size = rest[1:], most
		}
	}
	return nil
}

// these applies some changes under a savepoint. After an error nothing of them is left; failed is the place of the change
// that the server refused, -1 when it was none of them.
func (a *applier) these(b *buffer, ops []int32) (failed int, err error) {
	a.w.reset()
	a.w.text("savepoint rows")
	if err := a.each(b, ops); err != nil {
		return -1, err
	}
	a.w.text("release rows")
	if err = a.w.sync(); err == nil {
		return 0, nil
	}
	failed = len(a.w.rows) - 1
	if a.w.status != 'E' || failed >= len(ops) {
		return -1, err
	}
	if back := a.command("rollback to rows"); back != nil {
		return -1, errors.Join(err, back)
	}
	return failed, err
}

func (a *applier) refuse(b *buffer, o *op, refusal error) error {
	if err := a.reject(a.ctx, a.opError(b, o, refusal)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
