package all_test

import (
	"testing"

	"github.com/syncsql/syncsql/connectors/all"
	"github.com/syncsql/syncsql/connectors/memory"
)

// TestNames checks that a name means one connector.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range all.List(memory.NewDB()) {
		names := []string{c.Name}
		for _, a := range c.Aliases {
			names = append(names, a.Name)
		}
		for _, n := range names {
			if n == "" || seen[n] {
				t.Errorf("the name %q is empty or used twice", n)
			}
			seen[n] = true
		}
		if c.Doc == "" {
			t.Errorf("connector %q has no doc", c.Name)
		}
		if len(c.ReadModes)+len(c.WriteModes) == 0 {
			t.Errorf("connector %q can do nothing", c.Name)
		}
	}
}
