package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
)

// SQLSTATE codes that are told apart.
const (
	codeUniqueViolation   = "23505"
	codeDivisionByZero    = "22012"
	codePrivilege         = "42501"
	codeUndefinedTable    = "42P01"
	codeUndefinedColumn   = "42703"
	codeUndefinedSchema   = "3F000"
	codeCardinality       = "21000"
	codeRaised            = "P0001"
	codeCheckOption       = "44000"
	codeLimit             = "54000"
	codeNotSupported      = "0A000"
	codeReadOnly          = "25006"
	codeInvalidPassword   = "28P01"
	codeInvalidAuth       = "28000"
	codeUndefinedDatabase = "3D000"
	codeDuplicateTable    = "42P07"
	codeDependentObjects  = "2BP01"
	codeStatementTooLarge = "54001"
)

// sqlState is the code of a server's error, "" for any other error.
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// aboutRow reports whether a code is about a row's values, so that leaving the row out cures it.
func aboutRow(code string) bool {
	if code == "" {
		return false
	}
	switch code {
	case codeCardinality, codeRaised, codeCheckOption, codeLimit:
		return true
	}
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23")
}

// explain marks what a retry cannot cure, with what to do. Everything else goes through as it is.
func (t *target) explain(doing string, err error) error {
	code := sqlState(err)
	err = fmt.Errorf("%s: %w", doing, err)
	table := t.name.sql()
	switch {
	case code == codePrivilege:
		return connectors.Permanent(err, fmt.Sprintf("grant select, insert, update, delete on %s to the role", table))
	case code == codeUndefinedTable || code == codeUndefinedColumn || code == codeUndefinedSchema:
		return connectors.Permanent(err, fmt.Sprintf("the table %s is not what it was when the pipeline started: compare it with the declaration", table))
	case code == codeReadOnly:
		return connectors.Permanent(err, "the server takes no writes (a standby, or default_transaction_read_only): connect to the primary")
	case strings.HasPrefix(code, "42") || code == codeNotSupported || code == codeDependentObjects || code == codeStatementTooLarge:
		return connectors.Permanent(err, "")
	}
	return err
}

// explainConnect marks what makes every attempt to connect fail.
func explainConnect(err error) error {
	code := sqlState(err)
	if strings.HasPrefix(code, "28") || code == codeUndefinedDatabase || code == codePrivilege {
		return connectors.Permanent(err, "check the role, its password, its rights and the name of the database")
	}
	return err
}

// reason is a server's refusal of a row, for people.
func reason(err error) (text, column string) {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err.Error(), ""
	}
	text = e.Message
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text + " [SQLSTATE " + e.Code + "]", e.ColumnName
}
