package postgres

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/connectors"
)

// validate checks what one declaration says against itself.
func validate(t connectors.Table, role connectors.Role) []connectors.Problem {
	problems := validateServer(t)
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Metadata == "" && !carries(c.Type) {
			problems = append(problems, connectors.Problem{
				Column: c.Name, Code: "unsupported-type",
				Message: fmt.Sprintf("no Postgres type carries %s", c.SQL),
				Help:    "declare the column STRING and hold its text or JSON",
			})
		}
	}
	if role == connectors.Reading {
		problems = append(problems, validateReading(t)...)
	}
	return problems
}

func validateServer(t connectors.Table) []connectors.Problem {
	var problems []connectors.Problem
	if !t.Options.Has(address.Key) {
		for _, key := range []string{hostname.Key, database.Key} {
			if !t.Options.Has(key) {
				problems = append(problems, connectors.Problem{
					Code: "missing-option", Message: fmt.Sprintf("option %q is missing", key),
					Help: fmt.Sprintf("set '%s', or a '%s'", key, address.Key),
				})
			}
		}
	} else if t.Options.Has(hostname.Key) || t.Options.Has(port.Key) {
		problems = append(problems, connectors.Problem{
			Option: address.Key, Code: "option-conflict",
			Message: "'url' already says the server that 'hostname' and 'port' name", Help: "keep one of the two",
		})
	}
	if t.Options.Has(table.Key) {
		if _, err := tableName(t.Options); err != nil {
			problems = append(problems, connectors.Problem{Option: table.Key, Code: "bad-value", Message: err.Error()})
		}
	}
	return problems
}

// validateReading refuses what would make a change that nobody can apply.
func validateReading(t connectors.Table) []connectors.Problem {
	var problems []connectors.Problem
	mode, identity, log := scanMode.Get(t.Options), replicaIdentity.Get(t.Options), changelogMode.Get(t.Options)
	if mode == "snapshot" || log == "append" || len(t.Key) > 0 {
		return nil
	}
	if identity == "default" || identity == "index" {
		problems = append(problems, connectors.Problem{
			Code: "missing-key",
			Message: fmt.Sprintf("table %q has no PRIMARY KEY, but with 'replica-identity' = '%s' a delete is known by its key only",
				t.Name, identity),
			Help: "declare PRIMARY KEY (…) NOT ENFORCED; or set 'replica-identity' to 'full', or to 'nothing' or 'changelog.mode' = 'append' for inserts only",
		})
	}
	if log == "upsert" {
		problems = append(problems, connectors.Problem{
			Option: changelogMode.Key, Code: "missing-key",
			Message: fmt.Sprintf("'changelog.mode' = 'upsert' needs a PRIMARY KEY, and table %q has none", t.Name),
			Help:    "declare PRIMARY KEY (…) NOT ENFORCED, or remove the option",
		})
	}
	return problems
}

// carries reports whether some Postgres type holds the values of an Arrow type.
func carries(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.FLOAT32, arrow.FLOAT64, arrow.DECIMAL128,
		arrow.STRING, arrow.BINARY, arrow.DATE32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION, arrow.INTERVAL_MONTHS:
		return true
	case arrow.LIST:
		elem := t.(*arrow.ListType).Elem()
		return elem.ID() != arrow.LIST && carries(elem)
	}
	return false
}
