package eval_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

// grower makes an expression out of random bytes, so that every input is one. Most are ill-typed, which must be an error
// and nothing worse.
type grower struct {
	bytes []byte
	depth int
}

func (g *grower) pick(n int) int {
	if len(g.bytes) == 0 {
		return 0
	}
	b := int(g.bytes[0])
	g.bytes = g.bytes[1:]
	return b % n
}

var fuzzLeaves = []string{"i", "j", "z", "b", "ti", "d", "e", "f", "g", "s", "u", "p", "q", "ts", "day", "a", "m", "r", "r.n", "NULL", "TRUE", "0", "-1", "1.5",
	"99999999999999999999", "1e300", "'x'", "'2024-02-29'", "'%a_'", "DATE '2024-02-29'", "TIMESTAMP '1969-12-31 23:59:59.123456789'", "INTERVAL '1' MONTH",
	"INTERVAL '-1 02:03:04.5' DAY TO SECOND", "x'ff00'", "NOW()", "CURRENT_DATE", "9223372036854775807", "UUID()"}

var fuzzTypes = []string{"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38, 37)", "DECIMAL(5, 0)", "STRING", "CHAR(3)",
	"VARCHAR(2)", "BYTES", "DATE", "TIME(3)", "TIME(9)", "TIMESTAMP(0)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)", "INTERVAL DAY TO SECOND", "ARRAY<INT>"}

func (g *grower) expr() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 5 || g.pick(4) == 0 {
		return fuzzLeaves[g.pick(len(fuzzLeaves))]
	}
	switch g.pick(12) {
	case 0, 1:
		ops := []string{"+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}
		return fmt.Sprintf("(%s %s %s)", g.expr(), ops[g.pick(len(ops))], g.expr())
	case 2:
		return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s ELSE %s END", g.expr(), g.expr(), g.expr(), g.expr(), g.expr())
	case 3:
		cast := []string{"CAST", "TRY_CAST"}[g.pick(2)]
		return fmt.Sprintf("%s(%s AS %s)", cast, g.expr(), fuzzTypes[g.pick(len(fuzzTypes))])
	case 4:
		return fmt.Sprintf("(%s IN (%s, %s, %s, %s, %s))", g.expr(), g.expr(), g.expr(), g.expr(), g.expr(), g.expr())
	case 5:
		return fmt.Sprintf("(%s BETWEEN %s AND %s)", g.expr(), g.expr(), g.expr())
	case 6:
		return fmt.Sprintf("(%s %s %s)", g.expr(), []string{"LIKE", "NOT LIKE", "SIMILAR TO"}[g.pick(3)], g.expr())
	case 7:
		return fmt.Sprintf("(%s IS %s)", g.expr(), []string{"NULL", "NOT NULL", "TRUE", "NOT FALSE", "UNKNOWN"}[g.pick(5)])
	case 8:
		return fmt.Sprintf("%s(%s)", []string{"NOT ", "-", "EXTRACT(WEEK FROM ", "FLOOR(", "a[", "TRIM("}[g.pick(2)], g.expr())
	}
	docs := eval.Functions()
	call := docs[g.pick(len(docs))].Name + "("
	for n := g.pick(4); n >= 0; n-- {
		call += g.expr()
		if n > 0 {
			call += ", "
		}
	}
	return call + ")"
}

func FuzzEval(f *testing.F) {
	for i := range 64 {
		seed := make([]byte, 64)
		for j := range seed {
			seed[j] = byte(i*37 + j*j*11 + i*j*5)
		}
		f.Add(seed)
	}
	tab := newTable(f, memory.DefaultAllocator, append(plainTable, nestedTable[1:]...)...)
	f.Fuzz(func(t *testing.T, seed []byte) {
		sql := (&grower{bytes: seed}).expr()
		tree, err := ddl.ParseExpr(sql)
		if err != nil {
			return
		}
		e, errs := eval.Compile(tree, tab.scope)
		if (e == nil) == (len(errs) == 0) {
			t.Fatalf("%s: expression %v with errors %v", sql, e, errs)
		}
		for _, err := range errs {
			if err.Span.Start < 0 || err.Span.End > len(sql) || err.Span.End < err.Span.Start || err.Code == "" {
				t.Fatalf("%s: error out of the text: %+v", sql, err)
			}
		}
		if e == nil {
			return
		}
		alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer alloc.AssertSize(t, 0)
		var shown [2]string
		for n := range shown {
			failed := map[int]string{}
			ctx := contextFor(alloc, failed)
			ctx.Fail = func(row int, _, reason string) error {
				if row < 0 || row >= tab.batch.Len() || reason == "" {
					t.Fatalf("%s: failed row %d: %s", sql, row, reason)
				}
				failed[row] = reason
				return nil
			}
			a, err := e.Eval(ctx, &tab.batch)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if a.Len() != tab.batch.Len() {
				t.Fatalf("%s: %d rows, want %d", sql, a.Len(), tab.batch.Len())
			}
			shown[n] = show(a, failed)
			a.Release()
		}
		if e.Deterministic && shown[0] != shown[1] {
			t.Fatalf("%s: first %s, then %s", sql, shown[0], shown[1])
		}
	})
}
