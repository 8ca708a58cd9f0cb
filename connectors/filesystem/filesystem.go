// Package filesystem reads files once and writes new ones: CSV, JSON lines, a JSON changelog, and Parquet.
//
// It must never change a file that is visible: rows go to a hidden file, which gets its final name when the checkpoint that
// covers its rows has been saved.
package filesystem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

const (
	formatCSV       = "csv"
	formatJSON      = "json"
	formatParquet   = "parquet"
	formatChangelog = "changelog-json"
)

var (
	path = option.String("path", "A directory. For reading also a file, or a pattern such as '/data/*.csv'; files whose names "+
		"begin with '.' or '_' are not read.", option.Required())
	format = option.Enum("format", "How rows are written in a file. json: one object per line. changelog-json: one line "+
		`{"op":"+U","data":{...},"unsent":[...]} per change.`, []string{formatCSV, formatJSON, formatParquet, formatChangelog},
		option.Required())
	csvDelimiter = option.String("csv.field-delimiter", `The character between two fields; '\t' is a tab.`, option.Default(","),
		option.Check(character))
	csvQuote = option.String("csv.quote-character", "The character around a field that holds delimiters or line ends.",
		option.Default(`"`), option.Check(character))
	csvNull = option.String("csv.null-literal", "The unquoted text that stands for NULL; by default nothing at all, and an empty "+
		"string is written with quotes.")
	csvIgnore = option.Bool("csv.ignore-parse-errors", "Leave out rows that cannot be read, instead of handing them to the row "+
		"error policy.", option.Default("false"), option.Source())
	jsonIgnore = option.Bool("json.ignore-parse-errors", "Leave out rows that cannot be read, instead of handing them to the row "+
		"error policy.", option.Default("false"), option.Source())
	jsonMissing = option.Bool("json.fail-on-missing-field", "Whether a field that is missing is an error, or NULL.",
		option.Default("false"), option.Source())
	jsonTimes = option.Enum("json.timestamp-format.standard", "SQL writes '2024-05-06 07:08:09', ISO-8601 "+
		"'2024-05-06T07:08:09'; both are read.", []string{"SQL", "ISO-8601"}, option.Default("SQL"))
	fileSize = option.Bytes("sink.rolling-policy.file-size", "The size after which the next file is begun, also between "+
		"checkpoints.", option.Default("128 mb"), option.Sink())
)

// Connector reads and writes files.
func Connector() *connectors.Connector {
	c := &connectors.Connector{
		Name: "filesystem",
		Doc:  "Reads and writes files: CSV, JSON lines, a JSON changelog, Parquet.",
		Options: []option.Decl{path.Decl, format.Decl, csvDelimiter.Decl, csvQuote.Decl, csvNull.Decl, csvIgnore.Decl,
			jsonIgnore.Decl, jsonMissing.Decl, jsonTimes.Decl, fileSize.Decl},
		Validate:  validate,
		Preflight: preflight,
		OpenSource: func(_ context.Context, r connectors.Read) (connectors.Source, error) {
			if len(r.Tables) != 1 {
				return nil, connectors.Permanent(errors.New("one filesystem source reads one table"), "")
			}
			return openSource(r)
		},
		OpenSink: func(_ context.Context, w connectors.Write) (connectors.Sink, error) { return openSink(w) },
	}
	for _, f := range format.Values {
		read := connectors.ReadMode{Name: "files", Emits: change.Inserts, Bounded: true, BeforeImages: "none", Replay: true,
			Doc: "Reads the files that are there when reading begins, in the order of their names."}
		write := connectors.WriteMode{Name: "append", Accepts: change.Inserts, Key: connectors.KeyIgnored,
			Class: connectors.FileClass, Staged: true,
			Doc: "New files at each checkpoint; nothing of them is visible before it is saved."}
		if f == formatChangelog {
			read.Name, read.Emits, read.BeforeImages = "changelog", change.All, "full"
			read.Doc = "Reads the changes in the files that are there when reading begins."
			write.Name, write.Accepts, write.PartialRows, write.NeedsBefore = "changelog", change.All, true, true
			write.Doc = "Every change with its kind; values that the source did not send are absent, and listed."
		}
		read.When = []connectors.When{{Option: format.Key, Value: f}}
		write.When = read.When
		c.ReadModes = append(c.ReadModes, read)
		c.WriteModes = append(c.WriteModes, write)
	}
	return c
}

func character(text string) error {
	if _, ok := oneByte(text); !ok {
		return fmt.Errorf("%q is not one ASCII character", text)
	}
	return nil
}

func oneByte(text string) (byte, bool) {
	if text == `\t` {
		return '\t', true
	}
	if len(text) != 1 || text[0] >= utf8.RuneSelf || text[0] == '\n' || text[0] == '\r' {
		return 0, false
	}
	return text[0], true
}

func validate(t connectors.Table, role connectors.Role) []connectors.Problem {
	var problems []connectors.Problem
	bad := func(option, code, help, message string, args ...any) {
		problems = append(problems, connectors.Problem{Option: option, Code: code, Help: help, Message: fmt.Sprintf(message, args...)})
	}
	f := format.Get(t.Options)
	for _, key := range t.Options.Keys() {
		belongs, _, ok := strings.Cut(key, ".")
		if !ok || belongs != formatCSV && belongs != formatJSON || belongs == f || belongs == formatJSON && f == formatChangelog {
			continue
		}
		bad(key, "unused-option", "remove it", "option %q means nothing for format %s", key, f)
	}
	if p := path.Get(t.Options); !option.HasReference(p) {
		if scheme, _, ok := strings.Cut(p, "://"); ok && scheme != "file" {
			bad(path.Key, "bad-value", "use a path of this machine", "there is no file system %q", scheme)
		}
		if role == connectors.Writing && isPattern(p) {
			bad(path.Key, "bad-value", "name a directory", "%q is a pattern, which can only be read", p)
		}
	}
	if f == formatCSV {
		c := newCSV(t.Options)
		switch {
		case c.delimiter == c.quote:
			bad(csvQuote.Key, "option-conflict", "", "the delimiter and the quote character are the same")
		case strings.ContainsAny(c.null, string([]byte{c.delimiter, c.quote, '\n', '\r'})):
			bad(csvNull.Key, "bad-value", "", "the literal for NULL holds a delimiter, a quote or a line end")
		}
	}
	if len(t.PartitionedBy) > 0 {
		problems = append(problems, connectors.Problem{Column: t.Columns[t.PartitionedBy[0]].Name, Code: "unsupported-partitioning",
			Message: "the filesystem connector keeps all files in one directory", Help: "remove PARTITIONED BY"})
	}
	for _, c := range t.Columns {
		if f == formatParquet && hasInterval(c.Type) {
			problems = append(problems, connectors.Problem{Column: c.Name, Code: "unsupported-type",
				Message: "Parquet has no type for " + c.SQL, Help: "cast it to BIGINT"})
		}
	}
	return problems
}

func hasInterval(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.MonthIntervalType, *arrow.DurationType:
		return true
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if hasInterval(f.Type) {
				return true
			}
		}
	}
	return false
}
