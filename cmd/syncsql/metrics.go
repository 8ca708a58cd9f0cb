package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/syncsql/syncsql/planner"
)

// meters are the meters of a process, and the Prometheus collector that reads them. Counters are read when they are
// scraped, so that counting costs the data path nothing more.
type meters struct {
	mu   sync.Mutex
	list []*meter

	batches *prometheus.HistogramVec
	took    *prometheus.HistogramVec
}

func newMeters() *meters {
	return &meters{
		batches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "syncsql_batch_rows", Help: "Rows of a batch that was read.", Buckets: prometheus.ExponentialBuckets(1, 4, 8),
		}, []string{"pipeline"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "syncsql_checkpoint_duration_seconds", Help: "Time that a checkpoint took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"pipeline"}),
	}
}

// add makes the meter of a pipeline that is about to run.
func (ms *meters) add(p *planner.Pipeline) *meter {
	m := newMeter(p, ms.batches.WithLabelValues(p.Name), ms.took.WithLabelValues(p.Name))
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.list = append(ms.list, m)
	return m
}

func (ms *meters) all() []*meter {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return append([]*meter(nil), ms.list...)
}

func (ms *meters) of(p *planner.Pipeline) *meter {
	for _, m := range ms.all() {
		if m.pipeline == p {
			return m
		}
	}
	return nil
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("syncsql_"+name, help, append([]string{"pipeline"}, labels...), nil)
}

var (
	rowsRead      = describe("rows_read_total", "Rows read from a source table.", "table")
	bytesRead     = describe("bytes_read_total", "Bytes read from a source table.", "table")
	rowsWritten   = describe("rows_written_total", "Rows written to a sink table.", "table")
	bytesWritten  = describe("bytes_written_total", "Bytes written to a sink table.", "table")
	rowErrors     = describe("row_errors_total", "Rows that a policy skipped or sent to a dead-letter table.", "table")
	retries       = describe("retries_total", "Restarts after an error.")
	checkpointAge = describe("checkpoint_age_seconds", "Time since the last checkpoint.")
	lagBytes      = describe("lag_bytes", "Bytes of the source's log that were still unread at the last checkpoint.")
	lagSeconds    = describe("lag_seconds", "Age of the newest row when it was written, at the last checkpoint.")
	snapshotPart  = describe("snapshot_percent", "How much of the first copy is done.")
	failed        = describe("failed", "1 when the pipeline has failed.")
)

// Describe and Collect make meters a prometheus.Collector.
func (ms *meters) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(ms, ch) }

// Collect reads every meter.
func (ms *meters) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, m := range ms.all() {
		name := m.pipeline.Name
		for t := range m.read {
			count(rowsRead, float64(m.read[t].rows.Load()), name, m.read[t].table)
			count(bytesRead, float64(m.read[t].bytes.Load()), name, m.read[t].table)
		}
		for s := range m.wrote {
			count(rowsWritten, float64(m.wrote[s].rows.Load()), name, m.wrote[s].table)
			count(bytesWritten, float64(m.wrote[s].bytes.Load()), name, m.wrote[s].table)
		}
		r := m.now()
		m.mu.Lock()
		for table, n := range m.rejected {
			count(rowErrors, float64(n), name, table)
		}
		m.mu.Unlock()
		count(retries, float64(r.Retries), name)
		gauge(checkpointAge, r.Age.Seconds(), name)
		if r.LagKnown {
			gauge(lagBytes, float64(r.LagBytes), name)
			gauge(lagSeconds, r.LagSeconds, name)
		}
		if r.Percent >= 0 {
			gauge(snapshotPart, r.Percent, name)
		}
		gauge(failed, boolean(r.Failure != nil), name)
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// handler serves /metrics, /healthz and /readyz.
func (ms *meters) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(ms, ms.batches, ms.took)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		red := map[string]string{}
		for _, m := range ms.all() {
			if why := m.unready(time.Now()); why != "" {
				red[m.pipeline.Name] = why
			}
		}
		if len(red) == 0 {
			fmt.Fprintln(w, "ok")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		for name, why := range red {
			fmt.Fprintf(w, "%s: %s\n", name, why)
		}
	})
	return mux
}

// serve opens the address at once, so that a bad one is a refused command line, and serves until stop is called.
func (ms *meters) serve(ctx context.Context, addr string) (url string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("--metrics: %w", err)
	}
	server := &http.Server{Handler: ms.handler(), ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // it returns when stop closes it
	}()
	return "http://" + listener.Addr().String(), func() { server.Close(); <-done }, nil
}
