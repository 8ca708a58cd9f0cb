package ddl

// chunk is one statement's tokens, without its semicolon.
type chunk struct {
	tokens []token
	closed bool // a semicolon follows
	end    int  // offset right behind the last token
}

// split cuts at semicolons. After STATEMENT SET BEGIN a block is open; it ends at the END that follows a semicolon or the
// BEGIN directly, which no CASE .. END can do.
func split(tokens []token) []chunk {
	var out []chunk
	start, block := 0, false
	for i := range tokens {
		t := &tokens[i]
		switch {
		case t.is("BEGIN") && i >= start+2 && tokens[i-1].is("SET") && tokens[i-2].is("STATEMENT"):
			block = true
		case block && t.is("END") && (tokens[i-1].is(";") || tokens[i-1].is("BEGIN")):
			block = false
		case t.is(";") && !block:
			if i > start {
				out = append(out, chunk{tokens[start:i], true, t.at.Start})
			}
			start = i + 1
		}
	}
	if start < len(tokens) {
		out = append(out, chunk{tokens[start:], false, tokens[len(tokens)-1].at.End})
	}
	return out
}

// Complete tells an interactive shell whether text can be parsed as it is: every statement in it is ended by a semicolon
// and no quote, comment or statement set is open. Text without any statement is complete.
func Complete(text string) bool {
	tokens := lex(text)
	for i := range tokens {
		if e := tokens[i].err; e != nil && (e.Code == "unclosed-comment" || e.Code == "unclosed-string" || e.Code == "unclosed-name") {
			return false
		}
	}
	open := false
	for _, c := range split(tokens) {
		if !c.closed {
			return false
		}
		switch {
		case opensSet(c.tokens):
			open = true
		case closesSet(c.tokens):
			open = false
		}
	}
	return !open
}

// opensSet recognises the statement BEGIN STATEMENT SET.
func opensSet(t []token) bool {
	return len(t) == 3 && t[0].is("BEGIN") && t[1].is("STATEMENT") && t[2].is("SET")
}

// closesSet recognises END or END STATEMENT SET on its own.
func closesSet(t []token) bool {
	return len(t) >= 1 && t[0].is("END") && (len(t) == 1 || len(t) == 3 && t[1].is("STATEMENT") && t[2].is("SET"))
}

// pair finds the partner of each bracket, or the first bracket that has none.
func pair(tokens []token) ([]int, *Error) {
	pairs := make([]int, len(tokens))
	var stack []int
	for i := range tokens {
		t := &tokens[i]
		if t.kind != punctToken {
			continue
		}
		switch t.text {
		case "(", "[":
			if stack = append(stack, i); len(stack) > maxDepth {
				return nil, Errorf(t.at, "too-deep", "brackets are nested more than %d levels deep", maxDepth)
			}
		case ")", "]":
			if len(stack) == 0 {
				return nil, Errorf(t.at, "syntax-error", "%q without an opening bracket", t.text)
			}
			open := &tokens[stack[len(stack)-1]]
			if want := closing(open.text); want != t.text {
				return nil, Errorf(t.at, "syntax-error", "expected %q before %q", want, t.text).
					WithHelp("the bracket %q that is open here must be closed first", open.text)
			}
			pairs[stack[len(stack)-1]], pairs[i] = i, stack[len(stack)-1]
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) > 0 {
		open := &tokens[stack[len(stack)-1]]
		return nil, Errorf(open.at, "unclosed-bracket", "%q is not closed", open.text).WithHelp("add %q", closing(open.text))
	}
	return pairs, nil
}

func closing(open string) string {
	if open == "[" {
		return "]"
	}
	return ")"
}
