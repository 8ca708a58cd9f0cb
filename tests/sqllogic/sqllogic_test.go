package sqllogic_test

import (
	"flag"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/syncsql/syncsql/tests/sqllogic"
)

var rewrite = flag.Bool("rewrite", false, "replace what follows ---- by what came out")

// TestScripts runs every script of this folder, each with a world, a session and a state store of its own.
func TestScripts(t *testing.T) {
	var paths []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".slt" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("there are no scripts")
	}
	for _, path := range paths {
		t.Run(filepath.ToSlash(path[:len(path)-len(".slt")]), func(t *testing.T) {
			t.Parallel()
			if err := sqllogic.RunFile(t.Context(), path, sqllogic.Options{World: sqllogic.NewWorld, Rewrite: *rewrite}); err != nil {
				t.Error(err)
			}
		})
	}
}
