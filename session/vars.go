package session

import (
	"regexp"
	"strings"

	"github.com/syncsql/syncsql/ddl"
)

// cut is one piece of text that was replaced: [from, to) of the user's text stands at [at, at+size) of the expanded text.
type cut struct{ from, to, at, size int }

// variable is '${NAME}' inside a string. A name with a colon, ${env:X} and ${file:p}, is a secret that stays where it is.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_.-]*)\}`)

// expand fills the variables in the string literals of a script. Quotes in a value are doubled, so that a value can never
// end its literal.
func expand(text string, vars map[string]string) (string, []cut, ddl.Errors) {
	if !strings.Contains(text, "${") {
		return text, nil, nil
	}
	var (
		out  strings.Builder
		cuts []cut
		errs ddl.Errors
		done int
	)
	for _, s := range stringLiterals(text) {
		for _, m := range variable.FindAllStringSubmatchIndex(text[s.Start:s.End], -1) {
			from, to := s.Start+m[0], s.Start+m[1]
			name := text[s.Start+m[2] : s.Start+m[3]]
			value, ok := vars[name]
			if !ok {
				errs = append(errs, ddl.Errorf(ddl.Span{Start: from, End: to}, "unknown-variable", "variable %q has no value", name).
					WithHelp("pass --var %s=VALUE, or write '${env:%s}' to read the environment when a connection opens", name, name))
				continue
			}
			value = strings.ReplaceAll(value, "'", "''")
			out.WriteString(text[done:from])
			cuts = append(cuts, cut{from, to, out.Len(), len(value)})
			out.WriteString(value)
			done = to
		}
	}
	out.WriteString(text[done:])
	return out.String(), cuts, errs
}

// original maps a span of the expanded text back. A span that begins or ends inside a replaced piece covers its variable.
func original(s ddl.Span, cuts []cut) ddl.Span {
	return ddl.Span{Start: originalOffset(s.Start, cuts, false), End: originalOffset(s.End, cuts, true)}
}

func originalOffset(offset int, cuts []cut, end bool) int {
	shift := 0
	for _, c := range cuts {
		if offset < c.at || end && offset == c.at {
			break
		}
		if offset < c.at+c.size || end && offset == c.at+c.size {
			if end {
				return c.to
			}
			return c.from
		}
		shift = c.to - (c.at + c.size)
	}
	return offset + shift
}

// stringLiterals are the spans between single quotes. Comments and quoted names are passed over, so that a quote in them
// opens nothing.
func stringLiterals(text string) []ddl.Span {
	var spans []ddl.Span
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "--"):
			i = after(text, i, "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i = after(text, i+2, "*/")
		case text[i] == '`' || text[i] == '"':
			i = after(text, i+1, text[i:i+1])
		case text[i] == '\'':
			end := after(text, i+1, "'")
			spans = append(spans, ddl.Span{Start: i + 1, End: max(i+1, end-1)})
			i = end // a doubled quote ends one literal and begins the next, which is the same for our purpose
		default:
			i++
		}
	}
	return spans
}

// after is the offset behind the next mark, the end of the text when there is none.
func after(text string, from int, mark string) int {
	if from > len(text) {
		return len(text)
	}
	if i := strings.Index(text[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(text)
}
