package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that looks at the demo's result

	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/examples"
	"github.com/syncsql/syncsql/session"
)

// demoKillAt is the checkpoint after which the demo kills its first run.
const demoKillAt = 15

func setupDemo(f *flags) func(context.Context, []string, streams) int {
	keep := f.String("dir", "", "keep the result in `DIR` instead of a folder that is removed")
	return func(ctx context.Context, _ []string, s streams) int {
		d := &demo{ctx: ctx, streams: s, dir: *keep}
		if d.dir == "" {
			dir, err := os.MkdirTemp("", "syncsql-demo")
			if err != nil {
				return report(s, err)
			}
			defer os.RemoveAll(dir)
			d.dir = dir
		}
		return report(s, d.run())
	}
}

// demo runs the bundled script in a process of its own, kills that, runs it again, and holds the rows against those that the
// source's changes make when they are put together here, without a pipeline.
type demo struct {
	ctx context.Context
	streams
	dir string
}

func (d *demo) run() error {
	fmt.Fprintf(d.out, "-- examples/demo.sql\n%s\n", strings.TrimSpace(examples.Demo))
	explain := d.child("explain")
	explain.Stderr = d.err
	plan, err := explain.Output()
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	fmt.Fprintf(d.out, "\n-- syncsql explain\n%s\n", bytes.TrimSpace(plan))

	fmt.Fprintf(d.out, "\n-- syncsql run, killed after checkpoint %d\n", demoKillAt)
	id, err := d.killed()
	if err != nil {
		return err
	}
	rows, err := d.count()
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "killed with SIGKILL at checkpoint %d, %d rows in the table\n", id, rows)

	fmt.Fprintf(d.out, "\n-- syncsql run, again\n")
	again := d.child("run", "--progress", "plain", "--log-level", "warn")
	again.Stdout, again.Stderr = d.out, d.err
	if err := again.Run(); err != nil {
		return fmt.Errorf("run again: %w", err)
	}
	return d.verify()
}

// child is this program with the script on its standard input.
func (d *demo) child(command string, more ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	args := append([]string{command, "--state", d.state(), "--var", "DIR=" + d.dir, "--var", "RATE=25000"}, more...)
	c := exec.CommandContext(d.ctx, self, append(args, "-")...)
	c.Stdin = strings.NewReader(examples.Demo)
	return c
}

func (d *demo) state() string { return "sqlite:" + filepath.Join(d.dir, "state.db") }

// killed starts a run and kills it once some checkpoints are saved.
func (d *demo) killed() (id uint64, err error) {
	first := d.child("run", "--progress", "none", "--log-level", "warn")
	first.Stdout, first.Stderr = io.Discard, d.err
	if err := first.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return 0, fmt.Errorf("the first run ended before it could be killed: %w", err)
		case <-d.ctx.Done():
			<-ended
			return 0, d.ctx.Err()
		case <-tick.C:
		}
		if id = d.checkpoint(); id >= demoKillAt {
			if err := first.Process.Kill(); err != nil {
				return 0, fmt.Errorf("kill: %w", err)
			}
			<-ended
			return d.checkpoint(), nil
		}
	}
}

func (d *demo) checkpoint() uint64 { return d.checkpointOf("demo") }

// checkpointOf is the last one of a pipeline in the state store; 0 while there is none to see.
func (d *demo) checkpointOf(pipeline string) uint64 {
	if _, err := os.Stat(filepath.Join(d.dir, "state.db")); err != nil {
		return 0
	}
	store, err := checkpoint.Open(d.ctx, d.state())
	if err != nil {
		return 0
	}
	defer store.Close()
	c, err := store.Load(d.ctx, pipeline)
	if err != nil {
		return 0
	}
	return c.ID
}

func (d *demo) count() (n int, err error) {
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "demo.db"))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	return n, db.QueryRowContext(d.ctx, "SELECT COUNT(*) FROM orders").Scan(&n)
}

// verify compares the table with the changes of the source, put together by key.
func (d *demo) verify() error {
	want, changes, err := d.expected()
	if err != nil {
		return fmt.Errorf("read the source again: %w", err)
	}
	got, err := d.table()
	if err != nil {
		return fmt.Errorf("read the table: %w", err)
	}
	fmt.Fprintf(d.out, "\n-- the result\n")
	if err := d.show(); err != nil {
		return err
	}
	missing, extra := 0, 0
	for key, row := range want {
		if got[key] != row {
			missing++
		}
	}
	for key, row := range got {
		if want[key] != row {
			extra++
		}
	}
	if missing+extra > 0 {
		return fmt.Errorf("the table differs from the source: %d rows are missing or wrong, %d should not be there", missing, extra)
	}
	fmt.Fprintf(d.out, "\n%d changes, one SIGKILL: all %d rows are equal to the source, none lost, none doubled\n", changes, len(want))
	return nil
}

// expected replays the source's changes as a plain query, without a sink or a checkpoint.
func (d *demo) expected() (rows map[string]string, changes int, err error) {
	f := session.File{Name: "demo.sql", Text: examples.Demo}
	s := session.New(session.Config{
		Connectors: connectorList(), CaughtUp: true, Vars: map[string]string{"DIR": d.dir, "RATE": "0"},
	})
	if _, err := s.Plan(f); err != nil {
		return nil, 0, err
	}
	got, err := s.Query(d.ctx, session.File{Name: "query", Text: "SELECT * FROM shipped"})
	if err != nil {
		return nil, 0, err
	}
	rows = map[string]string{}
	for _, r := range got.Rows { // op, key, values
		switch r[0] {
		case "+I", "+U":
			rows[r[1]] = strings.Join(r[1:], " ")
		case "-D":
			delete(rows, r[1])
		}
	}
	return rows, len(got.Rows), nil
}

func (d *demo) query(text string, each func(values []string)) error {
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "demo.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(d.ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		texts := make([]string, len(values))
		for i, v := range values {
			if texts[i] = v.String; !v.Valid {
				texts[i] = "NULL"
			}
		}
		each(texts)
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (d *demo) table() (map[string]string, error) {
	rows := map[string]string{}
	err := d.query("SELECT * FROM orders", func(v []string) { rows[v[0]] = strings.Join(v, " ") })
	return rows, err
}

func (d *demo) show() error {
	grid := [][]string{{"size", "orders", "least", "most"}}
	err := d.query("SELECT size, COUNT(*), printf('%.2f', MIN(CAST(amount AS REAL))), printf('%.2f', MAX(CAST(amount AS REAL))) FROM orders GROUP BY size ORDER BY MIN(CAST(amount AS REAL))",
		func(v []string) { grid = append(grid, v) })
	if err == nil {
		writeGrid(d.out, grid, false)
	}
	return err
}
