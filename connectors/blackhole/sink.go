package blackhole

import (
	"context"

	"github.com/syncsql/syncsql/change"
)

type sink struct{}

func (sink) Write(ctx context.Context, _ change.Batch) error { return ctx.Err() }
func (sink) Flush(context.Context) ([]byte, error)           { return nil, nil }
func (sink) Position() change.Position                       { return nil }
func (sink) Close() error                                    { return nil }
