package planner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
)

const ordersTable = `CREATE TABLE orders (id BIGINT, name VARCHAR(5), total DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED)
 WITH ('connector' = 'cdc', 'hostname' = 'a', 'table-name' = 'orders');
`

// planned plans a script that must be accepted.
func planned(t *testing.T, script string) []*Pipeline {
	t.Helper()
	s := newSession()
	s.run(script)
	if len(s.errs) > 0 {
		t.Fatal(s.text(script))
	}
	return s.pipelines
}

func TestPlan_program(t *testing.T) {
	p := planned(t, ordersTable+`CREATE TABLE dst (total DECIMAL(10, 2), id BIGINT, s VARCHAR(3) NOT NULL, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');
INSERT INTO dst (id, s, total) SELECT id, name, total FROM orders WHERE name <> 'x';`)[0]
	read, r := p.Source.Read.Tables[0], p.Routes[0]
	if got := columnNames(read.Columns, []int{0, 1, 2}); got != "id, name, total" || !slices.Equal(read.Key, []int{0}) {
		t.Errorf("reads %s, key %v", got, read.Key)
	}
	program := r.Program
	if program.Outputs[0].Passes != 2 || program.Outputs[1].Passes != 0 || program.Outputs[2].Passes != 1 {
		t.Error("the outputs do not follow the sink's columns")
	}
	want := []eval.Rule{{Column: "total"}, {Column: "id", NotNull: true}, {Column: "s", NotNull: true, MaxLength: 3}}
	if !reflect.DeepEqual(program.Rules, want) {
		t.Errorf("rules %+v", program.Rules)
	}
	if !slices.Equal(program.Key, []int{1}) || !slices.Equal(p.Sinks[0].Table.Key, []int{1}) {
		t.Errorf("key %v, sink's key %v", program.Key, p.Sinks[0].Table.Key)
	}
	if program.MissedUpdate != eval.MissedDeleted || !program.KeyedDeletes || !program.RowKinds || r.Emits != change.Upserts {
		t.Errorf("%+v emits %v", program, r.Emits)
	}
	if read.Columns[0].Nullable || !read.Columns[1].Nullable || read.Columns[1].SQL != "VARCHAR(5)" {
		t.Errorf("columns %+v", read.Columns)
	}
}

// C158, second half: NOT NULL and lengths are rules of the plan; cutting happens only by name.
func TestC158_rules(t *testing.T) {
	for setting, want := range map[string]eval.Rule{
		"":         {Column: "s", NotNull: true, MaxLength: 5},
		"trim-pad": {Column: "s", NotNull: true, MaxLength: 5, Trim: true},
		"ignore":   {Column: "s", NotNull: true},
	} {
		script := ordersTable + "CREATE TABLE dst (id BIGINT, s VARCHAR(5) NOT NULL, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');\n"
		if setting != "" {
			script += fmt.Sprintf("SET 'table.exec.sink.type-length-enforcer' = '%s';\n", setting)
		}
		rules := planned(t, script+"INSERT INTO dst SELECT id, name FROM orders;")[0].Routes[0].Program.Rules
		if rules[1] != want || !rules[0].NotNull {
			t.Errorf("%q: %+v", setting, rules)
		}
	}
}

func TestPlan_settings(t *testing.T) {
	insert := "CREATE TABLE dst (id BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');\nINSERT INTO dst SELECT id FROM orders;"
	p := planned(t, ordersTable+`SET 'batch.rows' = '7'; SET 'batch.bytes' = '1 kb'; SET 'batch.wait' = '2 s'; SET 'rate-limit.rows-per-second' = '0.5';
SET 'rate-limit.bytes-per-second' = '1 mb'; SET 'scan.snapshot.parallelism' = '9'; SET 'execution.checkpointing.interval' = '3 s';
SET 'execution.checkpointing.rows' = '11'; SET 'restart-strategy.type' = 'fixed-delay'; SET 'restart-strategy.fixed-delay.attempts' = '4';
SET 'restart-strategy.fixed-delay.delay' = '6 s'; SET 'table.local-time-zone' = 'Asia/Tokyo'; SET 'pipeline.name' = 'n';`+insert)[0]
	want := Settings{CheckpointInterval: 3 * time.Second, CheckpointRows: 11, SnapshotParallelism: 9,
		Limits: connectors.Limits{Rows: 7, Bytes: 1024, Wait: 2000}, MaxRowsPerSecond: 0.5, MaxBytesPerSecond: 1 << 20,
		RestartAttempts: 5, RestartInitialDelay: 6 * time.Second, RestartMaxDelay: 6 * time.Second, TimeZone: "Asia/Tokyo"}
	if p.Settings != want || p.Name != "n" || p.Source.Read.Pipeline != "n" || p.Source.Read.Limits != want.Limits {
		t.Errorf("got %+v", p)
	}
	p = planned(t, ordersTable+insert)[0]
	if p.Limits != connectors.DefaultLimits || p.Name != "dst" || p.CheckpointRows != 10_000 || p.RestartAttempts != 0 || p.TimeZone != "UTC" {
		t.Errorf("got %+v", p.Settings)
	}
	if p = planned(t, ordersTable+"SET 'restart-strategy.type' = 'none';"+insert)[0]; p.RestartAttempts != 1 {
		t.Errorf("none gives up after %d failures", p.RestartAttempts)
	}
}

// The fingerprint changes with what makes an old checkpoint meaningless, and with nothing else.
func TestPlan_fingerprint(t *testing.T) {
	plan := func(source, sink, query, more string) string {
		return planned(t, "CREATE TABLE src (id BIGINT, a STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'cdc', "+source+
			");\nCREATE TABLE dst (id BIGINT, a STRING"+sink+") WITH ('connector' = 'void');\n"+more+query)[0].Fingerprint
	}
	const server, key, query = "'hostname' = 'a', 'table-name' = 't', 'password' = 'x'", ", PRIMARY KEY (id) NOT ENFORCED", "INSERT INTO dst SELECT id, a FROM src;"
	first := plan(server, key, query, "")
	for name, same := range map[string]string{
		"again":    plan(server, key, query, ""),
		"query":    plan(server, key, "INSERT INTO dst SELECT id, UPPER(a) FROM src WHERE a <> 'x';", ""),
		"settings": plan(server, key, query, "SET 'batch.rows' = '3';\n"),
		"password": plan("'hostname' = 'a', 'table-name' = 't', 'password' = 'y'", key, query, ""),
	} {
		if same != first {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	for name, other := range map[string]string{
		"server": plan("'hostname' = 'b', 'table-name' = 't'", key, query, ""),
		"table":  plan("'hostname' = 'a', 'table-name' = 'u'", key, query, ""),
		"mode":   plan(server+", 'identity' = 'full'", key, query, ""),
		"key":    plan(server, ", PRIMARY KEY (a, id) NOT ENFORCED", "INSERT INTO dst SELECT id, a FROM src /*+ OPTIONS('identity' = 'full') */;", ""),
	} {
		if other == first {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
}

// VALUES are read as numbers and computed by the program; what was read once is not read again.
func TestValues(t *testing.T) {
	p := planned(t, "CREATE TABLE dst (id BIGINT, s STRING) WITH ('connector' = 'queue');\nINSERT INTO dst VALUES (1, 'a'), (2, NULL), (30, UPPER('c'));")[0]
	ctx := context.Background()
	src, err := p.Source.Connector.OpenSource(ctx, p.Source.Read)
	if err != nil {
		t.Fatal(err)
	}
	in, err := src.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	fail := func(row int, column, reason string) error {
		return fmt.Errorf("row %d column %s: %s", row, column, reason)
	}
	out, err := p.Routes[0].Program.Run(&eval.Context{Fail: fail, Alloc: alloc, Zone: "UTC"}, &in)
	if err != nil {
		t.Fatal(err)
	}
	ids, texts := out.Record.Column(0).(*array.Int64), out.Record.Column(1)
	if ids.Value(0) != 1 || ids.Value(1) != 2 || ids.Value(2) != 30 || texts.ValueStr(0) != "a" || !texts.IsNull(1) || texts.ValueStr(2) != "C" {
		t.Errorf("got %v", out.Record)
	}
	out.Release()
	in.Release()
	if _, err := src.Next(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("after the last row: %v", err)
	}
	p.Source.Read.From = in.Position
	if src, err = p.Source.Connector.OpenSource(ctx, p.Source.Read); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Next(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("after a restart: %v", err)
	}
}

func TestPredicate_values(t *testing.T) {
	script := `CREATE TABLE src (i INT, d DECIMAL(10, 2), b BOOLEAN, day DATE, ts TIMESTAMP(6), s STRING, f DOUBLE, c CHAR(3), PRIMARY KEY (i) NOT ENFORCED) WITH ('connector' = 'events');
CREATE TABLE dst (i INT) WITH ('connector' = 'queue');
`
	for where, want := range map[string]any{
		"i = 5": int64(5), "-3 < i": int64(-3), "i = 3000000000": nil, "d >= 1.50": "1.50", "d = -2": "-2", "b = TRUE": true,
		"day = DATE '2024-02-29'": time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), "s = 'x'": "x", "s > 'x'": nil, "s <> 'x'": nil,
		"ts < TIMESTAMP '2024-01-01 10:00:00.5'": time.Date(2024, 1, 1, 10, 0, 0, 500_000_000, time.UTC), "f = 1": nil, "c = 'x'": nil,
		"s LIKE 'a%'": "a%", `s LIKE 'a\%'`: nil, "NOT (i = 5)": nil, "i + 1 = 5": nil,
	} {
		p := planned(t, script+"INSERT INTO dst SELECT i FROM src WHERE "+where+";")[0].Source.Read.Tables[0].Where
		switch {
		case want == nil && p != nil:
			t.Errorf("%s is pushed down: %+v", where, p)
		case want != nil && (p == nil || !reflect.DeepEqual(p.Values, []any{want})):
			t.Errorf("%s: %+v", where, p)
		}
	}
}

// What is left out of a predicate only lets more rows through, also under OR.
func TestPredicate_is_never_too_strict(t *testing.T) {
	script := "CREATE TABLE src (i INT, s STRING, PRIMARY KEY (i) NOT ENFORCED) WITH ('connector' = 'events');\nCREATE TABLE dst (i INT) WITH ('connector' = 'queue');\n"
	for where, want := range map[string]string{
		"i = 1 AND s > 'x'":            "i = 1",
		"i = 1 OR s > 'x'":             "",
		"(i = 1 OR i = 2) AND s > 'x'": "i = 1 OR i = 2",
		"i IN (1, 2) AND s IS NULL":    "i IN (1, 2) AND s IS NULL",
		"i NOT IN (1, 2)":              "",
		"i IN (1, NULL)":               "",
	} {
		p := planned(t, script+"INSERT INTO dst SELECT i FROM src WHERE "+where+";")[0]
		table := p.Source.Read.Tables[0]
		got := ""
		if table.Where != nil {
			got = predicateText(table.Where, table.Columns)
		}
		if got != want {
			t.Errorf("%s pushes %q, want %q", where, got, want)
		}
	}
}

func TestExplain_holds_no_secret(t *testing.T) {
	script := "CREATE TABLE src (id BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'cdc', 'hostname' = 'a', 'table-name' = 't', 'password' = 'hidden');\n" +
		"CREATE TABLE dst (id BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');\nINSERT INTO dst SELECT id FROM src;"
	p := planned(t, script)[0]
	p.State = "postgres://u:hidden@h/db"
	if got := p.Explain(); strings.Contains(got, "hidden") || !strings.Contains(got, "in postgres://u:****@h/db") {
		t.Errorf("got\n%s", got)
	}
}

func TestPlan_seven_mistakes(t *testing.T) {
	s := newSession()
	s.run(`CREATE TABLE a (id BIGINT, name STRING, PRIMARY KEY (id)) WITH ('connector' = 'store');
CREATE TABLE b (id BIGINT) WITH ('connector' = 'cdc', 'hostnam' = 'h', 'table-name' = 't');
CREATE TABLE c (id BIGINT, PRIMARY KEY (ix) NOT ENFORCED) WITH ('connector' = 'store');
CREATE TABLE src (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'cdc', 'hostname' = 'h', 'table-name' = 't');
CREATE TABLE log (id BIGINT) WITH ('connector' = 'queue');
CREATE TABLE dst (id BIGINT, n INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');
INSERT INTO log SELECT id FROM src;
INSERT INTO dst SELECT id, name FROM src;
INSERT INTO dst SELECT id, nmae FROM src;
INSERT INTO a SELECT id, COUNT(*) FROM src GROUP BY id;`)
	var codes []string
	for _, e := range sorted(s.errs) {
		codes = append(codes, e.Code)
	}
	want := []string{"enforced-key", "unknown-option", "unknown-column", "changelog-mismatch", "type-mismatch", "unknown-column", "unsupported-query"}
	if !slices.Equal(codes, want) {
		t.Errorf("got %v, want %v\n%v", codes, want, s.errs)
	}
}

// A view that reads itself ends in a complaint, not in a loop.
func TestResolve_is_bounded(t *testing.T) {
	s := newSession()
	s.run("CREATE TABLE t (id BIGINT) WITH ('connector' = 'events');\nCREATE VIEW v AS SELECT id FROM t;\nCREATE VIEW w AS SELECT id FROM v;\nDROP VIEW v;\nCREATE VIEW v AS SELECT id FROM w;")
	if len(s.errs) != 1 || s.errs[0].Code != "too-deep" {
		t.Errorf("got %v", s.errs)
	}
	var b strings.Builder
	b.WriteString("CREATE TABLE t (id BIGINT) WITH ('connector' = 'events');\nCREATE TABLE dst (id BIGINT) WITH ('connector' = 'queue');\nINSERT INTO dst SELECT id FROM t")
	for range 1000 {
		b.WriteString(" UNION ALL SELECT id FROM t")
	}
	if p := planned(t, b.String()); len(p) != 1 || len(p[0].Routes) != 1001 || len(p[0].Source.Read.Tables) != 1 {
		t.Error("1,001 branches over one table are not one source with as many routes")
	}
}

func BenchmarkPlan(b *testing.B) {
	script := `CREATE TABLE src (id BIGINT, a STRING, b INT, c DOUBLE, d DECIMAL(10, 2), e TIMESTAMP(3), f BOOLEAN, g STRING, h BIGINT, i DATE, PRIMARY KEY (id) NOT ENFORCED)
 WITH ('connector' = 'cdc', 'hostname' = 'a', 'table-name' = 't');
CREATE TABLE dst (id BIGINT, a STRING, b BIGINT, c DOUBLE, d DECIMAL(12, 2), e TIMESTAMP(3), f BOOLEAN, g STRING, h STRING, i DATE, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');`
	b.Run("select_of_10_columns", func(b *testing.B) {
		s := newSession()
		s.run(script)
		stmts, errs := ddl.Parse("INSERT INTO dst SELECT id, UPPER(a), b, c, d, e, f, COALESCE(g, a), CAST(h AS STRING), i FROM src WHERE f AND b > 10")
		if len(errs) > 0 {
			b.Fatal(errs)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, errs := s.Plan([]*ddl.Insert{stmts[0].(*ddl.Insert)}); len(errs) > 0 {
				b.Fatal(errs)
			}
		}
	})
	b.Run("script_of_1000_statements", func(b *testing.B) {
		var text strings.Builder
		for n := range 333 {
			text.WriteString(strings.NewReplacer("src", fmt.Sprintf("src%d", n), "dst", fmt.Sprintf("dst%d", n)).Replace(script))
			fmt.Fprintf(&text, "INSERT INTO dst%d SELECT id, a, b, c, d, e, f, g, CAST(h AS STRING), i FROM src%d WHERE b > 10;\n", n, n)
		}
		for b.Loop() {
			s := newSession()
			s.run(text.String())
			if len(s.errs) > 0 || len(s.pipelines) != 333 {
				b.Fatal(s.errs)
			}
		}
	})
}

// A long condition is one flat predicate, not a deep tree.
func TestPlan_long_condition(t *testing.T) {
	terms := make([]string, 2_000)
	for i := range terms {
		terms[i] = fmt.Sprintf("id = %d", i)
	}
	p := planned(t, ordersTable+"CREATE TABLE dst (id BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'store');\nINSERT INTO dst SELECT id FROM orders WHERE "+strings.Join(terms, " OR "))[0]
	if n := len(p.Source.Read.Tables[0].Where.Args); n != len(terms) {
		t.Errorf("%d terms are pushed down, want %d in one node", n, len(terms))
	}
	if !strings.Contains(p.Explain(), "id = 1998 OR id = 1999") {
		t.Error("the plan does not show the condition")
	}
}
