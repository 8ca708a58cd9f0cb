package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// wire writes statements ahead of their answers, so that a whole transaction with COPY in it is one round trip. It is for
// one goroutine.
//
// The server reads on while answers pile up only as long as they fit into the socket. So a caller asks for the answers
// (await) at the latest after answersAhead statements.
type wire struct {
	conn     net.Conn
	in       *pgproto3.Frontend
	out      []byte
	prepared map[string]bool
	asked    int     // statements sent and not answered
	rows     []int64 // rows of each statement answered since the last reset
	status   byte    // of the transaction, as of the last sync: I, T or E
	pid      uint32
}

const (
	answersAhead = 2000
	pushBytes    = 128 << 10
)

func newWire(ctx context.Context, c *pgconn.PgConn) (*wire, error) {
	if err := c.SyncConn(ctx); err != nil {
		return nil, err
	}
	h, err := c.Hijack()
	if err != nil {
		return nil, err
	}
	return &wire{conn: h.Conn, in: h.Frontend, prepared: map[string]bool{}, status: 'I', pid: h.PID}, nil
}

// parse prepares a statement once. No type of a parameter means that the server finds them.
func (w *wire) parse(stmt, sql string, params []uint32) {
	if stmt != "" {
		if w.prepared[stmt] {
			return
		}
		w.prepared[stmt] = true
	}
	at := w.open('P')
	w.out = append(append(append(append(w.out, stmt...), 0), sql...), 0)
	w.out = binary.BigEndian.AppendUint16(w.out, uint16(len(params)))
	for _, oid := range params {
		w.out = binary.BigEndian.AppendUint32(w.out, oid)
	}
	w.shut(at)
}

func (w *wire) open(kind byte) int {
	w.out = append(w.out, kind, 0, 0, 0, 0)
	return len(w.out) - 4
}

func (w *wire) shut(at int) { binary.BigEndian.PutUint32(w.out[at:], uint32(len(w.out)-at)) }

// bind begins the values of a prepared statement. The caller appends each value with its length to out, then calls execute.
func (w *wire) bind(stmt string, formats []byte) int {
	at := w.open('B')
	w.bindHead(stmt, formats)
	return at
}

// bindHead is what stands before the values: portal, statement and formats.
func (w *wire) bindHead(stmt string, formats []byte) {
	w.out = append(append(append(w.out, 0), stmt...), 0)
	w.out = binary.BigEndian.AppendUint16(w.out, uint16(len(formats)))
	for _, f := range formats {
		w.out = append(w.out, 0, f)
	}
	w.out = binary.BigEndian.AppendUint16(w.out, uint16(len(formats)))
}

// execute ends the values and runs the statement.
func (w *wire) execute(at int) {
	w.out = append(w.out, 0, 0) // results in text
	w.shut(at)
	w.run()
}

func (w *wire) run() {
	w.out = append(w.out, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0)
	w.asked++
}

// call runs a prepared statement whose values are large: values is a list of complete array values, each without length.
func (w *wire) call(stmt string, formats []byte, values [][]byte) error {
	size := 4 + 1 + len(stmt) + 1 + 2 + 2*len(formats) + 2 + 2
	for _, v := range values {
		size += 4 + len(v)
	}
	w.out = binary.BigEndian.AppendUint32(append(w.out, 'B'), uint32(size))
	w.bindHead(stmt, formats)
	for _, v := range values {
		w.out = append(appendInt32(w.out, len(v)), v...)
		if err := w.pushFull(); err != nil {
			return err
		}
	}
	w.out = append(w.out, 0, 0)
	w.run()
	return nil
}

// text runs a statement without values, such as BEGIN.
func (w *wire) text(sql string) {
	w.parse("", sql, nil)
	w.execute(w.bind("", nil))
}

// copyData sends a piece of a COPY, in messages of a size that stays in the server's cache.
func (w *wire) copyData(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), pushBytes/2)
		w.out = binary.BigEndian.AppendUint32(append(w.out, 'd'), uint32(n+4))
		w.out = append(w.out, b[:n]...)
		b = b[n:]
		if err := w.pushFull(); err != nil {
			return err
		}
	}
	return nil
}

func (w *wire) copyDone() { w.out = append(w.out, 'c', 0, 0, 0, 4) }

func (w *wire) pushFull() error {
	if len(w.out) < pushBytes {
		return nil
	}
	return w.push()
}

func (w *wire) push() error {
	_, err := w.conn.Write(w.out)
	w.out = w.out[:0]
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// sync ends an implicit transaction and reads all answers. The error of a statement is a *pgconn.PgError; failed tells
// which one it was: its place is len(rows).
func (w *wire) sync() error {
	w.out = append(w.out, 'S', 0, 0, 0, 4)
	if err := w.push(); err != nil {
		return err
	}
	return w.read(nil, true)
}

// await reads the answers of what was sent and leaves the transaction open.
func (w *wire) await() error {
	w.out = append(w.out, 'H', 0, 0, 0, 4)
	if err := w.push(); err != nil {
		return err
	}
	return w.read(nil, false)
}

// reset forgets the counts of answered statements.
func (w *wire) reset() { w.rows, w.asked = w.rows[:0], 0 }

// read takes in answers up to the end of the sync, or up to the last statement. After an error of a statement it syncs, so
// that the connection can be used again.
func (w *wire) read(value func(row [][]byte), synced bool) error {
	var failed error
	for {
		if !synced && failed == nil && w.asked == 0 {
			return nil
		}
		m, err := w.in.Receive()
		if err != nil {
			if failed != nil {
				return failed // the server said why before it closed the connection
			}
			return fmt.Errorf("receive: %w", err)
		}
		switch m := m.(type) {
		case *pgproto3.CommandComplete:
			w.rows = append(w.rows, tagRows(m.CommandTag))
			w.asked--
		case *pgproto3.EmptyQueryResponse:
			w.rows = append(w.rows, 0)
			w.asked--
		case *pgproto3.DataRow:
			if value != nil {
				value(m.Values)
			}
		case *pgproto3.ErrorResponse:
			if failed == nil {
				failed = pgconn.ErrorResponseToPgError(m)
			}
			if !synced {
				synced = true
				w.out = append(w.out[:0], 'S', 0, 0, 0, 4)
				if err := w.push(); err != nil {
					return failed
				}
			}
		case *pgproto3.ReadyForQuery:
			w.status = m.TxStatus
			if failed == nil {
				return nil
			}
			w.asked = 0
			if err := w.forget(); err != nil {
				return err
			}
			return failed
		}
	}
}

// forget closes the prepared statements: which of those that were sent ahead of an error exist is not known. Closing one
// that does not is no error, and works in a failed transaction.
func (w *wire) forget() error {
	for stmt := range w.prepared {
		at := w.open('C')
		w.out = append(append(append(w.out, 'S'), stmt...), 0)
		w.shut(at)
	}
	clear(w.prepared)
	return w.sync()
}

// tagRows is the count at the end of a command tag such as "INSERT 0 12".
func tagRows(tag []byte) int64 {
	n, scale := int64(0), int64(1)
	for i := len(tag) - 1; i >= 0 && tag[i] >= '0' && tag[i] <= '9'; i-- {
		n += int64(tag[i]-'0') * scale
		scale *= 10
	}
	return n
}

// stop makes a send or a receive that is under way return. Safe to call from any goroutine.
func (w *wire) stop() { w.conn.SetDeadline(time.Unix(1, 0)) }

// close says good-bye if it can; the server rolls back what is open.
func (w *wire) close() error {
	w.conn.SetDeadline(time.Now().Add(time.Second))
	w.conn.Write([]byte{'X', 0, 0, 0, 4})
	return w.conn.Close()
}
