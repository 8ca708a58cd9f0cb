package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// Flags stand before and after arguments, come from the environment too, and the command line wins.
func TestFlags(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		env    map[string]string
		until  string
		state  string
		vars   map[string]string
		rest   []string
		failed string
	}{
		{name: "defaults", until: "forever", state: defaultState},
		{name: "before", args: []string{"--until", "caught-up", "a.sql", "b.sql"}, until: "caught-up", state: defaultState, rest: []string{"a.sql", "b.sql"}},
		{name: "after", args: []string{"a.sql", "--until=caught-up", "-", "--state", "memory:"}, until: "caught-up", state: "memory:", rest: []string{"a.sql", "-"}},
		{name: "end_of_flags", args: []string{"--", "--until", "x"}, until: "forever", state: defaultState, rest: []string{"--until", "x"}},
		{name: "environment", env: map[string]string{"SYNCSQL_UNTIL": "caught-up", "SYNCSQL_VAR": "A=1\nB=x=y\n"}, until: "caught-up", state: defaultState, vars: map[string]string{"A": "1", "B": "x=y"}},
		{name: "command_line_wins", args: []string{"--until", "forever", "--var", "A=2"}, env: map[string]string{"SYNCSQL_UNTIL": "caught-up", "SYNCSQL_VAR": "A=1"}, until: "forever", state: defaultState, vars: map[string]string{"A": "2"}},
		{name: "bad_word", args: []string{"--until", "noon"}, failed: `"noon" is not one of forever, caught-up`},
		{name: "bad_word_in_environment", env: map[string]string{"SYNCSQL_UNTIL": "noon"}, failed: "SYNCSQL_UNTIL"},
		{name: "unknown_flag", args: []string{"--untill", "x"}, failed: "untill"},
		{name: "pair_without_value", args: []string{"--var", "A"}, failed: "NAME=VALUE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFlags(command{name: "run"})
			rf := f.running()
			rest, help, err := f.parse(tt.args, lookup(tt.env))
			if tt.failed != "" {
				if err == nil || !strings.Contains(err.Error(), tt.failed) {
					t.Fatalf("error %v, want %q", err, tt.failed)
				}
				return
			}
			if err != nil || help {
				t.Fatalf("error %v, help %v", err, help)
			}
			if *rf.until != tt.until || *rf.state != tt.state || strings.Join(rest, " ") != strings.Join(tt.rest, " ") {
				t.Errorf("until %q state %q rest %q", *rf.until, *rf.state, rest)
			}
			for k, want := range tt.vars {
				if got := rf.vars.byName()[k]; got != want {
					t.Errorf("var %s = %q, want %q", k, got, want)
				}
			}
		})
	}
}

// Every command has a help text that names its flags, and refuses arguments that it does not take.
func TestCommandLines(t *testing.T) {
	for _, c := range commands() {
		var out, errs bytes.Buffer
		if code := start([]string{"help", c.name}, streams{out: &out, err: &errs}); code != exitDone || !strings.Contains(out.String(), "usage: syncsql "+c.name) {
			t.Errorf("help %s: code %d, %q %q", c.name, code, out.String(), errs.String())
		}
	}
	tests := []struct {
		args string
		code int
		want string
	}{
		{"", exitRefused, "usage: syncsql COMMAND"},
		{"fly", exitRefused, `unknown command "fly"`},
		{"run", exitRefused, "FILE is missing"},
		{"reset", exitRefused, "NAME is missing"},
		{"reset a b", exitRefused, `unexpected argument "b"`},
		{"status a b", exitRefused, `unexpected argument "b"`},
		{"demo x", exitRefused, `unexpected argument "x"`},
		{"run nowhere.sql", exitRefused, "nowhere.sql"},
		{"check --speed high x.sql", exitRefused, "speed"},
		{"test nowhere", exitRefused, "nowhere"},
		{"options nothing", exitRefused, `there is no connector "nothing"`},
		{"version", exitDone, "syncsql "},
		{"help", exitDone, "syncsql help COMMAND"},
		{"options", exitDone, "staged     exactly-once "},
		{"options memory", exitDone, "sink.write-mode"},
		{"options memory --markdown", exitDone, "| sink.write-mode | "},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.args, " ", "_"), func(t *testing.T) {
			var out, errs bytes.Buffer
			code := start(strings.Fields(tt.args), streams{in: strings.NewReader(""), out: &out, err: &errs})
			where := &errs
			if tt.code == exitDone {
				where = &out
			}
			if code != tt.code || !strings.Contains(where.String(), tt.want) {
				t.Errorf("code %d, output %q, errors %q; want %d and %q", code, out.String(), errs.String(), tt.code, tt.want)
			}
		})
	}
}

// A signal context that nobody signals ends with its parent.
func TestSignals(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	ctx, stop := signals(parent, &bytes.Buffer{})
	defer stop()
	if ctx.Err() != nil {
		t.Fatal("the context has ended before anything happened")
	}
	cancel()
	<-ctx.Done()
}
