package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Memory is a store that lives as long as the object: for tests, and for runs that need no second one. It keeps the
// stored form, so that what a pipeline gets back has been through it.
type Memory struct {
	mu    sync.Mutex
	blobs map[string][]byte
}

// NewMemory makes an empty store.
func NewMemory() *Memory { return &Memory{blobs: map[string][]byte{}} }

func (m *Memory) Load(_ context.Context, name string) (Checkpoint, error) {
	m.mu.Lock()
	blob, ok := m.blobs[name]
	m.mu.Unlock()
	if !ok {
		return Checkpoint{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	return Decode(blob)
}

func (m *Memory) Save(_ context.Context, name string, c Checkpoint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var stored uint64
	if blob, ok := m.blobs[name]; ok {
		old, err := Decode(blob)
		if err != nil {
			return err
		}
		stored = old.ID
	}
	if c.ID != stored+1 {
		return ErrFenced
	}
	m.blobs[name] = Encode(c)
	return nil
}

func (m *Memory) List(_ context.Context, prefix string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.blobs)) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (m *Memory) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.blobs, func(k string, _ []byte) bool { return k == name || strings.HasPrefix(k, name+"/") })
	return nil
}

func (m *Memory) Close() error { return nil }
