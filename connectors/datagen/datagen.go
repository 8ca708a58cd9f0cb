// Package datagen makes rows out of nothing: random values and sequences as Flink's datagen does, or a changelog whose
// inserts, updates and deletes fit together. Everything follows from the seed and the row's index, so any stretch can be
// made again.
//
// It must never draw from a clock or a generator whose state is not part of the position.
package datagen

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

var (
	rowsPerSecond = option.Int("rows-per-second", "Changes per second; 0 makes them as fast as they are taken.",
		option.Default("10000"), option.Check(atLeast(0)))
	numberOfRows = option.Int("number-of-rows", "Changes in total; without it, and without a sequence, the table has no end.",
		option.Check(atLeast(0)))
	seed = option.Int("seed", "Another seed gives other values and another order of changes.", option.Default("1"))
	mode = option.Enum("changelog.mode", "insert: only new rows. all: inserts, updates with the row before, deletes. "+
		"upsert: the same without the row before. Both need a PRIMARY KEY.", []string{"insert", "all", "upsert"},
		option.Default("insert"))
	updateRatio = option.Float("changelog.update-ratio", "The share of updates among the changes.", option.Default("0.5"),
		option.Check(share))
	deleteRatio = option.Float("changelog.delete-ratio", "The share of deletes among the changes.", option.Default("0.1"),
		option.Check(share))
	keys = option.Int("changelog.keys", "How many rows exist at most at one time; when so many exist, an insert becomes an "+
		"update. Deleted keys come back.", option.Default("1000"), option.Check(between(1, 1<<24)))
	fields = option.String("fields.", "Settings of one column, as 'fields.<column>.kind' = 'random' | 'sequence', "+
		"'.min' and '.max' of random numbers, '.length' of text and bytes (100), '.var-len' = 'true' for lengths from 1 to it, "+
		"'.start' and '.end' of a sequence, '.null-rate' from 0 to 1, '.max-past' of random timestamps.", option.Prefix())
)

// Connector makes rows.
func Connector() *connectors.Connector { return New(time.Now) }

// New makes rows whose time columns count from now, as it is when a source is opened without a position.
func New(now func() time.Time) *connectors.Connector {
	var modes []connectors.ReadMode
	for _, m := range []connectors.ReadMode{
		{Name: "insert", Emits: change.Inserts, BeforeImages: "none", Doc: "New rows only."},
		{Name: "all", Emits: change.All, BeforeImages: "full", Doc: "Inserts, updates with the row before, deletes with the whole row."},
		{Name: "upsert", Emits: change.Upserts, BeforeImages: "none", Doc: "Inserts, updates without the row before, deletes with the whole row."},
	} {
		m.Replay = true
		m.When = []connectors.When{{Option: mode.Key, Value: m.Name}}
		endless := m
		endless.When = append(m.When[:1:1], connectors.When{Option: numberOfRows.Key, Value: ""})
		m.Bounded = true
		modes = append(modes, endless, m)
	}
	return &connectors.Connector{
		Name: "datagen",
		Doc:  "Makes random rows, sequences, or a changelog.",
		Options: []option.Decl{rowsPerSecond.Decl, numberOfRows.Decl, seed.Decl, mode.Decl, updateRatio.Decl,
			deleteRatio.Decl, keys.Decl, fields.Decl},
		ReadModes: modes,
		Validate:  validate,
		OpenSource: func(_ context.Context, r connectors.Read) (connectors.Source, error) {
			if len(r.Tables) != 1 {
				return nil, connectors.Permanent(errors.New("one datagen source makes one table"), "")
			}
			return newSource(r, now)
		},
	}
}

func atLeast(low int64) func(string) error { return between(low, 1<<62) }

func between(low, high int64) func(string) error {
	return func(text string) error {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err == nil && (n < low || n > high) {
			err = fmt.Errorf("%s is not between %d and %d", text, low, high)
		}
		return err
	}
}

func validate(t connectors.Table, _ connectors.Role) []connectors.Problem {
	var problems []connectors.Problem
	names := map[string]connectors.Column{}
	for _, c := range t.Columns {
		names[c.Name] = c
		if _, err := newField(t.Options, c); err != nil {
			problems = append(problems, problemOf(err, c))
		}
	}
	for _, key := range t.Options.Keys() {
		if rest, ok := strings.CutPrefix(key, fields.Key); ok {
			if p := checkFieldKey(key, rest, names); p != nil {
				problems = append(problems, *p)
			}
		}
	}
	if mode.Get(t.Options) == "insert" {
		for _, key := range []string{updateRatio.Key, deleteRatio.Key, keys.Key} {
			if t.Options.Has(key) {
				problems = append(problems, connectors.Problem{Option: key, Code: "unused-option",
					Message: fmt.Sprintf("option %q means nothing when 'changelog.mode' is insert", key),
					Help:    "set 'changelog.mode' = 'all' or 'upsert', or leave the option out"})
			}
		}
		return problems
	}
	return append(problems, checkChangelog(t)...)
}

func checkChangelog(t connectors.Table) []connectors.Problem {
	if updateRatio.Get(t.Options)+deleteRatio.Get(t.Options) > 1 {
		return []connectors.Problem{{Option: deleteRatio.Key, Code: "bad-value",
			Message: "the shares of updates and deletes are more than 1 together", Help: "what they leave are inserts"}}
	}
	if len(t.Key) == 0 {
		return []connectors.Problem{{Option: mode.Key, Code: "missing-key",
			Message: "a changelog needs a PRIMARY KEY: it says which row is updated",
			Help:    "declare PRIMARY KEY (...) NOT ENFORCED"}}
	}
	first := t.Columns[t.Key[0]]
	for _, setting := range []string{"min", "max", "length", "var-len", "null-rate"} {
		if option := fields.Key + first.Name + "." + setting; t.Options.Has(option) {
			return []connectors.Problem{{Option: option, Code: "unused-option",
				Message: fmt.Sprintf("column %q numbers the rows of the changelog: %q means nothing for it", first.Name, setting)}}
		}
	}
	switch first.Type.ID() {
	case arrow.INT64, arrow.INT32:
	case arrow.STRING:
		if n := declaredLength(first.SQL); n > 0 && n < 8 {
			return []connectors.Problem{{Column: first.Name, Code: "bad-key",
				Message: fmt.Sprintf("%s is too short for a key of 8 characters", first.SQL)}}
		}
	default:
		return []connectors.Problem{{Column: first.Name, Code: "bad-key",
			Message: fmt.Sprintf("the first key column is %s, which cannot number the rows", first.SQL),
			Help:    "use INT, BIGINT or STRING"}}
	}
	return nil
}
