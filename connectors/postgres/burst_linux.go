package postgres

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jackc/pgx/v5/pgconn"
)

// Burst reading.
//
// The walsender writes every message with a send() of its own. As long as its peer keeps up, each of those sends travels
// through the whole TCP path and wakes a sleeping reader, which costs the walsender two to three times what decoding the
// change costs, and the walsender is what limits everybody at one row a transaction. When the peer's window is full, the
// sends only append to the socket's queue, and leave in large segments: more than twice as many changes a second.
//
// burstConn keeps the stream in that second regime while there is a backlog, by three measures that only work together:
//   - the socket is not registered with Go's netpoller, whose epoll would be woken by each segment whoever reads;
//   - what there is, is read until nothing is left; then the reader sleeps for so long that the window fills early in the
//     sleep, and the walsender goes on into its queue, where a change costs it half. How long exactly does not matter, so
//     nothing has to be steered: a length that follows the stream's rate follows what it causes itself;
//   - on a link without latency the window is clamped, so that it fills in a small part of the sleep.
//
// A stream without a backlog is read with poll(), so that a lone commit is seen at once.
const (
	burstRead   = 1 << 10                // bytes: reads at least this large in a row mean a backlog
	burstStreak = 3                      // so many of them
	burstQuick  = 8                      // as many small reads close together mean a backlog too: the walsender sends
	burstClose  = 200 * time.Microsecond // a message at a time to a reader that keeps up
	burstFirst  = time.Millisecond       // the first sleep: it finds out whether there really is a backlog
	burstSleep  = 20 * time.Millisecond  // the others
	burstRate   = 3 << 10                // bytes since the last sleep, for each of its milliseconds; fewer, and there is no backlog
	burstWindow = 32 << 10               // bytes, as the kernel counts them
	burstRTTMax = 200 * time.Microsecond // above it the window stays as the kernel makes it: there it would limit the rate
)

// burstDial wraps a dial function so that TCP connections read in bursts. Others are returned as they are.
func burstDial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			return conn, nil
		}
		return newBurstConn(tcp)
	}
}

// burstConn is a TCP connection outside the netpoller. One goroutine reads, one writes.
type burstConn struct {
	fd, wake      int
	local, remote net.Addr
	deadline      atomic.Int64 // of reads, in nanoseconds since 1970; 0 for none
	closed        atomic.Bool
	inUse         sync.RWMutex // held for reading by Read and Write; Close waits for them before it gives the numbers back
	streak, quick int
	backlog       bool
	slept         time.Duration // the last sleep of the backlog, 0 before the first
	drained       int           // bytes since it
}

// newBurstConn takes the connection over: closing tcp takes its file out of the netpoller, the duplicate stays open.
func newBurstConn(tcp *net.TCPConn) (net.Conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &burstConn{local: tcp.LocalAddr(), remote: tcp.RemoteAddr()}
	var dup error
	if err := raw.Control(func(fd uintptr) { c.fd, dup = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if dup != nil {
		return nil, os.NewSyscallError("dup", dup)
	}
	if err := tcp.Close(); err != nil {
		return nil, err
	}
	if c.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(c.fd)
		return nil, os.NewSyscallError("eventfd", err)
	}
	if err := unix.SetNonblock(c.fd, false); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if info, err := unix.GetsockoptTCPInfo(c.fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil && time.Duration(info.Rtt)*time.Microsecond < burstRTTMax {
		// Best effort: without the clamp the stream is slower, not wrong.
		_ = unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP, burstWindow)
	}
	return c, nil
}

func (c *burstConn) Read(p []byte) (int, error) {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	for {
		if c.closed.Load() {
			return 0, net.ErrClosed
		}
		n, _, err := unix.Recvfrom(c.fd, p, unix.MSG_DONTWAIT)
		switch {
		case err == unix.EAGAIN:
			if err := c.drainedAll(); err != nil {
				return 0, err
			}
		case err == unix.EINTR:
		case err != nil:
			return 0, os.NewSyscallError("recv", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			c.note(n)
			return n, nil
		}
	}
}

// drainedAll sleeps in a backlog, and waits for the server without one.
func (c *burstConn) drainedAll() error {
	if d := c.deadline.Load(); d != 0 && time.Now().UnixNano() >= d {
		return os.ErrDeadlineExceeded
	}
	if c.backlog && c.drained >= burstRate*int(c.slept/time.Millisecond) {
		if c.slept == 0 {
			c.slept = burstFirst
		} else {
			c.slept = burstSleep
		}
		c.drained = 0
		sleep := unix.NsecToTimespec(int64(c.slept))
		_ = unix.Nanosleep(&sleep, nil) // a signal may cut it short, which is harmless
		return nil
	}
	c.backlog, c.slept, c.drained, c.streak = false, 0, 0, 0
	began := time.Now()
	err := c.wait()
	if c.quick++; time.Since(began) > burstClose {
		c.quick = 0
	}
	return err
}

// note tells from a read whether there is a backlog.
func (c *burstConn) note(n int) {
	c.drained += n
	if c.backlog {
		return
	}
	if c.streak++; n < burstRead {
		c.streak = 0
	}
	if c.streak >= burstStreak || c.quick >= burstQuick {
		c.backlog, c.quick = true, 0
	}
}

// wait returns when the socket has something, the deadline has come or moved, or the connection was closed.
func (c *burstConn) wait() error {
	timeout := -1
	if d := c.deadline.Load(); d != 0 {
		timeout = max(0, int(time.Until(time.Unix(0, d))/time.Millisecond)+1)
	}
	fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}, {Fd: int32(c.wake), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, timeout); err != nil && err != unix.EINTR {
		return os.NewSyscallError("poll", err)
	}
	if fds[1].Revents != 0 {
		var count [8]byte
		_, _ = unix.Read(c.wake, count[:]) // only resets the counter
	}
	return nil
}

func (c *burstConn) Write(p []byte) (int, error) {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	written := 0
	for written < len(p) {
		if c.closed.Load() {
			return written, net.ErrClosed
		}
		n, err := unix.Write(c.fd, p[written:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return written, os.NewSyscallError("write", err)
		}
		written += n
	}
	return written, nil
}

// Close wakes a blocked Read. The files stay open until it has returned: a number that is closed too early may
// already be another file.
func (c *burstConn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // not connected any more is as good
	c.signal()
	c.inUse.Lock()
	defer c.inUse.Unlock()
	unix.Close(c.wake)
	return unix.Close(c.fd)
}

func (c *burstConn) signal() {
	_, _ = unix.Write(c.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // full means that it is signalled
}

func (c *burstConn) LocalAddr() net.Addr  { return c.local }
func (c *burstConn) RemoteAddr() net.Addr { return c.remote }

func (c *burstConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *burstConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.deadline.Store(0)
	} else {
		c.deadline.Store(t.UnixNano())
	}
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	if !c.closed.Load() {
		c.signal()
	}
	return nil
}

// SetWriteDeadline does nothing: what is written are status messages of a few bytes.
func (c *burstConn) SetWriteDeadline(time.Time) error { return nil }
