package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// feed reads messages from a connection that pgconn has opened, without an allocation for each. Reading is for one
// goroutine; writing is safe from any.
type feed struct {
	conn     net.Conn
	buf      []byte // unread bytes are buf[r:w]
	r, w     int
	deadline time.Time // of reads, as it was set last
	writing  sync.Mutex
}

const (
	feedBytes    = 256 << 10
	messageBytes = 1 << 30 // the server's own limit
)

// newFeed takes over a connection that is idle.
func newFeed(ctx context.Context, c *pgconn.PgConn) (*feed, error) {
	if err := c.SyncConn(ctx); err != nil {
		return nil, err
	}
	h, err := c.Hijack()
	if err != nil {
		return nil, err
	}
	return &feed{conn: h.Conn, buf: make([]byte, feedBytes)}, nil
}

// buffered is the next message if all of it has been read. The body is valid until the next fill.
func (f *feed) buffered() (kind byte, body []byte, ok bool, err error) {
	b := f.buf[f.r:f.w]
	if len(b) < 5 {
		return 0, nil, false, nil
	}
	n := int(binary.BigEndian.Uint32(b[1:])) + 1
	if n < 5 || n > messageBytes {
		return 0, nil, false, fmt.Errorf("a message of %d bytes cannot be one of the server's", n)
	}
	if len(b) < n {
		return 0, nil, false, f.room(n)
	}
	f.r += n
	return b[0], b[5:n:n], true, nil
}

// room makes the buffer large enough for a message, and small again after one that was large.
func (f *feed) room(n int) error {
	if n <= len(f.buf)-f.r {
		return nil
	}
	to := f.buf
	if n > len(f.buf) {
		to = make([]byte, n+n/8)
	}
	f.w = copy(to, f.buf[f.r:f.w])
	f.r, f.buf = 0, to
	return nil
}

// fill reads at least one byte, or none when about wait has passed.
func (f *feed) fill(wait time.Duration) (int, error) {
	if f.r == f.w {
		f.r, f.w = 0, 0
		if len(f.buf) > 4*feedBytes {
			f.buf = make([]byte, feedBytes)
		}
	} else if len(f.buf)-f.w < len(f.buf)/4 {
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	}
	if wait >= 0 {
		f.setDeadline(time.Now(), wait)
	}
	n, err := f.conn.Read(f.buf[f.w:])
	f.w += n
	if n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	return n, err
}

// setDeadline keeps a deadline that is near enough: each change of it costs system calls.
func (f *feed) setDeadline(now time.Time, wait time.Duration) {
	if left := f.deadline.Sub(now); left > wait || left < wait/2 {
		f.deadline = now.Add(wait)
		f.conn.SetReadDeadline(f.deadline)
	}
}

// send writes one message of the client.
func (f *feed) send(m pgproto3.FrontendMessage) error {
	b, err := m.Encode(nil)
	if err != nil {
		return err
	}
	return f.write(b)
}

func (f *feed) write(b []byte) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.conn.SetWriteDeadline(time.Now().Add(time.Minute))
	_, err := f.conn.Write(b)
	return err
}

// start runs a command and reads up to the answer that begins the copying.
func (f *feed) start(command string, answer byte) error {
	if err := f.send(&pgproto3.Query{String: command}); err != nil {
		return err
	}
	f.conn.SetReadDeadline(time.Time{})
	for {
		kind, body, ok, err := f.buffered()
		switch {
		case err != nil:
			return err
		case !ok:
			if _, err := f.fill(-1); err != nil {
				return err
			}
		case kind == answer:
			return nil
		case kind == 'E':
			return serverError(body)
		case kind == 'C' || kind == 'Z':
			return fmt.Errorf("the server ended %q at once", command)
		}
	}
}

// serverError reads an ErrorResponse.
func serverError(body []byte) error {
	var m pgproto3.ErrorResponse
	if err := m.Decode(body); err != nil {
		return fmt.Errorf("the server sent an error that cannot be read: %w", err)
	}
	return pgconn.ErrorResponseToPgError(&m)
}

func (f *feed) close() { f.conn.Close() }
