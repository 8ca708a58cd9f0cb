package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/session"
)

func setupRepl(f *flags) func(context.Context, []string, streams) int {
	rf := f.running()
	return func(ctx context.Context, _ []string, s streams) int { return rf.repl(ctx, s) }
}

// repl reads statements from standard input, one or several lines each, and runs each as it ends. Pipelines go on in the
// background until the input ends or quit is typed; then they are stopped as a signal would.
func (rf runFlags) repl(ctx context.Context, s streams) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ms := newMeters()
	screen := newScreen(s, "none", ms)
	store, err := checkpoint.Open(ctx, *rf.state)
	if err != nil {
		fmt.Fprintf(s.err, "syncsql repl: open the state store: %s\n", hideSecrets(err))
		return exitFailed
	}
	defer store.Close()
	c := rf.config(s, screen, ms)
	c.Store = store
	ses, err := rf.session(c)
	if err != nil {
		return refuse(s, *rf.output, err)
	}
	prompt := s.in == os.Stdin && term.IsTerminal(int(os.Stdin.Fd()))
	if prompt {
		fmt.Fprintln(s.err, "syncsql: statements end with ; and quit leaves")
	}
	refused := readStatements(ctx, ses, rf, s, prompt)
	if *rf.until == "forever" {
		cancel()
	}
	if code := report(s, ses.Wait()); code != exitDone {
		return code
	}
	return refused
}

// readStatements runs statements until the input ends and returns the exit code: a session at a terminal forgives mistakes,
// a pipe does not hide them.
func readStatements(ctx context.Context, ses *session.Session, rf runFlags, s streams, prompt bool) int {
	lines := readLines(ctx, s.in)
	code := exitDone
	var text strings.Builder
	for {
		if prompt {
			fmt.Fprint(s.err, [...]string{"syncsql> ", "      -> "}[min(1, text.Len())])
		}
		var line string
		var ok bool
		select {
		case line, ok = <-lines:
		case <-ctx.Done():
			return code
		}
		word := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(line), ";"))
		if ok && text.Len() == 0 && (word == "quit" || word == "exit") {
			return code
		}
		text.WriteString(line)
		if ok && !ddl.Complete(text.String()) {
			continue
		}
		if strings.TrimSpace(text.String()) != "" {
			if c := execute(ctx, ses, text.String(), rf, s); c != exitDone && !prompt {
				code = c
			}
		}
		text.Reset()
		if !ok {
			return code
		}
	}
}

func execute(ctx context.Context, ses *session.Session, text string, rf runFlags, s streams) int {
	script, err := ses.Plan(session.File{Text: text})
	if err != nil {
		return refuse(s, *rf.output, err)
	}
	for _, w := range script.Warnings {
		fmt.Fprint(s.err, "warning: ")
		ddl.Render(s.err, w.File, w.Text, w.Err)
	}
	for _, p := range script.Pipelines() {
		fmt.Fprintf(s.err, "started %s\n", session.Summary(p))
	}
	if err := ses.Start(ctx, script); err != nil {
		return report(s, err)
	}
	return report(s, ses.Failed())
}

// readLines hands over lines, so that waiting for one does not hold up a signal.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}
