package session

import (
	"fmt"
	"testing"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/all"
	"github.com/syncsql/syncsql/connectors/memory"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/option"
)

// TestConnectors checks what the planner relies on in the lists of every connector.
func TestConnectors(t *testing.T) {
	classes := map[connectors.Class]bool{connectors.Transactional: true, connectors.TwoPhase: true, connectors.SequenceDedup: true,
		connectors.UpsertClass: true, connectors.WindowedDedup: true, connectors.FileClass: true, connectors.AppendOnly: true}
	for _, c := range all.List(memory.NewDB()) {
		for _, m := range c.Metadata {
			if err := metadataFits(m); err != nil {
				t.Errorf("%s: metadata %s: %v", c.Name, m.Key, err)
			}
		}
		known := func(mode string, when []connectors.When) {
			for _, w := range when {
				if d := option.Find(c.Options, w.Option); d == nil || w.Value != "" && d.Validate(w.Value) != nil {
					t.Errorf("%s: mode %s hangs on %s = %s, which cannot be set", c.Name, mode, w.Option, w.Value)
				}
			}
		}
		for _, m := range c.ReadModes {
			known(m.Name, m.When)
			if m.Emits.Has(change.UpdateBefore) != (m.BeforeImages == "full") {
				t.Errorf("%s: mode %s emits %s with %q before-images", c.Name, m.Name, m.Emits, m.BeforeImages)
			}
		}
		for _, m := range c.WriteModes {
			known(m.Name, m.When)
			if !classes[m.Class] {
				t.Errorf("%s: mode %s has no delivery class", c.Name, m.Name)
			}
			for _, key := range m.Options {
				if option.Find(c.Options, key) == nil {
					t.Errorf("%s: mode %s lists the option %s, which is not declared", c.Name, m.Name, key)
				}
			}
		}
	}
}

// metadataFits: the type is one that SQL has, and is carried like the declared one.
func metadataFits(m connectors.MetadataColumn) error {
	if _, err := catalog.SQLType(m.Type); err != nil {
		return err
	}
	stmts, errs := ddl.Parse("CREATE TABLE t (c " + m.SQL + ")")
	if len(errs) > 0 {
		return errs
	}
	declared, err := catalog.ArrowType(stmts[0].(*ddl.CreateTable).Columns[0].Type)
	if err == nil && fmt.Sprint(declared) != fmt.Sprint(m.Type) {
		return fmt.Errorf("declared %s, carried by %s", m.SQL, m.Type)
	}
	return err
}
