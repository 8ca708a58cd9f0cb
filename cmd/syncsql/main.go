// Command syncsql runs SQL scripts that keep one system's tables equal to another's.
//
// This package wires the others together: flags, signals, progress, metrics. It must never decide what a script means or
// how a change is delivered.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Exit codes, as the contract of the program lists them.
const (
	exitDone    = 0 // done
	exitFailed  = 1 // a pipeline failed while running
	exitRefused = 2 // the script or the command line was refused; nothing was started
)

// streams are the process's ends, so that tests can hold them.
type streams struct {
	in       io.Reader
	out, err io.Writer
	terminal bool // err is a terminal
}

// command is one word after syncsql. setup declares its flags and returns what runs with the arguments that are left.
type command struct {
	name, args, short string
	setup             func(*flags) func(context.Context, []string, streams) int
}

func commands() []command {
	return []command{
		{"run", "FILE…", "runs the scripts in order, in one session; each INSERT INTO (or statement set) becomes a pipeline", setupRun},
		{"check", "FILE…", "parses and plans, connects to nothing; prints every diagnostic, or one line per pipeline", setupCheck},
		{"explain", "FILE…", "prints the plan of every pipeline", setupExplain},
		{"repl", "", "an interactive session (also what syncsql alone starts on a terminal)", setupRepl},
		{"test", "PATH…", "runs sqllogictest files; prints N passed, N failed", setupTest},
		{"status", "[NAME]", "state, phase, position, lag, rows, checkpoint age and guarantee of each pipeline in the state store", setupStatus},
		{"reset", "NAME", "forgets a pipeline's checkpoints (asks, or --yes)", setupReset},
		{"options", "[CONNECTOR]", "prints every option with type, default and meaning; without a name the table of connectors", setupOptions},
		{"demo", "", "runs a bundled script end to end, kills it once on purpose, and checks the rows", setupDemo},
		{"version", "", "version, Go version, commit", setupVersion},
	}
}

func main() {
	s := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	args := os.Args[1:]
	if len(args) == 0 && term.IsTerminal(int(os.Stdin.Fd())) {
		args = []string{"repl"}
	}
	os.Exit(start(args, s))
}

// start runs one command line and returns its exit code.
func start(args []string, s streams) int {
	limitMemory()
	if len(args) == 0 {
		usage(s.err)
		return exitRefused
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(rest) == 0 {
			usage(s.out)
			return exitDone
		}
		name, rest = rest[0], []string{"-h"}
	case "--version", "-version":
		name = "version"
	}
	for _, c := range commands() {
		if c.name == name {
			return c.start(rest, s)
		}
	}
	fmt.Fprintf(s.err, "syncsql: unknown command %q\nhelp: syncsql help lists the commands\n", name)
	return exitRefused
}

func (c command) start(args []string, s streams) int {
	f := newFlags(c)
	run := c.setup(f)
	rest, help, err := f.parse(args, os.LookupEnv)
	if help {
		f.usage(s.out)
		return exitDone
	}
	if err == nil {
		err = c.checkArgs(rest)
	}
	if err != nil {
		fmt.Fprintf(s.err, "syncsql %s: %v\nhelp: syncsql help %s\n", c.name, err, c.name)
		return exitRefused
	}
	ctx, stop := signals(context.Background(), s.err)
	defer stop()
	return run(ctx, rest, s)
}

// checkArgs holds the number of arguments against the usage text: "" none, "[X]" at most one, "X" one, "X…" at least one.
func (c command) checkArgs(args []string) error {
	lo, hi := 1, 1
	switch {
	case c.args == "":
		lo, hi = 0, 0
	case strings.HasPrefix(c.args, "["):
		lo = 0
	case strings.HasSuffix(c.args, "…"):
		hi = len(args)
	}
	switch {
	case len(args) < lo:
		return fmt.Errorf("%s is missing", strings.Trim(c.args, "[]…"))
	case len(args) > hi:
		return fmt.Errorf("unexpected argument %q", args[hi])
	}
	return nil
}

func usage(w io.Writer) {
	fmt.Fprintf(w, "syncsql keeps tables of one system equal to tables of another, as a SQL script says.\n\nusage: syncsql COMMAND [FLAGS] [ARGUMENTS]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-22s %s\n", strings.TrimSpace(c.name+" "+c.args), c.short)
	}
	fmt.Fprintf(w, "\nsyncsql help COMMAND lists its flags. FILE may be - (standard input).\n")
}
