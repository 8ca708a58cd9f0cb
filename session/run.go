package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"

	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/exec"
	"github.com/syncsql/syncsql/planner"
)

// Failure is one pipeline, or one query, that failed while running.
type Failure struct {
	Pipeline string
	Err      error
}

// Failures are all that failed in a run.
type Failures []Failure

func (fs Failures) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = fmt.Sprintf("pipeline %s: %v", f.Pipeline, f.Err)
	}
	return strings.Join(lines, "\n")
}

// running are the pipelines that were started.
type running struct {
	mu       sync.Mutex
	failures Failures
	all      []*started
}

type started struct {
	pipeline *planner.Pipeline
	ended    chan struct{}
}

// Run runs a script to its end: it prints results in order, runs pipelines at the same time, and returns Failures when some
// failed. One that fails does not stop the others.
func (s *Session) Run(ctx context.Context, sc *Script) error {
	err := s.Start(ctx, sc)
	failed := s.Wait()
	if err != nil {
		return err
	}
	return failed
}

// Start prints the results of a script and starts its pipelines. The error is one of writing results: failed pipelines and
// queries are told by Wait.
func (s *Session) Start(ctx context.Context, sc *Script) error {
	out := newPrinter(s.config.Out, s.config.Format)
	for _, st := range sc.steps {
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case st.pipeline != nil:
			s.startPipeline(ctx, st.pipeline)
		case st.query != nil:
			if err := s.runQuery(ctx, st.query, out); err != nil {
				return fmt.Errorf("write the result: %w", err)
			}
		default:
			if err := st.show.print(out); err != nil {
				return fmt.Errorf("write the result: %w", err)
			}
		}
	}
	return nil
}

// Wait returns when every pipeline has ended, with Failures when some failed, and forgets them.
func (s *Session) Wait() error {
	r := &s.running
	for _, st := range r.all {
		<-st.ended
	}
	r.all = nil
	return s.Failed()
}

// Failed returns Failures when pipelines or queries have failed since it was last called. Others go on.
func (s *Session) Failed() error {
	r := &s.running
	r.mu.Lock()
	defer r.mu.Unlock()
	failures := r.failures
	r.failures = nil
	if len(failures) == 0 {
		return nil
	}
	return failures
}

func (s *Session) startPipeline(ctx context.Context, p *planner.Pipeline) {
	st := &started{pipeline: p, ended: make(chan struct{})}
	s.running.all = append(s.running.all, st)
	options := s.options(p, s.config.Store)
	go func() {
		defer close(st.ended)
		err := exec.Supervise(ctx, p, options)
		if err != nil {
			s.fail(p.Name, err)
		}
		if s.config.Ended != nil {
			s.config.Ended(p, err)
		}
	}()
}

func (s *Session) options(p *planner.Pipeline, store checkpoint.Store) exec.Options {
	o := exec.Options{Store: store, CaughtUp: s.config.CaughtUp, Step: s.config.Step, Logger: s.config.Logger}
	if s.config.Observe != nil {
		o.Observer = s.config.Observe(p)
	}
	return o
}

func (s *Session) fail(name string, err error) {
	s.running.mu.Lock()
	defer s.running.mu.Unlock()
	s.running.failures = append(s.running.failures, Failure{name, err})
}

// runQuery prints the rows of a SELECT. Pipelines before it that end by themselves are waited for: a script that fills a
// table and then looks at it sees the rows. A query keeps no checkpoints and is not tried again, which would repeat rows.
// The error is one of printing.
func (s *Session) runQuery(ctx context.Context, q *query, out printer) error {
	for _, st := range s.running.all {
		if !s.config.CaughtUp && !bounded(st.pipeline) {
			continue
		}
		select {
		case <-st.ended:
		case <-ctx.Done():
			return nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q.target.printer, q.target.limit, q.target.full = out, q.pipeline.Limit, cancel
	q.target.live = !bounded(q.pipeline)
	if err := out.begin(headings(q.pipeline.Sinks[0].Table.Columns, q.target.changelog)); err != nil {
		return err
	}
	p := throwaway(q.pipeline)
	o := s.options(p, checkpoint.NewMemory())
	o.Step = nil
	err := exec.Run(ctx, p, o)
	if left := s.forget(ctx, p); err == nil {
		err = left
	}
	if s.config.Ended != nil {
		s.config.Ended(p, err)
	}
	if err != nil {
		s.fail(q.pipeline.Name, err)
		return out.flush()
	}
	return out.end()
}

// throwaway gives a query a name that no pipeline and no other query has, at the system that it reads.
func throwaway(p *planner.Pipeline) *planner.Pipeline {
	p.Name = "query_" + strings.ToLower(rand.Text()[:8])
	p.Source.Read.Pipeline = p.Name
	p.Source.Read.Throwaway = true
	return p
}

// forget drops what the system has kept for a query, also when the query was stopped.
func (s *Session) forget(ctx context.Context, p *planner.Pipeline) error {
	f := p.Source.Connector.Forget
	if f == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exec.Stop)
	defer cancel()
	if err := f(ctx, p.Source.Read); err != nil {
		return fmt.Errorf("clean up after the query: %w", err)
	}
	return nil
}

func bounded(p *planner.Pipeline) bool {
	for _, m := range p.Source.Modes {
		if !m.Bounded {
			return false
		}
	}
	return true
}

// RunPipelines runs pipelines of this session's scripts again and waits for them, for the script tests.
func (s *Session) RunPipelines(ctx context.Context, pipelines []*planner.Pipeline) error {
	for _, p := range pipelines {
		s.startPipeline(ctx, p)
	}
	return s.Wait()
}
