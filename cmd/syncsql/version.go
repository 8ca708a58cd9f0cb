package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker (-X main.version=v1.2.3); without it the module's own version stands.
var version string

func setupVersion(*flags) func(context.Context, []string, streams) int {
	return func(_ context.Context, _ []string, s streams) int {
		v, commit := buildVersion()
		fmt.Fprintf(s.out, "syncsql %s %s commit %s\n", v, runtime.Version(), commit)
		return exitDone
	}
}

func buildVersion() (v, commit string) {
	v, commit = version, "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v, commit
	}
	if v == "" {
		v = info.Main.Version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += "+changes"
		}
	}
	return v, commit
}
