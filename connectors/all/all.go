// Package all is the one list of connectors. A new system is one line here.
//
// It must never do more than list: what differs between systems is data in the Connector.
package all

import (
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/blackhole"
	"github.com/syncsql/syncsql/connectors/datagen"
	"github.com/syncsql/syncsql/connectors/filesystem"
	"github.com/syncsql/syncsql/connectors/memory"
	"github.com/syncsql/syncsql/connectors/postgres"
	"github.com/syncsql/syncsql/connectors/print"
	"github.com/syncsql/syncsql/connectors/sqlite"
)

// List returns every connector; the memory connector keeps its tables in db.
func List(db *memory.DB) []*connectors.Connector {
	return []*connectors.Connector{
		postgres.Connector(),
		sqlite.Connector(),
		filesystem.Connector(),
		datagen.Connector(),
		print.Connector(),
		blackhole.Connector(),
		memory.New(db),
	}
}
