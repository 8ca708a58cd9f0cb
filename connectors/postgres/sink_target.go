package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
)

// target is the table that is written, as the server has it.
type target struct {
	name     name
	declared string         // the table's name in the script
	columns  []targetColumn // in writing order: the key, then the others as declared
	keys     int            // columns of the key; 0 when rows are only appended
	identity bool           // a column is generated always as identity: an insert has to override it
	// copies: binary COPY takes every column, and the table takes COPY.
	copies bool
	// sets: every column can be one array of a set statement.
	sets bool
	// keySets: every column of the key can.
	keySets bool
	// exactKey: equal keys have equal bytes. Otherwise changes are applied one by one, in their order.
	exactKey bool
	formats  []byte // of the columns as parameters of a row statement
}

type targetColumn struct {
	name   string
	source int // its column in a batch
	typ    targetType
	enc    encoder
}

type declaredColumn struct {
	name, typ string
	notNull   bool
}

// attribute is a column as the catalog has it.
type attribute struct {
	typ                 uint32
	typmod              int32
	identity, generated string
	blurred             bool
}

// openTarget looks the table up, creates it if that is declared, and finds an encoder for each column. All that does not
// fit is reported at once.
func openTarget(ctx context.Context, c *pgconn.PgConn, w *connectors.Write) (*target, error) {
	n, err := tableName(w.Table.Options)
	if err != nil {
		return nil, connectors.Permanent(err, "")
	}
	t := &target{name: n, declared: w.Table.Name}
	rel, err := t.relation(ctx, c)
	if err != nil {
		return nil, err
	}
	if rel.oid == "" {
		if err := t.create(ctx, c, &w.Table); err != nil {
			return nil, err
		}
		if rel, err = t.relation(ctx, c); err != nil {
			return nil, err
		}
	}
	if !strings.Contains("rp", rel.kind) {
		return nil, connectors.Permanent(fmt.Errorf("%s is not a table", n), "write to the table itself, not to a view or a foreign table")
	}
	attributes, err := loadAttributes(ctx, c, rel.oid)
	if err != nil {
		return nil, err
	}
	if err := t.resolve(ctx, c, &w.Table, attributes); err != nil {
		return nil, err
	}
	t.copies = t.copies && !rel.secured
	if t.keys > 0 {
		if err := t.checkKey(ctx, c, rel.oid); err != nil {
			return nil, err
		}
	}
	return t, nil
}

type relation struct {
	oid, kind string
	secured   bool // row security is active for this role: COPY is refused
}

func (t *target) relation(ctx context.Context, c *pgconn.PgConn) (relation, error) {
	rows, err := query(ctx, c, `select c.oid, c.relkind, row_security_active(c.oid) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relname = $2`, t.name.schema, t.name.table)
	if err != nil || len(rows) == 0 {
		return relation{}, err
	}
	return relation{rows[0][0], rows[0][1], rows[0][2] == "t"}, nil
}

// query reads rows of text; NULL is "".
func query(ctx context.Context, c *pgconn.PgConn, sql string, params ...string) ([][]string, error) {
	values := make([][]byte, len(params))
	for i, p := range params {
		values[i] = []byte(p)
	}
	r := c.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if r.Err != nil {
		return nil, fmt.Errorf("look at the target: %w", r.Err)
	}
	rows := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, v := range row {
			rows[i] = append(rows[i], string(v))
		}
	}
	return rows, nil
}

func loadAttributes(ctx context.Context, c *pgconn.PgConn, oid string) (map[string]attribute, error) {
	rows, err := query(ctx, c, `select a.attname, a.atttypid, a.atttypmod, a.attidentity, a.attgenerated,
		coalesce(not l.collisdeterministic, false)
		from pg_attribute a left join pg_collation l on l.oid = a.attcollation
		where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped`, oid)
	if err != nil {
		return nil, err
	}
	attributes := make(map[string]attribute, len(rows))
	for _, r := range rows {
		a := attribute{identity: r[3], generated: r[4], blurred: r[5] == "t"}
		if _, err := fmt.Sscan(r[1]+" "+r[2], &a.typ, &a.typmod); err != nil {
			return nil, fmt.Errorf("look at the target: %w", err)
		}
		attributes[r[0]] = a
	}
	return attributes, nil
}

// resolve puts the columns in writing order and gives each an encoder.
func (t *target) resolve(ctx context.Context, c *pgconn.PgConn, declared *connectors.Table, attributes map[string]attribute) error {
	var keys []int
	if declared.Mode == "upsert" {
		keys = declared.Key
	}
	order := slices.Clone(keys)
	for i := range declared.Columns {
		if !slices.Contains(keys, i) {
			order = append(order, i)
		}
	}
	types := typeLoader{conn: c, types: map[uint32]*targetType{}}
	t.keys, t.copies, t.sets, t.keySets, t.exactKey = len(keys), true, true, true, true
	var problems []string
	for _, i := range order {
		d := &declared.Columns[i]
		a, ok := attributes[d.Name]
		if !ok {
			problems = append(problems, fmt.Sprintf("it has no column %q", d.Name))
			continue
		}
		if a.generated != "" {
			problems = append(problems, fmt.Sprintf("column %q is generated: leave it out of the declaration", d.Name))
			continue
		}
		if a.identity == "a" && len(keys) > 0 && !slices.Contains(keys, i) {
			problems = append(problems, fmt.Sprintf("column %q is generated always as identity and takes no update: leave it out of the declaration, or alter it to generated by default", d.Name))
			continue
		}
		typ, err := types.load(ctx, a.typ)
		if err != nil {
			return err
		}
		col := targetColumn{name: d.Name, source: i, typ: *typ}
		if a.typmod >= 0 {
			col.typ.setTypmod(a.typmod)
		}
		col.typ.blurred = a.blurred
		if col.enc, err = newEncoder(d.Type, col.typ); err != nil {
			problems = append(problems, fmt.Sprintf("column %q %s: %v; CAST it in the query", d.Name, d.SQL, err))
			continue
		}
		t.add(col, a.identity == "a")
	}
	if problems != nil {
		return connectors.Permanent(fmt.Errorf("table %s does not fit the declaration of %q:\n  %s",
			t.name, t.declared, strings.Join(problems, "\n  ")), "")
	}
	return nil
}

func (p *targetType) setTypmod(typmod int32) {
	p.typmod = typmod
	if p.elem != nil {
		elem := *p.elem
		elem.typmod = typmod
		p.elem = &elem
	}
}

func (t *target) add(c targetColumn, identity bool) {
	t.identity = t.identity || identity
	t.copies = t.copies && !c.enc.text
	set := !c.enc.list && (c.typ.array != 0 || c.enc.text)
	t.sets = t.sets && set
	if len(t.columns) < t.keys {
		t.keySets = t.keySets && set
		t.exactKey = t.exactKey && c.enc.exact
	}
	format := byte(1)
	if c.enc.text {
		format = 0
	}
	t.columns = append(t.columns, c)
	t.formats = append(t.formats, format)
}

// checkKey finds the unique index that ON CONFLICT needs.
func (t *target) checkKey(ctx context.Context, c *pgconn.PgConn, oid string) error {
	rows, err := query(ctx, c, `select i.indimmediate, (select string_agg(a.attname, E'\x01' order by a.attname) from pg_attribute a
			where a.attrelid = i.indrelid and a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts-1]))
		from pg_index i where i.indrelid = $1::oid and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null`, oid)
	if err != nil {
		return err
	}
	var keys []string
	for _, k := range t.columns[:t.keys] {
		keys = append(keys, k.name)
	}
	sorted := slices.Sorted(slices.Values(keys))
	deferrable := false
	for _, r := range rows {
		have := strings.Split(r[1], "\x01")
		slices.Sort(have)
		if slices.Equal(have, sorted) {
			if r[0] == "t" {
				return nil
			}
			deferrable = true
		}
	}
	if deferrable {
		return connectors.Permanent(fmt.Errorf("the unique constraint of %s on (%s) is deferrable, which ON CONFLICT cannot use", t.name, quoteList(keys)),
			fmt.Sprintf("run: create unique index on %s (%s)", t.name.sql(), quoteList(keys)))
	}
	return connectors.Permanent(fmt.Errorf("table %s has no unique index on the declared PRIMARY KEY (%s)", t.name, quoteList(keys)),
		fmt.Sprintf("run: alter table %s add primary key (%s)", t.name.sql(), quoteList(keys)))
}

// create makes the missing table if 'sink.create-disposition' says so.
func (t *target) create(ctx context.Context, c *pgconn.PgConn, declared *connectors.Table) error {
	var columns []declaredColumn
	for _, d := range declared.Columns {
		typ, err := columnSQL(d)
		if err != nil {
			return connectors.Permanent(fmt.Errorf("table %s does not exist, and %w", t.name, err), "create the table")
		}
		columns = append(columns, declaredColumn{d.Name, typ, !d.Nullable})
	}
	var key []string
	for _, k := range declared.Key {
		key = append(key, declared.Columns[k].Name)
	}
	sql := createSQL(t.name, columns, key)
	if createDisposition.Get(declared.Options) != "create-if-needed" {
		return connectors.Permanent(fmt.Errorf("table %s does not exist", t.name),
			"set 'sink.create-disposition' to 'create-if-needed', or run:\n"+sql)
	}
	_, err := c.Exec(ctx, strings.Replace(sql, "create table", "create table if not exists", 1)).ReadAll()
	switch code := sqlState(err); {
	case err == nil:
		return nil
	case code == codeUniqueViolation: // another sink has just made it
		return nil
	case code == codeUndefinedSchema:
		return connectors.Permanent(fmt.Errorf("create table %s: %w", t.name, err), "run: create schema "+quoteIdent(t.name.schema))
	case code == codePrivilege:
		return connectors.Permanent(fmt.Errorf("create table %s: %w", t.name, err), "run this as a role that may:\n"+sql)
	default:
		return fmt.Errorf("create table %s: %w", t.name, err)
	}
}
