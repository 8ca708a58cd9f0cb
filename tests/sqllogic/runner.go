// Package sqllogic runs scripts of the sqllogictest form, with records of our own for pipelines, crashes and faults. CLI.md
// lists them, as README.md beside this file explains them.
//
// It must never decide by itself what is right: everything that a script expects stands in the script.
package sqllogic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/exec"
	"github.com/syncsql/syncsql/planner"
	"github.com/syncsql/syncsql/session"
)

// Engine is the name that skipif and onlyif know.
const Engine = "syncsql"

// Service is a stand-in of a system, as scripts look into it and disturb it. Functions may be nil.
type Service struct {
	Rows  func(ctx context.Context, table string) ([][]string, error)
	Feed  func(table string, columns, changes []string) error
	Fault func(rpc, code string, times int, after bool) error
}

// World is what one script runs against. It outlives every restart of the script.
type World struct {
	Connectors []*connectors.Connector
	Services   map[string]Service
}

// Options say how scripts are run.
type Options struct {
	// World makes the world of one script; dir is an empty folder of its own, '${DIR}' in the script and its results.
	World func(dir string) World
	// Rewrite replaces what follows ---- by what came out, instead of comparing.
	Rewrite bool
}

// RunFile runs one script. The error names file and line of the first record that did not come out as it should.
func RunFile(ctx context.Context, path string, o Options) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	records, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	dir, err := os.MkdirTemp("", "sqllogic")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &run{ctx: ctx, dir: dir, world: o.World(dir), rewrite: o.Rewrite, labels: map[string]string{}}
	if err := r.restart(false); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { r.store.Close() }()
	for _, rec := range records {
		if rec.skip {
			continue
		}
		if rec.verb == "halt" {
			break
		}
		if err := r.record(rec); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", filepath.ToSlash(path), rec.line, rec.verb, err)
		}
	}
	if r.crash.step != "" && !r.dead {
		return fmt.Errorf("%s: no run follows the last crash", path)
	}
	if o.Rewrite {
		return rewrite(path, string(text), records)
	}
	return nil
}

// run is one script under way.
type run struct {
	ctx     context.Context
	dir     string
	world   World
	rewrite bool

	session   *session.Session
	store     checkpoint.Store
	declared  []string // statements that made the session what it is, for restart
	pipelines []*planner.Pipeline
	dead      bool // the process died in a run: nothing works until restart

	crash     *crash
	threshold int
	labels    map[string]string
}

// restart begins a process life: the state store stays, and what the script had declared is declared again, as the same
// script started again would do. With nothing declared the life begins empty.
func (r *run) restart(declare bool) error {
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			return err
		}
	}
	store, err := checkpoint.Open(r.ctx, "sqlite:"+filepath.Join(r.dir, "state.db"))
	if err != nil {
		return err
	}
	r.store = store
	r.session = session.New(session.Config{
		Connectors: r.world.Connectors, Store: store, StoreName: "the state store", CaughtUp: true,
		Step: func(s exec.Step, id uint64) error { return r.crash.at(s, id) },
		Vars: map[string]string{"DIR": r.dir},
	})
	r.dead, r.pipelines, r.crash = false, nil, &crash{}
	again := r.declared
	r.declared = nil
	if !declare {
		return nil
	}
	for _, text := range again {
		if err := r.declare(text); err != nil {
			return fmt.Errorf("declare again: %w", err)
		}
	}
	return nil
}

func (r *run) declare(text string) error {
	sc, err := r.session.Plan(session.File{Text: text})
	if err != nil {
		return err
	}
	r.declared = append(r.declared, text)
	r.pipelines = append(r.pipelines, sc.Pipelines()...)
	return nil
}

func (r *run) record(rec *record) error {
	if r.dead && (rec.verb == "statement" || rec.verb == "query" || rec.verb == "explain" || rec.verb == "run") {
		return errors.New("the process died in the last run: restart it first")
	}
	switch rec.verb {
	case "statement":
		return r.statement(rec)
	case "query":
		return r.query(rec)
	case "explain":
		return r.explain(rec)
	case "run":
		return r.runPipelines(rec)
	case "rows":
		return r.rows(rec)
	case "restart":
		if len(rec.args) > 0 {
			r.declared = nil
		}
		return r.restart(true)
	case "crash":
		step, n := rec.crash()
		r.crash = &crash{step: step, n: n, seen: map[string]bool{}}
		return nil
	case "hash-threshold":
		_, err := fmt.Sscan(rec.rest, &r.threshold)
		return err
	case "feed":
		feed := r.world.Services["memory"].Feed
		if feed == nil {
			return errors.New("there is no memory service to feed")
		}
		table, columns, err := r.session.Physical(rec.rest)
		if err != nil {
			return err
		}
		return feed(table, columns, strings.Split(rec.body, "\n"))
	case "fault":
		f := rec.fault()
		s, ok := r.world.Services[f.service]
		if !ok || s.Fault == nil {
			return fmt.Errorf("there is no service %q that takes faults", f.service)
		}
		return s.Fault(f.rpc, f.code, f.times, f.after)
	}
	return fmt.Errorf("no way to run %q", rec.verb)
}

func (r *run) statement(rec *record) error {
	err := r.declare(rec.body)
	pattern, wantError := errorPattern(rec)
	if !wantError {
		return r.shown(err)
	}
	if err == nil {
		return errors.New("it should be refused, and was not")
	}
	if err := r.matches(err, pattern); err != nil {
		return err
	}
	if !rec.hasWant {
		return nil
	}
	return r.compare(rec, lines(r.render(err)))
}

func (r *run) explain(rec *record) error {
	plan, err := r.session.ExplainStatement(session.File{Text: rec.body})
	if err != nil {
		return r.shown(err)
	}
	return r.compare(rec, lines(r.hide(plan)))
}

// runPipelines runs the declared pipelines until they have caught up. A run that follows a crash record must die there.
func (r *run) runPipelines(rec *record) error {
	var chosen []*planner.Pipeline
	for _, p := range r.pipelines {
		if name := rec.runName(); name == "" || name == p.Name {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("there is no pipeline %q", rec.runName())
	}
	err := r.session.RunPipelines(r.ctx, chosen)
	if r.crash.step != "" {
		if r.dead = r.crash.dead; !r.dead {
			if err == nil {
				err = errors.New("with everything done")
			}
			return fmt.Errorf("it should die after %s of checkpoint %d, and ended: %w", r.crash.step, r.crash.n, err)
		}
		return nil
	}
	pattern, wantError := errorPattern(rec)
	switch {
	case !wantError:
		return r.shown(err)
	case err == nil:
		return errors.New("it should fail, and did not")
	}
	return r.matches(err, pattern)
}

var errCrash = errors.New("the process died")

// crash is a death that a script has ordered: just after the step of the n-th checkpoint of a run.
type crash struct {
	mu   sync.Mutex
	step string
	n    int
	seen map[string]bool // checkpoints whose step was seen
	dead bool
}

// at is called around every effect of every unit. Once it has struck, nothing else of the process takes effect either.
func (c *crash) at(s exec.Step, id uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errCrash
	}
	if c.step == "" || !s.After || string(s.Effect) != c.step {
		return nil
	}
	unit := fmt.Sprintf("%s#%d", s.Unit, id)
	if s.Effect == exec.Write { // each write counts: a checkpoint has many
		unit = fmt.Sprint(len(c.seen))
	}
	c.seen[unit] = true
	c.dead = len(c.seen) == c.n
	if c.dead {
		return errCrash
	}
	return nil
}
