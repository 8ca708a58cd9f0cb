package eval_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/eval"
)

const benchRows = 1000

func benchColumn(name string, value func(i int) string) string {
	values := make([]string, benchRows)
	for i := range values {
		values[i] = value(i)
	}
	return name + ": " + strings.Join(values, "|")
}

// benchmarkProgram runs a filter and outputs over batches of 1,000 rows and reports rows per second.
func benchmarkProgram(b *testing.B, columns []string, filter string, outputs ...string) {
	tab := newTable(b, memory.DefaultAllocator, columns...)
	p := &eval.Program{}
	if filter != "" {
		p.Filter = compile(b, tab.scope, filter)
	}
	for i, o := range outputs {
		p.Outputs = append(p.Outputs, compile(b, tab.scope, o))
		p.Rules = append(p.Rules, eval.Rule{Column: fmt.Sprintf("o%d", i)})
	}
	ctx := contextFor(memory.DefaultAllocator, map[int]string{})
	b.ReportAllocs()
	before := cpuSeconds()
	for b.Loop() {
		out, err := p.Run(ctx, &tab.batch)
		if err != nil {
			b.Fatal(err)
		}
		out.Release()
	}
	b.ReportMetric(float64(b.N)*benchRows/(cpuSeconds()-before)/1e6, "Mrows/cpu-s")
}

// cpuSeconds is what the process has used, garbage collection included: rows per second and core, whatever else runs.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

var numericColumns = []string{
	benchColumn("a INT", func(i int) string { return fmt.Sprint(i * 7919 % 1000) }),
	benchColumn("b BIGINT", func(i int) string { return fmt.Sprint(i * 104729) }),
	benchColumn("c DOUBLE", func(i int) string { return fmt.Sprint(float64(i) / 3) }),
	benchColumn("d DECIMAL(12, 2)", func(i int) string { return fmt.Sprintf("%d.%02d", i*31, i%100) }),
	benchColumn("n BIGINT", func(i int) string {
		if i%5 == 0 {
			return "NULL"
		}
		return fmt.Sprint(i)
	}),
}

var textColumns = []string{
	benchColumn("s STRING", func(i int) string { return fmt.Sprintf("customer-%d@example.com", i) }),
	benchColumn("u STRING", func(i int) string { return fmt.Sprintf("  Straße %d ", i) }),
	benchColumn("k BIGINT", func(i int) string { return fmt.Sprint(i * 104729) }),
}

func BenchmarkNumeric(b *testing.B) {
	benchmarkProgram(b, numericColumns, "a >= 0 AND b < 1000000000", "a + 1", "b * 2 - a", "c * 1.5e0 + a", "n + b", "CASE WHEN a > 500 THEN b ELSE n END")
}

func BenchmarkNumericHalfDropped(b *testing.B) {
	benchmarkProgram(b, numericColumns, "a > 500", "a + 1", "b * 2 - a", "c * 1.5e0 + a", "n + b", "CASE WHEN a > 700 THEN b ELSE n END")
}

func BenchmarkDecimal(b *testing.B) {
	benchmarkProgram(b, numericColumns, "d > 10", "d + 1", "d * 1.19", "d / 3", "ROUND(d, 1)", "CAST(d AS DECIMAL(20, 4))")
}

func BenchmarkText(b *testing.B) {
	benchmarkProgram(b, textColumns, "s LIKE 'cust%'", "UPPER(s)", "TRIM(u)", "SUBSTRING(s FROM 1 FOR 8)", "s || '/' || u", "CHAR_LENGTH(u)")
}

func BenchmarkTextCasts(b *testing.B) {
	benchmarkProgram(b, textColumns, "k > 0", "CAST(k AS STRING)", "REPLACE(s, 'example', 'test')", "LOWER(u)", "COALESCE(NULLIF(s, ''), u)",
		"POSITION('@' IN s)")
}

func BenchmarkPassThrough(b *testing.B) {
	benchmarkProgram(b, append(numericColumns, textColumns...), "", "a", "b", "c", "d", "n", "s", "u", "k")
}
