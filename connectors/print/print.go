// Package print writes every change as a line such as "+I[1, apple]" to standard output or standard error.
//
// It must never change the order of the changes and never hold a line back after Write has returned.
package print

import (
	"context"
	"io"
	"os"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

var (
	identifier = option.String("print-identifier", "Text that begins every line, followed by '> '.", option.Sink())
	toStderr   = option.Bool("standard-error", "Write to standard error instead of standard output.", option.Default("false"),
		option.Sink())
)

// Connector prints to the standard streams of the process.
func Connector() *connectors.Connector { return New(os.Stdout, os.Stderr) }

// New prints to these writers. Each batch is one call of Write.
func New(stdout, stderr io.Writer) *connectors.Connector {
	return &connectors.Connector{
		Name:    "print",
		Doc:     "Writes every change as a line to standard output or standard error.",
		Options: []option.Decl{identifier.Decl, toStderr.Decl},
		WriteModes: []connectors.WriteMode{{
			Name: "append", Accepts: change.All, Key: connectors.KeyIgnored, Class: connectors.AppendOnly,
			PartialRows: true, NeedsBefore: true,
			Doc: "One line per change; a value that the source did not send is printed as <unsent>.",
		}},
		OpenSink: func(_ context.Context, w connectors.Write) (connectors.Sink, error) {
			s := &sink{out: stdout}
			if toStderr.Get(w.Table.Options) {
				s.out = stderr
			}
			if id := identifier.Get(w.Table.Options); id != "" {
				text, err := option.Reveal(id)
				if err != nil {
					return nil, err
				}
				s.prefix = text + "> "
			}
			return s, nil
		},
	}
}
