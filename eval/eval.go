// Package eval compiles scalar expressions and runs them over Arrow batches, a column at a time.
//
// It must never look at rows one by one through an interface value, and never change a value to make it fit: what cannot be
// mapped exactly is a row error.
package eval

import (
	"fmt"
	"unsafe"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/ddl"
)

// Column is one column that an expression may name.
type Column struct {
	Qualifier string // table name or alias, "" for none
	Name      string
	Type      *ddl.Type
	Index     int // in the batch
}

// Scope is what names mean.
type Scope struct{ Columns []Column }

// Program turns a batch of a source table into a batch of a sink table. It keeps scratch memory between batches. Several
// goroutines may run it at once; the fields must not change after the first Run.
type Program struct {
	// Filter is nil when there is no WHERE.
	Filter *Expr
	// Outputs are the sink's columns in order.
	Outputs []*Expr
	// Rules are checked on the outputs: one per sink column.
	Rules []Rule
	// Drop are kinds that the sink does not need (-U for a keyed sink).
	Drop change.Kinds
	// MissedUpdate says what becomes of a +U that the filter does not let through: Delete for a sink that deletes
	// (the row may have been let through before), else it is dropped.
	MissedUpdate Missed
	// Key are the outputs that make the sink's key; they decide whether an update moved the row to another key.
	Key []int
	// KeyedDeletes: a -D carries only its key columns, so the filter lets it through unseen.
	KeyedDeletes bool
	// RowKinds is false when every batch holds only +I.
	RowKinds bool

	idle unsafe.Pointer // *run, the scratch memory that no goroutine is using
}

// Missed is what becomes of an update that no longer matches.
type Missed uint8

const (
	MissedDropped Missed = iota
	MissedDeleted
)

// Rule is what a sink column demands of its values.
type Rule struct {
	Column    string
	NotNull   bool
	MaxLength int  // characters of text, bytes of binary; 0: no limit
	Trim      bool // cut instead of refusing ('table.exec.sink.type-length-enforcer' = 'trim-pad')
}

// Context is one evaluation of one batch. Fail is called for a row that cannot be evaluated; its nil goes on without the
// row. Without a Fail the first such row ends the evaluation. Row numbers are those of the batch that was handed in.
type Context struct {
	Fail  func(row int, column, reason string) error
	Alloc Allocator
	Now   func() int64 // microseconds since 1970; CURRENT_TIMESTAMP is constant within a batch
	Zone  string       // 'table.local-time-zone'
}

func (c *Context) fail(row int, column, reason string) error {
	switch {
	case c.Fail != nil:
		return c.Fail(row, column, reason)
	case column != "":
		return fmt.Errorf("row %d column %q: %s", row, column, reason)
	}
	return fmt.Errorf("row %d: %s", row, reason)
}

// Allocator is Arrow's.
type Allocator interface {
	Allocate(size int) []byte
	Reallocate(size int, b []byte) []byte
	Free(b []byte)
}
