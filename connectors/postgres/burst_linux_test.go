package postgres

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// burstPair is a burstConn and its peer.
func burstPair(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var d net.Dialer
	c, err := burstDial(d.DialContext)(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); peer.Close() })
	return c, peer
}

func TestBurstConnCarriesEverything(t *testing.T) {
	c, peer := burstPair(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		for i := 0; i < len(want); i += 1000 {
			peer.Write(want[i:min(len(want), i+1000)])
		}
		peer.Close()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes (%v), want %d", len(got), err, len(want))
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("after the end: %v", err)
	}
}

func TestBurstConnDeadlineAndClose(t *testing.T) {
	c, peer := burstPair(t)
	if _, err := peer.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	if n, err := c.Read(b); n != 1 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	if _, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("deadline: %v", err)
	}
	c.SetReadDeadline(time.Time{})
	errs := make(chan error)
	for _, stop := range []func(){func() { c.SetReadDeadline(time.Now()) }, func() { c.SetReadDeadline(time.Time{}); c.Close() }} {
		go func() {
			_, err := c.Read(b)
			errs <- err
		}()
		stop()
		if err := <-errs; err == nil {
			t.Fatal("a blocked read returned without an error")
		}
	}
	if _, err := c.Write(b); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("write after close: %v", err)
	}
}

func TestSteerFillsTheWindow(t *testing.T) {
	// What comes in a millisecond, up to a window of 64 KiB: the pause settles where the window is nearly full.
	settle := func(rate int) time.Duration {
		pause := burstPause
		for range 50 {
			n := min(64<<10, rate*int(pause/time.Microsecond)/1000)
			pause = steer(pause, n)
		}
		return pause
	}
	for rate, want := range map[int][2]time.Duration{
		1 << 10:   {burstPause, burstPause}, // a trickle: no window will be full, so latency counts
		20 << 10:  {2 * time.Millisecond, 3 * time.Millisecond},
		50 << 10:  {800 * time.Microsecond, 1200 * time.Microsecond},
		500 << 10: {burstLeast, burstLeast},
	} {
		if got := settle(rate); got < want[0] || got > want[1] {
			t.Errorf("%d bytes a millisecond: a pause of %s, want %s to %s", rate, got, want[0], want[1])
		}
	}
}
