package blackhole_test

import (
	"testing"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/blackhole"
	"github.com/syncsql/syncsql/connectors/connectortest"
)

func TestConnector(t *testing.T) {
	connectortest.Run(t, connectortest.Case{
		Connector: blackhole.Connector(),
		Holds: connectortest.Holds{NaN: true, Infinity: true, NegativeZero: true, NUL: true, InfiniteTimes: true,
			FarYears: true},
		Target: func(*testing.T, connectors.WriteMode, connectors.Table) connectortest.Target {
			return connectortest.Target{}
		},
	})
}
