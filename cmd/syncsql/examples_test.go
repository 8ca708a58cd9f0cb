package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Every script in examples/ is accepted, and those that need no server run to their end. One shows how a script is refused.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*.sql")
	if err != nil || len(paths) < 3 {
		t.Fatalf("examples: %v %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c := newCall(t)
			args := []string{path, "--var", "DIR=" + c.dir, "--var", "RATE=0", "--state", c.state()}
			want := exitDone
			if filepath.Base(path) == "refused.sql" {
				want = exitRefused
			}
			if code, _, errs := c.run("", append([]string{"check"}, args...)...); code != want {
				t.Fatalf("check: code %d, want %d\n%s", code, want, errs)
			}
			if want == exitRefused {
				return
			}
			if strings.HasPrefix(filepath.Base(path), "postgres") {
				return // the chaos test runs it against servers
			}
			if code, _, errs := c.run("", append([]string{"run", "--until", "caught-up"}, args...)...); code != exitDone {
				t.Errorf("run: code %d\n%s", code, errs)
			}
		})
	}
}
