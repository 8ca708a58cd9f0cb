package sqllogic

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// record is one record of a script.
type record struct {
	line     int // 1-based, of its first word
	verb     string
	args     []string
	rest     string // the arguments as they stand
	body     string // the lines below, up to ---- or a blank line
	bodyLine int
	hasWant  bool
	want     []string // the lines after ----
	wantAt   int      // 0-based index of the first line after ----; where it would stand when hasWant is false
	skip     bool     // by skipif or onlyif
}

// shapes says which verbs there are, how their arguments look, and whether a body and ---- belong to them.
var shapes = map[string]struct {
	args       *regexp.Regexp
	body, want bool
	usage      string
}{
	"statement":      {regexp.MustCompile(`^(ok|error( .+)?)$`), true, true, "statement ok | statement error [REGEXP or CODE]"},
	"query":          {regexp.MustCompile(`^[ITRB?]+( (rowsort|valuesort|nosort))?( \S+)?$`), true, true, "query TYPES [rowsort|valuesort|nosort] [LABEL]"},
	"explain":        {regexp.MustCompile(`^$`), true, true, "explain"},
	"run":            {regexp.MustCompile(`^(\S+)?( ?error .+)?$`), false, false, "run [NAME] [error REGEXP]"},
	"feed":           {regexp.MustCompile(`^\S+$`), true, false, "feed TABLE"},
	"crash":          {regexp.MustCompile(`^(write|flush|save|commit|ack)(#[1-9]\d*)?$`), false, false, "crash write|flush|save|commit|ack[#N]"},
	"restart":        {regexp.MustCompile(`^(empty)?$`), false, false, "restart [empty]"},
	"rows":           {regexp.MustCompile(`^[^:\s]+:\S+( (rowsort|nosort))?$`), false, true, "rows SERVICE:TABLE [rowsort|nosort]"},
	"fault":          {regexp.MustCompile(`^\S+ \S+ \S+( [×x][1-9]\d*)?( (before|after))?$`), false, false, "fault SERVICE RPC CODE [×N] [before|after]"},
	"halt":           {regexp.MustCompile(`^$`), false, false, "halt"},
	"hash-threshold": {regexp.MustCompile(`^\d+$`), false, false, "hash-threshold N"},
}

// parse reads a script. The error names the line.
func parse(text string) ([]*record, error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var records []*record
	skip, skipLine := false, 0
	for i := 0; i < len(lines); {
		line := strings.TrimSpace(lines[i])
		switch verb, rest, _ := strings.Cut(line, " "); {
		case line == "" || strings.HasPrefix(line, "#"):
			i++
		case verb == "skipif" || verb == "onlyif":
			if strings.TrimSpace(rest) == "" {
				return nil, fmt.Errorf("line %d: usage: %s ENGINE", i+1, verb)
			}
			skip = skip || (verb == "skipif") == (strings.TrimSpace(rest) == Engine)
			skipLine = i + 1
			i++
		default:
			r, next, err := parseRecord(lines, i)
			if err != nil {
				return nil, err
			}
			r.skip, skip, skipLine = skip, false, 0
			records = append(records, r)
			i = next
		}
	}
	if skipLine > 0 {
		return nil, fmt.Errorf("line %d: no record follows this condition", skipLine)
	}
	return records, nil
}

func parseRecord(lines []string, i int) (*record, int, error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(lines[i]), " ")
	r := &record{line: i + 1, verb: verb, rest: strings.TrimSpace(rest), bodyLine: i + 2}
	r.args = strings.Fields(r.rest)
	shape, ok := shapes[verb]
	if !ok {
		return nil, 0, fmt.Errorf("line %d: unknown record %q", r.line, verb)
	}
	if !shape.args.MatchString(r.rest) {
		return nil, 0, fmt.Errorf("line %d: usage: %s", r.line, shape.usage)
	}
	var body []string
	for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "" && lines[i] != "----"; i++ {
		body = append(body, lines[i])
	}
	r.body, r.wantAt = strings.Join(body, "\n"), i
	if i < len(lines) && lines[i] == "----" {
		r.hasWant = true
		i++
		r.wantAt = i
		for ; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
			r.want = append(r.want, strings.TrimRight(lines[i], " \t"))
		}
	}
	switch {
	case shape.body && len(body) == 0:
		return nil, 0, fmt.Errorf("line %d: nothing follows %q", r.line, verb)
	case !shape.body && len(body) > 0:
		return nil, 0, fmt.Errorf("line %d: %q takes no lines below it (a blank line ends it)", r.line+1, verb)
	case !shape.want && r.hasWant:
		return nil, 0, fmt.Errorf("line %d: %q has no result", r.wantAt, verb)
	case verb == "statement" && r.args[0] == "ok" && r.hasWant:
		return nil, 0, fmt.Errorf("line %d: a statement that is ok has no result; use query", r.wantAt)
	case verb == "query" && !r.hasWant, verb == "rows" && !r.hasWant, verb == "explain" && !r.hasWant:
		return nil, 0, fmt.Errorf("line %d: %q without ----", r.line, verb)
	}
	if pattern, ok := errorPattern(r); ok {
		if _, err := regexp.Compile(pattern); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", r.line, err)
		}
	}
	return r, i, nil
}

// errorPattern is what follows the word error.
func errorPattern(r *record) (pattern string, ok bool) {
	if r.verb != "statement" && r.verb != "run" {
		return "", false
	}
	_, after, found := strings.Cut(" "+r.rest+" ", " error ")
	return strings.TrimSpace(after), found
}

// sortMode and label are the optional words of query and rows.
func (r *record) sortMode() string {
	for _, a := range r.args[1:] {
		if a == "rowsort" || a == "valuesort" || a == "nosort" {
			return a
		}
	}
	return "nosort"
}

func (r *record) label() string {
	if n := len(r.args); r.verb == "query" && n > 1 && r.args[n-1] != r.sortMode() {
		return r.args[n-1]
	}
	return ""
}

// runName is the pipeline that a run record names, "" for all.
func (r *record) runName() string {
	if len(r.args) > 0 && r.args[0] != "error" {
		return r.args[0]
	}
	return ""
}

// fault are the words of a fault record.
type fault struct {
	service, rpc, code string
	times              int
	after              bool
}

func (r *record) fault() fault {
	f := fault{service: r.args[0], rpc: r.args[1], code: r.args[2], times: 1}
	for _, a := range r.args[3:] {
		if n, err := strconv.Atoi(strings.TrimLeft(a, "×x")); err == nil {
			f.times = n
		}
		f.after = f.after || a == "after"
	}
	return f
}

// crash are the words of a crash record: the step, and which of its checkpoints.
func (r *record) crash() (step string, n int) {
	step, num, _ := strings.Cut(r.args[0], "#")
	n, err := strconv.Atoi(num)
	if err != nil {
		n = 1
	}
	return step, n
}
