package memory

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// DB holds tables, the log of every change to them, and what sinks keep beside their rows. The zero value is not ready;
// see NewDB. Safe for concurrent use.
type DB struct {
	mu      sync.Mutex
	log     []entry
	changed chan struct{} // closed and made again when the log grows
	tables  map[string]*table
	marks   map[string]mark             // by writer: table, pipeline and sink
	staged  map[string]map[string]batch // by writer, then token
	done    map[string]bool             // tokens that were committed
	acked   map[string]change.Position  // by pipeline
	faults  []*fault
}

// Change is one change to a table. Row has a value for each column: nil for NULL, Unsent, or anything whose text
// (fmt.Sprint) spells a value of the column's type.
type Change struct {
	Kind change.Kind
	Row  []any
}

type unsent struct{}

// Unsent stands for a value that the source did not send.
var Unsent any = unsent{}

// entry is one change in the log. Values are text, nil or Unsent.
type entry struct {
	table   string
	columns []string
	kind    change.Kind
	row     []any
}

// table is the present content.
type table struct {
	columns []string
	rows    [][]any
	before  int // the row that the last -U was fed for, plus one
}

// mark is what a transactional writer keeps: who writes, and how far.
type mark struct {
	epoch    uint64
	position change.Position
}

// batch is rows that wait for their commit.
type batch struct {
	columns []string
	changes []Change
	epoch   uint64 // of the run that staged them
}

type fault struct {
	operation string
	times     int
	after     bool
	err       error
}

// NewDB makes an empty DB.
func NewDB() *DB {
	return &DB{
		changed: make(chan struct{}),
		tables:  map[string]*table{},
		marks:   map[string]mark{},
		staged:  map[string]map[string]batch{},
		done:    map[string]bool{},
		acked:   map[string]change.Position{},
	}
}

// Feed appends changes to the log of a table, for sources to read. Columns name the values of each row. An update or
// delete takes away the row before: the row that -U or -D spells, or the one that agrees with it in the first column.
func (db *DB) Feed(name string, columns []string, changes ...Change) error {
	for _, c := range changes {
		if len(c.Row) != len(columns) {
			return fmt.Errorf("table %q has %d columns, a row of it has %d values", name, len(columns), len(c.Row))
		}
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	t := db.table(name, columns)
	for _, c := range changes {
		row := make([]any, len(c.Row))
		for i, v := range c.Row {
			if row[i] = v; v != nil && v != Unsent {
				row[i] = fmt.Sprint(v)
			}
		}
		c.Row = row
		t.feed(c)
		db.record(name, columns, c)
	}
	return nil
}

// feed keeps the content of a table that is only fed. Its key is not known, so the first column stands for it.
func (t *table) feed(c Change) {
	at := slices.IndexFunc(t.rows, func(r []any) bool { return same(r, c.Row) })
	if at < 0 && c.Kind != change.Insert {
		at = slices.IndexFunc(t.rows, func(r []any) bool { return r[0] == c.Row[0] })
	}
	before := t.before
	if t.before = 0; c.Kind == change.UpdateAfter && before > 0 {
		at = before - 1 // the update may have changed the first column
	}
	switch {
	case c.Kind == change.UpdateBefore:
		t.before = at + 1
	case c.Kind == change.Insert, c.Kind == change.UpdateAfter && at < 0:
		t.rows = append(t.rows, c.Row)
	case c.Kind == change.UpdateAfter:
		t.rows[at] = merge(t.rows[at], c.Row)
	case c.Kind == change.Delete && at >= 0:
		t.rows = slices.Delete(t.rows, at, at+1)
	}
}

// record adds to the log and wakes the sources.
func (db *DB) record(name string, columns []string, c Change) {
	db.log = append(db.log, entry{name, columns, c.Kind, c.Row})
	close(db.changed)
	db.changed = make(chan struct{})
}

func (db *DB) table(name string, columns []string) *table {
	t, ok := db.tables[name]
	if !ok {
		t = &table{columns: columns}
		db.tables[name] = t
	}
	return t
}

// Rows are the rows of a table as they are now, in the order in which they came. Values are text, or nil for NULL.
func (db *DB) Rows(name string) (columns []string, rows [][]any) {
	db.mu.Lock()
	defer db.mu.Unlock()
	t, ok := db.tables[name]
	if !ok {
		return nil, nil
	}
	for _, r := range t.rows {
		rows = append(rows, slices.Clone(r))
	}
	return t.columns, rows
}

// Acked is the position that a pipeline has acknowledged, nil at first.
func (db *DB) Acked(pipeline string) change.Position {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.acked[pipeline]
}

// Operations are what a fault can be set on.
var Operations = []string{"open", "read", "write", "flush", "commit", "ack"}

// Fault makes the next calls of an operation fail with err: before they do anything, or after they have done it, as when
// an answer is lost.
func (db *DB) Fault(operation string, times int, after bool, err error) error {
	if !slices.Contains(Operations, operation) {
		return fmt.Errorf("unknown operation %q: it is one of %s", operation, strings.Join(Operations, ", "))
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults = append(db.faults, &fault{operation, times, after, err})
	return nil
}

// do runs an operation under the lock, with the fault that is set on it.
func (db *DB) do(operation string, run func() error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, f := range db.faults {
		if f.operation != operation || f.times == 0 {
			continue
		}
		f.times--
		if f.after {
			if err := run(); err != nil {
				return err
			}
		}
		return f.err
	}
	return run()
}

// apply writes changes into a table and its log. Key names the columns that make a row unique; nil for none.
func (db *DB) apply(name string, b batch, key []int, mode string) error {
	t := db.table(name, b.columns)
	if !slices.Equal(t.columns, b.columns) {
		return connectors.Permanent(fmt.Errorf("table %q has the columns %s, not %s", name, strings.Join(t.columns, ", "),
			strings.Join(b.columns, ", ")), "give each layout a table-name of its own")
	}
	for _, c := range b.changes {
		at := -1
		if mode == "upsert" {
			at = slices.IndexFunc(t.rows, func(r []any) bool { return sameKey(r, c.Row, key) })
		} else if c.Kind == change.UpdateBefore || c.Kind == change.Delete {
			if at = slices.IndexFunc(t.rows, func(r []any) bool { return same(r, c.Row) }); at < 0 {
				return connectors.Permanent(fmt.Errorf("table %q has no row %v to take away", name, c.Row), "")
			}
		}
		switch c.Kind {
		case change.Insert, change.UpdateAfter:
			if at < 0 {
				c.Row = merge(make([]any, len(c.Row)), c.Row)
				t.rows = append(t.rows, c.Row)
				db.record(name, b.columns, Change{change.Insert, c.Row})
				continue
			}
			db.record(name, b.columns, Change{change.UpdateBefore, t.rows[at]})
			t.rows[at] = merge(t.rows[at], c.Row)
			db.record(name, b.columns, Change{change.UpdateAfter, t.rows[at]})
		case change.Delete, change.UpdateBefore:
			if at < 0 {
				continue // deleted before: a replay
			}
			db.record(name, b.columns, Change{change.Delete, t.rows[at]})
			t.rows = slices.Delete(t.rows, at, at+1)
		}
	}
	return nil
}

// merge is the row with the values that were sent, and the earlier ones where none was.
func merge(old, row []any) []any {
	merged := slices.Clone(row)
	for i, v := range merged {
		if v == Unsent {
			merged[i] = old[i]
		}
	}
	return merged
}

func same(a, b []any) bool { return slices.Equal(a, b) }

func sameKey(a, b []any, key []int) bool {
	for _, c := range key {
		if a[c] != b[c] {
			return false
		}
	}
	return true
}
