package eval

import (
	"sort"
	"strings"
	"sync"

	"github.com/syncsql/syncsql/ddl"
)

// function is one built-in, declared once: what it is called, what it takes, what it returns and how it runs. A function
// is NULL where an argument is NULL unless nulls says otherwise.
type function struct {
	name    string // upper case
	aliases []string
	usage   string
	doc     string // one sentence
	params  []param
	// least is the smallest number of arguments; many repeats the last parameter without end.
	least int
	many  bool
	// result is the type of the result, from the types of the arguments as the parameters convert them.
	result func(args []*ddl.Type) *ddl.Type
	// kernel makes the loop. Functions that are no plain loop have build instead.
	kernel   func(args []*ddl.Type, result *ddl.Type) kernel
	build    func(c *compiler, call *ddl.Call, args []*node) *node
	nulls    string
	volatile bool // another evaluation may give another value
	bare     bool // may be written without brackets
}

// param is what an argument may be, and the type that it is converted to when the function wants only one.
type param struct {
	what    string
	accepts func(*ddl.Type) bool
	to      *ddl.Type
}

var (
	aText    = param{"text", isText, textType()}
	aBinary  = param{"text or bytes", func(t *ddl.Type) bool { return isText(t) || isBinary(t) }, nil}
	aNumber  = param{"a number", isNumeric, nil}
	aDouble  = param{"a number", isNumeric, of(ddl.Double)}
	anInt    = param{"an integer", isInteger, of(ddl.BigInt)}
	aMoment  = param{"a date or timestamp", func(t *ddl.Type) bool { return t.Kind == ddl.Date || isTimestamp(t) }, nil}
	anything = param{"a value", func(*ddl.Type) bool { return true }, nil}
	aBoolean = param{"a condition", func(t *ddl.Type) bool { return t.Kind == ddl.Boolean }, of(ddl.Boolean)}
)

func returns(t *ddl.Type) func([]*ddl.Type) *ddl.Type {
	return func([]*ddl.Type) *ddl.Type { return t }
}

func returnsFirst(args []*ddl.Type) *ddl.Type { return args[0] }

func plain(k kernel) func([]*ddl.Type, *ddl.Type) kernel {
	return func([]*ddl.Type, *ddl.Type) kernel { return k }
}

// allFunctions joins the tables of the functions_*.go files.
func allFunctions() []*function {
	var all []*function
	for _, table := range [][]function{textFunctions(), mathFunctions(), timeFunctions(), chooseFunctions()} {
		for i := range table {
			all = append(all, &table[i])
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all
}

func functionNamed(name string) *function { return functionTable()[strings.ToUpper(name)] }

// FunctionDoc describes one built-in function.
type FunctionDoc struct {
	Name          string
	Aliases       []string
	Usage         string
	Doc           string
	Nulls         string // what NULL arguments give
	Deterministic bool
}

// Functions lists the built-in functions by name.
func Functions() []FunctionDoc {
	var docs []FunctionDoc
	for _, f := range allFunctions() {
		d := FunctionDoc{f.name, f.aliases, f.usage, f.doc, f.nulls, !f.volatile}
		if d.Nulls == "" && len(f.params) > 0 {
			d.Nulls = "NULL when an argument is NULL"
		}
		docs = append(docs, d)
	}
	return docs
}

// aggregates are refused with a reason of their own.
var aggregates = map[string]bool{
	"COUNT": true, "SUM": true, "AVG": true, "MIN": true, "MAX": true, "LISTAGG": true, "COLLECT": true, "FIRST_VALUE": true,
	"LAST_VALUE": true, "ARRAY_AGG": true, "STDDEV_POP": true, "STDDEV_SAMP": true, "VAR_POP": true, "VAR_SAMP": true,
	"ROW_NUMBER": true, "RANK": true, "DENSE_RANK": true, "LAG": true, "LEAD": true, "NTILE": true,
}

func (c *compiler) call(e *ddl.Call) *node {
	name := strings.ToUpper(e.Name.Last())
	if e.Over != nil || aggregates[name] {
		c.fail(e.At, "unsupported-expression", "%s needs to remember earlier rows, which a stream of changes has without end", name).
			WithHelp("aggregate in the source system, for example in a view")
		return nil
	}
	f := functionNamed(name)
	if f == nil || len(e.Name) > 1 {
		c.unknownFunction(e)
		return nil
	}
	if e.Star || e.Distinct || e.Filter != nil || len(e.Extra) > 0 || named(e.ArgNames) {
		c.fail(e.At, "unsupported-expression", "%s takes plain arguments only", name).WithHelp("write %s", f.usage)
		return nil
	}
	if n := len(e.Args); n < f.least || n > len(f.params) && !f.many {
		c.fail(e.At, "wrong-arguments", "%s does not take %d arguments", name, n).WithHelp("write %s", f.usage)
		return nil
	}
	args, ok := c.all(e.Args...)
	if !ok {
		return nil
	}
	if args, ok = c.arguments(f, args); !ok {
		return nil
	}
	n := c.apply(f, e, args)
	if n != nil && f.volatile && n.constant == nil {
		n.volatile = true
	}
	return n
}

func named(names []string) bool {
	for _, n := range names {
		if n != "" {
			return true
		}
	}
	return false
}

func (c *compiler) unknownFunction(e *ddl.Call) {
	err := c.fail(e.Name.Span(), "unknown-function", "unknown function %q", spell(e.Name))
	var names []string
	for name := range functionTable() {
		names = append(names, name)
	}
	sort.Strings(names)
	if near := nearest(strings.ToUpper(e.Name.Last()), names); near != "" {
		err.WithHelp("did you mean %q?", near)
	}
}

// arguments checks and converts the arguments to what the parameters ask for.
func (c *compiler) arguments(f *function, args []*node) ([]*node, bool) {
	ok := true
	out := make([]*node, len(args))
	for i, a := range args {
		p := f.params[min(i, len(f.params)-1)]
		switch {
		case a.typ.Kind == ddl.Null && p.to != nil:
			out[i] = c.null(p.to, a.at)
		case a.typ.Kind == ddl.Null:
			out[i] = a
		case !p.accepts(a.typ):
			err := c.mismatch(a.at, "%s needs %s, found %s", f.name, p.what, base(a.typ))
			if p.to != nil {
				err.WithHelp("write CAST(... AS %s)", base(p.to))
			}
			ok = false
		case p.to != nil && !(isText(a.typ) && isText(p.to)):
			out[i] = c.implicit(a, p.to)
		default:
			out[i] = a
		}
	}
	return out, ok
}

func (c *compiler) apply(f *function, e *ddl.Call, args []*node) *node {
	if f.build != nil {
		return f.build(c, e, args)
	}
	types := make([]*ddl.Type, len(args))
	for i, a := range args {
		if a.typ.Kind == ddl.Null {
			return c.null(of(ddl.Null), e.At)
		}
		types[i] = a.typ
	}
	t := f.result(types)
	k := f.kernel(types, t)
	if k == nil {
		c.mismatch(e.At, "%s cannot take %s", f.name, base(types[0])).WithHelp("write %s", f.usage)
		return nil
	}
	n := c.node(t, e.At, evalStrict, args...)
	n.kernel = k
	n.volatile = n.volatile || f.volatile
	return c.fold(n)
}

// chooseFunctions choose between their arguments.
func chooseFunctions() []function {
	return []function{
		{name: "COALESCE", usage: "COALESCE(a, b, ...)", doc: "The first argument that is not NULL.",
			params: []param{anything}, least: 1, many: true, nulls: "NULL when every argument is NULL",
			build: func(c *compiler, e *ddl.Call, args []*node) *node { return c.coalesce(e.At, args) }},
		{name: "IFNULL", aliases: []string{"NVL"}, usage: "IFNULL(a, b)", doc: "a, or b where a is NULL.",
			params: []param{anything, anything}, least: 2, nulls: "NULL when both are NULL",
			build: func(c *compiler, e *ddl.Call, args []*node) *node { return c.coalesce(e.At, args) }},
		{name: "NULLIF", usage: "NULLIF(a, b)", doc: "NULL where a equals b, else a.",
			params: []param{anything, anything}, least: 2, nulls: "a when b is NULL",
			build: func(c *compiler, e *ddl.Call, args []*node) *node { return c.nullif(e.At, args[0], args[1]) }},
		{name: "IF", usage: "IF(condition, a, b)", doc: "a where the condition is TRUE, else b.",
			params: []param{aBoolean, anything, anything}, least: 3, nulls: "b when the condition is NULL",
			build: func(c *compiler, e *ddl.Call, args []*node) *node {
				return c.branches(e.At, "IF", args[:1], args[1:])
			}},
		{name: "GREATEST", usage: "GREATEST(a, b, ...)", doc: "The largest argument.",
			params: []param{anything}, least: 1, many: true,
			build: func(c *compiler, e *ddl.Call, args []*node) *node { return c.extreme(e.At, "GREATEST", ">=", args) }},
		{name: "LEAST", usage: "LEAST(a, b, ...)", doc: "The smallest argument.",
			params: []param{anything}, least: 1, many: true,
			build: func(c *compiler, e *ddl.Call, args []*node) *node { return c.extreme(e.At, "LEAST", "<=", args) }},
	}
}

// extreme folds the arguments pairwise: CASE WHEN a >= b THEN a WHEN a < b THEN b END, which is NULL where one is.
func (c *compiler) extreme(at ddl.Span, name, op string, args []*node) *node {
	best := args[0]
	for _, next := range args[1:] {
		a, b := c.memo(best), c.memo(next)
		wins := c.compare(op, at, a, b)
		if wins == nil {
			return nil
		}
		wins = c.memo(wins)
		loses := c.strict(of(ddl.Boolean), at, notKernel, wins)
		if best = c.branches(at, name, []*node{wins, loses}, []*node{a, b}); best == nil {
			return nil
		}
	}
	return best
}

// functionTable finds functions by name and alias. It is built on first use: some functions compile expressions themselves.
var functionTable = sync.OnceValue(func() map[string]*function {
	m := map[string]*function{}
	for _, f := range allFunctions() {
		m[f.name] = f
		for _, a := range f.aliases {
			m[a] = f
		}
	}
	return m
})
