package ddl

import (
	"strconv"
	"strings"
	"sync"

	tidb "github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"github.com/syncsql/syncsql/ddl/valdrv"
)

// A TiDB parser is not safe for concurrent use and costs more to make than a small statement to parse.
var tidbParsers = sync.Pool{New: func() any {
	valdrv.Install()
	p := tidb.New()
	p.SetSQLMode(mysql.ModeNoBackslashEscapes | mysql.ModePipesAsConcat)
	return p
}}

// parseTiDB parses the normalised text. A panic in the TiDB parser becomes an error at the start of the text; the parser
// it happened in is not used again.
func (n *norm) parseTiDB() (stmt ast.StmtNode) {
	p := tidbParsers.Get().(*tidb.Parser)
	defer func() {
		if r := recover(); r != nil {
			stmt = nil
			n.failAt(n.place(), "syntax-error", "the query cannot be parsed: %v", r)
		}
	}()
	stmts, _, err := p.ParseSQL(string(n.out))
	if err == nil && len(stmts) == 1 {
		stmt = stmts[0]
	}
	tidbParsers.Put(p)
	if stmt == nil {
		n.refuse(err)
	}
	return stmt
}

func (n *norm) place() Span {
	var at Span
	for _, s := range n.spans {
		at = at.Cover(s)
	}
	return at
}

// refuse turns an error of the TiDB parser into one at the user's text. The normaliser has checked that operands and
// operators take turns, so what is left are operators that cannot be chained.
func (n *norm) refuse(err error) {
	at := n.place()
	if err != nil {
		if _, near, ok := strings.Cut(err.Error(), `near "`); ok {
			if k, ok := firstPlaceholder(near); ok && k < len(n.spans) {
				at = n.spans[k]
				if i := n.tokenAfter(at.Start); strings.HasPrefix(near, " ") || !strings.HasPrefix(near, "`") && i > 0 {
					at = n.tokens[max(0, i-1)].at
				}
			}
		}
	}
	n.failAt(at, "syntax-error", "the operators here cannot follow one another without brackets").
		WithHelp("put brackets around the part that belongs together")
}

func firstPlaceholder(s string) (int, bool) {
	_, s, ok := strings.Cut(s, "`#")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(s, "`")
	k, err := strconv.Atoi(digits)
	return k, err == nil
}
