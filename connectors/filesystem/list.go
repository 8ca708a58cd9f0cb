package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// location is the path of a table on this machine.
func location(t *connectors.Table) (string, error) {
	p, err := option.Reveal(path.Get(t.Options))
	if err != nil {
		return "", connectors.Permanent(err, "")
	}
	return filepath.Clean(strings.TrimPrefix(p, "file://")), nil
}

func isPattern(p string) bool { return strings.ContainsAny(p, "*?[") }

// list returns the files to read, in the order of their names. A file that is named itself is read whatever its name.
func list(root string) ([]string, error) {
	roots := []string{root}
	if isPattern(root) {
		found, err := filepath.Glob(root)
		if err != nil {
			return nil, connectors.Permanent(fmt.Errorf("pattern %s: %w", root, err), "")
		}
		roots = found
	}
	var files []string
	for _, r := range roots {
		err := filepath.WalkDir(r, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			hidden := p != root && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_"))
			switch {
			case hidden && d.IsDir():
				return fs.SkipDir
			case hidden || d.IsDir():
				return nil
			}
			files = append(files, p)
			return nil
		})
		if errors.Is(err, os.ErrNotExist) {
			return nil, connectors.Permanent(fmt.Errorf("%s does not exist", r), "check 'path'")
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r, err)
		}
	}
	sort.Strings(files)
	return files, nil
}

// preflight checks that every path can be listed and that there is something to read.
func preflight(_ context.Context, r connectors.Read) error {
	var found []error
	for i := range r.Tables {
		root, err := location(&r.Tables[i].Table)
		if err == nil {
			_, err = list(root)
		}
		if err != nil {
			found = append(found, fmt.Errorf("table %q: %w", r.Tables[i].Name, err))
		}
	}
	return errors.Join(found...)
}
