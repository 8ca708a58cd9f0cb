package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

type optionSet = option.Set

// run reads the connection until it ends.
func (s *stream) run() {
	defer s.done.Done()
	heard := time.Now()
	var busy backlog
	for {
		s.mu.Lock()
		answer, err := s.drain()
		wait := busy.limit(s.pause())
		s.quiet = !busy.yes()
		if err != nil {
			s.err = err
		}
		over := err != nil
		if over || s.ready() {
			s.cond.Broadcast()
		}
		closing := s.closing
		s.mu.Unlock()
		if over {
			return
		}
		if answer && !closing {
			if err := s.status(noReply); err != nil {
				s.fail(fmt.Errorf("answer the server: %w", err))
				return
			}
		}
		n, err := s.feed.fill(wait)
		busy.read(n)
		switch {
		case err != nil:
			s.fail(fmt.Errorf("read changes: %w", err))
			return
		case n > 0:
			heard = time.Now()
		case time.Since(heard) > s.silent:
			s.fail(fmt.Errorf("no word from the server for %s: the connection is dead", s.silent))
			return
		}
		s.mu.Lock()
		s.quiet = false
		s.stale = n == 0 && s.in.inside && wait >= time.Duration(s.limits.Wait)*time.Millisecond/2
		s.mu.Unlock()
	}
}

// backlog tells a stream that is behind from a quiet one: large reads follow one another. Then a pause in the reading does
// not mean that there is no more, and batches are filled; but when it lasts, what there is is handed over.
type backlog int

const (
	backlogBytes = 1 << 10
	backlogReads = 3
	backlogPause = 4 * time.Millisecond
)

func (b backlog) yes() bool { return b >= backlogReads }

func (b backlog) limit(wait time.Duration) time.Duration {
	if b.yes() {
		return backlogPause
	}
	return wait
}

func (b *backlog) read(n int) {
	if n < backlogBytes {
		*b = 0
		return
	}
	*b++
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.cond.Broadcast()
}

// pause is how long the reader waits for the server before it looks around.
func (s *stream) pause() time.Duration {
	switch {
	case s.in.inside && s.in.rows > 0:
		return time.Duration(s.limits.Wait) * time.Millisecond
	case s.in.moved:
		return idleSoon / 2
	}
	return min(5*time.Second, s.silent)
}

// errEnded is the server's end of the stream; a server that shuts down does so.
var errEnded = errors.New("the server ended the stream")

// drain takes all messages that have been read. It waits while a full batch is not taken, and hands a batch to a waiting
// Next at the end of a transaction. answer says that the server wants a status message.
func (s *stream) drain() (answer bool, err error) {
	for {
		kind, body, ok, err := s.feed.buffered()
		if err != nil || !ok {
			return answer, err
		}
		switch kind {
		case 'd':
			if s.closing || s.ended {
				continue
			}
			a, err := s.copyData(body)
			if err != nil {
				return answer, err
			}
			answer = answer || a
		case 'E':
			return answer, explain(serverError(body))
		case 'c', 'C', 'Z':
			return answer, errEnded
		}
		if s.target != 0 && !s.in.inside && s.in.position.lsn >= s.target {
			s.ended = true // what comes later is read and left out, so that the connection can be closed in order
		}
		for !s.closing && !s.ended && (s.full() || s.waiting && !s.in.inside && s.in.rows >= s.limits.Rows) {
			s.cond.Broadcast()
			s.cond.Wait()
		}
	}
}

// explain marks the errors of the server that another try does not cure.
func explain(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42704" && strings.Contains(pg.Message, "publication") {
		return connectors.Permanent(fmt.Errorf("%w: it was made after the changes that are to be read next", err), resetHelp)
	}
	return err
}

// copyData takes one message of the replication protocol.
func (s *stream) copyData(body []byte) (answer bool, err error) {
	c := cursor{p: body}
	switch c.u8() {
	case 'w':
		at := lsn(c.u64())
		c.u64()
		c.u64()
		if c.bad {
			return false, errMessage
		}
		s.seen = max(s.seen, at)
		return false, s.in.message(c.p)
	case 'k':
		end := lsn(c.u64())
		c.u64()
		answer = c.u8() != 0
		if c.bad {
			return false, errMessage
		}
		s.seen = max(s.seen, end)
		s.in.idle(end)
		return answer, nil
	}
	return false, errMessage
}

// keepAlive sends status messages also while the reader waits for the pipeline: the server ends a connection from which it
// hears nothing.
func (s *stream) keepAlive(ctx context.Context) {
	defer s.done.Done()
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		over := s.err != nil
		s.mu.Unlock()
		if over || s.status(wantReply) != nil {
			return // the reader meets the error too
		}
	}
}

// beat writes a logical message now and then, so that the slot can move where nothing else is written.
func (s *stream) beat(ctx context.Context, o optionSet, every time.Duration) {
	defer s.done.Done()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := beatOnce(ctx, o, s.src.read.Pipeline); err != nil && ctx.Err() == nil {
			s.src.warn("heartbeat-failed", "", "heartbeat: %v", err)
		}
	}
}

func beatOnce(ctx context.Context, o optionSet, pipeline string) error {
	c, err := dial(ctx, o, pipeline)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	_, err = c.Exec(ctx, "select pg_logical_emit_message(true, 'syncsql', 'heartbeat')").ReadAll()
	return err
}

// lookUpTypes is for types that are new since the stream was opened.
func (s *stream) lookUpTypes(oids []uint32) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return loadTypes(ctx, s.side, s.src.types, oids)
}

// describedAgain looks for what the stream does not tell: columns that were added beside a column list, and partitions that
// came or went with their rows.
func (s *stream) describedAgain(t *tableRead) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	info, err := loadTable(ctx, s.side, t.at)
	if err != nil || info == nil {
		return // the stream itself meets what is wrong
	}
	for i := range info.columns {
		if col := &info.columns[i]; t.info.column(col.name) == nil {
			t.info.columns = append(t.info.columns, *col) // known from now on: one warning
			s.src.warn("column-added", t.Name, "table %s has a column %q (%s) that is not declared; it is not read", t.at, col.name, col.typ)
		}
	}
	for _, p := range without(info.partitions, t.info.partitions) {
		s.src.warn("partition-attached", t.Name, "%s is now a partition of %s; rows that it had before are not in the stream: `syncsql reset` the pipeline to copy them", p.name, t.at)
	}
	for _, p := range without(t.info.partitions, info.partitions) {
		s.src.warn("partition-detached", t.Name, "%s is no partition of %s any more; its rows stay at the target, the stream does not tell of them", p.name, t.at)
	}
	t.info.partitions = info.partitions
}

// without is the partitions of a that are not in b.
func without(a, b []sourceTable) (list []sourceTable) {
	for i := range a {
		if !slices.ContainsFunc(b, func(t sourceTable) bool { return t.oid == a[i].oid }) {
			list = append(list, a[i])
		}
	}
	return list
}
