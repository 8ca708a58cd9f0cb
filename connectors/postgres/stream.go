package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// stream is the Source of changes. One goroutine reads the connection and turns messages into rows; Next takes whatever
// has gathered. Nothing is read while a full batch waits, so a large transaction takes no more memory than a small one.
type stream struct {
	src    *source
	limits connectors.Limits
	feed   *feed
	side   *pgconn.PgConn // for catalog look-ups by the reader
	again  reselector     // for the values that updates leave out, by Next
	slot   string
	every  time.Duration // between status messages
	silent time.Duration // without a message from the server the connection is dead
	target lsn           // of a read that ends when it has caught up, 0 for none
	queue  []part        // taken and not yet handed over; Next alone

	mu      sync.Mutex
	cond    *sync.Cond
	in      *intake
	quiet   bool      // the reader is about to wait for the server
	stale   bool      // it has waited inside a transaction for Limits.Wait
	waiting bool      // Next waits
	closing bool      // Close was called
	ended   bool      // the target is reached, nothing more is read
	err     error     // ends the stream once everything before it has been handed over
	handed  lsn       // position of the last batch
	since   time.Time // when it was handed over
	logEnd  atomic.Uint64
	newest  int64    // when the last transaction that was taken was committed, for the batches of the queue
	acked   position // what the server may forget
	seen    lsn      // the last position that the server sent

	stop context.CancelFunc
	done sync.WaitGroup
}

// Position-only batches keep the slot moving on a quiet stream; each may cost a checkpoint, so they are rare.
const (
	idleSoon  = 2 * time.Second
	idleLater = 10 * time.Second
	idleBytes = 1 << 20
	// growth is how many times Limits.Rows a batch may hold when the pipeline is behind.
	growth = 10
)

// Next implements connectors.Source.
func (s *stream) Next(ctx context.Context) (change.Batch, error) {
	for {
		for len(s.queue) > 0 {
			p := s.queue[0]
			s.queue = s.queue[1:]
			if p.reject != nil {
				if err := s.reject(ctx, p.reject); err != nil {
					return change.Batch{}, err
				}
				continue
			}
			return s.batch(ctx, p)
		}
		if err := s.take(ctx); err != nil {
			return change.Batch{}, err
		}
	}
}

func (s *stream) reject(ctx context.Context, e *connectors.RowError) error {
	if s.src.read.Reject == nil {
		return e
	}
	return s.src.read.Reject(ctx, e)
}

// batch makes the batch of a part.
func (s *stream) batch(ctx context.Context, p part) (change.Batch, error) {
	var b change.Batch
	if p.rows != nil {
		if len(p.rows.again) > 0 {
			if err := s.again.fill(ctx, p.rows); err != nil {
				return b, err
			}
		}
		b = p.rows.batch()
		s.mu.Lock()
		b.Committed = s.newest
		s.in.recycle(p.rows)
		s.mu.Unlock()
	}
	if p.position != nil {
		b.Position, b.Behind = p.position.bytes(), s.behind(p.position.lsn)
	}
	return b, nil
}

// take waits until something is ready and moves it to the queue. io.EOF and errors come after everything before them.
func (s *stream) take(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready() && ctx.Err() == nil {
		wake := context.AfterFunc(ctx, func() {
			s.mu.Lock()
			s.cond.Broadcast()
			s.mu.Unlock()
		})
		s.waiting = true
		for !s.ready() && ctx.Err() == nil {
			s.cond.Wait()
		}
		s.waiting = false
		wake()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue, s.newest = s.in.take(), s.in.tx.time
	if len(s.queue) > 0 {
		s.handed, s.since, s.stale = s.in.position.lsn, time.Now(), false
		s.cond.Broadcast()
		return nil
	}
	if s.err != nil {
		return s.err
	}
	return io.EOF
}

// ready reports whether there is something to take. A transaction is not torn unless it is larger than a batch may be, or
// its rest is slow to come.
func (s *stream) ready() bool {
	in := s.in
	switch {
	case s.err != nil || s.ended:
		return true
	case in.rows == 0:
		return in.moved && s.idleDue()
	case s.full():
		return true
	case in.inside:
		return s.quiet && s.stale
	}
	return s.quiet || in.rows >= s.limits.Rows || in.bytes >= s.limits.Bytes
}

func (s *stream) full() bool {
	return s.in.rows >= growth*s.limits.Rows || s.in.bytes >= s.limits.Bytes
}

func (s *stream) idleDue() bool {
	passed := time.Since(s.since)
	return passed >= idleLater || passed >= idleSoon && s.in.position.lsn-s.handed >= idleBytes
}

// Ack implements connectors.Source. It is the only thing that moves what the server is told to be durable.
func (s *stream) Ack(_ context.Context, p change.Position) error {
	at, err := decodePosition(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.acked.less(at) {
		s.acked = at
	}
	dead := s.err != nil || s.ended
	s.mu.Unlock()
	if dead {
		return nil // Close tells the server, if it still can
	}
	return s.status(noReply)
}

// reply says whether the server shall answer a status message at once.
type reply byte

const (
	noReply   reply = 0
	wantReply reply = 1
)

// status tells the server what is durable, and so what it may forget.
func (s *stream) status(r reply) error {
	s.mu.Lock()
	seen, acked := max(s.seen, s.acked.lsn), s.acked.lsn
	s.mu.Unlock()
	b := make([]byte, 0, 39)
	b = append(b, 'd', 0, 0, 0, 38, 'r')
	for _, v := range []lsn{seen, acked, acked} { // written, flushed, applied
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(time.Now().UnixMicro()-epochMicros))
	return s.feed.write(append(b, byte(r)))
}

// Close implements connectors.Source. The last acknowledgement reaches the server before the connection ends, so that a
// restart repeats nothing.
func (s *stream) Close() error {
	s.mu.Lock()
	s.closing = true
	s.cond.Broadcast()
	s.mu.Unlock()
	s.stop()
	finished := make(chan struct{})
	go func() { s.done.Wait(); close(finished) }()
	if s.status(noReply) == nil {
		s.feed.write([]byte{'c', 0, 0, 0, 4}) // CopyDone; the server answers when it has stopped
		timer := time.NewTimer(2 * time.Second)
		select {
		case <-finished:
		case <-timer.C:
		}
		timer.Stop()
	}
	s.feed.close()
	<-finished
	s.side.Close(context.Background())
	s.again.close()
	return nil
}

// openSource opens the changes of the tables, or all rows of tables that are only copied.
func openSource(ctx context.Context, r connectors.Read) (connectors.Source, error) {
	if len(r.Tables) == 0 {
		return nil, connectors.Permanent(errors.New("no table to read"), "")
	}
	side, err := dial(ctx, r.Tables[0].Options, r.Pipeline)
	if err != nil {
		return nil, err
	}
	src, err := bindRead(ctx, side, r)
	if err != nil {
		side.Close(ctx)
		return nil, err
	}
	if !src.streaming() {
		side.Close(ctx)
		if r.From != nil {
			return nothing{}, nil // the copy is done
		}
		return openCopy(ctx, r)
	}
	s, err := src.openStream(ctx, side)
	if err != nil {
		side.Close(ctx)
		return nil, err
	}
	return s, nil
}

func (s *source) streaming() bool {
	for _, t := range s.tables {
		if t.streams() {
			return true
		}
	}
	return false
}

// openStream starts replication at the position, or where a new slot begins.
func (s *source) openStream(ctx context.Context, side *pgconn.PgConn) (*stream, error) {
	options := s.read.Tables[0].Options
	if err := s.checkPrimary(ctx, side); err != nil {
		return nil, err
	}
	pubs, err := s.publish(ctx, side)
	if err != nil {
		return nil, err
	}
	name, _, err := s.slotOf()
	if err != nil {
		return nil, err
	}
	from, err := s.begin(ctx, side, name)
	if err != nil {
		return nil, err
	}
	st := &stream{src: s, limits: s.limits(), side: side, slot: name, since: time.Now(), handed: from.lsn, acked: from}
	st.cond = sync.NewCond(&st.mu)
	st.in = newIntake(s, from)
	st.again = reselector{src: s, options: options, lock: &st.mu}
	if err := st.readServer(ctx); err != nil {
		return nil, err
	}
	wait := slotWait.Get(options)
	if err := s.whenFree(ctx, side, name, wait, func() error { return st.start(ctx, from, pubs) }); err != nil {
		return nil, fmt.Errorf("start replication: %w", err)
	}
	st.in.types = func(oids []uint32) error { return st.lookUpTypes(oids) }
	st.in.described = st.describedAgain
	run, cancel := context.WithCancel(context.Background())
	st.stop = cancel
	st.done.Add(3)
	go st.run()
	go st.keepAlive(run)
	go st.measure(run, options)
	if every := heartbeat.Get(options); every > 0 {
		st.done.Add(1)
		go st.beat(run, options, every)
	}
	return st, nil
}

func (s *source) limits() connectors.Limits {
	l, d := s.read.Limits, connectors.DefaultLimits
	if l.Rows <= 0 {
		l.Rows = d.Rows
	}
	if l.Bytes <= 0 {
		l.Bytes = d.Bytes
	}
	if l.Wait <= 0 {
		l.Wait = d.Wait
	}
	return l
}

// checkPrimary refuses a server that cannot make a slot, such as one that has turned into a standby.
func (s *source) checkPrimary(ctx context.Context, c *pgconn.PgConn) error {
	row, err := lookUpOne(ctx, c, "select pg_is_in_recovery()")
	if err != nil {
		return err
	}
	if row[0] == "t" && s.version < 160000 {
		return errors.New("the server is a standby; logical replication needs the primary")
	}
	return nil
}

// begin is where the stream starts. Without a position it makes the slot, if there is none.
func (s *source) begin(ctx context.Context, side *pgconn.PgConn, name string) (position, error) {
	sl, err := s.loadSlot(ctx, side, name)
	if err != nil {
		return position{}, err
	}
	if sl != nil {
		if err := sl.usable(s.tables[0].database); err != nil {
			return position{}, err
		}
	}
	if s.read.From != nil {
		from, err := decodePosition(s.read.From)
		if err != nil {
			return from, connectors.Permanent(err, "`syncsql reset` the pipeline")
		}
		if sl == nil {
			return from, missingSlot(name, from)
		}
		return from, sl.continues(from)
	}
	if sl != nil {
		return position{lsn: sl.confirmed}, nil
	}
	c, err := dialReplication(ctx, s.read.Tables[0].Options, s.read.Pipeline)
	if err != nil {
		return position{}, err
	}
	defer c.Close(ctx)
	made, err := createSlot(ctx, c, name, false)
	return position{lsn: made.at}, err
}

func dialReplication(ctx context.Context, o optionSet, pipeline string) (*pgconn.PgConn, error) {
	config, err := replicationConfig(o, pipeline)
	if err != nil {
		return nil, err
	}
	return connect(ctx, config)
}

func replicationConfig(o optionSet, pipeline string) (*pgconn.Config, error) {
	config, err := connConfig(o, pipeline)
	if err == nil {
		config.RuntimeParams["replication"] = "database"
	}
	return config, err
}

// readServer asks for what the stream has to keep to, and for the end of a read that catches up.
func (s *stream) readServer(ctx context.Context) error {
	row, err := lookUpOne(ctx, s.side, "select setting from pg_settings where name = 'wal_sender_timeout'")
	if err != nil {
		return err
	}
	timeout := time.Duration(parse64(row[0])) * time.Millisecond
	s.every, s.silent = 10*time.Second, 2*time.Minute
	if timeout > 0 {
		s.every, s.silent = min(s.every, timeout/3), max(2*timeout, time.Second)
	}
	if row, err = lookUpOne(ctx, s.side, "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end"); err != nil {
		return err
	}
	at, err := parseLSN(row[0])
	if err != nil {
		return err
	}
	s.in.copyEnd = at
	if !s.src.read.CaughtUp {
		return nil
	}
	s.target = recordEnd(at)
	s.every = min(s.every, 100*time.Millisecond)
	// A commit makes the server write and send everything before it. Without the right to it, that happens a little later.
	s.side.Exec(ctx, "select pg_logical_emit_message(true, 'syncsql', '')").ReadAll()
	return nil
}

// recordEnd turns the place of the next record into the end of the last one: at the start of a page the two differ by the
// page's header.
func recordEnd(at lsn) lsn {
	switch at % 8192 {
	case 24:
		return at - 24
	case 40:
		return at - 40
	}
	return at
}

// start begins to replicate on a new connection.
func (s *stream) start(ctx context.Context, from position, pubs []string) error {
	config, err := replicationConfig(s.src.read.Tables[0].Options, s.src.read.Pipeline)
	if err != nil {
		return err
	}
	config.DialFunc = burstDial(config.DialFunc)
	c, err := connect(ctx, config)
	if err != nil {
		return err
	}
	f, err := newFeed(ctx, c)
	if err != nil {
		c.Close(ctx)
		return err
	}
	quoted := make([]string, len(pubs))
	for i, p := range pubs {
		quoted[i] = quoteIdent(p)
	}
	args := "proto_version '1', publication_names '" + strings.ReplaceAll(strings.Join(quoted, ","), "'", "''") + "'"
	if !s.src.text {
		args += ", binary 'true'"
	}
	if err := f.start(fmt.Sprintf("START_REPLICATION SLOT %s LOGICAL %s (%s)", quoteIdent(s.slot), from.lsn, args), 'W'); err != nil {
		f.close()
		return err
	}
	s.feed = f
	return nil
}
