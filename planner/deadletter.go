package planner

import (
	"slices"
	"strings"

	"github.com/syncsql/syncsql/catalog"
	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/option"
)

// rowErrors finds what becomes of rows that a sink refuses: the table's own options, else the session's.
func (w *work) rowErrors(s *sink) {
	settings := w.Catalog.Settings()
	s.onError.Policy = Policy(catalog.OnRowError.Get(settings))
	own := s.options.Has(catalog.OnRowError.Key)
	if own {
		s.onError.Policy = Policy(catalog.OnRowError.Get(s.options))
	}
	table, hasTable := s.options.Lookup(catalog.DeadLetterTable.Key)
	if s.onError.Policy != DeadLetter {
		if hasTable {
			w.fail(ddl.Errorf(place(table.KeyAt, s.at), "option-of-other-mode", "option %q needs 'sink.on-row-error' = 'dead-letter', here it is '%s'",
				catalog.DeadLetterTable.Key, s.onError.Policy))
		}
		return
	}
	if !hasTable {
		table, hasTable = settings.Lookup(catalog.DeadLetterTable.Key)
	}
	if !hasTable {
		e, _ := s.options.Lookup(catalog.OnRowError.Key)
		w.fail(ddl.Errorf(place(e.KeyAt, s.at), "missing-option", "table %q: 'sink.on-row-error' = 'dead-letter' needs a table for the refused rows", s.table.Name).
			WithHelp("add '%s' = '...' with the name of a declared table", catalog.DeadLetterTable.Key))
		return
	}
	w.deadLetter(s, table)
}

func place(at, otherwise ddl.Span) ddl.Span {
	if at == (ddl.Span{}) {
		return otherwise
	}
	return at
}

// deadLetter opens the named table for plain rows: the first mode that takes +I.
func (w *work) deadLetter(s *sink, name option.Entry) {
	at := place(name.ValueAt, s.at)
	var path ddl.Path
	for part := range strings.SplitSeq(name.Text, ".") {
		path = append(path, ddl.Ident{Name: strings.Trim(part, "`"), At: at})
	}
	t, ok := w.Catalog.Table(path)
	if !ok {
		w.fail(w.Catalog.Unknown(path))
		return
	}
	d := w.declare(t, nil)
	if t.Broken || d.connector == nil {
		if !t.Broken {
			w.errs = append(w.errs, w.checkConnector(&d)...)
		}
		return
	}
	if t == s.table {
		w.fail(ddl.Errorf(at, "bad-option", "table %q cannot take its own refused rows", t.Name))
		return
	}
	before := len(w.errs)
	w.errs = append(w.errs, d.check("sink")...)
	if len(w.errs) == before {
		w.errs = append(w.errs, d.report(d.validate(connectors.Writing))...)
	}
	if len(w.errs) > before {
		return
	}
	dead := &sink{declared: d, at: at}
	w.deadLetterColumns(dead)
	for _, m := range w.candidates(dead) {
		if keyFits(m.Key, len(t.Key) > 0) && m.Accepts.Has(change.Insert) {
			s.onError.DeadLetter = &Sink{Connector: d.connector, Table: d.asTable(storedColumns(t), m.Name, m.Guarantee), Mode: *m, OnError: OnError{Policy: Fail}}
			return
		}
	}
	if len(w.errs) == before {
		w.fail(ddl.Errorf(at, "cannot-write", "table %q cannot take refused rows: no mode of connector %q takes its inserts", t.Name, d.connector.Name))
	}
}

// letters are the columns that a dead letter can fill, as exec documents them.
var letters = []string{"pipeline", "table_name", "kind", "key", "column_name", "reason", "row", "position", "failed_at", "table", "column", "row_json"}

func (w *work) deadLetterColumns(s *sink) {
	for _, i := range storedColumns(s.table) {
		c := s.table.Columns[i]
		if !slices.Contains(letters, c.Name.Name) {
			w.fail(ddl.Errorf(c.Name.At, "unknown-column", "column %q of table %q is not one that a refused row can fill", c.Name.Name, s.table.Name).
				WithHelp("use any of %s", strings.Join(letters[:9], ", ")))
			continue
		}
		text := c.Type.Kind == ddl.Varchar || c.Type.Kind == ddl.Char
		moment := c.Name.Name == "failed_at" && (c.Type.Kind == ddl.Timestamp || c.Type.Kind == ddl.TimestampLTZ)
		if !text && !moment {
			w.fail(ddl.Errorf(c.Name.At, "type-mismatch", "column %q of table %q is %s, which a refused row cannot fill", c.Name.Name, s.table.Name, plain(c.Type)).
				WithHelp("declare it as STRING"))
		}
	}
}
