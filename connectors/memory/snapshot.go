package memory

import (
	"context"
	"fmt"
	"io"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// snapshot is a copy of the tables that are read with copy-cdc. Each partition sees its table as it is when it is opened,
// and carries the number of changes up to then, which is where the stream takes over.
type snapshot struct {
	db    *DB
	read  connectors.Read
	start change.Position
	parts []connectors.Partition
}

func openSnapshot(_ context.Context, db *DB, r connectors.Read, saved []connectors.Partition) (connectors.Snapshot, error) {
	s := &snapshot{db: db, read: r, start: r.From, parts: saved}
	err := db.do("open", func() error {
		if r.From == nil {
			s.start = positionOf(len(db.log))
		}
		return nil
	})
	if err != nil || saved != nil {
		return s, err
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		if t.Mode != "copy-cdc" {
			continue
		}
		n := int(partitions.Get(t.Options))
		if t.ExactHandover {
			n = 1
		}
		for part := range n {
			s.parts = append(s.parts, connectors.Partition{
				ID: fmt.Sprintf("%s-%d-%d", t.Name, i, part), Table: i, Range: []byte(fmt.Sprintf("%d/%d", part, n)),
			})
		}
	}
	return s, nil
}

func (s *snapshot) Start() change.Position             { return s.start }
func (s *snapshot) Partitions() []connectors.Partition { return s.parts }
func (s *snapshot) Close() error                       { return nil }

func (s *snapshot) Open(_ context.Context, p connectors.Partition) (connectors.Source, error) {
	var part, of int
	if _, err := fmt.Sscanf(string(p.Range), "%d/%d", &part, &of); err != nil || of < 1 || p.Table >= len(s.read.Tables) {
		return nil, connectors.Permanent(fmt.Errorf("partition %q has the range %q", p.ID, p.Range), "")
	}
	c := &copying{read: s.read, at: s.start}
	err := s.db.do("open", func() error {
		if s.read.Tables[p.Table].ExactHandover {
			c.at = positionOf(len(s.db.log))
		}
		for i, r := range s.db.copyOf(p.Table, name(s.read.Tables[p.Table].Table)) {
			if i%of == part {
				c.rows = append(c.rows, r)
			}
		}
		return nil
	})
	return c, err
}

// copying reads one partition.
type copying struct {
	read connectors.Read
	rows []reading
	at   change.Position
	done bool
}

func (c *copying) Next(ctx context.Context) (change.Batch, error) {
	if err := ctx.Err(); err != nil {
		return change.Batch{}, err
	}
	if c.done {
		return change.Batch{}, io.EOF
	}
	n := c.read.Limits.Rows
	if n <= 0 {
		n = connectors.DefaultLimits.Rows
	}
	n = min(n, len(c.rows))
	b := change.Batch{}
	if n > 0 {
		var err error
		if b, err = build(ctx, &c.read, c.rows[:n], func(reading) change.Position { return c.at }); err != nil {
			return b, err
		}
	}
	c.rows = c.rows[n:]
	c.done = len(c.rows) == 0
	b.Position = c.at
	return b, nil
}

func (c *copying) Ack(context.Context, change.Position) error { return nil }
func (c *copying) Close() error                               { return nil }
