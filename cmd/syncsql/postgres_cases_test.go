package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// pgPair is a source and a target database, named by TEST_SOURCE and TEST_TARGET for scripts.
func pgPair(t *testing.T) (source, target, name string) {
	t.Helper()
	server := pgtest.Start(t)
	source, target = server.CreateDB(t), server.CreateDB(t)
	t.Setenv("TEST_SOURCE", source)
	t.Setenv("TEST_TARGET", target)
	return source, target, pgtest.Rows(t, source, "select 'case_' || current_database()")[0][0]
}

// C044: a table without a key but with REPLICA IDENTITY FULL goes to a changelog, before-images included.
func TestC044KeylessFullIntoChangelog(t *testing.T) {
	source, _, name := pgPair(t)
	pgtest.Exec(t, source, "create table t (a int, b text)", "alter table t replica identity full", "insert into t values (1, 'x')")
	c := newCall(t)
	script := c.file("c044.sql", `SET 'pipeline.name' = '`+name+`';
CREATE TABLE src (a INT, b STRING) WITH ('connector' = 'postgres', 'url' = '${env:TEST_SOURCE}', 'table-name' = 't', 'replica-identity' = 'full');
CREATE TABLE log (a INT, b STRING) WITH ('connector' = 'filesystem', 'path' = '`+filepath.Join(c.dir, "log")+`', 'format' = 'changelog-json');
INSERT INTO log SELECT * FROM src;`)
	run := func() {
		t.Helper()
		if code, _, errs := c.run("", "run", script, "--state", c.state(), "--until", "caught-up", "--progress", "none"); code != exitDone {
			t.Fatalf("code %d\n%s", code, errs)
		}
	}
	run()
	pgtest.Exec(t, source, "update t set b = 'y'", "delete from t")
	run()
	var lines []string
	files, _ := filepath.Glob(filepath.Join(c.dir, "log", "*"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	slices.Sort(lines) // the copy and the stream write files of their own
	want := []string{`{"op":"+I","data":{"a":1,"b":"x"}}`, `{"op":"+U","data":{"a":1,"b":"y"}}`, `{"op":"-D","data":{"a":1,"b":"y"}}`, `{"op":"-U","data":{"a":1,"b":"x"}}`}
	if !slices.Equal(lines, want) {
		t.Fatalf("changelog:\n%s", strings.Join(lines, "\n"))
	}
}

// C079: rows that change while their part of the table is being copied end up as they are at the source, and no deleted
// row comes back.
func TestC079ChangesDuringTheCopy(t *testing.T) {
	source, target, name := pgPair(t)
	pgtest.Exec(t, source, "create table items (id bigint primary key, name text, price numeric(10,2))",
		"insert into items select i, 'item ' || i, 0 from generate_series(1, 30000) i")
	pgtest.Exec(t, target, "create table copies (id bigint primary key, name text, price numeric(10,2))")
	c := newCall(t)
	script := c.file("c079.sql", strings.Replace(pgScript, "'table-name' = 'items'", "'table-name' = 'items', 'scan.snapshot.rows-per-partition' = '1000'", 1)+
		"INSERT INTO dst SELECT * FROM src;")
	p := c.start("run", script, "--state", c.state(), "--var", "NAME="+name, "--progress", "none")
	for i := range 60 {
		pgtest.Exec(t, source,
			fmt.Sprintf("update items set price = price + 1, name = repeat('%d ', 40) where id %% 60 = %d", i, i),
			fmt.Sprintf("update items set price = price + 1 where id %% 60 = %d", i),
			fmt.Sprintf("delete from items where id %% 61 = %d and id %% 3 = 0", i),
			fmt.Sprintf("update items set price = price + 1 where id %% 60 = %d", (i+30)%60))
	}
	p.until("equal rows", func() bool {
		q := "select count(*), sum(hashtextextended(x::text, 0)) from %s x"
		return fmt.Sprint(pgtest.Rows(t, source, fmt.Sprintf(q, "items"))) == fmt.Sprint(pgtest.Rows(t, target, fmt.Sprintf(q, "copies")))
	})
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ended(20 * time.Second); code != exitDone {
		t.Fatalf("code %d\n%s", code, p.errs.String())
	}
}

// C098: what the server is told to be durable is never beyond the last saved checkpoint.
func TestC098ConfirmedIsSaved(t *testing.T) {
	source, target, name := pgPair(t)
	pgtest.Exec(t, source, "create table items (id bigint primary key, name text, price numeric(10,2))")
	pgtest.Exec(t, target, "create table copies (id bigint primary key, name text, price numeric(10,2))")
	c := newCall(t)
	script := c.file("c098.sql", "SET 'execution.checkpointing.interval' = '20 ms';"+pgScript+"INSERT INTO dst SELECT * FROM src;")
	p := c.start("run", script, "--state", c.state(), "--var", "NAME="+name, "--progress", "none")
	slot := "select confirmed_flush_lsn from pg_replication_slots where database = current_database()"
	p.until("a slot", func() bool { return len(pgtest.Rows(t, source, slot)) == 1 })
	seen := map[string]bool{}
	for i := range 40 {
		pgtest.Exec(t, source, fmt.Sprintf("insert into items select i, 'x', 1 from generate_series(%d, %d) i", i*100, i*100+99))
		confirmed := pgtest.Rows(t, source, slot)[0][0]
		_, out, _ := c.run("", "status", name, "--json", "--state", c.state())
		var status struct {
			Position string `json:"position"`
		}
		if err := json.Unmarshal([]byte(out), &status); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		saved, _, _ := strings.Cut(status.Position, " ")
		if saved == "" {
			continue
		}
		seen[confirmed] = true
		if ahead := pgtest.Rows(t, source, fmt.Sprintf("select '%s'::pg_lsn > '%s'::pg_lsn", confirmed, saved))[0][0]; ahead != "f" {
			t.Fatalf("confirmed %s, saved %s", confirmed, status.Position)
		}
	}
	p.until("every row", func() bool { return pgtest.Rows(t, target, "select count(*) from copies")[0][0] == "4000" })
	if len(seen) < 3 {
		t.Fatalf("the confirmed position hardly moved: %v", seen)
	}
	_ = p.Process.Kill()
	<-p.done
}
