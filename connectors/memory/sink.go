package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// spareAllocator is for values that are only tried.
var spareAllocator = memory.NewGoAllocator()

// sink writes one table. What a mode does on Write, Flush and Commit is in the three methods of these names.
type sink struct {
	db      *DB
	write   connectors.Write
	table   string
	writer  string // who writes: the key of marks and stages
	columns []string
	refuse  string
	held    change.Position

	waiting  []Change        // rows of a stretch that has not ended, of a copy, or of the next token
	position change.Position // of the last batch taken
	sequence uint64          // of the last token
}

func openSink(_ context.Context, db *DB, w connectors.Write) (connectors.Sink, error) {
	s := &sink{db: db, write: w, table: name(w.Table), refuse: refuse.Get(w.Table.Options)}
	s.writer = s.table + "\x00" + w.Pipeline + "\x00" + w.Sink
	for _, c := range w.Table.Columns {
		s.columns = append(s.columns, c.Name)
	}
	err := db.do("open", func() error {
		db.table(s.table, s.columns)
		switch {
		case s.staged():
			// What an older run staged and did not save will never be committed; a newer run may be about to save.
			for token, b := range db.staged[s.writer] {
				if token != string(w.Token) && b.epoch < w.Epoch {
					delete(db.staged[s.writer], token)
				}
			}
		case s.transactional():
			m := db.marks[s.writer]
			if m.epoch > w.Epoch {
				return errOlder(w)
			}
			s.held = m.position
			db.marks[s.writer] = mark{w.Epoch, m.position}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func errOlder(w connectors.Write) error {
	return connectors.Permanent(fmt.Errorf("table %q is written by a newer run of pipeline %q", w.Sink, w.Pipeline), "")
}

func (s *sink) staged() bool { return s.write.Table.Mode == "staged" }
func (s *sink) transactional() bool {
	return !s.staged() && s.write.Table.Guarantee == "exactly-once"
}

// Write takes the rows. A transactional sink applies them with their position; when a batch has none, they wait for it.
func (s *sink) Write(ctx context.Context, b change.Batch) error {
	changes, err := s.changes(ctx, &b)
	if err != nil {
		return err
	}
	position := b.Position
	if position == nil && b.RowPositions != nil && b.Len() > 0 {
		position = b.At(b.Len() - 1)
	}
	return s.db.do("write", func() error {
		s.waiting = append(s.waiting, changes...)
		if position != nil {
			s.position = slices.Clone(position)
		}
		switch {
		case s.staged(), s.write.Once, s.transactional() && position == nil:
			return nil
		}
		return s.apply()
	})
}

// apply makes the waiting rows durable and visible, with their position. Called under the lock.
func (s *sink) apply() error {
	if s.transactional() {
		if s.db.marks[s.writer].epoch != s.write.Epoch {
			return errOlder(s.write)
		}
		if s.position != nil {
			s.db.marks[s.writer] = mark{s.write.Epoch, s.position}
		}
	}
	waiting := s.waiting
	s.waiting = nil
	return s.db.apply(s.table, batch{columns: s.columns, changes: waiting}, s.write.Table.Key, s.write.Table.Mode)
}

// Flush applies a whole copy, or stages the rows under a token.
func (s *sink) Flush(context.Context) (token []byte, err error) {
	err = s.db.do("flush", func() error {
		if s.write.Once && !s.staged() {
			return s.apply()
		}
		if !s.staged() || len(s.waiting) == 0 {
			return nil
		}
		s.sequence++
		token = fmt.Appendf(nil, "1:%s:%d:%d", s.writer, s.write.Epoch, s.sequence)
		if s.db.staged[s.writer] == nil {
			s.db.staged[s.writer] = map[string]batch{}
		}
		s.db.staged[s.writer][string(token)] = batch{s.columns, s.waiting, s.write.Epoch}
		s.waiting = nil
		return nil
	})
	return token, err
}

// Commit makes the rows of a token visible.
func (s *sink) Commit(_ context.Context, token []byte) error {
	return s.db.do("commit", func() error {
		if s.db.done[string(token)] {
			return nil
		}
		rows, ok := s.db.staged[s.writer][string(token)]
		if !ok {
			return connectors.Permanent(fmt.Errorf("table %q holds nothing for token %q", s.write.Sink, token), "")
		}
		delete(s.db.staged[s.writer], string(token))
		s.db.done[string(token)] = true
		return s.db.apply(s.table, rows, s.write.Table.Key, "append")
	})
}

func (s *sink) Position() change.Position { return s.held }

// Close drops what waits: only a flush makes it durable.
func (s *sink) Close() error { return nil }

// changes are the rows of a batch as text; those that the table refuses go to Reject.
func (s *sink) changes(ctx context.Context, b *change.Batch) ([]Change, error) {
	n := b.Len()
	changes := make([]Change, n)
	for i := range changes {
		changes[i] = Change{b.Kind(i), make([]any, len(s.columns))}
	}
	bad := make([]bool, n)
	var text []byte
	for c := range s.columns {
		if n == 0 {
			break
		}
		column := b.Record.Column(c)
		spell := connectors.Style{}.Text(column)
		for i := range n {
			switch {
			case !b.Sent(c, i):
				changes[i].Row[c] = Unsent
			case column.IsValid(i):
				text = spell(text[:0], i)
				changes[i].Row[c] = string(text)
				bad[i] = bad[i] || s.refuse != "" && string(text) == s.refuse
			}
		}
	}
	kept := changes[:0]
	for i, c := range changes {
		if bad[i] {
			if err := s.write.Reject(ctx, refused(&s.write.Table, b, i, s.refuse)); err != nil {
				return nil, err
			}
			continue
		}
		kept = append(kept, c)
	}
	return kept, nil
}
