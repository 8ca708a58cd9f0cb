package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
)

var (
	errDead   = errors.New("the process is dead")
	errBroken = errors.New("broken connection")
)

// do runs one effect on the world: it may fail before it does anything, or after it is done, when the answer is lost.
func (l *life) do(what, who string, n uint64, run func() error) error {
	w := l.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.dead {
		return errDead
	}
	w.tell(what, who, n)
	chance := 0
	if l.faults > 0 {
		chance = w.rand.IntN(120)
	}
	if chance == 1 || chance == 2 {
		w.faulted = true
		w.tell("fault", what, uint64(chance))
	}
	if chance == 1 {
		return errBroken
	}
	if err := run(); err != nil {
		return err
	}
	if chance == 2 {
		return errBroken
	}
	return nil
}

// simStore is the checkpoint store.
type simStore struct{ *life }

func (s simStore) Load(_ context.Context, name string) (c checkpoint.Checkpoint, err error) {
	err = s.do("load", name, 0, func() error {
		if _, ok := s.world.blobs[name]; !ok {
			return checkpoint.ErrNotFound
		}
		c = s.world.stored(name)
		return nil
	})
	return c, err
}

func (s simStore) Save(_ context.Context, name string, c checkpoint.Checkpoint) error {
	return s.do("save", name, c.ID, func() error {
		old := s.world.stored(name)
		if c.ID != old.ID+1 {
			return checkpoint.ErrFenced
		}
		if c.Position.Compare(old.Position) < 0 {
			s.world.violation("checkpoint %d of %s goes back", c.ID, name)
		}
		if c.Epoch > old.Epoch {
			s.world.owner = s.number
		}
		c.Status.Saved = time.Time{}
		s.world.blobs[name] = checkpoint.Encode(c)
		return nil
	})
}

func (s simStore) List(context.Context, string) ([]string, error) { return nil, nil }
func (s simStore) Delete(context.Context, string) error           { return nil }
func (s simStore) Close() error                                   { return nil }

// simTable is a table of a read. Several may stand for one table of the log.
type simTable struct {
	logical  int
	handover int // transactions up to here are in the finished copy
}

// simSource reads the log.
type simSource struct {
	*life
	tables  []simTable
	txn     int // the next row is txns[txn][index]
	index   int
	pending []change.Batch
}

func (l *life) openSource(_ context.Context, r connectors.Read) (connectors.Source, error) {
	s := &simSource{life: l, txn: txnOf(r.From)}
	err := l.do("open-source", "", uint64(s.txn), func() error {
		w := l.world
		if w.owner != l.number {
			return errBroken // it was taken over; what it asks for may be gone
		}
		if r.From == nil && w.plan.snapshot {
			w.violation("the stream was opened without the snapshot's start")
		}
		if r.From.Compare(w.acked) < 0 {
			w.violation("opened after transaction %d, but %d was acknowledged", txnOf(r.From), txnOf(w.acked))
		}
		if r.From != nil && r.From.Compare(endOf(s.txn)) != 0 {
			w.violation("opened in the middle of a transaction")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range r.Tables {
		s.tables = append(s.tables, simTable{logical(t.Name), txnOf(t.Handover)})
	}
	l.sources = append(l.sources, s)
	return s, nil
}

func (s *simSource) Next(ctx context.Context) (change.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return change.Batch{}, err
		}
		var b change.Batch
		var wait time.Duration
		err := s.do("next", "", uint64(s.txn), func() error {
			if len(s.pending) == 0 {
				s.window()
			}
			if len(s.pending) > 0 {
				b, s.pending = s.pending[0], s.pending[1:]
				return nil
			}
			if s.txn == len(s.world.txns) {
				s.eof = true
				return io.EOF
			}
			wait = s.world.untilNext()
			return nil
		})
		if err != nil {
			b.Release() // an answer that was lost
			return b, err
		}
		if wait == 0 {
			return b, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// window takes the next rows of the log as one or more batches; the last one has a position when the window ends with a
// transaction.
func (s *simSource) window() {
	w := s.world
	until := w.arrived()
	if s.txn >= until {
		return
	}
	if s.index == 0 && w.rand.IntN(12) == 0 {
		s.pending = append(s.pending, change.Batch{Position: endOf(s.txn)}) // a keepalive
		return
	}
	var rows []row
	for n := 1 + w.rand.IntN(12); n > 0 && s.txn < until; n-- {
		rows = append(rows, w.txns[s.txn][s.index])
		if s.index++; s.index == len(w.txns[s.txn]) {
			s.txn, s.index = s.txn+1, 0
		}
	}
	if w.plan.scatter {
		slices.SortStableFunc(rows, func(a, b row) int { return a.table - b.table })
	}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].table == rows[0].table {
			n++
		}
		for i, t := range s.tables {
			if t.logical == rows[0].table {
				s.batch(i, rows[:n])
			}
		}
		rows = rows[n:]
	}
	if s.index > 0 {
		return
	}
	if len(s.pending) == 0 {
		s.pending = append(s.pending, change.Batch{})
	}
	s.pending[len(s.pending)-1].Position = endOf(s.txn)
}

// batch makes one batch of rows of one table; rows that the finished copy holds are left out.
func (s *simSource) batch(table int, rows []row) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.txn <= s.tables[table].handover })
	if len(rows) == 0 {
		return
	}
	b := build(s.memory, table, rows)
	for _, r := range rows {
		b.RowPositions = append(b.RowPositions, r.at()...)
	}
	s.pending = append(s.pending, b)
}

func build(mem memory.Allocator, table int, rows []row) change.Batch {
	builder := array.NewRecordBuilder(mem, simSchema)
	defer builder.Release()
	b := change.Batch{Table: table, RowPositionSize: 12}
	for _, r := range rows {
		builder.Field(0).(*array.Int64Builder).Append(r.key)
		builder.Field(1).(*array.Int64Builder).Append(r.id)
		b.Kinds = append(b.Kinds, r.kind)
	}
	b.Record = builder.NewRecordBatch()
	return b
}

func (s *simSource) Ack(_ context.Context, p change.Position) error {
	return s.do("ack", "", uint64(txnOf(p)), func() error {
		if saved := s.world.stored("p").Position; p.Compare(saved) > 0 {
			s.world.violation("acknowledged transaction %d, saved is %d", txnOf(p), txnOf(saved))
		}
		if p.Compare(s.world.acked) > 0 {
			s.world.acked = slices.Clone(p)
		}
		return nil
	})
}

func (s *simSource) Close() error { return nil }

// forget gives back what was read ahead, as the end of a process does.
func (s *simSource) forget() {
	for i := range s.pending {
		s.pending[i].Release()
	}
	s.pending = nil
}

// simSnapshot copies the tables; a partition sees its table as it is when it is opened.
type simSnapshot struct {
	*life
	start change.Position
	parts []connectors.Partition
	read  connectors.Read
}

func (l *life) openSnapshot(_ context.Context, r connectors.Read, saved []connectors.Partition) (connectors.Snapshot, error) {
	s := &simSnapshot{life: l, start: slices.Clone(r.From), parts: saved, read: r}
	err := l.do("open-snapshot", "", uint64(len(saved)), func() error {
		w := l.world
		if saved != nil {
			return nil
		}
		if w.start == nil || w.rand.IntN(2) == 0 {
			w.start = endOf(w.arrived())
		}
		s.start = w.start
		for table := range r.Tables {
			n := 1
			if !r.Tables[table].ExactHandover {
				n += w.rand.IntN(3)
			}
			for part := range n {
				s.parts = append(s.parts, connectors.Partition{ID: fmt.Sprintf("%d-%d", table, part), Table: table, Range: []byte{byte(part), byte(n)}})
			}
		}
		return nil
	})
	return s, err
}

func (s *simSnapshot) Start() change.Position             { return s.start }
func (s *simSnapshot) Partitions() []connectors.Partition { return s.parts }
func (s *simSnapshot) Close() error                       { return nil }

func (s *simSnapshot) Open(_ context.Context, p connectors.Partition) (connectors.Source, error) {
	c := &simCopy{life: s.life, table: p.Table, at: s.start}
	err := s.do("open-copy", p.ID, 0, func() error {
		w := s.world
		txn := w.arrived()
		if s.read.Tables[p.Table].ExactHandover {
			c.at = endOf(txn)
		}
		for _, r := range w.view(logical(s.read.Tables[p.Table].Name), txn) {
			if r.key%int64(p.Range[1]) == int64(p.Range[0]) {
				r.kind = change.Insert
				c.rows = append(c.rows, r)
			}
		}
		slices.SortFunc(c.rows, func(a, b row) int { return int(a.key - b.key) })
		return nil
	})
	return c, err
}

// simCopy reads one partition.
type simCopy struct {
	*life
	table int
	at    change.Position
	rows  []row
	done  bool
}

func (c *simCopy) Next(ctx context.Context) (b change.Batch, err error) {
	if err := ctx.Err(); err != nil {
		return b, err
	}
	err = c.do("next-copy", "", uint64(len(c.rows)), func() error {
		if c.done {
			return io.EOF
		}
		n := min(len(c.rows), 1+c.world.rand.IntN(4))
		if n > 0 {
			b = build(c.memory, c.table, c.rows[:n])
			for range n {
				b.RowPositions = append(b.RowPositions, c.at...)
			}
		}
		c.rows = c.rows[n:]
		c.done = len(c.rows) == 0
		b.Table, b.Position = c.table, c.at
		return nil
	})
	if err != nil {
		b.Release() // an answer that was lost
	}
	return b, err
}

func (c *simCopy) Ack(context.Context, change.Position) error { return nil }
func (c *simCopy) Close() error                               { return nil }

// simSink writes one target. Requests may be under way after Write has returned: queue.
type simSink struct {
	*life
	write  connectors.Write
	plan   sinkPlan
	table  *table
	writer string
	queue  []request
	held   []record // that have no position yet, or wait for the end of a copy or for the next token
	at     change.Position
	mark   change.Position
	tokens int
}

type request struct {
	records []record
	at      change.Position
}

func (l *life) openSink(index int) func(context.Context, connectors.Write) (connectors.Sink, error) {
	return func(_ context.Context, write connectors.Write) (connectors.Sink, error) {
		s := &simSink{life: l, write: write, plan: l.world.plan.sinks[index], table: l.world.tables[index], writer: write.Pipeline}
		err := l.do("open-sink", fmt.Sprint(s.writer, " ", index), write.Epoch, func() error {
			for _, token := range sortedTokens(s.table.staged) {
				// What an older epoch staged and did not save is garbage; a newer one may be about to save.
				if writer, epoch := madeBy(token); token != string(write.Token) && writer == s.writer && epoch < write.Epoch {
					delete(s.table.staged, token)
				}
			}
			if s.plan.class == connectors.Transactional {
				m := s.table.marks[s.writer]
				if m.epoch > write.Epoch {
					return connectors.Permanent(errors.New("an older epoch"), "")
				}
				s.mark = m.position
				s.table.marks[s.writer] = mark{write.Epoch, m.position}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		l.world.mu.Lock()
		l.sinks = append(l.sinks, s)
		l.world.mu.Unlock()
		if s.plan.staged {
			return simStagedSink{s}, nil
		}
		return s, nil
	}
}

// madeBy takes a token apart: "writer:epoch.life.number".
func madeBy(token string) (writer string, epoch uint64) {
	writer, rest, _ := strings.Cut(token, ":")
	if _, err := fmt.Sscanf(rest, "%d.", &epoch); err != nil {
		panic(err)
	}
	return writer, epoch
}

func (s *simSink) Write(_ context.Context, b change.Batch) error {
	records := make([]record, b.Len())
	for i := range records {
		records[i] = record{kind: b.Kind(i), key: b.Record.Column(0).(*array.Int64).Value(i), id: b.Record.Column(1).(*array.Int64).Value(i),
			at: slices.Clone(b.At(i)), copied: s.writer != "p"}
	}
	at := slices.Clone(b.Position)
	if at == nil && b.RowPositions != nil {
		at = slices.Clone(b.At(b.Len() - 1))
	}
	return s.do("write", s.writer, uint64(b.Len()), func() error {
		if at != nil {
			s.at = at
		}
		s.held = append(s.held, records...)
		if s.plan.staged || s.write.Once || s.plan.class == connectors.Transactional && at == nil {
			return nil
		}
		s.queue = append(s.queue, request{s.held, s.at})
		s.held = nil
		return s.work(s.world.rand.IntN(len(s.queue) + 1))
	})
}

// work lets n requests arrive at the target; more than three are never under way.
func (s *simSink) work(n int) error {
	for n = max(n, len(s.queue)-3); n > 0; n-- {
		i := 0
		if s.plan.class == connectors.SequenceDedup {
			i = s.world.rand.IntN(len(s.queue))
		}
		q := s.queue[i]
		s.queue = slices.Delete(s.queue, i, i+1)
		if err := s.arrive(q); err != nil {
			return err
		}
	}
	return nil
}

func (s *simSink) arrive(q request) error {
	if s.plan.class == connectors.Transactional {
		if s.table.marks[s.writer].epoch != s.write.Epoch {
			return connectors.Permanent(errors.New("a newer epoch has written"), "")
		}
		if q.at != nil {
			s.table.marks[s.writer] = mark{s.write.Epoch, q.at}
		}
	}
	s.table.put(s.plan.class, s.plan.keyed, q.records)
	return nil
}

func (s *simSink) Flush(context.Context) (token []byte, err error) {
	err = s.do("flush", s.writer, 0, func() error {
		if s.plan.staged {
			if len(s.held) == 0 {
				return nil
			}
			s.tokens++
			token = fmt.Appendf(nil, "%s:%d.%d.%d", s.writer, s.write.Epoch, s.number, s.tokens)
			s.table.staged[string(token)] = s.held
			s.held = nil
			return nil
		}
		if s.write.Once {
			s.queue = append(s.queue, request{s.held, s.at})
			s.held = nil
		}
		return s.work(len(s.queue))
	})
	return token, err
}

func (s *simSink) Position() change.Position { return s.mark }

func (s *simSink) Close() error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.vanish()
	return nil
}

// vanish is the end of the sink's process or connection: requests that are under way may still arrive.
func (s *simSink) vanish() {
	if s.write.Once || len(s.queue) == 0 {
		s.queue = nil
		return
	}
	if err := s.work(s.world.rand.IntN(len(s.queue) + 1)); err != nil {
		s.world.tell("refused", s.writer, 0)
	}
	s.queue = nil
}

// simStagedSink is a simSink whose rows appear when their token is committed.
type simStagedSink struct{ *simSink }

func (s simStagedSink) Commit(_ context.Context, token []byte) error {
	return s.do("commit", string(token), 0, func() error {
		records, ok := s.table.staged[string(token)]
		switch {
		case s.table.done[string(token)]:
		case !ok:
			s.world.violation("commit of token %s, for which nothing is staged", token)
		default:
			saved := s.world.stored(s.writer)
			found := false
			for _, t := range saved.Tokens {
				found = found || string(t) == string(token)
			}
			if !found {
				s.world.violation("commit of token %s, which is not saved", token)
			}
			s.table.put(s.plan.class, s.plan.keyed, records)
			delete(s.table.staged, string(token))
			s.table.done[string(token)] = true
		}
		return nil
	})
}
