package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/syncsql/syncsql/tests/sqllogic"
)

func setupTest(f *flags) func(context.Context, []string, streams) int {
	rewrite := f.Bool("rewrite", false, "replace what follows ---- by what came out")
	return func(ctx context.Context, args []string, s streams) int {
		paths, err := scripts(args)
		if err != nil {
			return refuse(s, "", err)
		}
		passed, failed := 0, 0
		var mu sync.Mutex
		var g errgroup.Group
		g.SetLimit(2 * runtime.GOMAXPROCS(0)) // scripts wait for the disk more than they compute
		for _, path := range paths {
			g.Go(func() error {
				err := sqllogic.RunFile(ctx, path, sqllogic.Options{World: sqllogic.NewWorld, Rewrite: *rewrite})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					passed++
					return nil
				}
				failed++
				fmt.Fprintf(s.err, "%v\n\n", err)
				return nil
			})
		}
		_ = g.Wait() // no script returns its error here
		fmt.Fprintf(s.out, "%d passed, %d failed\n", passed, failed)
		if failed > 0 {
			return exitFailed
		}
		return exitDone
	}
}

// scripts lists the files that the arguments name; a folder stands for its .slt files, at any depth.
func scripts(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			paths = append(paths, arg)
			continue
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".slt" {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("there is no .slt file")
	}
	return paths, nil
}
