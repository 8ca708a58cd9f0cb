// Package planner turns statements into pipelines, or into diagnostics at the user's text: names, options, types, change
// kinds, write modes, keys, the delivery guarantee, push-down.
//
// It must never open a connection, and never accept a plan in which a kind reaches a sink that does not accept it.
package planner

import (
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/eval"
)

// Pipeline is one validated plan: one source feeding one or more sinks. exec runs it as it stands.
type Pipeline struct {
	Name    string
	Source  Source
	Sinks   []Sink
	Routes  []Route
	Deliver Delivery
	Settings
	// Fingerprint changes when an old checkpoint would be meaningless: another source system, table or read mode, another
	// sink or sink key. It is saved with the checkpoint.
	Fingerprint string
	// Warnings are what the user should know but that does not stop the plan.
	Warnings []string
	// Limit ends a SELECT after so many rows; 0: no limit.
	Limit int64
	// State is where checkpoints are kept, for Explain only; "" leaves it out.
	State string
}

// Source is what the pipeline reads. Read.Pipeline, Tables and Limits are filled; exec fills From, CaughtUp, Reject and Handover.
type Source struct {
	Connector *connectors.Connector
	Modes     []connectors.ReadMode // one per table of Read.Tables
	Read      connectors.Read
}

// Sink is one table that the pipeline writes.
type Sink struct {
	Connector *connectors.Connector
	Table     connectors.Table
	Mode      connectors.WriteMode
	OnError   OnError
}

// Policy says what happens to a row that cannot be mapped or that the sink refuses.
type Policy string

const (
	Fail       Policy = "fail"
	DeadLetter Policy = "dead-letter"
	Skip       Policy = "skip"
)

// OnError is the row-error policy of a sink. DeadLetterTable is a declared table with the columns that exec/deadletter.go
// documents, opened like any sink.
type OnError struct {
	Policy     Policy
	DeadLetter *Sink
}

// Interval is the time between two checkpoints: as set, else short where rows wait for it to become visible, else 2 s. Files
// wait for it too, but each checkpoint makes one, and twenty a second serve nobody.
func (p *Pipeline) Interval() time.Duration {
	if p.CheckpointInterval > 0 {
		return p.CheckpointInterval
	}
	for _, s := range p.Sinks {
		if s.Mode.Staged && s.Mode.Class != connectors.FileClass {
			return 100 * time.Millisecond
		}
	}
	return 2 * time.Second
}

// Route carries the rows of one source table through a query into one sink.
type Route struct {
	Table   int // in Source.Read.Tables
	Sink    int // in Sinks
	Program *eval.Program
	Emits   change.Kinds // what arrives at the sink

	// Texts for Explain.
	filter, project, why string
	missed               bool
}

// Delivery is the guarantee of the pipeline and why.
type Delivery struct {
	Class     connectors.Class
	Guarantee string   // one of ExactlyOnce, EndState, AtLeastOnce, AtMostOnce
	Because   string   // one sentence: how a replay is made harmless
	Weakened  []string // every cause that weakens it, in the user's words
}

// Settings are the session settings that a pipeline runs with.
type Settings struct {
	CheckpointInterval  time.Duration // 'execution.checkpointing.interval'; 0: 2 s, or 100 ms with a staged sink
	CheckpointRows      int64         // 'execution.checkpointing.rows': 10,000
	SnapshotParallelism int           // 'scan.snapshot.parallelism'
	Limits              connectors.Limits
	MaxRowsPerSecond    float64 // 0: no limit
	MaxBytesPerSecond   float64
	RestartAttempts     int // consecutive failures before giving up; 0: no limit
	RestartInitialDelay time.Duration
	RestartMaxDelay     time.Duration
	TimeZone            string // 'table.local-time-zone'
	Zone                string // 'table.local-time-zone'; "": UTC
}
