package sqllogic

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver that rows sqlite:FILE:TABLE looks with

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/all"
	"github.com/syncsql/syncsql/connectors/memory"
)

// NewWorld is the world of a script: every connector, a memory database of its own, and the files in dir.
func NewWorld(dir string) World {
	db := memory.NewDB()
	return World{
		Connectors: all.List(db),
		Services: map[string]Service{
			"memory": {
				Rows:  func(_ context.Context, table string) ([][]string, error) { return memoryRows(db, table), nil },
				Feed:  func(table string, columns, changes []string) error { return feed(db, table, columns, changes) },
				Fault: func(rpc, code string, times int, after bool) error { return memoryFault(db, rpc, code, times, after) },
			},
			"sqlite": {Rows: func(ctx context.Context, at string) ([][]string, error) { return sqliteRows(ctx, dir, at) }},
			"file":   {Rows: func(_ context.Context, at string) ([][]string, error) { return fileRows(dir, at) }},
		},
	}
}

func memoryRows(db *memory.DB, table string) [][]string {
	_, rows := db.Rows(table)
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, v := range row {
			switch v {
			case nil:
				out[i] = append(out[i], "NULL")
			case "NULL":
				out[i] = append(out[i], "'NULL'")
			default:
				out[i] = append(out[i], fmt.Sprint(v))
			}
		}
	}
	return out
}

// feed appends changes such as "+I 1 apple 'red apple' NULL": one per line, a value per column. UNSENT is a value that
// the source did not send.
func feed(db *memory.DB, table string, columns, lines []string) error {
	kinds := map[string]change.Kind{}
	for k := change.Insert; k <= change.Delete; k++ {
		kinds[k.String()] = k
	}
	changes := make([]memory.Change, len(lines))
	for i, line := range lines {
		words, err := words(line)
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		kind, ok := kinds[words[0].text]
		if !ok {
			return fmt.Errorf("%q begins with no kind: +I, -U, +U or -D", line)
		}
		c := memory.Change{Kind: kind}
		for _, w := range words[1:] {
			switch {
			case w.quoted:
				c.Row = append(c.Row, w.text)
			case w.text == "NULL":
				c.Row = append(c.Row, nil)
			case w.text == "UNSENT":
				c.Row = append(c.Row, memory.Unsent)
			default:
				c.Row = append(c.Row, w.text)
			}
		}
		if len(c.Row) != len(columns) {
			return fmt.Errorf("%q has %d values, the table %d columns (%s)", line, len(c.Row), len(columns), strings.Join(columns, ", "))
		}
		changes[i] = c
	}
	return db.Feed(table, columns, changes...)
}

type word struct {
	text   string
	quoted bool
}

// words cuts a line at spaces; a word between single quotes may hold spaces and the escapes of Go, and doubles its quotes.
// It reads what Show writes.
func words(line string) ([]word, error) {
	var out []word
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" {
			if len(out) == 0 {
				return nil, errors.New("an empty line")
			}
			return out, nil
		}
		if line[0] != '\'' {
			end := strings.IndexAny(line, " \t")
			if end < 0 {
				end = len(line)
			}
			out = append(out, word{text: line[:end]})
			line = line[end:]
			continue
		}
		end := 1
		for end < len(line) && (line[end] != '\'' || strings.HasPrefix(line[end:], "''")) {
			if line[end] == '\'' || line[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(line) {
			return nil, errors.New("a quote is not closed")
		}
		inner := strings.ReplaceAll(line[1:end], "''", "'")
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(inner, `"`, `\"`) + `"`)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line[:end+1], err)
		}
		out = append(out, word{text, true})
		line = line[end+1:]
	}
}

// memoryFault knows the codes that a connector tells apart: one that passes, one that does not.
func memoryFault(db *memory.DB, rpc, code string, times int, after bool) error {
	switch code {
	case "unavailable":
		return db.Fault(rpc, times, after, errors.New("the memory service is unavailable"))
	case "denied":
		return db.Fault(rpc, times, after, connectors.Permanent(errors.New("the memory service denies the request"), ""))
	}
	return fmt.Errorf("unknown code %q: it is unavailable or denied", code)
}

// sqliteRows reads FILE:TABLE below dir with a connection of its own.
func sqliteRows(ctx context.Context, dir, at string) ([][]string, error) {
	file, table, ok := strings.Cut(at, ":")
	if !ok {
		return nil, fmt.Errorf("%q is not FILE:TABLE", at)
	}
	path := filepath.Join(dir, file)
	if _, err := os.Stat(path); err != nil {
		return nil, err // opening would make an empty database
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT * FROM "`+strings.ReplaceAll(table, `"`, `""`)+`"`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out [][]string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			if row[i] = v.String; !v.Valid {
				row[i] = "NULL"
			}
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// fileRows are the lines of all files below a folder, in the order of their names.
func fileRows(dir, at string) ([][]string, error) {
	var out [][]string
	err := filepath.WalkDir(filepath.Join(dir, at), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			out = append(out, []string{lines.Text()})
		}
		return lines.Err()
	})
	return out, err
}
