package connectortest

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// Case is one connector and what the suite has to know about it.
type Case struct {
	Connector *connectors.Connector
	// Columns of the tables; nil means Columns(). The first two are the key of tables that have one.
	Columns []connectors.Column
	Holds   Holds

	// Target makes a fresh, empty place for a table that is written with a mode. Nil: writing is not tested.
	Target func(t *testing.T, mode connectors.WriteMode, table connectors.Table) Target
	// Load makes a fresh place and brings the changes of log into it, so that reading with the mode gives them. It returns
	// the options to read with. It returns rows when the system makes its own and takes none (a generator). Nil: reading
	// is not tested.
	Load func(t *testing.T, mode connectors.ReadMode, table connectors.Table, log *Changelog) Loaded

	// SkipMode leaves a mode out; the reason goes to the test's log. For modes that another Case of the package covers.
	SkipMode func(name, guarantee string) string
}

// Target is a place to write to.
type Target struct {
	Options map[string]string
	// Rows reads what the place holds now, past the connector where possible. Where a keyed mode leaves the kind of a row
	// open, it is Insert. Nil: the place cannot be read back.
	Rows func(t *testing.T) []Row
}

// Loaded is a place to read from.
type Loaded struct {
	Options map[string]string
	// Want are the rows that were brought in; nil when the first complete read is the measure.
	Want []Row
}

// Run checks every mode of the connector.
func Run(t *testing.T, c Case) {
	t.Helper()
	if c.Columns == nil {
		c.Columns = Columns()
	}
	checkDeclaration(t, c.Connector)
	if c.Target != nil {
		for _, mode := range c.Connector.WriteModes {
			t.Run("write/"+title(mode), func(t *testing.T) {
				if c.skip(t, mode.Name, mode.Guarantee) {
					return
				}
				newWriting(t, c, mode).run(t)
			})
		}
	}
	if c.Load != nil {
		for i, mode := range c.Connector.ReadModes {
			t.Run(readTitle(c.Connector.ReadModes, i), func(t *testing.T) {
				if c.skip(t, mode.Name, "") {
					return
				}
				newReading(c, mode).run(t)
			})
		}
	}
}

func (c *Case) skip(t *testing.T, name, guarantee string) bool {
	if c.SkipMode == nil {
		return false
	}
	why := c.SkipMode(name, guarantee)
	if why != "" {
		t.Log("covered elsewhere:", why)
	}
	return why != ""
}

func title(m connectors.WriteMode) string {
	s := m.Name
	for _, w := range m.When {
		s += "," + w.Option + "=" + w.Value
	}
	if m.Guarantee != "" {
		s += "," + m.Guarantee
	}
	return s
}

func readTitle(modes []connectors.ReadMode, i int) string {
	s := "read/" + modes[i].Name
	for _, w := range modes[i].When {
		s += "," + w.Option + "=" + w.Value
	}
	return s
}

// checkDeclaration finds contradictions in the data that the planner decides on.
func checkDeclaration(t *testing.T, c *connectors.Connector) {
	t.Helper()
	declared := map[string]bool{}
	for _, d := range c.Options {
		if declared[d.Key] {
			t.Errorf("option %q is declared twice", d.Key)
		}
		if d.Doc == "" {
			t.Errorf("option %q has no doc", d.Key)
		}
		declared[d.Key] = true
		if d.Default != "" {
			if err := d.Validate(d.Default); err != nil {
				t.Errorf("option %q: default: %v", d.Key, err)
			}
		}
	}
	known := func(where string, whens []connectors.When, keys []string) {
		for _, w := range whens {
			keys = append(keys, w.Option)
		}
		for _, k := range keys {
			if !declared[k] {
				t.Errorf("mode %q names option %q, which is not declared", where, k)
			}
		}
	}
	for _, m := range c.ReadModes {
		known(m.Name, m.When, nil)
		if m.Emits == 0 || m.Doc == "" {
			t.Errorf("read mode %q lacks kinds or doc", m.Name)
		}
	}
	for _, m := range c.WriteModes {
		known(m.Name, m.When, m.Options)
		if m.Accepts == 0 || m.Doc == "" || m.Class == "" {
			t.Errorf("write mode %q lacks kinds, class or doc", m.Name)
		}
		if m.Guarantee != "" && !declared["sink.delivery-guarantee"] {
			t.Errorf("mode %q has a guarantee, but 'sink.delivery-guarantee' is not declared", m.Name)
		}
	}
	if (len(c.ReadModes) > 0) != (c.OpenSource != nil) || (len(c.WriteModes) > 0) != (c.OpenSink != nil) {
		t.Error("modes and open functions disagree")
	}
}

// table makes the declaration of a table with these options and what the mode's conditions ask.
func table(cols []connectors.Column, key []int, whens []connectors.When, options map[string]string) connectors.Table {
	pairs := map[string]string{}
	for _, w := range whens {
		if w.Value != "" {
			pairs[w.Option] = w.Value
		}
	}
	for k, v := range options {
		pairs[k] = v
	}
	return connectors.Table{Name: "t", Columns: cols, Key: key, Options: option.SetOf(pairs)}
}

// checked is an allocator that must have got everything back when the test ends.
func checked(t *testing.T) *memory.CheckedAllocator {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}
