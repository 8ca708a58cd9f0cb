// Command bench measures syncsql against Postgres' own logical replication and against psql | psql, on two real clusters
// with fsync on, alternating with the baseline in one run. Only ratios of one run mean anything.
//
// It must never time generating data, nor count a run in which other programs took more than a tenth of the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

type bench struct {
	syncsql  string // the binary
	dir      string
	rows     int
	changes  int
	reps     int
	src, dst *pgtest.Server
	results  map[string][]result // by "figure/variant"
}

// result is one run: value is rows per second, or milliseconds for latency.
type result struct {
	value   float64
	rssMax  int64   // bytes; 0 when it is not syncsql
	cpu     float64 // seconds that syncsql used
	spoilt  bool
	problem string
}

func main() {
	b := &bench{results: map[string][]result{}}
	only := flag.String("only", "snapshot,tx100,tx10000,txall,tx1,latency,rss", "figures to measure, comma-separated")
	flag.StringVar(&b.syncsql, "bin", "bin/syncsql", "syncsql binary")
	flag.StringVar(&b.dir, "dir", "", "keep the clusters and their data here between runs")
	flag.IntVar(&b.rows, "rows", 2_000_000, "rows of the table")
	flag.IntVar(&b.changes, "changes", 1_000_000, "changes of a backlog")
	flag.IntVar(&b.reps, "reps", 3, "unspoilt runs of each variant")
	flag.Parse()
	if err := b.run(strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(figures []string) error {
	if err := b.start(); err != nil {
		return err
	}
	defer b.stop()
	for _, f := range figures {
		if err := b.figure(f); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	return b.summary()
}

func (b *bench) start() error {
	conf := []string{"shared_buffers = 1GB", "max_wal_size = 4GB", "max_logical_replication_workers = 8", "autovacuum_naptime = 1min"}
	sub := func(name string) string {
		if b.dir == "" {
			return ""
		}
		return filepath.Join(b.dir, name)
	}
	var err error
	if b.src, err = pgtest.Launch(sub("src"), conf...); err != nil {
		return err
	}
	if b.dst, err = pgtest.Launch(sub("dst"), conf...); err != nil {
		return err
	}
	if b.syncsql, err = filepath.Abs(b.syncsql); err != nil {
		return err
	}
	return b.table()
}

func (b *bench) stop() {
	for _, s := range []*pgtest.Server{b.src, b.dst} {
		if s != nil {
			s.Stop()
			if b.dir == "" {
				os.RemoveAll(filepath.Dir(s.Dir))
			}
		}
	}
}

func (b *bench) figure(name string) error {
	switch name {
	case "snapshot":
		return b.alternate(name, map[string]func() result{"psql": b.psqlCopy, "native": b.nativeSnapshot, "syncsql": b.syncsqlSnapshot})
	case "latency":
		return b.latency()
	case "rss":
		return b.fiveTimes()
	}
	tx := map[string]int{"tx1": 1, "tx100": 100, "tx10000": 10_000, "txall": b.changes}[name]
	if tx == 0 {
		return fmt.Errorf("unknown figure")
	}
	if err := b.backlog(tx, b.changes, name); err != nil {
		return err
	}
	variants := map[string]func() result{
		"native":  func() result { return b.nativeApply(name, b.changes, false) },
		"syncsql": func() result { return b.syncsqlApply(name, b.changes) },
	}
	if err := b.alternate(name, variants); err != nil {
		return err
	}
	if tx != 1 {
		return nil
	}
	small := b.changes / 10
	if err := b.backlog(1, small, "tx1small"); err != nil {
		return err
	}
	return b.alternate("tx1small", map[string]func() result{
		"native-synchronous": func() result { return b.nativeApply("tx1small", small, true) },
		"syncsql":            func() result { return b.syncsqlApply("tx1small", small) },
	})
}

// alternate runs the variants in turn until each has its unspoilt runs, or two more tries than that.
func (b *bench) alternate(figure string, variants map[string]func() result) error {
	names := make([]string, 0, len(variants))
	for n := range variants {
		names = append(names, n)
	}
	sort.Strings(names)
	for try := 0; try < b.reps+2; try++ {
		for _, n := range names {
			if b.good(figure+"/"+n) >= b.reps {
				continue
			}
			r := b.unspoilt(variants[n])
			b.record(figure, n, r)
			if r.problem != "" {
				return fmt.Errorf("%s: %s", n, r.problem)
			}
		}
	}
	return nil
}

func (b *bench) record(figure, variant string, r result) {
	note := ""
	if r.rssMax > 0 {
		note = fmt.Sprintf("  peak rss %d MiB, cpu %.1f s", r.rssMax>>20, r.cpu)
	}
	if r.spoilt {
		note += "  spoilt"
	}
	if r.problem != "" {
		note += "  " + r.problem
	}
	fmt.Printf("%-10s %-20s %12.2f%s\n", figure, variant, r.value, note)
	key := figure + "/" + variant
	b.results[key] = append(b.results[key], r)
}

func (b *bench) good(key string) int {
	n := 0
	for _, r := range b.results[key] {
		if !r.spoilt {
			n++
		}
	}
	return n
}

// unspoilt waits for a quiet machine, runs, and marks the run when others took more than a tenth of the machine meanwhile.
func (b *bench) unspoilt(run func() result) result {
	waitQuiet(20 * time.Second)
	m := startMeter(os.Getpid(), b.src.PID(), b.dst.PID())
	r := run()
	r.spoilt = m.foreign() > 0.10
	return r
}

// median is over the unspoilt runs, over all of them when there are none.
func (b *bench) median(key string) (float64, bool) {
	var v []float64
	for _, r := range b.results[key] {
		if !r.spoilt {
			v = append(v, r.value)
		}
	}
	clean := len(v) >= b.reps
	if len(v) == 0 {
		for _, r := range b.results[key] {
			v = append(v, r.value)
		}
	}
	if len(v) == 0 {
		return 0, false
	}
	sort.Float64s(v)
	return v[len(v)/2], clean
}

// goal is one line of the summary: syncsql's median over a baseline's.
type goal struct {
	figure, baseline string
	bound            float64
	atMost           bool // latency: the ratio may not exceed the bound
}

var goals = []goal{
	{"snapshot", "psql", 0.9, false}, {"snapshot", "native", 1.4, false},
	{"tx100", "native", 1.1, false}, {"tx10000", "native", 1.1, false}, {"txall", "native", 1.0, false},
	{"tx1", "native", 1.0, false}, {"tx1small", "native-synchronous", 8, false},
	{"latency-p50", "native", 1.3, true}, {"latency-p95", "native", 1.6, true},
}

func (b *bench) summary() error {
	fmt.Println("\nfigure       baseline               syncsql     baseline    ratio   goal")
	missed := 0
	for _, g := range goals {
		ours, ok1 := b.median(g.figure + "/syncsql")
		theirs, ok2 := b.median(g.figure + "/" + g.baseline)
		if ours == 0 || theirs == 0 {
			continue
		}
		ratio, word, met := ours/theirs, ">=", ours/theirs >= g.bound
		if g.atMost {
			word, met = "<=", ratio <= g.bound
		}
		verdict := "met"
		if !met {
			verdict = "MISSED"
			missed++
		}
		if !ok1 || !ok2 {
			verdict += " (spoilt runs)"
		}
		fmt.Printf("%-12s %-18s %12.2f %12.2f %8.2f   %s %.2f %s\n", g.figure, g.baseline, ours, theirs, ratio, word, g.bound, verdict)
	}
	var peak int64
	for _, rs := range b.results {
		for _, r := range rs {
			peak = max(peak, r.rssMax)
		}
	}
	fmt.Printf("peak rss of syncsql over all runs: %d MiB (goal <= 256)\n", peak>>20)
	if missed > 0 {
		return fmt.Errorf("%d goals missed", missed)
	}
	return nil
}

// sql runs statements in a database of a server.
func sql(s *pgtest.Server, db string, statements ...string) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.URL(db))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, q := range statements {
		if _, err := c.PgConn().Exec(ctx, q).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// ask reads one text value; "" for NULL or no row.
func ask(s *pgtest.Server, db, q string) (string, error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.URL(db))
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	r, err := c.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		return "", fmt.Errorf("%s: %w", q, err)
	}
	last := r[len(r)-1]
	if len(last.Rows) == 0 {
		return "", nil
	}
	return string(last.Rows[0][0]), nil
}

// until polls a boolean query and returns when it was true; the table may not exist at first.
func until(s *pgtest.Server, db, q string, every, limit time.Duration, alive func() error) (time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL(db))
	if err != nil {
		return time.Time{}, err
	}
	defer c.Close(ctx)
	for {
		var ok bool
		if err := c.QueryRow(ctx, q, pgx.QueryExecModeSimpleProtocol).Scan(&ok); err == nil && ok {
			return time.Now(), nil
		}
		if err := alive(); err != nil {
			return time.Time{}, err
		}
		if ctx.Err() != nil {
			return time.Time{}, fmt.Errorf("not within %s: %s", limit, q)
		}
		time.Sleep(every)
	}
}

// program is a started command whose output goes to a file.
type program struct {
	cmd  *exec.Cmd
	log  string
	done chan error
}

func start(log string, name string, args ...string) (*program, error) {
	f, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &program{cmd: exec.Command(name, args...), log: log, done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = f, f
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p, nil
}

// alive returns an error with the end of the log once the program has ended.
func (p *program) alive() error {
	select {
	case err := <-p.done:
		p.done <- err
		out, _ := os.ReadFile(p.log)
		return fmt.Errorf("%s ended (%w): %s", p.cmd.Path, err, out[max(0, len(out)-2000):])
	default:
		return nil
	}
}

func (p *program) stop() {
	p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
	}
}
