package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// many repeats a change with other keys, so that the set statements and COPY are taken and not the row statements.
func many(n int, row func(key int) sinkRow) []sinkRow {
	rows := make([]sinkRow, n)
	for i := range rows {
		rows[i] = row(i)
	}
	return rows
}

// C005: NaN goes by COPY and by a row statement, with the same answer; an infinity is refused where numeric has a scale.
func TestC005_NaN(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; n STRING; w STRING", "create table t (id int primary key, n numeric(5,2), w numeric)")
	x.open()
	x.write(ins(1, "NaN", "Infinity"), ins(2, "Infinity", "1"))
	x.flush()
	x.write(many(50, func(i int) sinkRow { return ins(100+i, "NaN", "Infinity") })...)
	x.write(many(50, func(i int) sinkRow { return ins(200+i, "Infinity", "NaN") })...)
	x.flush()
	x.holds("select n, w, count(*) from t group by 1, 2", "NaN|Infinity|51")
	if len(x.refused) != 51 || x.refused[0].Column != "n" || !strings.Contains(x.refused[0].Reason, "numeric(5,2)") {
		t.Fatalf("%d refused, first %+v", len(x.refused), x.refused[0])
	}
}

// C013, C014: NULL stays NULL, and an empty text is an empty text.
func TestC013_NullsStayNull(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; d DATE; ts TIMESTAMP_LTZ(6); n INT; s STRING; b BOOLEAN",
		"create table t (id int primary key, d date, ts timestamptz, n int, s text, b bool)")
	x.open()
	x.write(ins(1))
	x.flush()
	x.write(many(50, func(i int) sinkRow { return ins(10 + i) })...)
	x.flush()
	x.write(many(50, func(i int) sinkRow { return upd(10 + i) })...)
	x.flush()
	x.holds("select count(*) from t where d is null and ts is null and n is null and s is null and b is null", "51")
}

func TestC014_EmptyTextIsNotNull(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; s STRING", "create table t (id int primary key, s text)")
	x.open()
	x.write(ins(1, nil), ins(2, ""))
	x.write(many(50, func(i int) sinkRow { return ins(10+i, "") })...)
	x.flush()
	x.holds("select s is null, count(*) from t group by 1 order by 1", "f|51", "t|1")
}

func TestC016_NullElements(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; a ARRAY<STRING>", "create table t (id int primary key, a text[])")
	x.open()
	x.write(many(50, func(i int) sinkRow { return ins(i, `["a",null,"NULL",""]`) })...)
	x.flush()
	x.holds("select a, count(*) from t group by 1", `{a,NULL,"NULL",""}|50`)
}

func TestC017_DimensionsAndBoundsAreKept(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; a STRING", "create table t (id int primary key, a int[])")
	x.open()
	x.write(ins(1, "{1,2}"), ins(2, "{{1,2},{3,4}}"), ins(3, "[0:1]={7,8}"))
	x.flush()
	x.holds("select a from t order by id", "{1,2}", "{{1,2},{3,4}}", "[0:1]={7,8}")
}

// C026: json takes the escape of NUL, jsonb and text do not; the other rows of the batch are written.
func TestC026_NULInJSON(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; s STRING; j STRING; b STRING", "create table t (id int primary key, s text, j json, b jsonb)")
	x.open()
	rows := many(50, func(i int) sinkRow { return ins(i, "s", `{"k":"\u0000"}`, `{}`) })
	rows[7] = ins(7, "a\x00b", "{}", "{}")
	rows[8] = ins(8, "s", "{}", `{"k":"\u0000"}`)
	x.write(rows...)
	x.flush()
	x.holds("select count(*) from t", "48")
	var keys []string
	for _, e := range x.refused {
		keys = append(keys, e.Key)
	}
	if !slices.Equal(keys, []string{"7", "8"}) {
		t.Fatalf("refused %v", keys)
	}
}

// C037: an insert with a large value and an update that does not send it, in one buffer and in two.
func TestC037_InsertThenPartialUpdate(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; small INT; big STRING", "create table t (id int primary key, small int, big text)")
	x.open()
	big := strings.Repeat("b", 100_000)
	x.write(ins(1, 1, big), upd(1, 2, unsent))
	x.flush()
	x.write(append(many(50, func(i int) sinkRow { return ins(10+i, 1, big) }), many(50, func(i int) sinkRow { return upd(10+i, 2, unsent) })...)...)
	x.write(upd(1, 3, unsent))
	x.flush()
	x.holds("select small, length(big), count(*) from t group by 1, 2 order by 1", "2|100000|50", "3|100000|1")
}

// C040: nobody carries the column, or some do.
func TestC040_NobodyCarriesTheColumn(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; small INT; big STRING", "create table t (id int primary key, small int, big text)",
		"insert into t select i, 0, 'big' || i from generate_series(0, 499) i")
	x.open()
	x.write(many(500, func(i int) sinkRow { return upd(i, 1, unsent) })...)
	x.flush()
	x.holds("select small, count(*) from t where big = 'big' || id group by 1", "1|500")
	x.write(many(500, func(i int) sinkRow {
		if i%2 == 0 {
			return upd(i, 2, nil)
		}
		return upd(i, unsent, "new")
	})...)
	x.flush()
	x.holds("select small, big, count(*) from t group by 1, 2 order by 1", "1|new|250", "2|NULL|250")
}

// C050: keys swapped inside one transaction, as -D and +U of each step.
func TestC050_KeySwap(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; s STRING", "create table t (id int primary key, s text)", "insert into t values (1, 'one'), (2, 'two')")
	x.open()
	x.write(del(1), upd(-1, "one"), del(2), upd(1, "two"), del(-1), upd(2, "one"))
	x.flush()
	x.holds("select * from t order by 1", "1|two", "2|one")
	pad := many(50, func(i int) sinkRow { return ins(100+i, "pad") })
	x.write(append(pad, del(1), upd(-1, "two"), del(2), upd(1, "one"), del(-1), upd(2, "two"))...)
	x.flush()
	x.holds("select * from t where id < 100 order by 1", "1|one", "2|two")
}

// A key that a delete freed and an update reuses without a large value: nothing is left that the value could come from.
func TestC050_ReusedKeyWithoutItsValue(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; big STRING", "create table t (id int primary key, big text)", "insert into t values (1, 'one')")
	x.open()
	x.write(del(1), upd(1, unsent))
	x.flush()
	if len(x.refused) != 1 || x.refused[0].Column != "big" {
		t.Fatalf("refused %v", x.refused)
	}
}

// C068: one transaction over many buffers. The position that is kept never passes a row that is not there.
func TestC068_HalfATransaction(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)")
	x.option(sinkBatchRows.Key, "1000")
	x.open()
	for i := range 20 {
		b := x.batch(many(1000, func(k int) sinkRow { return ins(1000*i + k) })...)
		if i < 19 {
			b.Position = nil
		}
		if i == 12 {
			x.discard() // as a crash: what is under way may be lost
			x.open()
			x.holds("select count(*) from t", fmt.Sprint(x.position()))
			x.at = x.position()
			b.Release()
			break
		}
		if err := x.sink.Write(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	for x.at < 20_000 {
		x.write(many(500, func(k int) sinkRow { return ins(int(x.at) + k) })...)
	}
	x.flush()
	x.holds("select count(*) >= 20000, count(*) = count(distinct id), min(id) from t", "t|t|0")
}

// C091, C092, C094: names are quoted everywhere.
func TestC091_NamesAreQuoted(t *testing.T) {
	x := newSinkRig(t, 1, "Id BIGINT; retailerId STRING; a\"b INT; default STRING; CONFIG STRING; config INT",
		`create schema "Sales.EU"`,
		`create table "Sales.EU"."Order Item" ("retailerId" text, "Id" bigint primary key, "a""b" int, "default" text, config int, "CONFIG" text)`)
	x.option("table-name", `"Sales.EU"."Order Item"`)
	x.open()
	x.write(ins(1, "r", 1, "d", "upper", 5))
	x.flush()
	x.write(many(50, func(i int) sinkRow { return ins(10+i, "r", 1, "d", "upper", 5) })...)
	x.flush()
	x.write(many(50, func(i int) sinkRow { return upd(10+i, "u", 2, "e", "UPPER", 6) })...)
	x.write(del(1))
	x.flush()
	x.holds(`select "retailerId", "a""b", "default", "CONFIG", config, count(*) from "Sales.EU"."Order Item" group by 1, 2, 3, 4, 5`, "u|2|e|UPPER|6|50")
	x.holds(`select count(*) from "Sales.EU".syncsql_positions`, "1")
}

func TestC092_ReservedWords(t *testing.T) {
	x := newSinkRig(t, 2, "order BIGINT; group STRING; timestamp TIMESTAMP(6); all INT; offset INT",
		`create table "user" ("group" text, "order" bigint, "timestamp" timestamp, "all" int, "offset" int, primary key ("order", "group"))`)
	x.option("table-name", "user")
	x.open()
	x.write(many(50, func(i int) sinkRow { return ins(i, "g", nil, 1, 2) })...)
	x.flush()
	x.write(many(50, func(i int) sinkRow { return del(i, "g") })[:40]...)
	x.write(many(50, func(i int) sinkRow { return upd(i, "g", nil, 3, unsent) })[40:]...)
	x.flush()
	x.holds(`select "all", "offset", count(*) from "user" group by 1, 2`, "3|2|10")
}

// C158: NOT NULL and lengths, with the column's name; a length counts characters.
func TestC158_NotNullAndLength(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; s VARCHAR(5)", "create table t (id bigint primary key, s varchar(5) not null)")
	x.open()
	x.write(ins(1, nil), ins(2, "abcdefgh"), ins(3, "naïve"), ins(nil, "x"))
	x.flush()
	x.holds("select * from t", "3|naïve")
	var seen []string
	for _, e := range x.refused {
		seen = append(seen, e.Column)
	}
	slices.Sort(seen)
	if !slices.Equal(seen, []string{"id", "s", "s"}) {
		t.Fatalf("refused %v", x.refused)
	}
}

// Two rows exchange the values of another unique column: compacted, each step would collide; as the source made it,
// none does.
func TestSinkSecondUniqueIndex(t *testing.T) {
	for _, pad := range []int{0, 60} {
		t.Run(fmt.Sprint(pad), func(t *testing.T) {
			x := newSinkRig(t, 1, "id BIGINT; email STRING", "create table t (id bigint primary key, email text unique)",
				"insert into t values (1, 'a'), (2, 'b')", "insert into t select i, i from generate_series(100, 199) i")
			x.open()
			rows := many(pad, func(i int) sinkRow { return upd(100+i, fmt.Sprint("p", i)) })
			x.write(append(rows, upd(1, "c"), upd(2, "a"), upd(1, "b"), del(150), ins(300, "150"))...)
			x.flush()
			if len(x.refused) > 0 {
				t.Fatalf("refused %v", x.refused[0])
			}
			x.holds("select * from t where id < 100 or id >= 200 order by id", "1|b", "2|a", "300|150")
			x.write(upd(1, "a")) // this one is wrong at the source, too
			x.flush()
			if len(x.refused) != 1 || x.refused[0].Key != "1" {
				t.Fatalf("refused %v", x.refused)
			}
		})
	}
}

// A row filter at the source let a row in: the update names a row that the target does not have.
func TestSinkUpdateOfMissingRows(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; s STRING", "create table t (id bigint primary key, s text)", "insert into t values (3, 'old')")
	x.open()
	x.write(many(100, func(i int) sinkRow { return upd(i, "new") })...)
	x.write(upd(200, "lone"))
	x.flush()
	x.holds("select s, count(*) from t group by 1 order by 1", "lone|1", "new|100")
}

// A table where nothing but the key is written, in every way.
func TestSinkKeyOnly(t *testing.T) {
	x := newSinkRig(t, 2, "a BIGINT; b BIGINT", "create table t (a bigint, b bigint, x int default 7, primary key (a, b))", "insert into t values (0, 0, 1)")
	x.open()
	for range 2 {
		x.write(many(50, func(i int) sinkRow { return ins(i, i) })...)
		x.write(many(50, func(i int) sinkRow { return upd(i, i) })...)
		x.write(upd(3, 3), del(4, 4))
		x.flush()
	}
	x.holds("select x, count(*) from t group by 1 order by 1", "1|1", "7|48")
}

// Triggers, partitions, row security, generated columns and identity: what a table can have.
func TestSinkKindsOfTables(t *testing.T) {
	for _, c := range []struct{ name, ddl string }{
		{"partitioned", "create table t (id bigint primary key, s text) partition by range (id); create table t1 partition of t for values from (0) to (20); create table t2 partition of t default"},
		{"row security", "create table t (id bigint primary key, s text); alter table t enable row level security; alter table t force row level security; create policy p on t using (true)"},
		{"identity", "create table t (id bigint generated always as identity primary key, s text)"},
		{"generated", "create table t (id bigint primary key, s text, g text generated always as (s || '!') stored)"},
		{"unique instead of primary key", "create table t (id bigint not null, s text); create unique index on t (id) include (s)"},
		{"domain key", "create domain pos as bigint; create table t (id pos primary key, s text)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newSinkRig(t, 1, "id BIGINT; s STRING", c.ddl)
			x.open()
			x.write(ins(1, "a"))
			x.flush()
			x.write(many(50, func(i int) sinkRow { return ins(10+i, "a") })...)
			x.flush()
			x.write(many(50, func(i int) sinkRow { return upd(10+i, "b") })...)
			x.write(del(1))
			x.flush()
			x.holds("select s, count(*) from t group by 1", "b|50")
		})
	}
}

// An error in a trigger is about the row that fires it.
func TestSinkTriggerRefuses(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; s STRING", "create table t (id bigint primary key, s text)",
		`create function f() returns trigger language plpgsql as $$ begin
			raise notice 'a message for each row: %', repeat('x', 1000);
			if new.s = 'bad' then raise exception 'not this one'; end if; return new; end $$`,
		"create trigger f before insert or update on t for each row execute function f()")
	x.open()
	rows := many(3000, func(i int) sinkRow { return ins(i, "ok") })
	rows[1234] = ins(1234, "bad")
	x.write(rows...)
	x.flush()
	x.holds("select count(*) from t", "2999")
	if len(x.refused) != 1 || x.refused[0].Key != "1234" || !strings.Contains(x.refused[0].Reason, "not this one") {
		t.Fatalf("refused %v", x.refused)
	}
}

// Only a primary key over texts that can differ and still be equal is applied change by change.
func TestSinkEqualKeysOfDifferentBytes(t *testing.T) {
	x := newSinkRig(t, 1, "id STRING; s STRING", "create extension citext", "create table t (id citext primary key, s text)")
	x.open()
	x.write(append(many(50, func(i int) sinkRow { return ins(fmt.Sprint("Key", i), "a") }), many(50, func(i int) sinkRow { return upd(fmt.Sprint("KEY", i), "b") })...)...)
	x.write(del("key7"))
	x.flush()
	x.holds("select s, count(*) from t group by 1", "b|49")
}
