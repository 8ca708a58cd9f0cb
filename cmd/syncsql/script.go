package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/all"
	"github.com/syncsql/syncsql/connectors/memory"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/planner"
	"github.com/syncsql/syncsql/session"
)

// connectorList is what every command knows. The memory connector's rows live as long as the process.
func connectorList() []*connectors.Connector { return all.List(memory.NewDB()) }

// scriptFlags are the flags of every command that reads scripts.
type scriptFlags struct {
	vars, set *pairs
	output    *string
	state     *string
}

func (f *flags) script() scriptFlags {
	return scriptFlags{
		vars:   f.pairs("var", "fills '${NAME}' in the scripts; may be repeated: `NAME=VALUE`"),
		set:    f.pairs("set", "as SET 'KEY' = 'VALUE' before the script; may be repeated: `KEY=VALUE`"),
		output: f.word("output", "table", "how results and diagnostics are written", "table", "json", "csv"),
		state:  f.state(),
	}
}

// session makes a session with the settings of the command line.
func (sf scriptFlags) session(c session.Config) (*session.Session, error) {
	c.Connectors = connectorList()
	c.StoreName = ddl.RedactValue(*sf.state, false)
	c.Vars = sf.vars.byName()
	c.Format = session.Format(*sf.output)
	s := session.New(c)
	for _, kv := range sf.set.list {
		if err := s.Set("--set", kv[0], kv[1]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readFiles reads the scripts; - is standard input.
func readFiles(paths []string, in io.Reader) ([]session.File, error) {
	files := make([]session.File, len(paths))
	for i, path := range paths {
		var text []byte
		var err error
		if path == "-" {
			path = "stdin"
			text, err = io.ReadAll(in)
		} else {
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, err
		}
		files[i] = session.File{Name: path, Text: string(text)}
	}
	return files, nil
}

// refuse prints why nothing was started and returns the exit code.
func refuse(s streams, output string, err error) int {
	var ds session.Diagnostics
	if !errors.As(err, &ds) {
		fmt.Fprintf(s.err, "syncsql: %v\n", err)
		return exitRefused
	}
	if output == "json" {
		if err := ds.JSON(s.err); err != nil {
			return exitFailed
		}
		return exitRefused
	}
	ds.Render(s.err)
	fmt.Fprintf(s.err, "%d %s\n", len(ds), plural(len(ds), "error"))
	return exitRefused
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// load makes a session and plans the files; a non-zero code means that it was refused and said so.
func (sf scriptFlags) load(c session.Config, paths []string, s streams) (*session.Session, *session.Script, int) {
	ses, err := sf.session(c)
	if err != nil {
		return nil, nil, refuse(s, *sf.output, err)
	}
	files, err := readFiles(paths, s.in)
	if err != nil {
		return nil, nil, refuse(s, *sf.output, err)
	}
	script, err := ses.Plan(files...)
	if err != nil {
		return nil, nil, refuse(s, *sf.output, err)
	}
	for _, w := range script.Warnings {
		fmt.Fprint(s.err, "warning: ")
		ddl.Render(s.err, w.File, w.Text, w.Err)
	}
	return ses, script, exitDone
}

func setupCheck(f *flags) func(context.Context, []string, streams) int {
	sf := f.script()
	return func(_ context.Context, args []string, s streams) int {
		_, script, code := sf.load(session.Config{}, args, s)
		if script == nil {
			return code
		}
		for _, p := range script.Pipelines() {
			fmt.Fprintln(s.out, session.Summary(p))
		}
		return exitDone
	}
}

func setupExplain(f *flags) func(context.Context, []string, streams) int {
	sf := f.script()
	return func(_ context.Context, args []string, s streams) int {
		ses, script, code := sf.load(session.Config{}, args, s)
		if script == nil {
			return code
		}
		fmt.Fprintln(s.out, ses.Explain(script))
		return exitDone
	}
}

// runFlags are the flags of run and repl.
type runFlags struct {
	scriptFlags
	until, progress, metrics, level, format *string
}

func (f *flags) running() runFlags {
	return runFlags{
		scriptFlags: f.script(),
		until:       f.word("until", "forever", "when to stop", "forever", "caught-up"),
		progress:    f.word("progress", "auto", "progress on standard error", "auto", "bar", "plain", "json", "none"),
		metrics:     f.String("metrics", "", "serve Prometheus metrics, /healthz and /readyz at `ADDR`"),
		level:       f.word("log-level", "info", "least level of log lines on standard error", "debug", "info", "warn", "error"),
		format:      f.word("log-format", "text", "form of log lines", "text", "json"),
	}
}

func setupRun(f *flags) func(context.Context, []string, streams) int {
	rf := f.running()
	return func(ctx context.Context, args []string, s streams) int { return rf.run(ctx, args, s) }
}

// run plans the scripts before it opens anything, so that a refused script leaves no trace.
func (rf runFlags) run(ctx context.Context, args []string, s streams) int {
	ms := newMeters()
	screen := newScreen(s, *rf.progress, ms)
	c := rf.config(s, screen, ms)
	ses, script, code := rf.load(c, args, s)
	if script == nil {
		return code
	}
	store, err := checkpoint.Open(ctx, *rf.state)
	if err != nil {
		fmt.Fprintf(s.err, "syncsql run: open the state store: %s\n", hideSecrets(err))
		return exitFailed
	}
	defer store.Close()
	ses.Use(store)
	if *rf.metrics != "" {
		url, stop, err := ms.serve(ctx, *rf.metrics)
		if err != nil {
			return refuse(s, "", err)
		}
		defer stop()
		c.Logger.Info("serving metrics", "url", url+"/metrics")
	}
	screen.start()
	err = ses.Run(ctx, script)
	screen.stop()
	return report(s, err)
}

func (rf runFlags) config(s streams, screen *screen, ms *meters) session.Config {
	return session.Config{
		Out:      s.out,
		CaughtUp: *rf.until == "caught-up",
		Logger:   slog.New(logHandler(screen, *rf.level, *rf.format)),
		Observe:  func(p *planner.Pipeline) session.Observer { return ms.add(p) },
		Ended: func(p *planner.Pipeline, err error) {
			if m := ms.of(p); m != nil {
				m.end(err)
			}
		},
	}
}

// report prints what failed and returns the exit code.
func report(s streams, err error) int {
	var failures session.Failures
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &failures):
		for _, f := range failures {
			fmt.Fprintf(s.err, "pipeline %s failed: %s\n", f.Pipeline, hideSecrets(f.Err))
		}
	default:
		fmt.Fprintf(s.err, "syncsql: %s\n", hideSecrets(err))
	}
	return exitFailed
}

// hideSecrets is the last wall: a driver may quote a whole connection string in its error.
func hideSecrets(err error) string { return ddl.RedactValue(err.Error(), false) }

// logHandler writes log lines through the screen, which keeps them apart from a progress bar.
func logHandler(w io.Writer, level, format string) slog.Handler {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		panic(err) // the flag takes only these words
	}
	options := &slog.HandlerOptions{Level: l, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if err, ok := a.Value.Any().(error); ok {
			return slog.String(a.Key, hideSecrets(err))
		}
		return a
	}}
	if format == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}
