package postgres

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

func TestTableNames(t *testing.T) {
	for text, want := range map[string]string{
		"t": "public|t", "s.t": "s|t", `"Sales.EU"."Order Item"`: "Sales.EU|Order Item", "Order Item": "public|Order Item", "größe": "public|größe",
		`"a""b"`: `public|a"b`, `s."t.x"`: "s|t.x", "CONFIG": "public|CONFIG",
		"": "", "a.b.c": "", "a..b": "", `"a`: "", `"a"b`: "", `a"b`: "", `""`: "", ".a": "", "a.": "", "a\x00": "", "\"a\x00\"": "",
	} {
		n, err := tableName(option.SetOf(map[string]string{"table-name": text}))
		if got := n.schema + "|" + n.table; err == nil && got != want || err != nil && want != "" {
			t.Errorf("%q: got %q (%v), want %q", text, got, err, want)
		}
	}
	if _, err := tableName(option.SetOf(map[string]string{"table-name": "a.t", "schema-name": "b"})); err == nil {
		t.Error("two schemas are accepted")
	}
	if n, err := tableName(option.SetOf(map[string]string{"table-name": "t", "schema-name": "Sales.EU"})); err != nil || n.schema != "Sales.EU" {
		t.Error(n, err)
	}
}

func TestOwnNames(t *testing.T) {
	seen := map[string]string{}
	for _, p := range []string{"orders", "Orders", "or ders", "or-ders", "or_ders", strings.Repeat("long", 30), strings.Repeat("long", 31), "größe", ""} {
		n := ownName(p)
		if checkSlotName(n) != nil || seen[n] != "" {
			t.Errorf("%q and %q are named %q", p, seen[n], n)
		}
		seen[n] = p + " "
	}
	if ownName("orders") != "syncsql_orders" {
		t.Error(ownName("orders"))
	}
}

func TestConnectionSettings(t *testing.T) {
	t.Setenv("SECRET", "p@ss/w:rd")
	for _, set := range []map[string]string{
		{"hostname": "db", "port": "5433", "username": "me", "password": "${env:SECRET}", "database-name": "Main-Db 7"},
		{"url": "postgres://me:${env:SECRET}@db:5433/Main-Db%207"},
		{"url": "postgres://other@db:5433/x", "username": "me", "password": "${env:SECRET}", "database-name": "Main-Db 7"},
	} {
		if strings.Contains(set["url"], "${env") {
			t.Setenv("SECRET", "p%40ss%2Fw:rd") // in a url it is written like one
		} else {
			t.Setenv("SECRET", "p@ss/w:rd")
		}
		c, err := connConfig(option.SetOf(set), "p")
		if err != nil {
			t.Fatal(err)
		}
		if c.Host != "db" || c.Port != 5433 || c.User != "me" || c.Password != "p@ss/w:rd" || c.Database != "Main-Db 7" || c.ConnectTimeout != 30*time.Second {
			t.Errorf("%v: %s %d %s %q %s", set, c.Host, c.Port, c.User, c.Database, c.ConnectTimeout)
		}
		if c.RuntimeParams["application_name"] != "syncsql p" || c.RuntimeParams["TimeZone"] != "UTC" {
			t.Errorf("%v", c.RuntimeParams)
		}
	}
	base := map[string]string{"url": "postgres://me@db/x", "ssl.mode": "require", "connect.timeout": "3 s"}
	c, err := connConfig(option.SetOf(base), "")
	if err != nil || c.TLSConfig == nil || len(c.Fallbacks) > 0 || c.ConnectTimeout != 3*time.Second {
		t.Errorf("%+v %v", c, err)
	}
	base["ssl.mode"], base["ssl.root-cert"] = "verify-ca", "/does/not/exist"
	if _, err := connConfig(option.SetOf(base), ""); err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("%v", err)
	}
}

func TestPasswordsStayOutOfErrors(t *testing.T) {
	t.Setenv("SECRET", "hunter2!")
	for _, set := range []map[string]string{
		{"url": "postgres://me:hunter2!@127.0.0.1:1/x"}, {"url": "postgres://me:hunter2!@127.0.0.1:bad/x"}, {"url": "mysql://me:hunter2!@h/x"},
		{"hostname": "127.0.0.1", "port": "1", "username": "me", "password": "${env:SECRET}", "database-name": "x"}, {"url": "hunter2!"},
		{"url": "postgres://me:hunter2!@127.0.0.1:1/x?sslmode=nonsense"}, {"hostname": "h", "password": "${env:MISSING}"},
	} {
		_, err := dial(t.Context(), option.SetOf(set), "p")
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: %v", set, err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for want, sets := range map[string][]map[string]string{
		"postgres://me@db:5432/x":             {{"hostname": "db", "username": "me", "database-name": "x", "password": "p"}, {"hostname": "db", "port": "5432", "username": "me", "database-name": "x"}, {"url": "postgres://me:secret@db:5432/x"}},
		"postgres://@${env:PG}":               {{"url": "${env:PG}"}},
		"postgres://@postgres://me@db/x":      {{"url": "postgres://me:${env:PW}@db/x"}, {"url": "postgres://me:lit${env:PW}@db/x"}},
		"postgres://@db:5432/x slot.name=one": {{"hostname": "db", "database-name": "x", "slot.name": "one"}},
	} {
		for _, set := range sets {
			if got := endpoint(option.SetOf(set)); got != want {
				t.Errorf("%v: got %q, want %q", set, got, want)
			}
		}
	}
}

func problemsOf(list []connectors.Problem) (codes []string) {
	for _, p := range list {
		codes = append(codes, p.Option+":"+p.Column+":"+p.Code)
	}
	return codes
}

func TestValidate(t *testing.T) {
	full := map[string]string{"hostname": "h", "database-name": "d", "table-name": "t"}
	with := func(kv ...string) map[string]string {
		m := map[string]string{}
		for k, v := range full {
			m[k] = v
		}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for _, c := range []struct {
		set  map[string]string
		key  bool
		role connectors.Role
		want []string
	}{
		{full, true, connectors.Reading, nil},
		{full, false, connectors.Writing, nil},
		{full, false, connectors.Reading, []string{"::missing-key"}},
		{with("replica-identity", "full"), false, connectors.Reading, nil},
		{with("replica-identity", "full", "changelog.mode", "upsert"), false, connectors.Reading, []string{"changelog.mode::missing-key"}},
		{with("replica-identity", "nothing"), false, connectors.Reading, nil},
		{with("changelog.mode", "append"), false, connectors.Reading, nil},
		{with("scan.mode", "snapshot"), false, connectors.Reading, nil},
		{map[string]string{"table-name": "t"}, true, connectors.Reading, []string{"::missing-option", "::missing-option"}},
		{with("url", "postgres://h/d"), true, connectors.Reading, []string{"url::option-conflict"}},
		{with("table-name", "a.b", "schema-name", "c"), true, connectors.Reading, []string{"table-name::bad-value"}},
	} {
		table := connectors.Table{Name: "t", Columns: []connectors.Column{{Name: "id", Type: arrowType(t, "INT"), SQL: "INT"}}, Options: option.SetOf(c.set)}
		if c.key {
			table.Key = []int{0}
		}
		if got := problemsOf(validate(table, c.role)); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.set, got, c.want)
		}
	}
}

func TestFlinkSpellings(t *testing.T) {
	out, problems := translateCDC(option.SetOf(map[string]string{"hostname": "h", "table-name": "t", "decoding.plugin.name": "pgoutput", "scan.startup.mode": "latest-offset", "debezium.publication.name": "pub"}))
	if len(problems) > 0 || scanMode.Get(out) != "stream" || replicaIdentity.Get(out) != "full" || publicationName.Get(out) != "pub" || out.Has("decoding.plugin.name") {
		t.Errorf("%v %v", out.Keys(), problems)
	}
	out, _ = translateCDC(option.SetOf(map[string]string{"changelog.mode": "upsert"}))
	if out.Has("replica-identity") {
		t.Error("upsert needs no replica identity FULL")
	}
	_, problems = translateCDC(option.SetOf(map[string]string{"decoding.plugin.name": "wal2json", "scan.startup.mode": "never", "table-name": "orders_.*", "debezium.publication.autocreate.mode": "all_tables", "debezium.slot.drop.on.stop": "true"}))
	if len(problems) != 5 {
		t.Errorf("%v", problems)
	}
	out, problems = translateJDBC(option.SetOf(map[string]string{"url": "jdbc:postgresql://h:5433/d?user=me&password=pw&currentSchema=s&sslmode=require&x=y", "table-name": "t"}))
	if len(problems) > 0 || address.Get(out) != "postgresql://h:5433/d?sslmode=require" || username.Get(out) != "me" || password.Get(out) != "pw" || schema.Get(out) != "s" {
		t.Errorf("%q %v", address.Get(out), problems)
	}
	out, _ = translateJDBC(option.SetOf(map[string]string{"url": "jdbc:postgresql:d", "table-name": "t"}))
	if address.Get(out) != "postgresql://localhost:5432/d" {
		t.Error(address.Get(out))
	}
	for _, bad := range []string{"jdbc:mysql://h/d", "jdbc:postgresql://"} {
		if _, problems = translateJDBC(option.SetOf(map[string]string{"url": bad})); len(problems) != 1 {
			t.Errorf("%s: %v", bad, problems)
		}
	}
}

func TestModes(t *testing.T) {
	for _, c := range []struct{ scan, identity, log, want string }{
		{"cdc", "default", "all", "cdc [+I +U -D] key"}, {"cdc", "index", "all", "cdc [+I +U -D] key"}, {"cdc", "full", "all", "cdc [+I -U +U -D] full"},
		{"cdc", "full", "upsert", "cdc [+I +U -D] none"}, {"cdc", "nothing", "all", "cdc [+I] none"}, {"cdc", "default", "append", "cdc [+I] none"},
		{"stream", "full", "all", "stream [+I -U +U -D] full"}, {"snapshot", "full", "all", "snapshot [+I] none"},
	} {
		set := option.SetOf(map[string]string{"scan.mode": c.scan, "replica-identity": c.identity, "changelog.mode": c.log})
		for _, m := range readModes() {
			if slices.ContainsFunc(m.When, func(w connectors.When) bool { e, _ := set.Lookup(w.Option); return e.Text != w.Value }) {
				continue
			}
			if got := m.Name + " " + m.Emits.String() + " " + m.BeforeImages; got != c.want || m.KeyedDeletes != (m.BeforeImages == "key") {
				t.Errorf("%+v: got %q", c, got)
			}
			break
		}
	}
}
