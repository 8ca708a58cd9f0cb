package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// flags are the flags of one command. Every flag may also be given as SYNCSQL_<FLAG> in the environment; the command line wins.
type flags struct {
	*flag.FlagSet
	command command
}

func newFlags(c command) *flags {
	f := &flags{flag.NewFlagSet(c.name, flag.ContinueOnError), c}
	f.SetOutput(io.Discard) // errors are returned and printed once
	f.Usage = func() {}
	return f
}

// environmentName is the variable of a flag: --log-level is SYNCSQL_LOG_LEVEL.
func environmentName(name string) string {
	return "SYNCSQL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// parse reads the environment, then the command line. Flags may stand before and after arguments; -- ends the flags.
func (f *flags) parse(args []string, lookup func(string) (string, bool)) (rest []string, help bool, err error) {
	f.VisitAll(func(fl *flag.Flag) {
		text, ok := lookup(environmentName(fl.Name))
		if !ok || err != nil {
			return
		}
		if list, ok := fl.Value.(*pairs); ok {
			err = list.fromEnvironment(text)
		} else {
			err = fl.Value.Set(text)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", environmentName(fl.Name), err)
		}
	})
	if err != nil {
		return nil, false, err
	}
	for {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, true, nil
		} else if err != nil {
			return nil, false, err
		}
		read := len(args) - f.NArg()
		if f.NArg() == 0 {
			return rest, false, nil
		}
		if read > 0 && args[read-1] == "--" {
			return append(rest, f.Args()...), false, nil
		}
		rest = append(rest, f.Arg(0))
		args = f.Args()[1:]
	}
}

func (f *flags) usage(w io.Writer) {
	fmt.Fprintf(w, "usage: %s\n\n%s\n", strings.TrimSpace("syncsql "+f.command.name+" [FLAGS] "+f.command.args), f.command.short)
	first := true
	f.VisitAll(func(fl *flag.Flag) {
		if first {
			fmt.Fprintf(w, "\nflags (also read from the environment: --until is %s)\n", environmentName("until"))
			first = false
		}
		arg, doc := flag.UnquoteUsage(fl)
		head := "--" + fl.Name
		if arg != "" {
			head += " " + arg
		}
		if fl.DefValue != "" && fl.DefValue != "false" {
			doc += " (default " + fl.DefValue + ")"
		}
		fmt.Fprintf(w, "  %-22s %s\n", head, doc)
	})
}

// word declares a flag that takes one of a few words.
func (f *flags) word(name, value, doc string, words ...string) *string {
	w := &oneOf{value: value, words: words}
	f.Var(w, name, doc+": "+strings.Join(words, ", "))
	return &w.value
}

type oneOf struct {
	value string
	words []string
}

func (o *oneOf) String() string { return o.value }
func (o *oneOf) Set(text string) error {
	for _, w := range o.words {
		if w == text {
			o.value = text
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", text, strings.Join(o.words, ", "))
}

// pairs is a flag NAME=VALUE that may be repeated. In the environment every pair has a line of its own.
type pairs struct{ list [][2]string }

// pairs declares such a flag.
func (f *flags) pairs(name, doc string) *pairs {
	p := &pairs{}
	f.Var(p, name, doc)
	return p
}

func (p *pairs) String() string { return "" }
func (p *pairs) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("it must be NAME=VALUE")
	}
	p.list = append(p.list, [2]string{name, value})
	return nil
}

func (p *pairs) fromEnvironment(text string) error {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			continue
		}
		if err := p.Set(line); err != nil {
			return err
		}
	}
	return nil
}

// byName is the pairs as a map; the last of a name wins.
func (p *pairs) byName() map[string]string {
	m := make(map[string]string, len(p.list))
	for _, kv := range p.list {
		m[kv[0]] = kv[1]
	}
	return m
}
