package main

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

func setupOptions(f *flags) func(context.Context, []string, streams) int {
	markdown := f.Bool("markdown", false, "write Markdown")
	return func(_ context.Context, args []string, s streams) int {
		list := connectorList()
		if len(args) == 0 {
			writeGrid(s.out, connectorGrid(list), *markdown)
			return exitDone
		}
		for _, c := range list {
			if c.Name == args[0] || hasAlias(c, args[0]) {
				describeConnector(s.out, c, *markdown)
				return exitDone
			}
		}
		fmt.Fprintf(s.err, "syncsql options: there is no connector %q\nhelp: the connectors are %s\n", args[0], strings.Join(names(list), ", "))
		return exitRefused
	}
}

func hasAlias(c *connectors.Connector, name string) bool {
	for _, a := range c.Aliases {
		if a.Name == name {
			return true
		}
	}
	return false
}

func names(list []*connectors.Connector) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.Name
	}
	return out
}

// connectorGrid is the table of connectors, modes, kinds and guarantee classes.
func connectorGrid(list []*connectors.Connector) [][]string {
	grid := [][]string{{"connector", "direction", "mode", "when", "kinds", "key", "delivery"}}
	for _, c := range list {
		for _, m := range c.ReadModes {
			grid = append(grid, []string{c.Name, "source", m.Name, conditions(m.When, m.Name), m.Emits.String(), "", course(m)})
		}
		for _, m := range c.WriteModes {
			grid = append(grid, []string{c.Name, "sink", m.Name, guaranteed(m), m.Accepts.String(), keyRule(m.Key), string(m.Class)})
		}
	}
	return grid
}

// course is how a read goes on: it has no delivery class of its own.
func course(m connectors.ReadMode) string {
	switch {
	case m.Bounded:
		return "reads to the end"
	case m.Snapshot:
		return "copies, then streams"
	}
	return "streams"
}

// conditions are the options that select a mode, beside the one that has the mode's name as its value.
func conditions(when []connectors.When, mode string) string {
	var out []string
	for _, w := range when {
		switch w.Value {
		case mode:
		case "":
			out = append(out, "no "+w.Option)
		default:
			out = append(out, w.Option+"="+w.Value)
		}
	}
	return strings.Join(out, ", ")
}

// guaranteed are the conditions of a write mode, its delivery guarantee first.
func guaranteed(m connectors.WriteMode) string {
	var out []string
	if m.Guarantee != "" {
		out = append(out, m.Guarantee)
	}
	for _, w := range m.When {
		if w.Value != m.Guarantee && w.Value != m.Name {
			out = append(out, w.Option+"="+w.Value)
		}
	}
	return strings.Join(out, ", ")
}

func writeModeName(m connectors.WriteMode) string {
	if m.Guarantee == "" {
		return m.Name
	}
	return m.Name + ", " + m.Guarantee
}

func keyRule(k connectors.KeyRule) string {
	return [...]string{connectors.KeyIgnored: "optional", connectors.KeyRequired: "required", connectors.KeyForbidden: "none"}[k]
}

func describeConnector(w io.Writer, c *connectors.Connector, markdown bool) {
	title(w, c.Name, c.Doc, markdown)
	for _, a := range c.Aliases {
		fmt.Fprintf(w, "Also written 'connector' = '%s'.\n", a.Name)
	}
	section(w, "Modes", markdown)
	writeGrid(w, modeGrid(c), markdown)
	section(w, "Options", markdown)
	writeGrid(w, optionGrid(c), markdown)
	if len(c.Metadata) > 0 {
		section(w, "Metadata columns", markdown)
		grid := [][]string{{"key", "type", "meaning"}}
		for _, m := range c.Metadata {
			grid = append(grid, []string{m.Key, m.SQL, m.Doc})
		}
		writeGrid(w, grid, markdown)
	}
}

func modeGrid(c *connectors.Connector) [][]string {
	grid := [][]string{{"direction", "mode", "when", "kinds", "key", "delivery", "meaning"}}
	for _, m := range c.ReadModes {
		grid = append(grid, []string{"source", m.Name, conditions(m.When, m.Name), m.Emits.String(), "", course(m), m.Doc})
	}
	for _, m := range c.WriteModes {
		grid = append(grid, []string{"sink", m.Name, guaranteed(m), m.Accepts.String(), keyRule(m.Key), string(m.Class), m.Doc})
	}
	return grid
}

// optionGrid lists the options in order of their key. The modes of an option that belongs to some write modes only are named.
func optionGrid(c *connectors.Connector) [][]string {
	modes := map[string][]string{}
	for _, m := range c.WriteModes {
		for _, key := range m.Options {
			modes[key] = append(modes[key], writeModeName(m))
		}
	}
	decls := append([]option.Decl(nil), c.Options...)
	sort.SliceStable(decls, func(i, j int) bool { return decls[i].Key < decls[j].Key })
	grid := [][]string{{"option", "type", "default", "for", "meaning"}}
	for _, d := range decls {
		key, kind, def := d.Key, d.Type, d.Default
		if d.Prefix {
			key += "*"
		}
		if len(d.Values) > 0 {
			kind = strings.Join(d.Values, ", ")
		}
		switch {
		case d.Required:
			def = "(required)"
		case d.Secret:
			def = "(none; secret)"
		case def == "":
			def = "(none)"
		}
		use := d.Role
		if use == "" {
			use = "both"
		}
		if only := modes[d.Key]; len(only) > 0 {
			use += ": " + strings.Join(only, "; ")
		}
		grid = append(grid, []string{key, kind, def, use, d.Doc})
	}
	return grid
}

func title(w io.Writer, name, doc string, markdown bool) {
	if markdown {
		fmt.Fprintf(w, "# %s\n\n%s\n\n", name, doc)
		return
	}
	fmt.Fprintf(w, "%s: %s\n", name, doc)
}

func section(w io.Writer, name string, markdown bool) {
	if markdown {
		fmt.Fprintf(w, "\n## %s\n\n", name)
		return
	}
	fmt.Fprintf(w, "\n%s\n", strings.ToUpper(name[:1])+name[1:])
}

// writeGrid writes rows under a heading, as aligned text or as a Markdown table.
func writeGrid(w io.Writer, grid [][]string, markdown bool) {
	widths := make([]int, len(grid[0]))
	for _, row := range grid {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for r, row := range grid {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			switch {
			case markdown:
				b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
			case i == len(row)-1:
				b.WriteString(cell)
			default:
				b.WriteString(cell + pad + "  ")
			}
		}
		if markdown {
			b.WriteString("|")
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
		if r == 0 && markdown {
			fmt.Fprintln(w, strings.Repeat("| --- ", len(row))+"|")
		}
	}
}
