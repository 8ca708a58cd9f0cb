package exec

import (
	"context"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
)

// mutantStore is a store through which a wrong pipeline shows.
type mutantStore struct{ simStore }

func (l *life) mutateStore(s simStore) checkpoint.Store {
	if l.mutant == "" {
		return s
	}
	return mutantStore{s}
}

func (s mutantStore) Save(ctx context.Context, name string, c checkpoint.Checkpoint) error {
	switch {
	case s.mutant == "ack before save" && name == "p" && len(s.sources) > 0 && c.Position != nil:
		if err := s.sources[len(s.sources)-1].Ack(ctx, c.Position); err != nil {
			return err
		}
	case s.mutant == "save not fenced":
		s.world.mu.Lock()
		c.ID = s.world.stored(name).ID + 1
		s.world.mu.Unlock()
	case s.mutant == "copy done too early" && name == "p":
		for i := range c.Partitions {
			c.Partitions[i].Done = true
		}
	}
	return s.simStore.Save(ctx, name, c)
}

type mutantSource struct{ *simSource }

func (l *life) mutateSource(open func(context.Context, connectors.Read) (connectors.Source, error)) func(context.Context, connectors.Read) (connectors.Source, error) {
	if l.mutant != "leaked batch" && l.mutant != "position ahead of write" {
		return open
	}
	return func(ctx context.Context, r connectors.Read) (connectors.Source, error) {
		s, err := open(ctx, r)
		if err != nil {
			return nil, err
		}
		return mutantSource{s.(*simSource)}, nil
	}
}

func (s mutantSource) Next(ctx context.Context) (change.Batch, error) {
	b, err := s.simSource.Next(ctx)
	switch {
	case err != nil:
	case s.mutant == "leaked batch" && b.Record != nil:
		b.Record.Retain()
	case s.mutant == "position ahead of write" && len(s.pending) > 0:
		b.Position = s.pending[len(s.pending)-1].Position
	}
	return b, err
}

type mutantSink struct {
	*simSink
	flushed bool
}

// mutantStagedSink is a mutantSink of class two_phase.
type mutantStagedSink struct{ *mutantSink }

func (l *life) mutateSink(open func(context.Context, connectors.Write) (connectors.Sink, error)) func(context.Context, connectors.Write) (connectors.Sink, error) {
	if l.mutant != "commit before save" && l.mutant != "no commit on recovery" && l.mutant != "position forgotten" {
		return open
	}
	return func(ctx context.Context, write connectors.Write) (connectors.Sink, error) {
		s, err := open(ctx, write)
		if err != nil {
			return nil, err
		}
		if staged, ok := s.(simStagedSink); ok {
			return mutantStagedSink{&mutantSink{simSink: staged.simSink}}, nil
		}
		return &mutantSink{simSink: s.(*simSink)}, nil
	}
}

func (s *mutantSink) Position() change.Position {
	if s.mutant == "position forgotten" {
		return nil
	}
	return s.simSink.Position()
}

func (s mutantStagedSink) Flush(ctx context.Context) ([]byte, error) {
	token, err := s.simSink.Flush(ctx)
	s.flushed = true
	if err == nil && token != nil && s.mutant == "commit before save" {
		err = simStagedSink{s.simSink}.Commit(ctx, token)
	}
	return token, err
}

func (s mutantStagedSink) Commit(ctx context.Context, token []byte) error {
	if s.mutant == "no commit on recovery" && !s.flushed {
		return nil
	}
	return simStagedSink{s.simSink}.Commit(ctx, token)
}
