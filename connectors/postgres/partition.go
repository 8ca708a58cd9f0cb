package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// copySource reads one partition. A goroutine decodes ahead by one batch, so that the server, the decoding and the sink
// work at the same time.
type copySource struct {
	src  *source
	into *copyInto
	feed *feed
	last change.Position
	out  chan copyItem
	quit chan struct{}
	once sync.Once
	err  error // after out is closed
}

// copyItem is one batch or one row that cannot be mapped.
type copyItem struct {
	batch  change.Batch
	reject *connectors.RowError
}

// errQuit ends the copying goroutine.
var errQuit = fmt.Errorf("the copy was closed")

func startCopy(src *source, into *copyInto, f *feed, query string, last change.Position) *copySource {
	c := &copySource{src: src, into: into, feed: f, last: last, out: make(chan copyItem, 1), quit: make(chan struct{})}
	go c.run(query)
	return c
}

func (c *copySource) run(query string) {
	defer close(c.out)
	limits := c.src.limits()
	err := c.feed.copyTo(query, func(p []byte) error {
		first := c.into.first
		bad, err := c.into.row(p)
		if err != nil {
			return err
		}
		if bad != nil {
			if err := c.flush(nil); err != nil {
				return err
			}
			e := rowError(c.src.types, c.into.published(), c.into.cells(p, first), wholeRow, bad)
			return c.send(copyItem{reject: e})
		}
		if b := c.into.buffer; b.n >= growth*limits.Rows || b.bytes >= limits.Bytes {
			return c.flush(nil)
		}
		return nil
	})
	if err == nil {
		err = c.flush(c.last)
	}
	c.err = io.EOF
	if err != nil {
		c.err = fmt.Errorf("copy table %q: %w", c.into.table.Name, err)
		return
	}
	c.feed.write([]byte{'X', 0, 0, 0, 4})
}

// flush hands over the rows so far.
func (c *copySource) flush(at change.Position) error {
	b := change.Batch{Table: c.into.table.index, Position: at}
	if c.into.buffer.n > 0 {
		b = c.into.buffer.batch()
		b.Position = at
	} else if at == nil {
		return nil
	}
	return c.send(copyItem{batch: b})
}

func (c *copySource) send(v copyItem) error {
	select {
	case c.out <- v:
		return nil
	case <-c.quit:
		v.batch.Release()
		return errQuit
	}
}

// Next implements connectors.Source. Only the last batch has a position: a copy counts when it is whole.
func (c *copySource) Next(ctx context.Context) (change.Batch, error) {
	for {
		select {
		case <-ctx.Done():
			return change.Batch{}, ctx.Err()
		case v, ok := <-c.out:
			switch {
			case !ok:
				return change.Batch{}, c.err
			case v.reject == nil:
				return v.batch, nil
			case c.src.read.Reject == nil:
				return change.Batch{}, v.reject
			}
			if err := c.src.read.Reject(ctx, v.reject); err != nil {
				return change.Batch{}, err
			}
		}
	}
}

// Ack implements connectors.Source; a copy keeps nothing at the server.
func (c *copySource) Ack(context.Context, change.Position) error { return nil }

// Close implements connectors.Source.
func (c *copySource) Close() error {
	c.once.Do(func() {
		close(c.quit)
		c.feed.close()
		for v := range c.out {
			v.batch.Release()
		}
	})
	return nil
}

// copyAll reads all partitions one after the other, for a caller that wants the rows of a table and no copy that can be
// taken up again.
type copyAll struct {
	snapshot connectors.Snapshot
	left     []connectors.Partition
	current  connectors.Source
}

func openCopy(ctx context.Context, r connectors.Read) (connectors.Source, error) {
	s, err := openSnapshot(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	return &copyAll{snapshot: s, left: s.Partitions()}, nil
}

func (c *copyAll) Next(ctx context.Context) (change.Batch, error) {
	for {
		if c.current == nil {
			if len(c.left) == 0 {
				return change.Batch{}, io.EOF
			}
			var err error
			if c.current, err = c.snapshot.Open(ctx, c.left[0]); err != nil {
				return change.Batch{}, err
			}
			c.left = c.left[1:]
		}
		b, err := c.current.Next(ctx)
		if errors.Is(err, io.EOF) {
			c.current.Close()
			c.current = nil
			continue
		}
		if b.Position != nil {
			if b.Position = nil; len(c.left) == 0 {
				b.Position = c.snapshot.Start()
			}
		}
		return b, err
	}
}

func (c *copyAll) Ack(context.Context, change.Position) error { return nil }

func (c *copyAll) Close() error {
	if c.current != nil {
		c.current.Close()
	}
	return c.snapshot.Close()
}
