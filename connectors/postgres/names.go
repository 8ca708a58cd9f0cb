package postgres

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/syncsql/syncsql/option"
)

// name is a table with its schema, both exactly as the server spells them.
type name struct{ schema, table string }

// sql is the quoted, qualified name.
func (n name) sql() string { return quoteIdent(n.schema) + "." + quoteIdent(n.table) }

func (n name) String() string { return n.schema + "." + n.table }

// tableName is the table that the options name. The planner has checked the text.
func tableName(s option.Set) (name, error) {
	return parseName(table.Get(s), schema.Get(s), s.Has(schema.Key))
}

// parseName reads "table" or "schema.table". A given schema must agree with the one in the text.
func parseName(text, inSchema string, given bool) (name, error) {
	parts, err := splitName(text)
	if err != nil {
		return name{}, err
	}
	if len(parts) == 1 {
		return name{inSchema, parts[0]}, nil
	}
	if given && parts[0] != inSchema {
		return name{}, fmt.Errorf("%q names schema %q, but 'schema-name' is %q", text, parts[0], inSchema)
	}
	return name{parts[0], parts[1]}, nil
}

// splitName splits a dotted name. A part in double quotes may hold dots, and quotes when doubled; any other part is taken
// as it stands: nothing is folded to lower case.
func splitName(text string) ([]string, error) {
	var parts []string
	for rest := text; ; {
		part, after, err := namePart(rest)
		if err != nil {
			return nil, fmt.Errorf("%q is not a table name: %w", text, err)
		}
		parts = append(parts, part)
		if after == "" {
			break
		}
		rest = after[1:]
	}
	if len(parts) > 2 {
		return nil, fmt.Errorf("%q has more than a schema and a table; put a part that holds a dot in double quotes", text)
	}
	return parts, nil
}

// namePart reads one part; after is "" or begins with the dot that follows.
func namePart(s string) (part, after string, err error) {
	if !strings.HasPrefix(s, `"`) {
		part, _, more := strings.Cut(s, ".")
		switch {
		case part == "":
			return "", "", fmt.Errorf("a part is empty")
		case strings.Contains(part, `"`):
			return "", "", fmt.Errorf("a quote stands inside a part that is not quoted")
		case strings.ContainsRune(part, 0):
			return "", "", fmt.Errorf("it holds a NUL")
		}
		if more {
			after = s[len(part):]
		}
		return part, after, nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		after = s[i+1:]
		switch {
		case b.Len() == 0:
			return "", "", fmt.Errorf("a part is empty")
		case after != "" && after[0] != '.':
			return "", "", fmt.Errorf("text follows a closing quote")
		case strings.ContainsRune(b.String(), 0):
			return "", "", fmt.Errorf("it holds a NUL")
		}
		return b.String(), after, nil
	}
	return "", "", fmt.Errorf("a quote is not closed")
}

// quoteIdent quotes an identifier for SQL and for replication commands.
func quoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// quoteLiteral quotes a text for SQL; standard_conforming_strings does not matter to it.
func quoteLiteral(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if !strings.Contains(s, `\`) {
		return quoted
	}
	return " E" + strings.ReplaceAll(quoted, `\`, `\\`)
}

// ownName makes the name of a slot or publication from a pipeline's: readable, at most 63 bytes, only what a slot name may
// hold, and different for names that differ only in what had to go.
func ownName(pipeline string) string {
	var b strings.Builder
	b.WriteString("syncsql_")
	exact := true
	for _, r := range strings.ToLower(pipeline) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			b.WriteRune(r)
			continue
		}
		b.WriteByte('_')
		exact = false
	}
	s := b.String()
	if exact && len(s) <= 63 && strings.ToLower(pipeline) == pipeline {
		return s
	}
	h := fnv.New32a()
	h.Write([]byte(pipeline))
	return fmt.Sprintf("%s_%08x", s[:min(len(s), 54)], h.Sum32())
}
