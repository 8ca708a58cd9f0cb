package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/ddl"
)

// defaultState is where checkpoints live when nothing else is said.
const defaultState = "sqlite:./.syncsql/state.db"

func (f *flags) state() *string {
	return f.String("state", defaultState, "where checkpoints live: `sqlite:PATH`, postgres://…, memory:")
}

// pipelineStatus is one line of status, and one object of status --json.
type pipelineStatus struct {
	Name           string  `json:"name"`
	State          string  `json:"state"`
	Phase          string  `json:"phase"`
	Position       string  `json:"position"`
	LagBytes       int64   `json:"lag_bytes"`
	LagSeconds     float64 `json:"lag_seconds"`
	RowsRead       uint64  `json:"rows_read"`
	RowsWritten    uint64  `json:"rows_written"`
	RowErrors      uint64  `json:"row_errors"`
	Checkpoint     uint64  `json:"checkpoint"`
	CheckpointAge  float64 `json:"checkpoint_age_seconds"`
	Partitions     int     `json:"partitions"`
	PartitionsDone int     `json:"partitions_done"`
	Guarantee      string  `json:"guarantee"`
	Error          string  `json:"error,omitempty"`
}

func setupStatus(f *flags) func(context.Context, []string, streams) int {
	state := f.state()
	asJSON := f.Bool("json", false, "write one JSON object per pipeline")
	return func(ctx context.Context, args []string, s streams) int {
		store, err := checkpoint.Open(ctx, *state)
		if err != nil {
			fmt.Fprintf(s.err, "syncsql status: open the state store: %v\n", err)
			return exitFailed
		}
		defer store.Close()
		all, err := readStatus(ctx, store, args, time.Now())
		if errors.Is(err, checkpoint.ErrNotFound) {
			fmt.Fprintf(s.err, "syncsql status: no pipeline %q in %s\n", args[0], ddl.RedactValue(*state, false))
			return exitFailed
		}
		if err != nil {
			fmt.Fprintf(s.err, "syncsql status: %v\n", err)
			return exitFailed
		}
		if *asJSON {
			for _, p := range all {
				line, err := json.Marshal(p)
				if err != nil {
					panic(err) // a struct of strings and numbers always marshals
				}
				fmt.Fprintf(s.out, "%s\n", line)
			}
			return exitDone
		}
		writeStatus(s.out, all)
		return exitDone
	}
}

// readStatus loads the named pipelines, or all. A partition of a snapshot is a checkpoint of its own, below its pipeline.
func readStatus(ctx context.Context, store checkpoint.Store, names []string, now time.Time) ([]pipelineStatus, error) {
	if len(names) == 0 {
		all, err := store.List(ctx, "")
		if err != nil {
			return nil, fmt.Errorf("list pipelines: %w", err)
		}
		for _, n := range all {
			if !strings.Contains(n, "/") {
				names = append(names, n)
			}
		}
	}
	var out []pipelineStatus
	for _, n := range names {
		c, err := store.Load(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("load pipeline %s: %w", n, err)
		}
		p := pipelineStatus{
			Name: n, State: c.Status.State, Phase: c.Status.Phase, Position: c.Status.Position,
			LagBytes: c.Status.LagBytes, LagSeconds: float64(c.Status.LagMillis) / 1000,
			RowsRead: c.Status.RowsIn, RowsWritten: c.Status.RowsOut, RowErrors: c.Status.Rejected,
			Checkpoint: c.ID, CheckpointAge: now.Sub(c.Status.Saved).Seconds(), Partitions: len(c.Partitions),
			Guarantee: c.Status.Guarantee, Error: c.Status.Error,
		}
		for _, part := range c.Partitions {
			if part.Done {
				p.PartitionsDone++
			}
		}
		out = append(out, p)
	}
	return out, nil
}

func writeStatus(w io.Writer, all []pipelineStatus) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no pipelines")
		return
	}
	grid := [][]string{{"pipeline", "state", "phase", "read", "written", "errors", "lag", "checkpoint", "age", "position", "guarantee"}}
	for _, p := range all {
		phase := p.Phase
		if p.Phase == "snapshot" && p.Partitions > 0 {
			phase += fmt.Sprintf(" %d/%d", p.PartitionsDone, p.Partitions)
		}
		grid = append(grid, []string{
			p.Name, p.State, phase, strconv.FormatUint(p.RowsRead, 10), strconv.FormatUint(p.RowsWritten, 10),
			strconv.FormatUint(p.RowErrors, 10), lagText(p.LagBytes, p.LagSeconds), strconv.FormatUint(p.Checkpoint, 10),
			age(p.CheckpointAge), p.Position, p.Guarantee,
		})
	}
	writeGrid(w, grid, false)
	for _, p := range all {
		if p.Error != "" {
			fmt.Fprintf(w, "%s: %s\n", p.Name, p.Error)
		}
	}
}

func age(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func lagText(bytes int64, seconds float64) string {
	return fmt.Sprintf("%s %.1fs", sizeText(bytes), seconds)
}

func sizeText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%dB", n)
	}
	return fmt.Sprintf("%.1f%s", f, units[u])
}

func setupReset(f *flags) func(context.Context, []string, streams) int {
	state := f.state()
	yes := f.Bool("yes", false, "do not ask")
	return func(ctx context.Context, args []string, s streams) int {
		store, err := checkpoint.Open(ctx, *state)
		if err != nil {
			fmt.Fprintf(s.err, "syncsql reset: open the state store: %v\n", err)
			return exitFailed
		}
		defer store.Close()
		name := args[0]
		if _, err := store.Load(ctx, name); errors.Is(err, checkpoint.ErrNotFound) {
			fmt.Fprintf(s.err, "syncsql reset: no pipeline %q in %s\n", name, ddl.RedactValue(*state, false))
			return exitFailed
		}
		if !*yes && !confirm(s, fmt.Sprintf("forget the checkpoints of %q? Its next run starts from the beginning. [y/N] ", name)) {
			fmt.Fprintln(s.err, "nothing was changed")
			return exitFailed
		}
		if err := store.Delete(ctx, name); err != nil {
			fmt.Fprintf(s.err, "syncsql reset: %v\n", err)
			return exitFailed
		}
		fmt.Fprintf(s.err, "forgot %q\n", name)
		return exitDone
	}
}

func confirm(s streams, question string) bool {
	fmt.Fprint(s.err, question)
	answer, err := bufio.NewReader(s.in).ReadString('\n')
	if err != nil && err != io.EOF {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
