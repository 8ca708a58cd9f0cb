package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// screen shows the progress of pipelines on standard error, and lets log lines through without tearing a bar apart. It
// reads meters at its own pace; the data path never waits for it.
type screen struct {
	w      io.Writer
	mode   string // bar, plain, json, none
	meters *meters
	every  time.Duration

	mu    sync.Mutex
	shown int // lines of the bar that stand on the screen
	last  map[*meter]reading
	quit  chan struct{}
	done  chan struct{}
}

func newScreen(s streams, mode string, ms *meters) *screen {
	if mode == "auto" {
		mode = "plain"
		if s.terminal {
			mode = "bar"
		}
	}
	every := 5 * time.Second
	switch mode {
	case "bar":
		every = 200 * time.Millisecond
	case "json":
		every = time.Second
	}
	return &screen{w: s.err, mode: mode, meters: ms, every: every, last: map[*meter]reading{}}
}

// Write lets a log line through: the bar is taken off first and comes back with the next tick.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.w.Write(p)
}

func (s *screen) start() {
	if s.mode == "none" {
		return
	}
	s.quit, s.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.done)
		tick := time.NewTicker(s.every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.show()
			case <-s.quit:
				return
			}
		}
	}()
}

// stop shows where everything ended.
func (s *screen) stop() {
	if s.quit == nil {
		return
	}
	close(s.quit)
	<-s.done
	s.show()
}

func (s *screen) show() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	for _, m := range s.meters.all() {
		now := m.now()
		before, ok := s.last[m]
		s.last[m] = now
		if !ok {
			before = reading{Time: m.born}
		}
		switch {
		case s.mode == "json":
			s.json(m.pipeline.Name, now, before)
		case s.mode == "bar":
			fmt.Fprintln(s.w, line(m.pipeline.Name, now, before))
			s.shown++
		case !ok || now.RowsIn != before.RowsIn || now.Phase != before.Phase:
			fmt.Fprintln(s.w, line(m.pipeline.Name, now, before)) // a quiet pipeline has nothing to say
		}
	}
}

// erase takes the bar off the screen.
func (s *screen) erase() {
	if s.shown > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA\x1b[J", s.shown)
		s.shown = 0
	}
}

func rate(now, before reading) float64 {
	seconds := now.Time.Sub(before.Time).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(now.RowsIn-before.RowsIn) / seconds
}

// line is one pipeline for people.
func line(name string, now, before reading) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s", name, now.Phase)
	if now.Percent >= 0 {
		const width = 20
		full := int(now.Percent * width / 100)
		fmt.Fprintf(&b, " [%s%s] %.0f%%", strings.Repeat("=", full), strings.Repeat(" ", width-full), now.Percent)
	}
	fmt.Fprintf(&b, "  %d rows  %.0f rows/s", now.RowsIn, rate(now, before))
	if now.LagKnown {
		fmt.Fprintf(&b, "  lag %s", lagText(now.LagBytes, now.LagSeconds))
	}
	if now.Rejected > 0 {
		fmt.Fprintf(&b, "  %d row errors", now.Rejected)
	}
	if now.Retries > 0 {
		fmt.Fprintf(&b, "  %d retries", now.Retries)
	}
	if now.Age > 0 {
		fmt.Fprintf(&b, "  checkpoint %s ago", now.Age.Round(100*time.Millisecond))
	}
	return b.String()
}

func (s *screen) json(name string, now, before reading) {
	object := struct {
		Time          time.Time `json:"time"`
		Pipeline      string    `json:"pipeline"`
		Phase         string    `json:"phase"`
		Percent       *float64  `json:"snapshot_percent,omitempty"`
		RowsRead      int64     `json:"rows_read"`
		RowsWritten   int64     `json:"rows_written"`
		BytesRead     int64     `json:"bytes_read"`
		RowsPerSecond float64   `json:"rows_per_second"`
		LagBytes      *int64    `json:"lag_bytes,omitempty"`
		LagSeconds    *float64  `json:"lag_seconds,omitempty"`
		RowErrors     int64     `json:"row_errors"`
		Retries       int64     `json:"retries"`
		CheckpointAge float64   `json:"checkpoint_age_seconds"`
	}{
		Time: now.Time, Pipeline: name, Phase: now.Phase, RowsRead: now.RowsIn, RowsWritten: now.RowsOut, BytesRead: now.BytesIn,
		RowsPerSecond: rate(now, before), RowErrors: now.Rejected, Retries: now.Retries, CheckpointAge: now.Age.Seconds(),
	}
	if now.Percent >= 0 {
		object.Percent = &now.Percent
	}
	if now.LagKnown {
		object.LagBytes, object.LagSeconds = &now.LagBytes, &now.LagSeconds
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // a struct of strings and numbers always marshals
	}
	fmt.Fprintf(s.w, "%s\n", text)
}
