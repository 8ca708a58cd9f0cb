package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// TestStore is the suite that every store passes. open opens the same store again at each call.
func TestStore(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		m := checkpoint.NewMemory()
		testStore(t, func(*testing.T) checkpoint.Store { return m })
	})
	t.Run("sqlite", func(t *testing.T) {
		testStore(t, opener("sqlite:"+filepath.Join(t.TempDir(), "new dir?", "50%#.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		testStore(t, opener(pgtest.Start(t).URL("postgres")))
	})
}

func opener(url string) func(t *testing.T) checkpoint.Store {
	return func(t *testing.T) checkpoint.Store {
		t.Helper()
		s, err := checkpoint.Open(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}

func testStore(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	ctx := context.Background()
	t.Run("keeps_everything_over_reopening", func(t *testing.T) {
		want := full()
		if err := open(t).Save(ctx, "kept", want); err != nil {
			t.Fatal(err)
		}
		got, err := open(t).Load(ctx, "kept")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("loaded %+v, %v\nwant %+v", got, err, want)
		}
	})
	t.Run("unknown_name", func(t *testing.T) {
		if _, err := open(t).Load(ctx, "nobody"); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
	})
	t.Run("fences", func(t *testing.T) {
		s, other := open(t), open(t)
		for _, step := range []struct {
			store checkpoint.Store
			id    uint64
			want  error
		}{{s, 2, checkpoint.ErrFenced}, {s, 1, nil}, {other, 1, checkpoint.ErrFenced}, {other, 2, nil}, {s, 2, checkpoint.ErrFenced},
			{s, 4, checkpoint.ErrFenced}, {s, 0, checkpoint.ErrFenced}, {s, 3, nil}} {
			if err := step.store.Save(ctx, "fenced", checkpoint.Checkpoint{ID: step.id, Epoch: step.id}); !errors.Is(err, step.want) {
				t.Fatalf("save %d: %v, want %v", step.id, err, step.want)
			}
		}
		if c, err := other.Load(ctx, "fenced"); err != nil || c.ID != 3 || c.Epoch != 3 {
			t.Errorf("loaded %+v, %v, want ID 3", c, err)
		}
	})
	t.Run("one_of_many_wins", func(t *testing.T) { oneWins(t, open) })
	t.Run("list_and_delete", func(t *testing.T) {
		s := open(t)
		for _, name := range []string{"tree/b", "tree", "tree/a", "tree-2", "TREE", "tree%", "tr", "baum/ä"} {
			if err := s.Save(ctx, name, checkpoint.Checkpoint{ID: 1}); err != nil {
				t.Fatal(err)
			}
		}
		list(t, s, "tree", "tree", "tree%", "tree-2", "tree/a", "tree/b")
		list(t, s, "tree/", "tree/a", "tree/b")
		list(t, s, "baum/ä", "baum/ä")
		if err := s.Delete(ctx, "tree"); err != nil {
			t.Fatal(err)
		}
		list(t, s, "tree", "tree%", "tree-2")
		if err := s.Save(ctx, "tree", checkpoint.Checkpoint{ID: 1}); err != nil {
			t.Errorf("a forgotten name does not begin again: %v", err)
		}
	})
}

func list(t *testing.T, s checkpoint.Store, prefix string, want ...string) {
	t.Helper()
	got, err := s.List(context.Background(), prefix)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("names with %q are %q, %v, want %q", prefix, got, err, want)
	}
}

// oneWins lets several runners save the same IDs: each ID must be won once.
func oneWins(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	const runners, saves = 4, 20
	var mu sync.Mutex
	won := map[uint64]int{}
	var all sync.WaitGroup
	for range runners {
		s := open(t)
		all.Go(func() {
			for id := uint64(1); id <= saves; id++ {
				err := s.Save(context.Background(), "race", checkpoint.Checkpoint{ID: id})
				for err == nil || errors.Is(err, checkpoint.ErrFenced) {
					if err == nil {
						mu.Lock()
						won[id]++
						mu.Unlock()
						break
					}
					if c, _ := s.Load(context.Background(), "race"); c.ID >= id {
						break // another runner won this one
					}
					err = s.Save(context.Background(), "race", checkpoint.Checkpoint{ID: id})
				}
				if err != nil && !errors.Is(err, checkpoint.ErrFenced) {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for id := uint64(1); id <= saves; id++ {
		if won[id] != 1 {
			t.Errorf("ID %d was won %d times", id, won[id])
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, url := range []string{"", "state.db", "mysql://u:secret@h/db", "sqlite:", "memory:x", "postgres://u:secret@h:bad/db"} {
		_, err := checkpoint.Open(context.Background(), url)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// full has a value in every field.
func full() checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		ID: 1, Epoch: 7, Fingerprint: "fp", Position: change.Position{0, 1}, Tokens: map[string][]byte{"b": {9}, "a": {}}, Done: true,
		Start: change.Position{}, Streaming: true,
		Partitions: []checkpoint.Partition{{ID: "p", Table: 2, Range: []byte("r"), Rows: -1, Done: true}, {}},
		Handovers:  map[int]change.Position{0: {1}, -1: nil},
		Status: checkpoint.Status{State: "running", Phase: "stream", Guarantee: "g", Error: "e", RowsIn: 1 << 63, RowsOut: 2, Rejected: 3,
			LagBytes: -1, LagMillis: 5, Position: "0/1", Saved: time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC)},
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	stored := checkpoint.Encode(full())
	for n := range stored {
		if _, err := checkpoint.Decode(stored[:n]); err == nil {
			t.Errorf("%d of %d bytes were taken", n, len(stored))
		}
		for bit := range 8 {
			torn := bytes.Clone(stored)
			torn[n] ^= 1 << bit
			if _, err := checkpoint.Decode(torn); err == nil {
				t.Errorf("byte %d with bit %d turned was taken", n, bit)
			}
		}
	}
}

// TestFormIsKept holds the stored form to bytes of its own: a program must read what an older one has saved.
func TestFormIsKept(t *testing.T) {
	const stored = "\x01\x02\x03\x01f\x03\x00\x01\x01\x01s\x02t\x00\x02p\x01\x01i\x02\x03rr\x06\x00\x01\x02\x02h\x01" +
		"\x01r\x01s\x01g\x00\x01\x02\x03\x08\n\x00\x00"
	c := checkpoint.Checkpoint{ID: 2, Epoch: 3, Fingerprint: "f", Position: change.Position{0, 1}, Tokens: map[string][]byte{"s": []byte("t")},
		Start: change.Position("p"), Partitions: []checkpoint.Partition{{ID: "i", Table: 1, Range: []byte("rr"), Rows: 3}},
		Handovers: map[int]change.Position{1: change.Position("h")}, Streaming: true,
		Status: checkpoint.Status{State: "r", Phase: "s", Guarantee: "g", RowsIn: 1, RowsOut: 2, Rejected: 3, LagBytes: 4, LagMillis: 5}}
	encoded := checkpoint.Encode(c)
	if got := string(encoded[:len(encoded)-4]); got != stored {
		t.Errorf("the form is %q, want %q", got, stored)
	}
	if got, err := checkpoint.Decode(encoded); err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(checkpoint.Encode(full()))
	f.Add(checkpoint.Encode(checkpoint.Checkpoint{}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, stored []byte) {
		for _, b := range [][]byte{stored, checkpoint.WithSum(stored)} {
			c, err := checkpoint.Decode(b)
			if err == nil && !bytes.Equal(checkpoint.Encode(c), b) {
				t.Errorf("%x decodes to %+v, which has another form", b, c)
			}
		}
	})
}
