package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/syncsql/syncsql/exec"
	"github.com/syncsql/syncsql/planner"
)

// flow counts what went through one table.
type flow struct {
	table       string
	rows, bytes atomic.Int64
}

// meter is the observer of one pipeline. On the data path it only adds to counters; progress and metrics read them.
type meter struct {
	pipeline *planner.Pipeline
	born     time.Time
	read     []flow // by source table
	wrote    []flow // by sink
	batches  prometheus.Observer
	took     prometheus.Observer

	pending atomic.Int64 // when the first row after the last checkpoint was read, Unix nanoseconds; 0: all is saved
	saved   atomic.Int64 // when the last checkpoint was taken
	behind  atomic.Int64 // bytes of the source's log that were unread at the last checkpoint
	lag     atomic.Int64 // age of the newest row when it was written, nanoseconds
	knows   atomic.Bool  // the source says how far behind it is

	mu       sync.Mutex // guards what is rare
	phase    string
	parts    int
	done     int
	started  int
	estimate int64 // rows of the partitions that were started
	copied   int64 // rows of the partitions that are done
	rejected map[string]int64
	retries  int64
	retrying bool
	failure  error
	ended    bool
}

func newMeter(p *planner.Pipeline, batches, took prometheus.Observer) *meter {
	m := &meter{
		pipeline: p, born: time.Now(), read: make([]flow, len(p.Source.Read.Tables)), wrote: make([]flow, len(p.Sinks)),
		batches: batches, took: took, phase: "starting", rejected: map[string]int64{},
	}
	for i := range m.read {
		m.read[i].table = p.Source.Read.Tables[i].Name
	}
	for i := range m.wrote {
		m.wrote[i].table = p.Sinks[i].Table.Name
	}
	return m
}

func (m *meter) Read(table, rows int, bytes int64) {
	m.read[table].rows.Add(int64(rows))
	m.read[table].bytes.Add(bytes)
	m.batches.Observe(float64(rows))
	if rows > 0 && m.pending.Load() == 0 {
		m.pending.Store(time.Now().UnixNano())
	}
}

func (m *meter) Wrote(sink, rows int, bytes int64) {
	m.wrote[sink].rows.Add(int64(rows))
	m.wrote[sink].bytes.Add(bytes)
}

func (m *meter) Saved(s exec.Saved) {
	m.pending.Store(0)
	m.saved.Store(s.At.UnixNano())
	m.took.Observe(s.Took.Seconds())
	m.behind.Store(s.LagBytes)
	m.lag.Store(int64(s.Lag))
	if s.LagBytes > 0 || s.Lag > 0 {
		m.knows.Store(true)
	}
	m.mu.Lock()
	m.retrying = false
	m.mu.Unlock()
}

func (m *meter) Note(e exec.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.What {
	case exec.SnapshotStarted:
		m.phase, m.parts, m.done, m.started, m.estimate, m.copied = "snapshot", e.Parts, e.Done, 0, 0, 0
	case exec.PartitionStarted:
		m.started++
		m.estimate += e.Rows
	case exec.PartitionDone:
		m.done++
		m.copied += e.Rows
	case exec.StreamStarted:
		m.phase = "stream"
	case exec.RowRejected:
		m.rejected[e.Table]++
	case exec.Retry:
		m.retries++
		m.retrying = true
	}
}

// end notes how the pipeline ended.
func (m *meter) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended, m.failure = true, err
	m.phase = "done"
	if err != nil {
		m.phase = "failed"
	}
}

// reading is the state of a meter at one moment.
type reading struct {
	Time     time.Time
	Phase    string
	Percent  float64 // of the snapshot; -1 outside of one
	RowsIn   int64
	BytesIn  int64
	RowsOut  int64
	Rejected int64
	Retries  int64
	Age      time.Duration // of the last checkpoint; 0 before the first
	Failure  error
	// How far the source was ahead at the last checkpoint, if it knows.
	LagKnown   bool
	LagBytes   int64
	LagSeconds float64
}

func (m *meter) now() reading {
	r := reading{Time: time.Now(), Percent: -1}
	for i := range m.read {
		r.RowsIn += m.read[i].rows.Load()
		r.BytesIn += m.read[i].bytes.Load()
	}
	for i := range m.wrote {
		r.RowsOut += m.wrote[i].rows.Load()
	}
	if at := m.saved.Load(); at > 0 {
		r.Age = r.Time.Sub(time.Unix(0, at))
	}
	r.LagKnown, r.LagBytes, r.LagSeconds = m.knows.Load(), m.behind.Load(), time.Duration(m.lag.Load()).Seconds()
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Phase, r.Retries, r.Failure = m.phase, m.retries, m.failure
	if m.retrying && !m.ended {
		r.Phase = "retrying"
	}
	for _, n := range m.rejected {
		r.Rejected += n
	}
	if m.phase == "snapshot" {
		r.Percent = m.percent(r.RowsIn)
	}
	return r
}

// percent guesses how much of the copy is done: partitions that are finished, plus the rows of those that are being read
// against their estimate. It stays below 100 until the last partition ends: estimates are only that.
func (m *meter) percent(rows int64) float64 {
	if m.parts == 0 {
		return 0
	}
	share := float64(m.done)
	running := float64(m.started - m.done)
	if left := float64(m.estimate - m.copied); left > 0 && running > 0 {
		share += running * min(1, float64(rows-m.copied)/left)
	}
	if m.done < m.parts {
		return min(99, 100*max(0, share)/float64(m.parts))
	}
	return 100
}

// unready says why the pipeline is not healthy, "" when it is. A pipeline is late when rows have been waiting for a
// checkpoint much longer than its rhythm allows; a quiet one has nothing to save.
func (m *meter) unready(now time.Time) string {
	m.mu.Lock()
	failure, retrying := m.failure, m.retrying && !m.ended
	m.mu.Unlock()
	switch {
	case failure != nil:
		return "failed: " + failure.Error()
	case retrying:
		return "retrying after an error"
	}
	if at := m.pending.Load(); at > 0 {
		waiting := now.Sub(time.Unix(0, at))
		if waiting > max(30*time.Second, 10*m.pipeline.CheckpointInterval) {
			return "no checkpoint for " + waiting.Round(time.Second).String()
		}
	}
	return ""
}
