package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// snapshot is the first copy. All of its sessions see the same state of the database; holder keeps that state alive.
type snapshot struct {
	src    *source
	holder *pgconn.PgConn
	name   string // of the exported snapshot
	done   handover
	parts  []connectors.Partition
}

// openSnapshot makes the slot, and with it a snapshot of exactly the state in which the stream begins. When the slot is
// there already, because a copy is taken up again, the snapshot is newer than the slot: what changed in between is both in
// the copy and in the stream, which a keyed sink absorbs, and a handover leaves out.
func openSnapshot(ctx context.Context, r connectors.Read, saved []connectors.Partition) (connectors.Snapshot, error) {
	if len(r.Tables) == 0 {
		return nil, nil
	}
	side, err := dial(ctx, r.Tables[0].Options, r.Pipeline)
	if err != nil {
		return nil, err
	}
	defer side.Close(context.WithoutCancel(ctx))
	src, err := bindRead(ctx, side, r)
	if err != nil {
		return nil, err
	}
	copies := false
	for _, t := range src.tables {
		copies = copies || t.copies()
	}
	if !copies {
		return nil, nil
	}
	s := &snapshot{src: src}
	if err := s.hold(ctx, side, len(saved) > 0); err != nil {
		s.Close()
		return nil, err
	}
	if s.parts = saved; saved == nil {
		s.parts = src.partitions()
	}
	return s, nil
}

// hold exports the snapshot and notes where the stream begins.
func (s *snapshot) hold(ctx context.Context, side *pgconn.PgConn, resumed bool) (err error) {
	switch {
	case !s.src.streaming():
		err = s.export(ctx)
		if err == nil {
			s.done.start, err = logEnd(ctx, side)
		}
	default:
		err = s.holdSlot(ctx, side, resumed)
	}
	if err != nil {
		return err
	}
	if s.src.read.From != nil {
		from, err := decodePosition(s.src.read.From)
		if err != nil {
			return connectors.Permanent(err, "`syncsql reset` the pipeline")
		}
		s.done.start = from.lsn
	}
	return s.look(ctx)
}

// holdSlot makes the publication before the slot: a slot can use only what exists where it begins.
func (s *snapshot) holdSlot(ctx context.Context, side *pgconn.PgConn, resumed bool) error {
	if err := s.src.checkPrimary(ctx, side); err != nil {
		return err
	}
	if _, err := s.src.publish(ctx, side); err != nil {
		return err
	}
	name, _, err := s.src.slotOf()
	if err != nil {
		return err
	}
	sl, err := s.src.loadSlot(ctx, side, name)
	if err != nil {
		return err
	}
	if sl == nil && (resumed || s.src.read.From != nil) {
		from, _ := decodePosition(s.src.read.From)
		return missingSlot(name, from)
	}
	if sl == nil {
		if s.holder, err = dialReplication(ctx, s.src.read.Tables[0].Options, s.src.read.Pipeline); err != nil {
			return err
		}
		made, err := createSlot(ctx, s.holder, name, true)
		s.name, s.done.start = made.snapshot, made.at
		return err
	}
	if err := sl.usable(s.src.tables[0].database); err != nil {
		return err
	}
	if s.src.read.From != nil {
		from, err := decodePosition(s.src.read.From)
		if err != nil {
			return connectors.Permanent(err, "`syncsql reset` the pipeline")
		}
		if err := sl.continues(from); err != nil {
			return err
		}
	}
	s.done.start = sl.confirmed
	return s.export(ctx)
}

// export takes a snapshot in a session of its own.
func (s *snapshot) export(ctx context.Context) (err error) {
	if s.holder, err = dial(ctx, s.src.read.Tables[0].Options, s.src.read.Pipeline); err != nil {
		return err
	}
	if _, err := s.holder.Exec(ctx, "begin isolation level repeatable read read only").ReadAll(); err != nil {
		return err
	}
	row, err := lookUpOne(ctx, s.holder, "select pg_export_snapshot()")
	if err != nil {
		return fmt.Errorf("export a snapshot: %w", err)
	}
	s.name = row[0]
	return nil
}

// look notes what the snapshot has seen, for tables whose sink absorbs no repeats.
func (s *snapshot) look(ctx context.Context) error {
	c, err := s.session(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	row, err := lookUpOne(ctx, c, "select txid_current_snapshot()")
	if err != nil {
		return err
	}
	if s.done.snapshot, err = parseSnapshot(row[0]); err != nil {
		return err
	}
	// After the snapshot was taken: whatever it saw was committed before.
	s.done.at, err = logEnd(ctx, c)
	return err
}

// logEnd is the end of the log.
func logEnd(ctx context.Context, c *pgconn.PgConn) (lsn, error) {
	row, err := lookUpOne(ctx, c, "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end")
	if err != nil {
		return 0, err
	}
	return parseLSN(row[0])
}

// session opens one that sees the snapshot. Row security is off: it would leave rows out without a word.
func (s *snapshot) session(ctx context.Context) (*pgconn.PgConn, error) {
	c, err := dial(ctx, s.src.read.Tables[0].Options, s.src.read.Pipeline)
	if err != nil {
		return nil, err
	}
	_, err = c.Exec(ctx, "set row_security = off; begin isolation level repeatable read read only; set transaction snapshot "+quoteLiteral(s.name)).ReadAll()
	if err == nil {
		return c, nil
	}
	c.Close(context.WithoutCancel(ctx))
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "22023" || pg.Code == "55000" || pg.Code == "42704") {
		return nil, fmt.Errorf("the session that kept the snapshot %q of the copy has ended; what is not copied yet is read under another one: %w", s.name, err)
	}
	return nil, fmt.Errorf("take part in snapshot %q: %w", s.name, err)
}

// Start implements connectors.Snapshot.
func (s *snapshot) Start() change.Position { return position{lsn: s.done.start}.bytes() }

// Partitions implements connectors.Snapshot.
func (s *snapshot) Partitions() []connectors.Partition { return s.parts }

// Close implements connectors.Snapshot.
func (s *snapshot) Close() error {
	if s.holder != nil {
		s.holder.Close(context.Background())
	}
	return nil
}

// stretch is the part of a table that a partition reads, kept in Partition.Range.
type stretch struct {
	Version int    `json:"v"`
	Schema  string `json:"schema"`
	Table   string `json:"table"`
	Whole   bool   `json:"whole,omitempty"`
	File    uint32 `json:"file,omitempty"` // pg_relation_filenode: another one means that the pages were written anew
	From    int64  `json:"from,omitempty"` // pages
	To      int64  `json:"to,omitempty"`   // 0: to the end
}

func (p stretch) bytes() []byte {
	p.Version = 1
	b, _ := json.Marshal(p)
	return b
}

func decodeStretch(b []byte) (stretch, error) {
	var p stretch
	if err := json.Unmarshal(b, &p); err != nil || p.Version != 1 || p.Table == "" || p.From < 0 || p.To < 0 || p.To != 0 && p.To <= p.From {
		return p, connectors.Permanent(fmt.Errorf("%q is not a part of a Postgres table", b), "`syncsql reset` the pipeline")
	}
	return p, nil
}

// partitions cuts the tables. A table whose sink absorbs no repeats is one partition, read in one piece.
func (s *source) partitions() []connectors.Partition {
	var parts []connectors.Partition
	for _, t := range s.tables {
		if !t.copies() {
			continue
		}
		n := 0
		add := func(p stretch, rows float64) {
			parts = append(parts, connectors.Partition{ID: fmt.Sprintf("%d-%d", t.index, n), Table: t.index, Range: p.bytes(), Rows: int64(rows)})
			n++
		}
		leaves := t.info.partitions
		if !t.info.leavesReadable() {
			leaves = nil
		}
		switch {
		case t.ExactHandover || t.info.kind == 'p' && len(leaves) == 0:
			add(stretch{Schema: t.at.schema, Table: t.at.table, Whole: true}, t.info.estimate())
		case t.info.kind == 'p':
			for i := range leaves {
				s.cut(&leaves[i], partitionRows.Get(t.Options), add)
			}
		default:
			s.cut(t.info, partitionRows.Get(t.Options), add)
		}
	}
	return parts
}

// leavesReadable reports whether the role may read the partitions themselves; a right on the root does not say so.
func (t *sourceTable) leavesReadable() bool {
	for i := range t.partitions {
		if !t.partitions[i].readable {
			return false
		}
	}
	return len(t.partitions) > 0
}

func (t *sourceTable) estimate() float64 {
	n := float64(t.pages) * t.density
	for i := range t.partitions {
		n += t.partitions[i].estimate()
	}
	return n
}

// cut makes ranges of pages. The last one is open, for what is added before the snapshot is taken. Before version 14 a
// range of pages is not read without reading the whole table.
func (s *source) cut(t *sourceTable, rows int64, add func(stretch, float64)) {
	whole := stretch{Schema: t.name.schema, Table: t.name.table, Whole: true}
	step := int64(float64(rows) / t.density)
	if s.version < 140000 || t.kind != 'r' || t.access != "heap" || t.file == 0 || step < 1 || t.pages <= step {
		add(whole, t.estimate())
		return
	}
	for from := int64(0); from < t.pages; from += step {
		p := stretch{Schema: t.name.schema, Table: t.name.table, File: t.file, From: from, To: from + step}
		if p.To >= t.pages {
			p.To = 0
		}
		add(p, float64(min(step, t.pages-from))*t.density)
	}
}

// query selects the rows of a stretch.
func (c *copyInto) query(p stretch) string {
	from := name{p.Schema, p.Table}.sql()
	if c.table.info.kind != 'p' || (name{p.Schema, p.Table}) != c.table.at {
		from = "only " + from // inheriting tables are tables of their own
	}
	sql := c.selectSQL(from)
	var where []string
	if !p.Whole {
		where = append(where, fmt.Sprintf("ctid >= '(%d,0)'::tid", p.From))
		if p.To != 0 {
			where = append(where, fmt.Sprintf("ctid < '(%d,0)'::tid", p.To))
		}
	}
	if w := c.table.whereSQL(c.table.Where, map[string]bool{}); w != "" {
		where = append(where, w)
	}
	for i, w := range where {
		if i == 0 {
			sql += " where " + w
		} else {
			sql += " and " + w
		}
	}
	return sql
}

// Open implements connectors.Snapshot.
func (s *snapshot) Open(ctx context.Context, p connectors.Partition) (connectors.Source, error) {
	part, err := decodeStretch(p.Range)
	if err != nil {
		return nil, err
	}
	t := s.src.table(p.Table)
	if t == nil {
		return nil, connectors.Permanent(fmt.Errorf("partition %q is of a table that is not read", p.ID), "`syncsql reset` the pipeline")
	}
	c, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	if !part.Whole {
		row, err := lookUpOne(ctx, c, "select coalesce(pg_relation_filenode($1::regclass), 0)", name{part.Schema, part.Table}.sql())
		if err != nil {
			c.Close(context.WithoutCancel(ctx))
			return nil, err
		}
		// The table was written anew since it was cut: its rows may be anywhere, also where another partition has been.
		part.Whole = parse32(row[0]) != part.File
	}
	into, err := s.src.newCopyInto(t, s.done)
	if err != nil {
		c.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	f, err := newFeed(ctx, c)
	if err != nil {
		c.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return startCopy(s.src, into, f, into.query(part), s.done.bytes()), nil
}

func (s *source) table(index int) *tableRead {
	for _, t := range s.tables {
		if t.index == index {
			return t
		}
	}
	return nil
}

// nothing is a source that has ended.
type nothing struct{}

func (nothing) Next(context.Context) (change.Batch, error) { return change.Batch{}, io.EOF }
func (nothing) Ack(context.Context, change.Position) error { return nil }
func (nothing) Close() error                               { return nil }
