package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/exec"
	"github.com/syncsql/syncsql/planner"
)

func plan(name string) *planner.Pipeline {
	p := &planner.Pipeline{Name: name, Sinks: []planner.Sink{{Table: connectors.Table{Name: "dst"}}}}
	p.Source.Read.Tables = []connectors.TableRead{{Table: connectors.Table{Name: "src"}}}
	return p
}

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

// What a run tells its observer is what Prometheus reads.
func TestMetrics(t *testing.T) {
	ms := newMeters()
	m := ms.add(plan("orders"))
	m.Read(0, 100, 5000)
	m.Wrote(0, 90, 4500)
	m.Note(exec.Event{What: exec.RowRejected, Table: "dst"})
	m.Note(exec.Event{What: exec.Retry})
	m.Saved(exec.Saved{At: time.Now(), Took: 5 * time.Millisecond, LagBytes: 4096, Lag: 1500 * time.Millisecond})
	_, body := get(t, ms.handler(), "/metrics")
	for _, want := range []string{
		`syncsql_rows_read_total{pipeline="orders",table="src"} 100`,
		`syncsql_bytes_read_total{pipeline="orders",table="src"} 5000`,
		`syncsql_rows_written_total{pipeline="orders",table="dst"} 90`,
		`syncsql_bytes_written_total{pipeline="orders",table="dst"} 4500`,
		`syncsql_row_errors_total{pipeline="orders",table="dst"} 1`,
		`syncsql_retries_total{pipeline="orders"} 1`,
		`syncsql_checkpoint_age_seconds{pipeline="orders"}`,
		`syncsql_checkpoint_duration_seconds_count{pipeline="orders"} 1`,
		`syncsql_batch_rows_count{pipeline="orders"} 1`,
		`syncsql_lag_bytes{pipeline="orders"} 4096`,
		`syncsql_lag_seconds{pipeline="orders"} 1.5`,
		`syncsql_failed{pipeline="orders"} 0`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

// /healthz says that the process lives; /readyz is red for a pipeline that failed, that tries again, or whose rows wait too
// long for a checkpoint.
func TestReadiness(t *testing.T) {
	ms := newMeters()
	if code, body := get(t, ms.handler(), "/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz %d %q", code, body)
	}
	tests := []struct {
		name string
		do   func(*meter)
		want string
	}{
		{"quiet", func(*meter) {}, ""},
		{"busy", func(m *meter) { m.Read(0, 1, 1) }, ""},
		{"late", func(m *meter) { m.Read(0, 1, 1); m.pending.Store(time.Now().Add(-time.Hour).UnixNano()) }, "no checkpoint for 1h0m0s"},
		{"late_and_saved", func(m *meter) {
			m.pending.Store(time.Now().Add(-time.Hour).UnixNano())
			m.Saved(exec.Saved{At: time.Now()})
		}, ""},
		{"retrying", func(m *meter) { m.Note(exec.Event{What: exec.Retry}) }, "retrying after an error"},
		{"retried", func(m *meter) { m.Note(exec.Event{What: exec.Retry}); m.Saved(exec.Saved{At: time.Now()}) }, ""},
		{"failed", func(m *meter) { m.end(errors.New("no route")) }, "failed: no route"},
		{"done", func(m *meter) { m.end(nil) }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ms := newMeters()
			tt.do(ms.add(plan("orders")))
			code, body := get(t, ms.handler(), "/readyz")
			if tt.want == "" && (code != http.StatusOK || body != "ok\n") {
				t.Errorf("%d %q, want ok", code, body)
			}
			if tt.want != "" && (code != http.StatusServiceUnavailable || body != "orders: "+tt.want+"\n") {
				t.Errorf("%d %q, want %q", code, body, tt.want)
			}
		})
	}
}

// An address that cannot be listened on refuses the command line.
func TestMetricsAddress(t *testing.T) {
	ms := newMeters()
	if _, _, err := ms.serve(t.Context(), "nowhere:port"); err == nil {
		t.Error("a bad address was accepted")
	}
	url, stop, err := ms.serve(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	resp, err := http.Get(url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// The share of a snapshot: finished partitions, and rows of the running ones against their estimate; never 100 too early.
func TestPercent(t *testing.T) {
	m := newMeters().add(plan("orders"))
	check := func(want float64) {
		t.Helper()
		if got := m.now().Percent; got < want-0.01 || got > want+0.01 {
			t.Errorf("%.1f%%, want %.1f%%", got, want)
		}
	}
	check(-1)
	m.Note(exec.Event{What: exec.SnapshotStarted, Parts: 4})
	check(0)
	m.Note(exec.Event{What: exec.PartitionStarted, Rows: 100})
	m.Read(0, 50, 1)
	check(12.5)
	m.Note(exec.Event{What: exec.PartitionDone, Rows: 50})
	check(25)
	for range 3 {
		m.Note(exec.Event{What: exec.PartitionStarted, Rows: 10})
	}
	m.Read(0, 5000, 1)
	check(99)
	for range 3 {
		m.Note(exec.Event{What: exec.PartitionDone, Rows: 1000})
	}
	check(100)
	m.Note(exec.Event{What: exec.StreamStarted})
	check(-1)
}

// The bar is drawn over itself and gives way to log lines; plain progress is silent while nothing happens.
func TestScreen(t *testing.T) {
	var w bytes.Buffer
	ms := newMeters()
	m := ms.add(plan("orders"))
	s := newScreen(streams{err: &w, terminal: true}, "auto", ms)
	s.show()
	s.show()
	if !strings.Contains(w.String(), "\x1b[1A\x1b[J") {
		t.Errorf("bar %q is not drawn over itself", w.String())
	}
	w.Reset()
	if _, err := s.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	if w.String() != "\x1b[1A\x1b[Ja log line\n" {
		t.Errorf("log line %q", w.String())
	}
	w.Reset()
	p := newScreen(streams{err: &w}, "auto", ms)
	m.Read(0, 7, 70)
	p.show()
	p.show()
	if strings.Count(w.String(), "\n") != 1 || !strings.HasPrefix(w.String(), "orders  starting  7 rows") {
		t.Errorf("plain progress %q", w.String())
	}
}
