package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	every = 20 * time.Millisecond
	limit = 15 * time.Minute
)

func failed(err error) result { return result{problem: err.Error()} }

func (b *bench) psqlCopy() result {
	if err := b.freshTarget("empty"); err != nil {
		return failed(err)
	}
	t := time.Now()
	if err := b.pipe("base", "run"); err != nil {
		return failed(err)
	}
	return b.finish("base", b.rows, t, time.Now(), nil)
}

// finish compares source and target and computes the rate.
func (b *bench) finish(db string, n int, from, to time.Time, err error) result {
	if err != nil {
		return failed(err)
	}
	problem, err := b.same(db)
	if err != nil {
		return failed(err)
	}
	return result{value: float64(n) / to.Sub(from).Seconds(), problem: problem}
}

// allRows is true once every row is there; the cheap size test comes first because counting slows the writer.
func (b *bench) allRows() string {
	return fmt.Sprintf(`select case when pg_relation_size('orders') < %d then false else (select count(*) >= %d from orders) end`, int64(b.rows)*170, b.rows)
}

func (b *bench) nativeSnapshot() result {
	if err := b.freshTarget("empty"); err != nil {
		return failed(err)
	}
	t := time.Now()
	err := sql(b.dst, "run", fmt.Sprintf("create subscription sub connection '%s' publication pub with (slot_name='native_slot', binary=on)", b.src.URL("base")))
	if err != nil {
		return failed(err)
	}
	end, err := until(b.dst, "run", b.allRows(), 100*time.Millisecond, limit, func() error { return nil })
	r := b.finish("base", b.rows, t, end, err)
	if err := b.dropTarget(); err != nil {
		return failed(err)
	}
	if err := b.dropSlot("native_slot"); err != nil {
		return failed(err)
	}
	return r
}

func (b *bench) nativeApply(name string, changes int, synchronous bool) result {
	if err := b.freshTarget("base"); err != nil {
		return failed(err)
	}
	if err := b.freshSlot(name); err != nil {
		return failed(err)
	}
	commit := map[bool]string{true: "on", false: "off"}[synchronous]
	err := sql(b.dst, "run", fmt.Sprintf("create subscription sub connection '%s' publication pub with (create_slot=false, slot_name='run_slot', enabled=false, copy_data=false, binary=on, synchronous_commit=%s)",
		b.src.URL("src_"+name), commit))
	if err != nil {
		return failed(err)
	}
	t := time.Now()
	if err := sql(b.dst, "run", "alter subscription sub enable"); err != nil {
		return failed(err)
	}
	end, err := until(b.dst, "run", fmt.Sprintf("select exists(select from orders where id=%d)", marker), every, limit, func() error { return nil })
	r := b.finish("src_"+name, changes, t, end, err)
	if err := b.dropTarget(); err != nil {
		return failed(err)
	}
	return r
}

const columns = "id BIGINT, customer_id BIGINT, status STRING, amount DECIMAL(12,2), note STRING, created_at TIMESTAMP_LTZ(6), updated_at TIMESTAMP_LTZ(6), PRIMARY KEY (id) NOT ENFORCED"

// script is what syncsql runs: source options differ, the rest is as a user would write it.
func (b *bench) script(db, sourceOptions string) (string, error) {
	text := fmt.Sprintf(`SET 'pipeline.name' = 'bench';
CREATE TABLE src (%s) WITH ('connector' = 'postgres', 'url' = '%s', 'table-name' = 'orders'%s);
CREATE TABLE dst (%s) WITH ('connector' = 'postgres', 'url' = '%s', 'table-name' = 'orders');
INSERT INTO dst SELECT * FROM src;
`, columns, b.src.URL(db), sourceOptions, columns, b.dst.URL("run"))
	path := filepath.Join(os.TempDir(), "syncsql-bench.sql")
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// syncsqlRun starts the binary with fresh state.
func (b *bench) syncsqlRun(db, sourceOptions string) (*program, error) {
	path, err := b.script(db, sourceOptions)
	if err != nil {
		return nil, err
	}
	state := filepath.Join(os.TempDir(), "syncsql-bench-state")
	os.RemoveAll(state)
	log := filepath.Join(os.TempDir(), "syncsql-bench.log")
	return start(log, b.syncsql, "run", "--state", "sqlite:"+filepath.Join(state, "state.db"), "--progress", "none", path)
}

func (b *bench) syncsqlSnapshot() result {
	if err := b.freshTarget("empty"); err != nil {
		return failed(err)
	}
	t := time.Now()
	p, err := b.syncsqlRun("base", ", 'scan.mode' = 'snapshot'")
	if err != nil {
		return failed(err)
	}
	// As psql, a bounded run ends by itself once every row is committed.
	err = <-p.done
	end := time.Now()
	usage := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	r := b.finish("base", b.rows, t, end, err)
	r.rssMax = usage.Maxrss << 10
	r.cpu = (p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()).Seconds()
	return r
}

func (b *bench) syncsqlApply(name string, changes int) result {
	if err := b.freshTarget("base"); err != nil {
		return failed(err)
	}
	if err := b.freshSlot(name); err != nil {
		return failed(err)
	}
	t := time.Now()
	p, err := b.syncsqlRun("src_"+name, ", 'scan.mode' = 'stream', 'slot.name' = 'run_slot', 'publication.name' = 'pub'")
	if err != nil {
		return failed(err)
	}
	end, err := until(b.dst, "run", fmt.Sprintf("select exists(select from orders where id=%d)", marker), every, limit, p.alive)
	rss, cpu := peakRSS(p.cmd.Process.Pid), processSeconds(p.cmd.Process.Pid)
	p.stop()
	r := b.finish("src_"+name, changes, t, end, err)
	r.rssMax, r.cpu = rss, cpu
	return r
}

// fiveTimes measures the peak memory on five times the backlog: it must not grow with it.
func (b *bench) fiveTimes() error {
	if err := b.backlog(100, 5*b.changes, "five"); err != nil {
		return err
	}
	r := b.syncsqlApply("five", 5*b.changes)
	b.record("rss5x", "syncsql", r)
	if r.problem != "" {
		return fmt.Errorf("%s", r.problem)
	}
	return nil
}

// latency alternates too: single commits on a quiet stream, 50 ms apart, from the commit's acknowledgement at the source
// until a poller sees the row in the target.
func (b *bench) latency() error {
	for range b.reps {
		for _, variant := range []string{"native", "syncsql"} {
			p50, p95, rss, err := b.latencyOf(variant)
			if err != nil {
				return fmt.Errorf("%s: %w", variant, err)
			}
			b.record("latency-p50", variant, result{value: p50, rssMax: rss})
			b.record("latency-p95", variant, result{value: p95})
		}
	}
	return nil
}

func (b *bench) latencyOf(variant string) (p50, p95 float64, rss int64, err error) {
	if err = b.freshTarget("base"); err != nil {
		return
	}
	if err = b.dropSlot("run_slot"); err != nil {
		return
	}
	if err = sql(b.src, "postgres", "drop database if exists lat with (force)", "create database lat template base strategy file_copy"); err != nil {
		return
	}
	if err = sql(b.src, "lat", "select pg_create_logical_replication_slot('run_slot','pgoutput')"); err != nil {
		return
	}
	stop := func() {}
	alive := func() error { return nil }
	if variant == "native" {
		err = sql(b.dst, "run", fmt.Sprintf("create subscription sub connection '%s' publication pub with (create_slot=false, slot_name='run_slot', copy_data=false, binary=on)", b.src.URL("lat")))
	} else {
		var p *program
		if p, err = b.syncsqlRun("lat", ", 'scan.mode' = 'stream', 'slot.name' = 'run_slot', 'publication.name' = 'pub'"); err == nil {
			alive = p.alive
			stop = func() { rss = peakRSS(p.cmd.Process.Pid); p.stop() }
		}
	}
	if err != nil {
		return
	}
	if err = sql(b.src, "lat", fmt.Sprintf("insert into orders values (%d,0,'marker',0,'marker',now(),now())", marker)); err != nil {
		return
	}
	if _, err = until(b.dst, "run", fmt.Sprintf("select exists(select from orders where id=%d)", marker), every, time.Minute, alive); err == nil {
		time.Sleep(2 * time.Second)
		waitQuiet(20 * time.Second)
		p50, p95, err = b.commits(300)
	}
	stop()
	if derr := b.dropTarget(); err == nil {
		err = derr
	}
	return
}

func (b *bench) commits(n int) (p50, p95 float64, err error) {
	ctx := context.Background()
	s, err := pgx.Connect(ctx, b.src.URL("lat"))
	if err != nil {
		return 0, 0, err
	}
	defer s.Close(ctx)
	d, err := pgx.Connect(ctx, b.dst.URL("run"))
	if err != nil {
		return 0, 0, err
	}
	defer d.Close(ctx)
	const warm = 10
	var ms []float64
	for i := range n + warm {
		id := int64(5_000_000_000 + i)
		began := time.Now()
		if _, err := s.Exec(ctx, "insert into orders values ($1,$2,'new',12.34,$3,now(),now())", id, id%1000, strings.Repeat("x", 100)); err != nil {
			return 0, 0, err
		}
		acked := time.Now()
		for ok := false; !ok; {
			if err := d.QueryRow(ctx, "select exists(select from orders where id=$1)", id).Scan(&ok); err != nil {
				return 0, 0, err
			}
			if time.Since(acked) > time.Minute {
				return 0, 0, fmt.Errorf("row %d did not arrive", id)
			}
			if !ok {
				time.Sleep(200 * time.Microsecond)
			}
		}
		if i >= warm {
			ms = append(ms, time.Since(acked).Seconds()*1e3)
		}
		time.Sleep(50*time.Millisecond - time.Since(began))
	}
	sort.Float64s(ms)
	return ms[len(ms)/2], ms[len(ms)*95/100], nil
}
