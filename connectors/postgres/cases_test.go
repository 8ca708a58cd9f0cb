package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
)

// largeValue is a value that is stored out of line: it does not compress.
const largeValue = "(select string_agg(md5(i::text), '') from generate_series(1, 300) i)"

// shorten makes big values readable.
func shorten(rows []string) []string {
	for i, r := range rows {
		fields := strings.Fields(r)
		for j, f := range fields {
			if len(f) == 9600 {
				fields[j] = "BIG"
			}
		}
		rows[i] = strings.Join(fields, " ")
	}
	return rows
}

// refused checks that an error is final and says what is wrong.
func refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	var p *connectors.PermanentError
	var c *connectors.SchemaChange
	if !errors.As(err, &p) && !errors.As(err, &c) {
		t.Errorf("%v would be tried again", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestC001NaNIsARowError(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, n numeric)", "insert into t values (1,'NaN'),(2,'Infinity')")
	x.table("t", "id INT key; n DECIMAL(10,2)")
	x.skip = true
	x.want(x.copyRows())
	x.exec("insert into t values (3,'-Infinity'),(4,1.5),(5,1.555),(6,123456789)")
	x.want(x.caughtUp(), "+I 4 1.5")
	var got []string
	for _, e := range x.rejected {
		got = append(got, e.Error())
	}
	x.want(got,
		`table "t" row (id=1) column "n": NaN is not a DECIMAL (the value is NaN)`,
		`table "t" row (id=2) column "n": Infinity is not a DECIMAL (the value is Infinity)`,
		`table "t" row (id=3) column "n": -Infinity is not a DECIMAL (the value is -Infinity)`,
		`table "t" row (id=5) column "n": the number has more digits than the declared DECIMAL (the value is 1.555)`,
		`table "t" row (id=6) column "n": the number has more digits than the declared DECIMAL (the value is 123456789)`)
	if r := x.rejected[2]; r.Row != `{"id":"3","n":"-Infinity"}` || r.At == nil {
		t.Errorf("row %s at %x", r.Row, r.At)
	}
}

// TestC001FailKeepsWhatCameBefore: the rows before the bad one are handed over, those after it are not.
func TestC001FailKeepsWhatCameBefore(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, n numeric)")
	x.table("t", "id INT key; n DECIMAL(10,2)")
	x.copyRows()
	x.exec("insert into t values (1,1)", "insert into t values (2,'NaN')", "insert into t values (3,3)")
	for range 2 {
		rows, err := x.tryCaughtUp()
		var bad *connectors.RowError
		if !errors.As(err, &bad) || bad.Key != "id=2" {
			t.Fatalf("%v", err)
		}
		if len(rows) > 0 {
			x.want(rows, "+I 1 1")
		}
	}
}

func TestC017MultiDimensionalArrays(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, a int[])")
	x.table("t", "id INT key; a ARRAY<INT>")
	x.skip = true
	x.copyRows()
	x.exec("insert into t values (1,'{1,2}'),(2,'{{1,2},{3,4}}'),(3,'[0:1]={7,8}')")
	x.want(x.caughtUp(), "+I 1 [1,2]")
	if len(x.rejected) != 2 || !strings.Contains(x.rejected[0].Reason, "2 dimensions") || !strings.Contains(x.rejected[1].Reason, "index 0") {
		t.Errorf("%v", x.rejected)
	}
}

func TestC029GeneratedColumns(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, name text, up text generated always as (upper(name)) stored)")
	x.table("t", "id INT key; name STRING; up STRING")
	refused(t, preflight(x.ctx(), x.read), `column "up" is generated`, "compute it in SELECT")
	x.read.Tables = nil
	x.table("t", "id INT key; name STRING")
	if err := preflight(x.ctx(), x.read); err != nil {
		t.Error(err)
	}
	x.copyRows()
	x.exec("insert into t values (1,'a')", "update t set name='b'")
	x.want(x.caughtUp(), "+I 1 a", "+U 1 b")
}

// TestC037 and C038, C040, C041: what is not sent is marked, or taken from the old row, or read again.
func TestC037UnchangedLargeValues(t *testing.T) {
	ddl := []string{"create table t(id int primary key, small int, big text)", "alter table t alter big set storage external", "insert into t values (1,1," + largeValue + ")"}
	change := "update t set small=2 where id=1"
	t.Run("marked", func(t *testing.T) {
		x := newSourceRig(t, ddl...)
		x.table("t", "id INT key; small INT; big STRING")
		x.copyRows()
		x.open() // what is written from now on is after the copy
		x.exec(change)
		x.want(shorten(x.next(1)), "+U 1 2 ~")
	})
	t.Run("whole rows", func(t *testing.T) {
		x := newSourceRig(t, ddl...)
		x.table("t", "id INT key; small INT; big STRING")
		x.read.Tables[0].WholeRows = true
		x.copyRows()
		x.exec(change, "insert into t values (2,0,null)", "update t set small=3 where id=2")
		x.want(shorten(x.caughtUp()), "+U 1 2 BIG", "+I 2 0 NULL", "+U 2 3 NULL")
	})
	t.Run("fail", func(t *testing.T) {
		x := newSourceRig(t, ddl...)
		x.table("t", "id INT key; small INT; big STRING", "scan.unchanged-toast", "fail")
		x.read.Tables[0].WholeRows = true
		x.copyRows()
		x.exec(change)
		_, err := x.tryCaughtUp()
		refused(t, err, "did not send a large value", "replica identity full")
	})
	t.Run("fail is for whole rows", func(t *testing.T) {
		x := newSourceRig(t, ddl...)
		x.table("t", "id INT key; small INT; big STRING", "scan.unchanged-toast", "fail")
		x.copyRows()
		x.exec(change) // from before the stream: the value is read again whatever the option says
		x.want(shorten(x.caughtUp()), "+U 1 2 BIG")
	})
	t.Run("key change", func(t *testing.T) {
		x := newSourceRig(t, ddl...)
		x.table("t", "id INT key; small INT; big STRING")
		x.copyRows()
		x.open()
		x.exec("update t set id=5")
		x.want(shorten(x.next(2)), "-D 1 ~ ~", "+U 5 1 BIG")
	})
	t.Run("gone meanwhile", func(t *testing.T) {
		x := newSourceRig(t, ddl...)
		x.table("t", "id INT key; small INT; big STRING")
		x.read.Tables[0].WholeRows = true
		x.copyRows()
		x.exec(change, "delete from t")
		x.want(shorten(x.caughtUp()), "+U 1 2 ~", "-D 1 ~ ~")
	})
}

func TestC038FullTakesTheOldRow(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, small int, big text)", "alter table t alter big set storage external",
		"alter table t replica identity full", "insert into t values (1,1,"+largeValue+"),(2,1,null)")
	x.table("t", "id INT key; small INT; big STRING", "replica-identity", "full")
	x.copyRows()
	x.exec("update t set small=2")
	x.want(shorten(x.caughtUp()), "-U 1 1 BIG", "+U 1 2 BIG", "-U 2 1 NULL", "+U 2 2 NULL")
}

func TestC043ApplicationKeepsUpdating(t *testing.T) {
	x := newSourceRig(t, "create table t(id int)", "create table k(id int primary key)", "insert into t values (1)")
	x.table("t", "id INT", "replica-identity", "nothing").table("k", "id INT key")
	if err := preflight(x.ctx(), x.read); err != nil {
		t.Fatal(err)
	}
	x.copyRows()
	x.exec("update t set id=2", "insert into t values (3)", "delete from t where id=2", "insert into k values (1)", "update k set id=2")
	rows := x.caughtUp()
	slices.Sort(rows)
	x.want(rows, "+I 1", "+I 3", "+U 2", "-D 1")
	// Declared otherwise, it is refused before a publication exists.
	x.read.Tables = nil
	x.table("t", "id INT key")
	x.read.Pipeline += "2"
	refused(t, preflight(x.ctx(), x.read), "no primary key", "application's own")
}

func TestC046NothingIsListed(t *testing.T) {
	x := newSourceRig(t, "create table a(id int primary key)", "create table b(id int primary key)", "create table c(id int primary key)",
		"alter table a replica identity nothing", "alter table c replica identity nothing")
	x.table("a", "id INT key").table("b", "id INT key").table("c", "id INT key")
	err := preflight(x.ctx(), x.read)
	refused(t, err, "(2 findings)", "public.a has REPLICA IDENTITY NOTHING", "public.c has REPLICA IDENTITY NOTHING")
}

func TestC047KeyReplaced(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, id2 int not null)", "insert into t values (1,10)")
	x.table("t", "id INT key; id2 INT")
	x.copyRows()
	x.open()
	x.exec("insert into t values (2,20)")
	x.want(x.next(1), "+I 2 20")
	x.exec("alter table t drop constraint t_pkey", "alter table t add primary key (id2)", "update t set id=3 where id=2")
	_, _, err := x.drain(x.source)
	refused(t, err, `column "id" of the declared PRIMARY KEY is no longer part of its replica identity`)
}

func TestC050KeysSwapped(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key, v text)", "insert into t values (1,'a'),(2,'b')")
	x.table("t", "id INT key; v STRING")
	x.copyRows()
	x.exec("begin; update t set id=-1 where id=1; update t set id=1 where id=2; update t set id=2 where id=-1; commit")
	x.want(x.caughtUp(), "-D 1 ~", "+U -1 a", "-D 2 ~", "+U 1 b", "-D -1 ~", "+U 2 a")
}

func TestC052Truncate(t *testing.T) {
	ddl := []string{"create table t(id int primary key)", "insert into t values (1)"}
	t.Run("fail", func(t *testing.T) {
		x := newSourceRig(t, ddl...)
		x.table("t", "id INT key")
		x.copyRows()
		x.exec("insert into t values (2)", "truncate t", "insert into t values (3)")
		rows, err := x.tryCaughtUp()
		refused(t, err, "was truncated", "'scan.truncate'")
		x.want(rows, "+I 2")
		_, err = x.tryCaughtUp()
		refused(t, err, "was truncated")
	})
	t.Run("ignore", func(t *testing.T) {
		x := newSourceRig(t, ddl...)
		x.table("t", "id INT key", "scan.truncate", "ignore")
		x.copyRows()
		x.exec("insert into t values (2)", "truncate t", "insert into t values (3)")
		x.want(x.caughtUp(), "+I 2", "+I 3")
		if len(x.warnings) != 1 || x.warnings[0].Code != "truncate-ignored" {
			t.Errorf("%v", x.warnings)
		}
	})
}

func TestC053OneTruncateManyTables(t *testing.T) {
	x := newSourceRig(t, "create table a(id int primary key)", "create table c(id int primary key)", "create table b(id int primary key, a int references a, c int references c)")
	x.table("a", "id INT key", "scan.truncate", "ignore").table("b", "id INT key", "scan.truncate", "ignore")
	x.copyRows()
	x.exec("truncate a, c restart identity cascade", "insert into a values (1)")
	x.want(x.caughtUp(), "+I 1")
	var told []string
	for _, w := range x.warnings {
		told = append(told, w.Code+" "+w.Table)
	}
	slices.Sort(told)
	if !slices.Equal(told, []string{"truncate-ignored a", "truncate-ignored b"}) {
		t.Errorf("%v", told)
	}
}

func TestC055ReadyMadePublications(t *testing.T) {
	x := newSourceRig(t, "create table ev(id int primary key, at int) partition by range (id)", "create table ev1 partition of ev for values from (0) to (10)",
		"create table t(id int primary key)", "create publication all_plain for all tables", "create publication all_root for all tables with (publish_via_partition_root)",
		"create publication leaf for table ev", "create publication root for table ev with (publish_via_partition_root)", "create publication other for table t",
		"create publication ins for table ev with (publish = 'insert', publish_via_partition_root)", "create publication cols for table ev (id) with (publish_via_partition_root)",
		"create publication schema for tables in schema public with (publish_via_partition_root)")
	for pub, want := range map[string]string{
		"all_plain": "alter publication \"all_plain\" set (publish_via_partition_root = true)", "all_root": "", "root": "", "schema": "",
		"leaf": "set (publish_via_partition_root = true)", "other": `alter publication "other" add table "public"."ev"`,
		"ins": "set (publish = 'insert, update, delete, truncate')", "cols": `leaves out column "at"`,
	} {
		x.read.Tables = nil
		x.table("ev", "id INT key; at INT", "publication.name", pub)
		err := preflight(x.ctx(), x.read)
		if want == "" && err != nil {
			t.Errorf("%s: %v", pub, err)
		} else if want != "" {
			refused(t, err, want)
		}
	}
	x.read.Tables = nil
	x.table("ev", "id INT key; at INT", "publication.name", "root")
	x.copyRows()
	x.exec("insert into ev values (1,1)")
	x.want(x.caughtUp(), "+I 1 1")
}

func TestC058PartitionsOnceAndOnly(t *testing.T) {
	x := newSourceRig(t, "create table ev(id int primary key, v text) partition by range (id)", "create table ev1 partition of ev for values from (0) to (10)",
		"create table ev2(v text, junk int, id int not null)", "alter table ev2 drop column junk", "alter table ev attach partition ev2 for values from (10) to (20)",
		"insert into ev values (1,'a'),(11,'b')", "create table parent(id int primary key)", "create table child(extra int) inherits (parent)",
		"insert into parent values (1)", "insert into child values (2, 2)")
	x.table("ev", "id INT key; v STRING; tab STRING from table").table("parent", "id INT key")
	x.want(x.copyRows(), "+I 1", "+I 1 a ev", "+I 11 b ev")
	x.exec("update ev set id=12 where id=1", "insert into ev values (2,'c')", "insert into child values (3,3)", "insert into parent values (4)")
	rows := x.caughtUp()
	slices.Sort(rows)
	x.want(rows, "+I 12 a ev", "+I 2 c ev", "+I 4", "-D 1 ~ ev")
}

func TestMetadataColumns(t *testing.T) {
	x := newSourceRig(t, "create table t(id int primary key)", "insert into t values (1)")
	x.table("t", "id INT key; o STRING from op; s BOOLEAN from snapshot; tab STRING from table; sch STRING from schema_name; k STRING from row_kind; x BIGINT from txn_id; c TIMESTAMP_LTZ(6) from commit_timestamp; ts TIMESTAMP_LTZ(6) from op_ts; l STRING from lsn; db STRING from database")
	x.want(cut(x.copyRows(), 10), "+I 1 read true t public +I NULL NULL 1970-01-01T00:00:00Z")
	x.exec("insert into t values (2)", "delete from t where id=1")
	rows := x.caughtUp()
	x.want(cut(rows, 7), "+I 2 insert false t public +I", "-D 1 delete false t public -D")
	f := strings.Fields(rows[0])
	row := pgtest.Rows(t, x.url, "select "+f[7]+"::text::xid::text = min(xmin::text), now() - '"+f[8]+"' < '1 min' and '"+f[8]+"' < now(), '"+f[10]+"'::pg_lsn < pg_current_wal_lsn(), '"+f[11]+"' = current_database() from t")
	x.want(row[0], "t", "t", "t", "t")
}

// cut keeps the first fields of each row.
func cut(rows []string, n int) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		f := strings.Fields(r)
		out[i] = strings.Join(f[:min(n, len(f))], " ")
	}
	return out
}
