package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

const pgScript = `
SET 'pipeline.name' = '${NAME}';
CREATE TABLE src (id BIGINT, name STRING, price DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'postgres', 'url' = '${env:TEST_SOURCE}', 'table-name' = 'items');
CREATE TABLE dst (id BIGINT, name STRING, price DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'postgres', 'url' = '${env:TEST_TARGET}', 'table-name' = 'copies');
`

// The main job through the program: a copy, then changes, over two runs; then a query, which leaves nothing at the server.
func TestPostgres(t *testing.T) {
	server := pgtest.Start(t)
	source, target := server.CreateDB(t), server.CreateDB(t)
	t.Setenv("TEST_SOURCE", source)
	t.Setenv("TEST_TARGET", target)
	pgtest.Exec(t, source, "create table items (id bigint primary key, name text, price numeric(10,2))",
		"insert into items select i, 'item ' || i, i * 1.25 from generate_series(1, 5000) i")
	pgtest.Exec(t, target, "create table copies (id bigint primary key, name text, price numeric(10,2))")
	name := pgtest.Rows(t, source, "select 'cmd_' || current_database()")[0][0]

	c := newCall(t)
	script := c.file("sync.sql", pgScript+"INSERT INTO dst SELECT id, UPPER(name) AS name, price FROM src WHERE id % 10 <> 0;")
	args := []string{"run", script, "--state", c.state(), "--until", "caught-up", "--var", "NAME=" + name, "--progress", "none"}
	equal := func(when string) {
		t.Helper()
		if code, _, errs := c.run("", args...); code != exitDone {
			t.Fatalf("%s: code %d\n%s", when, code, errs)
		}
		want := pgtest.Rows(t, source, "select id, upper(name), price from items where id % 10 <> 0 order by id")
		got := pgtest.Rows(t, target, "select id, name, price from copies order by id")
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Fatalf("%s: %d rows at the source, %d at the target, and they differ", when, len(want), len(got))
		}
	}
	equal("first copy")
	pgtest.Exec(t, source, "update items set name = 'new ' || id where id <= 100", "delete from items where id between 200 and 300",
		"insert into items select i, null, -i from generate_series(5001, 5100) i", "update items set id = id + 100000 where id between 400 and 420")
	equal("changes")
	equal("nothing new")

	before := pgtest.Rows(t, source, "select slot_name, confirmed_flush_lsn from pg_replication_slots where database = current_database()")
	query := c.file("query.sql", pgScript+"SELECT name FROM src WHERE id = 7;")
	code, out, errs := c.run("", "run", query, "--state", c.state(), "--until", "caught-up", "--var", "NAME=q", "--progress", "none", "--output", "csv")
	if code != exitDone || !strings.Contains(out, "new 7") {
		t.Errorf("query: code %d: %s%s", code, out, errs)
	}
	after := pgtest.Rows(t, source, "select slot_name, confirmed_flush_lsn from pg_replication_slots where database = current_database()")
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("slots before the query %v, after it %v", before, after)
	}
	_, out, _ = c.run("", "status", name, "--state", c.state())
	if !strings.Contains(out, "stopped") || !strings.Contains(out, "exactly-once") {
		t.Errorf("status: %s", out)
	}
	t.Log(out)
	pgtest.Exec(t, source, "select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = current_database()")
}
