package ddl

import (
	"fmt"
	"strings"
	"testing"
)

const tenColumns = `SELECT id, CAST(a AS STRING), UPPER(b), CASE WHEN c > 10 THEN 'high' ELSE 'low' END, d + e * 2, COALESCE(f, 0),
  g || '-' || h, TRIM(i), j, k FROM orders WHERE id > 100 AND b LIKE 'x%'`

func BenchmarkSelect(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if s, errs := Parse(tenColumns); len(s) != 1 || errs != nil {
			b.Fatal(errs)
		}
	}
}

func BenchmarkScript(b *testing.B) {
	var script strings.Builder
	for i := range 500 {
		fmt.Fprintf(&script, "CREATE TABLE t%d (id BIGINT, name STRING, up AS UPPER(name), PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'memory', 'x' = 'y');\n", i)
		fmt.Fprintf(&script, "INSERT INTO t%d %s;\n", i, tenColumns)
	}
	text := script.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if s, errs := Parse(text); len(s) != 1000 || errs != nil {
			b.Fatal(errs)
		}
	}
}
