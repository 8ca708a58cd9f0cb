// Command chaos keeps two Postgres clusters in sync with examples/postgres.sql while pgbench writes to the source, kills
// syncsql with SIGKILL at random moments, and compares every table row by row at the end.
//
// It must never stop the load before the last kill, nor compare before syncsql has said that it caught up.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

var tables = []string{"pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history"}

type chaos struct {
	syncsql, script, state string
	kills, scale, clients  int
	rate                   int
	seed                   uint64
	minLife, maxLife       time.Duration
	src, dst               *pgtest.Server
	log                    *os.File
}

func main() {
	c := &chaos{}
	flag.StringVar(&c.syncsql, "bin", "bin/syncsql", "syncsql binary")
	flag.StringVar(&c.script, "script", "examples/postgres.sql", "script to run")
	flag.IntVar(&c.kills, "kills", 50, "how many times syncsql is killed")
	flag.IntVar(&c.scale, "scale", 10, "pgbench scale")
	flag.IntVar(&c.clients, "clients", 4, "pgbench clients")
	flag.IntVar(&c.rate, "rate", 0, "pgbench transactions per second; 0 for as many as possible")
	flag.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()), "of the moments of the kills")
	flag.DurationVar(&c.minLife, "min-life", 100*time.Millisecond, "shortest time between start and kill")
	flag.DurationVar(&c.maxLife, "max-life", 4*time.Second, "longest")
	flag.Parse()
	if err := c.run(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func (c *chaos) run() error {
	dir, err := os.MkdirTemp("", "syncsql-chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.state = "sqlite:" + filepath.Join(dir, "state.db")
	if c.log, err = os.Create(filepath.Join(os.TempDir(), "syncsql-chaos.log")); err != nil {
		return err
	}
	defer c.log.Close()
	if c.src, err = launch(); err != nil {
		return err
	}
	defer discard(c.src)
	if c.dst, err = launch(); err != nil {
		return err
	}
	defer discard(c.dst)
	fmt.Printf("seed %d, scale %d, %d kills; syncsql's output is in %s\n", c.seed, c.scale, c.kills, c.log.Name())
	if err := c.pgbench(c.src, "-i", "-q", "-s", fmt.Sprint(c.scale)); err != nil {
		return err
	}
	if err := c.pgbench(c.dst, "-i", "-I", "dtp"); err != nil {
		return err
	}
	if err := c.killUnderLoad(); err != nil {
		return err
	}
	fmt.Println("load stopped, catching up")
	if err := c.catchUp(); err != nil {
		return err
	}
	return c.compare()
}

func launch() (*pgtest.Server, error) {
	return pgtest.Launch("", "shared_buffers = 256MB", "max_wal_size = 2GB")
}

func discard(s *pgtest.Server) {
	s.Stop()
	os.RemoveAll(filepath.Dir(s.Dir))
}

func (c *chaos) pgbench(s *pgtest.Server, args ...string) error {
	out, err := exec.Command(s.Bin("pgbench"), append(args, s.URL("postgres"))...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgbench: %w: %s", err, out)
	}
	return nil
}

// killUnderLoad runs syncsql and kills it, over and over, while pgbench writes.
func (c *chaos) killUnderLoad() error {
	args := []string{"-n", "-c", fmt.Sprint(c.clients), "-T", "86400", c.src.URL("postgres")}
	if c.rate > 0 {
		args = append([]string{"-R", fmt.Sprint(c.rate)}, args...)
	}
	load := exec.Command(c.src.Bin("pgbench"), args...)
	var out bytes.Buffer
	load.Stdout, load.Stderr = &out, &out
	if err := load.Start(); err != nil {
		return err
	}
	loaded := make(chan error, 1)
	go func() { loaded <- load.Wait() }()
	defer func() {
		load.Process.Signal(os.Interrupt)
		<-loaded
	}()
	random := rand.New(rand.NewPCG(c.seed, 1))
	for n := 1; n <= c.kills; n++ {
		life := c.minLife + time.Duration(random.Int64N(int64(c.maxLife-c.minLife)))
		if err := c.liveAndDie(life); err != nil {
			return fmt.Errorf("life %d: %w", n, err)
		}
		select {
		case err := <-loaded:
			loaded <- err
			return fmt.Errorf("pgbench ended: %w: %s", err, out.String())
		default:
		}
		rows, err := c.counts(c.dst)
		if err != nil {
			return err
		}
		fmt.Printf("kill %2d after %5.2f s: target rows %v\n", n, life.Seconds(), rows)
	}
	return nil
}

// liveAndDie starts syncsql and kills it after life. It must still be running then: a pipeline that ends by itself is a fault.
func (c *chaos) liveAndDie(life time.Duration) error {
	cmd := c.command()
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return fmt.Errorf("syncsql ended by itself: %w (see %s)", err, c.log.Name())
	case <-time.After(life):
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	<-done
	return nil
}

func (c *chaos) command(extra ...string) *exec.Cmd {
	args := append([]string{"run", "--state", c.state, "--progress", "plain"}, extra...)
	cmd := exec.Command(c.syncsql, append(args, c.script)...)
	cmd.Env = append(os.Environ(), "SOURCE_URL="+c.src.URL("postgres"), "TARGET_URL="+c.dst.URL("postgres"))
	cmd.Stdout, cmd.Stderr = c.log, c.log
	return cmd
}

func (c *chaos) catchUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	cmd := c.command("--until", "caught-up")
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("syncsql run --until caught-up: %w (see %s)", err, c.log.Name())
		}
		return nil
	case <-ctx.Done():
		cmd.Process.Kill()
		<-done
		return errors.New("syncsql did not catch up within 15 minutes")
	}
}

func (c *chaos) counts(s *pgtest.Server) ([]int64, error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	out := make([]int64, len(tables))
	for i, t := range tables {
		if err := conn.QueryRow(ctx, "select count(*) from "+t).Scan(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// compare brings the source's tables beside the target's and counts the rows that only one side has.
func (c *chaos) compare() error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.dst.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	src, err := pgx.Connect(ctx, c.src.URL("postgres"))
	if err != nil {
		return err
	}
	defer src.Close(ctx)
	bad := int64(0)
	for _, t := range tables {
		if _, err := conn.Exec(ctx, fmt.Sprintf("create temp table expected_%s as select * from %s limit 0", t, t)); err != nil {
			return err
		}
		r, w := io.Pipe()
		go func() {
			_, err := src.PgConn().CopyTo(ctx, w, "copy "+t+" to stdout (format binary)")
			w.CloseWithError(err)
		}()
		tag, err := conn.PgConn().CopyFrom(ctx, r, fmt.Sprintf("copy expected_%s from stdin (format binary)", t))
		if err != nil {
			return err
		}
		var missing, extra int64
		q := `select (select count(*) from (select * from %[1]s except all select * from %[2]s) x), (select count(*) from (select * from %[2]s except all select * from %[1]s) x)`
		if err := conn.QueryRow(ctx, fmt.Sprintf(q, "expected_"+t, t)).Scan(&missing, &extra); err != nil {
			return err
		}
		fmt.Printf("%-18s %8d rows, %d missing, %d too many\n", t, tag.RowsAffected(), missing, extra)
		bad += missing + extra
	}
	fmt.Printf("%d kills, %d differences\n", c.kills, bad)
	if bad > 0 {
		return fmt.Errorf("%d differences", bad)
	}
	return nil
}
