package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncsql/syncsql/ddl"
)

// run applies a script and returns the complaints and warnings.
func run(t *testing.T, c *Catalog, script string) (errs, warnings []string) {
	t.Helper()
	stmts, parse := ddl.Parse(script)
	if len(parse) > 0 {
		t.Fatalf("%s: %v", script, parse)
	}
	for _, s := range stmts {
		e, w := c.Apply(s)
		for _, x := range e {
			if x.Span.End <= x.Span.Start || x.Span.End > len(script) {
				t.Errorf("%v has the span %v", x, x.Span)
			}
			text := x.Error()
			if x.Help != "" {
				text += " / " + x.Help
			}
			errs = append(errs, text)
		}
		for _, x := range w {
			warnings = append(warnings, x.Error())
		}
	}
	return errs, warnings
}

const base = `CREATE TABLE base (id BIGINT, name STRING, up AS UPPER(name), at TIMESTAMP_LTZ(3) METADATA FROM 'ts' VIRTUAL,
  WATERMARK FOR at AS at, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (name) WITH ('connector' = 'memory', 'a' = '1');`

func TestCreateTable(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"good":             {base, nil},
		"twice":            {base + base, []string{`table "base" is declared already [table-exists] / drop it first, or write CREATE ... IF NOT EXISTS`}},
		"if not exists":    {base + "CREATE TABLE IF NOT EXISTS base (x INT) WITH ('connector' = 'memory');", nil},
		"temporary hides":  {base + "CREATE TEMPORARY TABLE base (x INT) WITH ('connector' = 'memory'); DROP TABLE base; DROP TABLE base;", nil},
		"duplicate column": {"CREATE TABLE t (a INT, a INT) WITH ('connector' = 'memory');", []string{`column "a" is declared twice [duplicate-column]`}},
		"enforced":         {"CREATE TABLE t (a INT, PRIMARY KEY (a)) WITH ('connector' = 'memory');", []string{`a PRIMARY KEY cannot be enforced by syncsql [enforced-key] / write PRIMARY KEY (a) NOT ENFORCED`}},
		"key of nothing":   {"CREATE TABLE t (name INT, PRIMARY KEY (nmae) NOT ENFORCED) WITH ('connector' = 'memory');", []string{`PRIMARY KEY names column "nmae", which table "t" does not have [unknown-column] / did you mean "name"?`}},
		"computed key":     {"CREATE TABLE t (a INT, b AS a + 1, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'memory');", []string{`column "b" is not stored, so it cannot be part of the PRIMARY KEY [bad-key]`}},
		"option twice":     {"CREATE TABLE t (a INT) WITH ('x' = '1', 'x' = '2');", []string{`option "x" is set twice [duplicate-option]`}},
		"like nothing":     {base + "CREATE TABLE t LIKE bsae;", []string{`table "bsae" is not declared [unknown-table] / did you mean "base"?`}},
		"drop nothing":     {"DROP TABLE nothing;", []string{`table "nothing" is not declared [unknown-table] / write DROP TABLE IF EXISTS when it may be missing`}},
		"drop if exists":   {"DROP TABLE IF EXISTS nothing; DROP VIEW IF EXISTS nothing; DROP FUNCTION IF EXISTS nothing;", nil},
		"drop the wrong":   {base + "DROP VIEW base;", []string{`"base" is a table, not a view [unknown-table] / write DROP TABLE base`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := run(t, &Catalog{}, c.script); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// C158, first half: key columns are NOT NULL by themselves.
func TestC158_key_columns_are_not_null(t *testing.T) {
	c := &Catalog{}
	run(t, c, base)
	table, _ := c.Table(ddl.Path{{Name: "base"}})
	if !table.Columns[0].Type.NotNull || table.Columns[1].Type.NotNull {
		t.Error("id is nullable, or name is not")
	}
	if table.Statement.Columns[0].Type.NotNull {
		t.Error("the statement itself was changed")
	}
}

func TestLike(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		errs   []string
		want   string // columns, key, partitions, options
	}{
		"everything":            {"CREATE TABLE t (x INT) WITH ('a' = '2') LIKE base;", nil, "id name up at x | [id] [1] wm | a=2 connector=memory"},
		"excluding all":         {"CREATE TABLE t (x INT) WITH ('a' = '2') LIKE base (EXCLUDING ALL);", nil, "id name x | [] [] | a=2"},
		"excluding all but":     {"CREATE TABLE t (x INT) LIKE base (EXCLUDING ALL INCLUDING GENERATED);", nil, "id name up x | [] [] | "},
		"including options":     {"CREATE TABLE t (x INT) WITH ('a' = '2') LIKE base (INCLUDING OPTIONS);", []string{`option "a" exists already in table "base" [duplicate-option] / write LIKE base (OVERWRITING OPTIONS) to replace it`}, ""},
		"own key":               {"CREATE TABLE t (PRIMARY KEY (name) NOT ENFORCED) LIKE base (EXCLUDING CONSTRAINTS);", nil, "id name up at | [name] [1] wm | a=1 connector=memory"},
		"two keys":              {"CREATE TABLE t (PRIMARY KEY (name) NOT ENFORCED) LIKE base;", []string{`table "base" already has a PRIMARY KEY [bad-like] / write LIKE base (EXCLUDING CONSTRAINTS) to replace it`}, ""},
		"column again":          {"CREATE TABLE t (name INT) LIKE base;", []string{`column "name" exists already in table "base" [duplicate-column]`}, ""},
		"overwriting generated": {"CREATE TABLE t (up AS LOWER(name)) LIKE base (OVERWRITING GENERATED);", nil, "id name up at | [id] [1] wm | a=1 connector=memory"},
		"overwriting all":       {"CREATE TABLE t LIKE base (OVERWRITING ALL);", []string{`OVERWRITING ALL does not exist [bad-like] / write INCLUDING ALL, EXCLUDING ALL, or OVERWRITING of OPTIONS, GENERATED, METADATA or WATERMARKS`}, ""},
		"excluding watermarks":  {"CREATE TABLE t LIKE base (EXCLUDING WATERMARKS EXCLUDING PARTITIONS);", nil, "id name up at | [id] [] | a=1 connector=memory"},
	} {
		t.Run(name, func(t *testing.T) {
			cat := &Catalog{}
			run(t, cat, base)
			errs, _ := run(t, cat, c.script)
			if !slices.Equal(errs, c.errs) {
				t.Errorf("got  %q\nwant %q", errs, c.errs)
			}
			if table, ok := cat.Table(ddl.Path{{Name: "t"}}); !ok {
				t.Error("the table is not kept")
			} else if got := summary(table); len(c.errs) == 0 && got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			} else if table.Broken != (len(c.errs) > 0) {
				t.Errorf("broken is %v", table.Broken)
			}
		})
	}
}

func summary(t *Table) string {
	var columns, options []string
	for _, c := range t.Columns {
		columns = append(columns, c.Name.Name)
	}
	for _, k := range t.Options.Keys() {
		e, _ := t.Options.Lookup(k)
		options = append(options, k+"="+e.Text)
	}
	watermark := ""
	if t.Statement.Watermark != nil {
		watermark = "wm "
	}
	return fmt.Sprintf("%s | %v %v %s| %s", strings.Join(columns, " "), t.KeyNames(), t.PartitionedBy, watermark, strings.Join(options, " "))
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		script         string
		errs, warnings []string
	}{
		"good":          {"SET 'batch.rows' = '500'; SET 'batch.wait' = '1 s'; RESET 'batch.rows'; RESET;", nil, nil},
		"bad":           {"SET 'batch.rows' = '0';", []string{`setting "batch.rows": "0" is not greater than 0 [bad-setting] / Rows that close a micro-batch.`}, nil},
		"bad word":      {"SET 'sink.on-row-error' = 'skp';", []string{`setting "sink.on-row-error": "skp" is not one of fail, dead-letter, skip [bad-setting] / did you mean "skip"?`}, nil},
		"bad zone":      {"SET 'table.local-time-zone' = 'Mars/Base';", []string{`setting "table.local-time-zone": "Mars/Base" is not a time zone such as 'UTC' or 'Europe/Berlin' [bad-setting] / Zone of TIMESTAMP_LTZ in text and of the current date and time.`}, nil},
		"drop nulls":    {"SET 'table.exec.sink.not-null-enforcer' = 'drop';", []string{`setting "table.exec.sink.not-null-enforcer": "drop" is not one of error [bad-setting] / to drop such rows, write SET 'sink.on-row-error' = 'skip': they are counted`}, nil},
		"Flink's":       {"SET 'execution.checkpointing.mode' = 'EXACTLY_ONCE'; SET 'parallelism.default' = '2';", nil, []string{`"execution.checkpointing.mode" is a setting of Flink that changes nothing here [ignored-setting]`, `"parallelism.default" is a setting of Flink that changes nothing here [ignored-setting]`}},
		"slip":          {"SET 'execution.checkpointing.intervall' = '1 s';", []string{`unknown setting "execution.checkpointing.intervall" [unknown-setting] / did you mean "execution.checkpointing.interval"?`}, nil},
		"slip before":   {"SET 'execution.chekpointing.interval' = '1 s';", []string{`unknown setting "execution.chekpointing.interval" [unknown-setting] / did you mean "execution.checkpointing.interval"?`}, nil},
		"unknown":       {"SET 'zebra' = '1';", []string{`unknown setting "zebra" [unknown-setting] / SET without a key lists the settings`}, nil},
		"unknown reset": {"RESET 'zebra';", []string{`unknown setting "zebra" [unknown-setting] / SET without a key lists the settings`}, nil},
		"older name":    {"SET 'restart-strategy' = 'none';", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			errs, warnings := run(t, &Catalog{}, c.script)
			if !slices.Equal(errs, c.errs) || !slices.Equal(warnings, c.warnings) {
				t.Errorf("got  %q %q\nwant %q %q", errs, warnings, c.errs, c.warnings)
			}
		})
	}
	c := &Catalog{}
	run(t, c, "SET 'batch.wait' = '3 s'; SET 'restart-strategy' = 'none'; SET 'execution.checkpointing.interval' = '5 s'; RESET 'execution.checkpointing.interval';")
	if BatchWait.Get(c.Settings()) != 3*time.Second || Restart.Get(c.Settings()) != "none" || CheckpointInterval.Get(c.Settings()) != 0 {
		t.Error("a setting is not read as it was set")
	}
	for i := range Settings {
		if d := &Settings[i]; d.Default != "" && d.Validate(d.Default) != nil {
			t.Errorf("the default of %s is not valid", d.Key)
		}
	}
}
