package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// sourceTable is a table as the server's catalog describes it.
type sourceTable struct {
	name       name
	oid        uint32
	kind       byte // pg_class.relkind: r table, p partitioned, f foreign, v view, m materialized view
	identity   byte // pg_class.relreplident: d default, f full, i index, n nothing
	access     string
	pages      int64
	density    float64 // estimated rows in a page
	file       uint32  // changes when the table is rewritten
	children   bool
	readable   bool // the role may SELECT
	owned      bool // the role is the owner or a member of it
	unlogged   bool // its changes are not in the log
	secured    bool // row security leaves out rows for the role
	visible    bool // the role may use the schema
	columns    []sourceColumn
	partitions []sourceTable // the leaves of a partitioned table, without columns
}

// sourceColumn is one column.
type sourceColumn struct {
	name      string
	oid       uint32
	mod       int32
	typ       string // for people
	notNull   bool
	generated bool
	readable  bool
	primary   bool // part of the primary key
	identity  bool // part of what a delete carries
	external  bool // may be stored out of line, and then left out of an update
}

func (t *sourceTable) column(name string) *sourceColumn {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

// identified reports whether the server can say which row an update or a delete concerns.
func (t *sourceTable) identified() bool {
	if t.identity == 'f' {
		return true
	}
	for i := range t.columns {
		if t.columns[i].identity {
			return true
		}
	}
	return false
}

// lookUp reads rows of text from the catalog; NULL is "".
func lookUp(ctx context.Context, c *pgconn.PgConn, sql string, params ...string) ([][]string, error) {
	values := make([][]byte, len(params))
	for i, p := range params {
		values[i] = []byte(p)
	}
	r := c.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if r.Err != nil {
		return nil, r.Err
	}
	rows := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, v := range row {
			rows[i] = append(rows[i], string(v))
		}
	}
	return rows, nil
}

// lookUpOne reads one row.
func lookUpOne(ctx context.Context, c *pgconn.PgConn, sql string, params ...string) ([]string, error) {
	rows, err := lookUp(ctx, c, sql, params...)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("the server gave %d rows instead of one", len(rows))
	}
	return rows[0], nil
}

const tableSQL = `select c.oid, c.relkind, c.relreplident, coalesce(am.amname, ''),
	case when c.relkind in ('r', 'm') then pg_relation_size(c.oid) / current_setting('block_size')::int else 0 end,
	case when c.reltuples > 0 and c.relpages > 0 then (c.reltuples / c.relpages)::float8 else 50 end,
	coalesce(pg_relation_filenode(c.oid), 0), exists (select from pg_inherits i where i.inhparent = c.oid),
	has_table_privilege(c.oid, 'SELECT'), pg_has_role(c.relowner, 'USAGE'), n.nspname, c.relname,
	c.relpersistence, row_security_active(c.oid), has_schema_privilege(n.oid, 'USAGE')
	from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_am am on am.oid = c.relam`

// loadTable is nil when there is no such table.
func loadTable(ctx context.Context, c *pgconn.PgConn, n name) (*sourceTable, error) {
	rows, err := lookUp(ctx, c, tableSQL+` where n.nspname = $1 and c.relname = $2`, n.schema, n.table)
	if err != nil {
		return nil, fmt.Errorf("look at table %s: %w", n, err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	t := tableOf(rows[0])
	oid := strconv.FormatUint(uint64(t.oid), 10)
	if t.kind == 'p' {
		leaves, err := lookUp(ctx, c, tableSQL+` join pg_partition_tree($1::oid) l on l.relid = c.oid and l.isleaf order by c.oid`, oid)
		if err != nil {
			return nil, fmt.Errorf("look at the partitions of %s: %w", n, err)
		}
		for _, leaf := range leaves {
			t.partitions = append(t.partitions, tableOf(leaf))
		}
	}
	if t.columns, err = loadColumns(ctx, c, oid); err != nil {
		return nil, fmt.Errorf("look at the columns of %s: %w", n, err)
	}
	return &t, nil
}

func tableOf(r []string) sourceTable {
	return sourceTable{
		oid: parse32(r[0]), kind: r[1][0], identity: r[2][0], access: r[3], pages: parse64(r[4]), density: parseFloat(r[5]),
		file: parse32(r[6]), children: r[7] == "t", readable: r[8] == "t", owned: r[9] == "t", name: name{r[10], r[11]},
		unlogged: r[12] != "p", secured: r[13] == "t", visible: r[14] == "t",
	}
}

// loadColumns reads the columns that exist. A key's included columns do not identify a row.
func loadColumns(ctx context.Context, c *pgconn.PgConn, oid string) ([]sourceColumn, error) {
	rows, err := lookUp(ctx, c, `select a.attname, a.atttypid, a.atttypmod, format_type(a.atttypid, a.atttypmod), a.attnotnull,
		a.attgenerated <> '', has_column_privilege(c.oid, a.attnum, 'SELECT'),
		exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts-1])),
		case c.relreplident when 'f' then true when 'n' then false else exists (select from pg_index i
			where i.indrelid = c.oid and i.indimmediate and i.indisvalid and case c.relreplident when 'i' then i.indisreplident else i.indisprimary end
			and a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts-1])) end,
		a.attstorage <> 'p'
		from pg_attribute a join pg_class c on c.oid = a.attrelid
		where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`, oid)
	if err != nil {
		return nil, err
	}
	columns := make([]sourceColumn, len(rows))
	for i, r := range rows {
		columns[i] = sourceColumn{
			name: r[0], oid: parse32(r[1]), mod: int32(parse64(r[2])), typ: r[3], notNull: r[4] == "t", generated: r[5] == "t",
			readable: r[6] == "t", primary: r[7] == "t", identity: r[8] == "t", external: r[9] == "t",
		}
	}
	return columns, nil
}

// loadTypes adds types, and what they are made of, to a set.
func loadTypes(ctx context.Context, c *pgconn.PgConn, types typeSet, oids []uint32) error {
	list := "{"
	for _, oid := range oids {
		if types[oid] == nil {
			if len(list) > 1 {
				list += ","
			}
			list += strconv.FormatUint(uint64(oid), 10)
		}
	}
	if list == "{" {
		return nil
	}
	rows, err := lookUp(ctx, c, `with recursive used(oid) as (select unnest($1::oid[]) union
			select part.oid from used u join pg_type t on t.oid = u.oid cross join lateral (values (t.typbasetype), (t.typelem)) part(oid)
			where part.oid <> 0)
		select t.oid, format_type(t.oid, -1), t.typtype, t.typbasetype, t.typtypmod,
			case when t.typcategory = 'A' and t.typtype = 'b' and t.typarray = 0 then t.typelem else 0 end,
			quote_ident(n.nspname) || '.' || quote_ident(p.proname)
		from used u join pg_type t on t.oid = u.oid join pg_proc p on p.oid = t.typoutput join pg_namespace n on n.oid = p.pronamespace`, list+"}")
	if err != nil {
		return fmt.Errorf("look at types: %w", err)
	}
	for _, r := range rows {
		t := &sourceType{oid: parse32(r[0]), name: r[1], kind: r[2][0], base: parse32(r[3]), mod: int32(parse64(r[4])),
			elem: parse32(r[5]), output: r[6]}
		types[t.oid] = t
	}
	return nil
}

// parse32, parse64 and parseFloat read numbers of the catalog.
func parse32(s string) uint32 { n, _ := strconv.ParseUint(s, 10, 32); return uint32(n) }
func parse64(s string) int64  { n, _ := strconv.ParseInt(s, 10, 64); return n }

func parseFloat(s string) float64 { n, _ := strconv.ParseFloat(s, 64); return n }
