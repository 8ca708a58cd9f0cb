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

func TestBurstTellsABacklog(t *testing.T) {
	var c burstConn
	for _, n := range []int{200, 5000, 200, 5000, 5000} {
		if c.note(n); c.backlog {
			t.Fatalf("a backlog after a read of %d bytes", n)
		}
	}
	if c.note(5000); !c.backlog {
		t.Fatal("large reads in a row are no backlog")
	}
	c = burstConn{quick: burstQuick}
	if c.note(50); !c.backlog {
		t.Fatal("small reads close together are no backlog")
	}
}

// After a backlog the stream is quiet again: no sleep stands before a lone message.
func TestBurstEnds(t *testing.T) {
	c, peer := burstPair(t)
	go func() {
		for range 50 {
			peer.Write(make([]byte, 4096))
		}
	}()
	if _, err := io.ReadFull(c, make([]byte, 50*4096)); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	if b := c.(*burstConn); b.backlog || b.drained != 0 {
		t.Errorf("still a backlog, %d bytes", b.drained)
	}
	c.SetReadDeadline(time.Time{})
	peer.Write([]byte("x"))
	if n, err := c.Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
