// Package session turns scripts into planned steps and runs them: the part of the program that is the same for `run`,
// `check`, `explain`, the interactive session and the script tests.
//
// It must never start anything of a script that has a mistake, and never write to standard output or error by itself: results
// go to the writer it was given, diagnostics are returned.
package session

import (
	"io"
	"log/slog"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/exec"
	"github.com/syncsql/syncsql/planner"
)

// File is one script.
type File struct{ Name, Text string }

// Config is what a session is made of. Store may be nil until a pipeline runs.
type Config struct {
	Connectors []*connectors.Connector
	Store      checkpoint.Store
	StoreName  string            // how plans name the store, without secrets
	Vars       map[string]string // --var: fills '${NAME}'
	Out        io.Writer         // results
	Format     Format
	CaughtUp   bool // pipelines end when they have delivered what their source held at the start
	Logger     *slog.Logger
	// Observe makes the observer of a pipeline that is about to run; nil observes nothing.
	Observe func(*planner.Pipeline) Observer
	// Ended is called when a pipeline has ended, with what it failed of.
	Ended func(*planner.Pipeline, error)
	// Step is called around every effect of a run, for tests that let the process die there.
	Step func(exec.Step, uint64) error
}

// Observer hears what a run does.
type Observer = exec.Observer

// Session is the state between scripts: what was declared, and the pipelines that run. It is used from one goroutine.
type Session struct {
	config  Config
	catalog *catalog.Catalog
	planner *planner.Planner
	applied []ddl.Statement // that built the catalog
	pieces  []piece
	end     int             // where the next piece begins
	claimed map[string]bool // pipeline names of this session
	running running
}

// New makes a session.
func New(c Config) *Session {
	s := &Session{config: c, claimed: map[string]bool{}}
	if s.config.Logger == nil {
		s.config.Logger = slog.New(slog.DiscardHandler)
	}
	s.use(&catalog.Catalog{})
	return s
}

func (s *Session) use(c *catalog.Catalog) {
	s.catalog = c
	s.planner = &planner.Planner{Catalog: c, Connectors: s.config.Connectors}
}

// Set is SET 'key' = 'value' before any script; place says in complaints where it came from.
func (s *Session) Set(place, key, value string) error {
	_, err := s.Plan(File{Name: place, Text: "SET " + ddl.QuoteString(key) + " = " + ddl.QuoteString(value)})
	return err
}

// Use sets the store that pipelines run with. A script is planned before anything is opened, the store too.
func (s *Session) Use(store checkpoint.Store) { s.config.Store = store }

// rollBack takes back what a refused script declared.
func (s *Session) rollBack(claimed map[string]bool) {
	s.claimed = claimed
	s.use(&catalog.Catalog{})
	for _, stmt := range s.applied {
		s.planner.Apply(stmt)
	}
}
