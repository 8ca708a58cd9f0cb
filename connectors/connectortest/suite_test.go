package connectortest

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// TestChangelog checks that generated changes fit together and do not depend on how they are cut into batches.
func TestChangelog(t *testing.T) {
	for _, unsent := range []bool{false, true} {
		whole := generate(t, unsent, 400)
		parts := generate(t, unsent, 33)
		expectSame(t, "other batch sizes", parts[:len(whole)-40], whole[:len(whole)-40])
		s := newState([]int{0, 1})
		for i, r := range whole {
			old, ok := s.rows[s.id(r)]
			if ok == (r.Kind == change.Insert) {
				t.Fatalf("row %d: %s, but the row was there: %t", i, r, ok)
			}
			for c, v := range r.Values {
				if (r.Kind == change.UpdateBefore || r.Kind == change.Delete) && v != old[c] {
					t.Fatalf("row %d, column %d: the before-image %s is not the row %s", i, c, v, old[c])
				}
				if v == "" && r.Kind != change.UpdateAfter {
					t.Fatalf("row %d: %s leaves out a value", i, r.Kind)
				}
			}
			s.apply([]Row{r})
		}
	}
}

func generate(t *testing.T, unsent bool, size int) []Row {
	t.Helper()
	mem := checked(t)
	log := Changelog{Columns: Columns(), Key: []int{0, 1}, Kinds: change.All, Unsent: unsent, Seed: 3,
		Holds: Holds{NaN: true, Infinity: true, NegativeZero: true, NUL: true, InfiniteTimes: true, FarYears: true}}
	var rows []Row
	for len(rows) < 400 {
		b := log.Next(mem, size)
		if n := binary.BigEndian.Uint64(b.Position); n != uint64(len(rows)+b.Len()) {
			t.Fatalf("position %d after %d rows", n, len(rows)+b.Len())
		}
		rows = append(rows, Rows(&b)...)
		b.Release()
	}
	return rows
}

// disk is what survives in the target of the sinks below.
type disk struct {
	rows     []Row
	position change.Position
	epoch    uint64
	files    map[byte][]Row
}

func (d *disk) target() Target {
	return Target{Rows: func(*testing.T) []Row { return d.rows }}
}

// fault is one thing that a sink may do wrong.
type fault string

const (
	none            fault = ""
	losesOnClose    fault = "rows that were flushed are lost on close"
	writesTwice     fault = "a replay repeats rows"
	commitsTwice    fault = "a second commit repeats rows"
	ignoresEpoch    fault = "an older epoch writes on"
	dropsBadRow     fault = "a bad row is dropped"
	dropsNeighbours fault = "the neighbours of a bad row are dropped"
	loosePosition   fault = "the position is not kept"
	showsEarly      fault = "staged rows are visible before the commit"
	keepsBatch      fault = "a batch is kept"
)

// ledger is a sink with a log in memory, transactional or staged, and perhaps a fault.
type ledger struct {
	*disk
	w       connectors.Write
	fault   fault
	staged  bool
	pending []Row
	next    byte
}

func (s *ledger) Write(ctx context.Context, b change.Batch) error {
	if s.epoch > s.w.Epoch && s.fault != ignoresEpoch {
		return connectors.Permanent(errors.New("fenced"), "")
	}
	rows := Rows(&b)
	var good []Row
	for i, r := range rows {
		if r.Values[8] != `"NaN"` && !contains(r.Values, `"NaN"`) {
			good = append(good, r)
			continue
		}
		if s.fault == dropsBadRow {
			continue
		}
		if err := s.w.Reject(ctx, connectors.NewRowError(&s.w.Table, &b, i, "", "no NaN")); err != nil {
			return err
		}
		if s.fault == dropsNeighbours {
			good = nil
		}
	}
	if s.fault == keepsBatch && b.Record != nil {
		b.Record.Retain()
	}
	if s.staged {
		s.pending = append(s.pending, good...)
		if s.fault == showsEarly {
			s.rows = append(s.rows, good...)
		}
		return nil
	}
	s.rows = append(s.rows, good...)
	if p := b.Position; p != nil && s.fault != loosePosition && (len(rows) > 0 || s.position == nil) {
		s.position = p
	}
	return nil
}

func contains(values []string, v string) bool {
	for _, x := range values {
		if x == v {
			return true
		}
	}
	return false
}

func (s *ledger) Flush(context.Context) ([]byte, error) {
	if !s.staged {
		return nil, nil
	}
	s.files[s.next] = s.pending
	s.pending = nil
	s.next++
	return []byte{s.next}, nil
}

func (s *ledger) Position() change.Position {
	if s.fault == writesTwice {
		return nil
	}
	return s.position
}

func (s *ledger) Close() error {
	if s.fault == losesOnClose && len(s.rows) > 0 {
		s.rows = s.rows[1:]
	}
	return nil
}

// staging adds Commit; a transactional ledger must not have it.
type staging struct{ *ledger }

func (s staging) Commit(_ context.Context, token []byte) error {
	n := token[0] - 1
	s.rows = append(s.rows, s.files[n]...)
	if s.fault != commitsTwice {
		delete(s.files, n)
	}
	return nil
}

func ledgerCase(f fault, staged bool) Case {
	var d *disk
	mode := connectors.WriteMode{Name: "append", Accepts: change.All, Class: connectors.Transactional, Doc: "x"}
	if staged {
		mode.Class, mode.Staged = connectors.TwoPhase, true
	}
	return Case{
		Holds: Holds{Infinity: true, NegativeZero: true, NUL: true, InfiniteTimes: true, FarYears: true},
		Connector: &connectors.Connector{Name: "ledger", WriteModes: []connectors.WriteMode{mode},
			OpenSink: func(_ context.Context, w connectors.Write) (connectors.Sink, error) {
				if w.Epoch < d.epoch && f != ignoresEpoch {
					return nil, connectors.Permanent(errors.New("fenced"), "")
				}
				d.epoch = max(d.epoch, w.Epoch)
				s := &ledger{disk: d, w: w, fault: f, staged: staged}
				if staged {
					if w.Token != nil {
						s.next = w.Token[0]
					}
					return staging{s}, nil
				}
				return s, nil
			}},
		Target: func(*testing.T, connectors.WriteMode, connectors.Table) Target {
			d = &disk{files: map[byte][]Row{}}
			return d.target()
		},
	}
}

func TestCorrectSinksPass(t *testing.T) {
	Run(t, ledgerCase(none, false))
	Run(t, ledgerCase(none, true))
}

var faults = []fault{losesOnClose, writesTwice, commitsTwice, ignoresEpoch, dropsBadRow, dropsNeighbours, loosePosition,
	showsEarly, keepsBatch}

// TestFaultsAreCaught runs the suite on sinks that each do one thing wrong, in a process of its own because it must fail.
func TestFaultsAreCaught(t *testing.T) {
	for _, f := range faults {
		t.Run(string(f), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestOneFault$")
			cmd.Env = append(os.Environ(), "CONNECTORTEST_FAULT="+string(f))
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestOneFault") {
				t.Errorf("not caught: %v\n%s", err, out)
			}
		})
	}
}

// TestOneFault is the other process of TestFaultsAreCaught; without a fault it is one more correct sink.
func TestOneFault(t *testing.T) {
	f := fault(os.Getenv("CONNECTORTEST_FAULT"))
	Run(t, ledgerCase(f, f == commitsTwice || f == showsEarly))
}
