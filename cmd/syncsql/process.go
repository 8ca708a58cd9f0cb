package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// memoryLimit keeps the garbage collector ahead of a resident size of 256 MiB under load; what is left is for memory that
// Go does not count and for the time between two collections.
const memoryLimit = 160 << 20

func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// signals ends the context at the first SIGINT or SIGTERM, which lets pipelines flush, save and commit. A second one exits at
// once: whoever sends it does not want to wait.
func signals(ctx context.Context, w io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-ch:
		case <-done:
			return
		}
		fmt.Fprintln(w, "syncsql: stopping; once more to exit at once")
		cancel()
		select {
		case <-ch:
			os.Exit(130)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel()
	}
}
