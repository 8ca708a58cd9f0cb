// Package blackhole takes every change and keeps nothing: for measuring sources and for trying a script out.
//
// It must never be slower than counting, and never look at a value.
package blackhole

import (
	"context"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// Connector is the blackhole. It has no options.
func Connector() *connectors.Connector {
	return &connectors.Connector{
		Name: "blackhole",
		Doc:  "Takes every change and keeps nothing.",
		WriteModes: []connectors.WriteMode{{
			Name: "append", Accepts: change.All, Key: connectors.KeyIgnored, Class: connectors.AppendOnly,
			PartialRows: true, NeedsBefore: true,
			Doc: "Takes changes of every kind and keeps nothing.",
		}},
		OpenSink: func(context.Context, connectors.Write) (connectors.Sink, error) { return sink{}, nil },
	}
}
