package main

import (
	"bytes"
	"database/sql"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asProgram makes this test binary behave as syncsql: the tests below need a process of their own to signal and kill.
const asProgram = "SYNCSQL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(start(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// process is a running syncsql.
type process struct {
	*exec.Cmd
	t    *testing.T
	errs shared
	done chan error
}

// shared is a buffer that the process fills while the test looks at it.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (c call) start(args ...string) *process {
	c.t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), t: c.t, done: make(chan error, 1)}
	p.Env = append(os.Environ(), asProgram+"=1")
	p.Stderr = &p.errs
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = p.Process.Kill() })
	go func() { p.done <- p.Wait() }()
	return p
}

// ended waits for the end and returns the exit code.
func (p *process) ended(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		p.t.Fatalf("still running after %s", within)
	}
	return p.ProcessState.ExitCode()
}

// until polls a condition that the process brings about.
func (p *process) until(what string, cond func() bool) {
	p.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case err := <-p.done:
			p.t.Fatalf("ended before %s: %v\n%s", what, err, p.errs.String())
		case <-tick.C:
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("no %s after 30 s", what)
		}
	}
}

// checkpointOf is the last checkpoint of a pipeline, 0 before the first.
func (c call) checkpointOf(name string) uint64 {
	d := &demo{ctx: c.t.Context(), dir: c.dir}
	return d.checkpointOf(name)
}

const endless = `
CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '2000', 'fields.n.kind' = 'sequence',
  'fields.n.start' = '1', 'fields.n.end' = '1000000000');
CREATE TABLE kept (n BIGINT) WITH ('connector' = 'sqlite', 'path' = '${DIR}/kept.db', 'sink.write-mode' = 'append');
SET 'execution.checkpointing.interval' = '20 ms';
INSERT INTO kept SELECT n FROM numbers;
`

// A signal ends a stream with exit 0: what was read is written and saved, and the next run goes on behind it.
func TestGracefulStop(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c := newCall(t)
			script := c.file("a.sql", endless)
			args := []string{"run", script, "--state", c.state(), "--var", "DIR=" + c.dir}
			for range 2 {
				from := c.checkpointOf("kept")
				p := c.start(args...)
				p.until("a few checkpoints", func() bool { return c.checkpointOf("kept") > from+3 })
				if err := p.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if code := p.ended(10 * time.Second); code != exitDone {
					t.Fatalf("exit code %d\n%s", code, p.errs.String())
				}
			}
			c.checkSequence()
		})
	}
}

// A kill at any moment loses nothing and doubles nothing.
func TestKill(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	script := c.file("a.sql", endless)
	for range 5 {
		from := c.checkpointOf("kept")
		p := c.start("run", script, "--state", c.state(), "--var", "DIR="+c.dir, "--progress", "none")
		p.until("a few checkpoints", func() bool { return c.checkpointOf("kept") > from+3 })
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.done
	}
	c.checkSequence()
}

// checkSequence holds the table against 1, 2, 3, … without a gap or a repeat.
func (c call) checkSequence() {
	c.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(c.dir, "kept.db"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	var count, distinct, least, most int64
	if err := db.QueryRow("SELECT COUNT(*), COUNT(DISTINCT n), MIN(n), MAX(n) FROM kept").Scan(&count, &distinct, &least, &most); err != nil {
		c.t.Fatal(err)
	}
	if count == 0 || count != distinct || least != 1 || most != count {
		c.t.Errorf("%d rows, %d different ones, from %d to %d", count, distinct, least, most)
	}
}

// A second signal does not wait for anything.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	// The sink's lock is held by the test, so that a graceful stop has something to wait for.
	script := c.file("a.sql", endless)
	p := c.start("run", script, "--state", c.state(), "--var", "DIR="+c.dir)
	p.until("a checkpoint", func() bool { return c.checkpointOf("kept") > 3 })
	db, err := sql.Open("sqlite", filepath.Join(c.dir, "kept.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA busy_timeout = 5000"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	last, still := uint64(0), 0
	p.until("a write that waits for the lock", func() bool {
		now := c.checkpointOf("kept")
		if now != last {
			last, still = now, 0
		}
		still++
		return still > 30 // checkpoints come every 20 ms, looks every 10
	})
	for range 2 {
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.errs.String(), "stopping") {
			p.until("word that the signal was seen", func() bool { return strings.Contains(p.errs.String(), "stopping") })
		}
	}
	if code := p.ended(3 * time.Second); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, p.errs.String())
	}
}

// The demo passes offline: it kills its own first run, and the rows come out equal.
func TestDemo(t *testing.T) {
	t.Setenv(asProgram, "1") // for the processes that the demo starts
	var out, errs bytes.Buffer
	code := start([]string{"demo", "--dir", t.TempDir()}, streams{in: strings.NewReader(""), out: &out, err: &errs})
	for _, want := range []string{"pipeline demo\n", "killed with SIGKILL at checkpoint ", "one SIGKILL: all ", "none lost, none doubled"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if code != exitDone || t.Failed() {
		t.Errorf("code %d\n%s\n%s", code, out.String(), errs.String())
	}
}

// A table that differs from the source fails the demo: its check can fail.
func TestDemoFindsDifferences(t *testing.T) {
	t.Parallel()
	for _, change := range []string{
		"DELETE FROM orders WHERE id = (SELECT MIN(id) FROM orders)",
		"UPDATE orders SET size = 'huge' WHERE id = (SELECT MIN(id) FROM orders)",
		"INSERT INTO orders (id, customer) VALUES (-1, 'nobody')",
	} {
		dir := t.TempDir()
		d := &demo{ctx: t.Context(), streams: streams{out: io.Discard, err: io.Discard}, dir: dir}
		want, _, err := d.expected()
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, "demo.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, amount TEXT, size TEXT)"); err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range want {
			v := strings.Split(row, " ")
			if _, err := tx.Exec("INSERT INTO orders VALUES (?, ?, ?, ?)", v[0], v[1], v[2], v[3]); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := d.verify(); err != nil {
			t.Fatalf("equal rows are told apart: %v", err)
		}
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
		if err := d.verify(); err == nil {
			t.Errorf("%s was not noticed", change)
		}
	}
}
