package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
)

// finding is something that is missing, and what to do about it.
type finding struct{ what, fix string }

// preflightError lists all findings.
type preflightError struct {
	pipeline string
	findings []finding
}

func (e *preflightError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Postgres is not ready for pipeline %q (%d findings):", e.pipeline, len(e.findings))
	for i, f := range e.findings {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, f.what)
		if f.fix != "" {
			fmt.Fprintf(&b, "\n     fix: %s", f.fix)
		}
	}
	return b.String()
}

// inspection gathers findings.
type inspection struct {
	*source
	conn     *pgconn.PgConn
	role     string // quoted
	super    bool
	findings []finding
}

func (i *inspection) find(fix, what string, args ...any) {
	i.findings = append(i.findings, finding{fmt.Sprintf(what, args...), fix})
}

// preflight checks the server against the declarations and reports everything that is missing at once: mending one thing
// after the other, each with a run of its own, takes an owner of a database days.
func preflight(ctx context.Context, r connectors.Read) error {
	if len(r.Tables) == 0 {
		return nil
	}
	c, err := dial(ctx, r.Tables[0].Options, r.Pipeline)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	i := &inspection{source: &source{read: r, types: typeSet{}}, conn: c}
	row, err := lookUpOne(ctx, c, `select current_setting('server_version_num'), current_database(), quote_ident(current_user), r.rolsuper,
		r.rolreplication, current_setting('wal_level'), pg_is_in_recovery() from pg_roles r where r.rolname = current_user`)
	if err != nil {
		return err
	}
	i.version, i.role, i.super = int(parse64(row[0])), row[2], row[3] == "t"
	if i.version < 120000 {
		i.find("", "the server has version %d; 12 is the oldest that works", i.version/10000)
	}
	for n, tr := range r.Tables {
		t, err := newTableRead(n, tr)
		if err != nil {
			return err
		}
		t.database = row[1]
		if err := i.table(ctx, t); err != nil {
			return err
		}
	}
	if i.streaming() {
		if err := i.server(ctx, row); err != nil {
			return err
		}
		if err := i.publication(ctx); err != nil {
			return err
		}
	}
	if len(i.findings) > 0 {
		return connectors.Permanent(&preflightError{r.Pipeline, i.findings}, "")
	}
	return nil
}

// server checks what logical decoding needs.
func (i *inspection) server(ctx context.Context, row []string) error {
	if row[5] != "logical" {
		i.find("alter system set wal_level = logical, and restart the server", "wal_level is %s, and changes are decoded from the log with wal_level = logical only", row[5])
	}
	if !i.super && row[4] != "t" {
		i.find("alter role "+i.role+" replication", "role %s may not replicate", i.role)
	}
	if row[6] == "t" && i.version < 160000 {
		i.find("connect to the primary", "the server is a standby, and before version 16 a standby has no logical slots")
	}
	name, _, err := i.slotOf()
	if err != nil {
		return err
	}
	slots, err := lookUpOne(ctx, i.conn, `select count(*), count(*) filter (where slot_name = $1), current_setting('max_replication_slots')::int,
		(select count(*) from pg_stat_replication), current_setting('max_wal_senders')::int from pg_replication_slots`, name)
	if err != nil {
		return err
	}
	if slots[1] == "0" && parse64(slots[0]) >= parse64(slots[2]) {
		i.find(fmt.Sprintf("alter system set max_replication_slots = %d, and restart the server; or drop a slot that nobody needs", parse64(slots[2])+10),
			"all %s replication slots are taken", slots[2])
	}
	if parse64(slots[3]) >= parse64(slots[4]) {
		i.find(fmt.Sprintf("alter system set max_wal_senders = %d, and restart the server", parse64(slots[4])+10), "all %s walsenders are taken", slots[4])
	}
	return nil
}

// table checks one table: that it is there, can be read, and is what the declaration says.
func (i *inspection) table(ctx context.Context, t *tableRead) error {
	info, err := loadTable(ctx, i.conn, t.at)
	if err != nil {
		return err
	}
	if info == nil {
		i.find("check 'table-name', 'schema-name' and 'database-name'; case counts", "table %q: %s does not exist in database %q", t.Name, t.at, t.database)
		return nil
	}
	missing := t.match(info)
	for _, m := range missing {
		i.find("", "table %q: %s", t.Name, m)
	}
	i.tables = append(i.tables, t)
	var oids []uint32
	for n := range info.columns {
		oids = append(oids, info.columns[n].oid)
	}
	if err := loadTypes(ctx, i.conn, i.types, oids); err != nil {
		return err
	}
	for _, m := range i.misfits(t) {
		i.find("", "%s", m)
	}
	i.rights(t)
	if t.streams() {
		i.log(t)
		i.identity(t)
	}
	return nil
}

func (i *inspection) rights(t *tableRead) {
	if !t.info.visible {
		i.find("grant usage on schema "+quoteIdent(t.at.schema)+" to "+i.role, "role %s may not use schema %s", i.role, t.at.schema)
	}
	if !t.info.readable {
		var columns []string
		for _, j := range t.physical {
			if j >= 0 && !t.info.columns[j].readable {
				columns = append(columns, quoteIdent(t.info.columns[j].name))
			}
		}
		if len(columns) > 0 {
			i.find("grant select on "+t.at.sql()+" to "+i.role, "role %s may not read table %s", i.role, t.at)
		}
	}
	if t.info.secured {
		i.find("alter role "+i.role+" bypassrls, or make it an exception in the table's policies", "row security leaves out rows of %s for role %s", t.at, i.role)
	}
}

// log checks that the changes of a table are in the log as they are declared.
func (i *inspection) log(t *tableRead) {
	switch t.info.kind {
	case 'v', 'm', 'f':
		i.find("set 'scan.mode' = 'snapshot', or read the tables under it", "%s is a view or a foreign table, which has no changes of its own", t.at)
		return
	}
	if t.info.unlogged {
		i.find("alter table "+t.at.sql()+" set logged, or set 'scan.mode' = 'snapshot'", "%s is not logged, so its changes cannot be read", t.at)
	}
	for _, j := range t.physical {
		if j < 0 || !t.info.columns[j].generated {
			continue
		}
		col := t.info.columns[j].name
		if i.version < 180000 {
			i.find("leave the column out and compute it in SELECT", "table %q: column %q is generated, and before version 18 the stream does not carry generated columns", t.Name, col)
		} else if !t.generated {
			i.find("set 'publish.generated' = 'true', or compute the column in SELECT", "table %q: column %q is generated, and generated columns are not published by default", t.Name, col)
		}
	}
}

// identity compares the declared replica identity with the server's.
func (i *inspection) identity(t *tableRead) {
	declared, log := replicaIdentity.Get(t.Options), changelogMode.Get(t.Options)
	if log == "append" {
		return
	}
	is := map[byte]string{'d': "default", 'f': "full", 'i': "index", 'n': "nothing"}[t.info.identity]
	full := "alter table " + t.at.sql() + " replica identity full"
	switch {
	case declared == "nothing":
		if t.info.identified() {
			i.find("set 'replica-identity' = '"+is+"', or 'changelog.mode' = 'append' to read inserts only",
				"%s has REPLICA IDENTITY %s, not NOTHING as declared: its updates and deletes would be left out", t.at, strings.ToUpper(is))
		}
	case declared == "full":
		if t.info.identity != 'f' {
			i.find(full, "%s has REPLICA IDENTITY %s, not FULL as declared", t.at, strings.ToUpper(is))
		}
	case t.info.identity == 'n':
		i.find("alter table "+t.at.sql()+" replica identity default, or set 'replica-identity' = 'nothing' to read inserts only",
			"%s has REPLICA IDENTITY NOTHING, so its updates and deletes are not in the log", t.at)
	case !t.info.identified():
		i.find("add a primary key; or "+full+" and set 'replica-identity' = 'full'; or set 'replica-identity' = 'nothing' to read inserts only",
			"%s has no primary key, so its updates and deletes do not say which row they concern; publishing them would make the server refuse the application's own", t.at)
	default:
		i.key(t)
	}
}

// key checks that the declared key is part of what a delete carries.
func (i *inspection) key(t *tableRead) {
	if t.info.identity == 'f' {
		return
	}
	for n, j := range t.physical {
		if j >= 0 && t.isKey[n] && !t.info.columns[j].identity {
			i.find("declare the table's own key; or alter table "+t.at.sql()+" replica identity full and set 'replica-identity' = 'full'",
				"table %q: column %q of the declared PRIMARY KEY is not part of the replica identity of %s, so a delete would not carry it", t.Name, t.Columns[n].Name, t.at)
		}
	}
}

// publication checks a ready-made one, or the rights to make it.
func (i *inspection) publication(ctx context.Context) error {
	base := i.publicationBase()
	exists, err := publicationExists(ctx, i.conn, base)
	if err != nil {
		return err
	}
	if i.named() && exists {
		problems, err := i.checkPublication(ctx, i.conn, base)
		for _, p := range problems {
			what, fix, _ := strings.Cut(p, ": ")
			i.find(fix, "%s", what)
		}
		return err
	}
	if i.super {
		return nil
	}
	row, err := lookUpOne(ctx, i.conn, "select has_database_privilege(current_database(), 'CREATE'), quote_ident(current_database())")
	if err != nil {
		return err
	}
	if row[0] != "t" && !exists {
		i.find("grant create on database "+row[1]+" to "+i.role+"; or let the owner make a publication and name it in 'publication.name'",
			"role %s may not create publication %s", i.role, quoteIdent(base))
	}
	list := i.publications()
	for n := range list {
		var foreign []string
		for _, t := range list[n].tables {
			if !t.info.owned {
				foreign = append(foreign, t.at.String())
			}
		}
		if len(foreign) > 0 {
			i.find("let the owner run: create publication "+quoteIdent(list[n].name)+" for table "+i.publicationTables(&list[n])+" with ("+i.publicationParams(&list[n])+
				"); and set 'publication.name' = '"+list[n].name+"'", "role %s does not own %s, so it may not publish it", i.role, strings.Join(foreign, ", "))
		}
	}
	return nil
}
