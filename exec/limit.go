package exec

import (
	"context"
	"sync"
	"time"
)

// limiter holds reading down to a number of rows and bytes per second, over all units of a run. Rows are counted after
// they were read; the next read waits until they have been paid for. A burst of a tenth of a second is free.
type limiter struct {
	perRow, perByte time.Duration // 0: no limit; perByte is for 1,024 bytes, as one byte may cost less than a nanosecond
	mu              sync.Mutex
	paid            time.Time // everything that was read is paid for at this time
}

const burst = 100 * time.Millisecond

func newLimiter(rows, bytes float64) *limiter {
	var l limiter
	if rows > 0 {
		l.perRow = max(1, time.Duration(float64(time.Second)/rows))
	}
	if bytes > 0 {
		l.perByte = max(1, time.Duration(1024*float64(time.Second)/bytes))
	}
	return &l
}

// take notes what was read.
func (l *limiter) take(rows int, bytes int64) {
	cost := max(l.perRow*time.Duration(rows), time.Duration(float64(l.perByte)*float64(bytes)/1024))
	if cost == 0 {
		return
	}
	now := time.Now()
	l.mu.Lock()
	if start := now.Add(-burst); l.paid.Before(start) {
		l.paid = start
	}
	l.paid = l.paid.Add(cost)
	l.mu.Unlock()
}

// wait returns when everything is paid for, or with the error of ctx. It holds nothing while it waits.
func (l *limiter) wait(ctx context.Context) error {
	if l.perRow == 0 && l.perByte == 0 {
		return nil
	}
	l.mu.Lock()
	delay := time.Until(l.paid)
	l.mu.Unlock()
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
