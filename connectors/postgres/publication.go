package postgres

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
)

// publication is one that the pipeline reads.
type publication struct {
	name    string
	publish string // as in publication_parameter publish
	tables  []*tableRead
}

// publications groups the tables of the stream. A table without a replica identity must not be in a publication that
// publishes updates: the server would then refuse the application's own UPDATE. So tables of which only inserts are read
// have a publication of their own.
func (s *source) publications() []publication {
	base := ownName(s.read.Pipeline)
	for _, t := range s.tables {
		if t.Options.Has(publicationName.Key) {
			base = publicationName.Get(t.Options)
		}
	}
	all := publication{publish: "insert, update, delete, truncate"}
	inserts := publication{publish: "insert, truncate"}
	changes := map[name]bool{}
	for _, t := range s.tables {
		if t.streams() && !t.inserts {
			changes[t.at] = true
		}
	}
	for _, t := range s.tables {
		switch {
		case !t.streams():
		case changes[t.at]:
			all.tables = append(all.tables, t)
		default:
			inserts.tables = append(inserts.tables, t)
		}
	}
	var list []publication
	if len(all.tables) > 0 {
		all.name = base
		list = append(list, all)
		base = base[:min(len(base), 55)] + "_inserts"
	}
	if len(inserts.tables) > 0 {
		inserts.name = base
		list = append(list, inserts)
	}
	return list
}

// named reports whether the user names the publication: then one that exists is used as it is.
func (s *source) named() bool {
	return slices.ContainsFunc(s.tables, func(t *tableRead) bool { return t.Options.Has(publicationName.Key) })
}

// publish makes sure that the publications exist, and that those of our own hold exactly the pipeline's tables, columns and
// filters. It returns the names to subscribe to.
func (s *source) publish(ctx context.Context, c *pgconn.PgConn) ([]string, error) {
	list := s.publications()
	if s.read.From != nil {
		if err := s.stillPublished(ctx, c, list); err != nil {
			return nil, err
		}
	}
	if s.named() {
		exists, err := publicationExists(ctx, c, s.publicationBase())
		if err != nil {
			return nil, err
		}
		if exists {
			return []string{s.publicationBase()}, nil
		}
	}
	var names []string
	for i := range list {
		if err := s.publishOne(ctx, c, &list[i]); err != nil {
			return nil, fmt.Errorf("publication %q: %w", list[i].name, err)
		}
		names = append(names, list[i].name)
	}
	return names, nil
}

// stillPublished refuses to make a publication again under a slot that has read from it: what was changed in between is
// not in it, and version 18 would leave that out with no more than a warning in its log.
func (s *source) stillPublished(ctx context.Context, c *pgconn.PgConn, list []publication) error {
	for i := range list {
		if i > 0 && s.named() {
			break // one that the user made holds all tables
		}
		exists, err := publicationExists(ctx, c, list[i].name)
		if err != nil {
			return err
		}
		if exists {
			continue
		}
		return connectors.Permanent(fmt.Errorf("publication %q does not exist any more; changes made without it cannot be read", list[i].name), resetHelp)
	}
	return nil
}

const resetHelp = "a publication must not be dropped while a slot reads it. `syncsql reset` the pipeline and run it: the tables are copied again"

func (s *source) publicationBase() string {
	for _, t := range s.tables {
		if t.Options.Has(publicationName.Key) {
			return publicationName.Get(t.Options)
		}
	}
	return ownName(s.read.Pipeline)
}

func publicationExists(ctx context.Context, c *pgconn.PgConn, name string) (bool, error) {
	rows, err := lookUp(ctx, c, "select from pg_publication where pubname = $1", name)
	return len(rows) > 0, err
}

// publishOne creates or changes one publication. What it was made from is its comment, so that a restart with the same
// script changes nothing: a change takes locks, and makes the server describe every table again.
func (s *source) publishOne(ctx context.Context, c *pgconn.PgConn, p *publication) error {
	tables, params := s.publicationTables(p), s.publicationParams(p)
	made := "syncsql: " + tables + " " + params
	rows, err := lookUp(ctx, c, `select coalesce(obj_description(p.oid, 'pg_publication'), ''),
		(select count(*) from pg_publication_rel r where r.prpubid = p.oid) from pg_publication p where pubname = $1`, p.name)
	if err != nil {
		return err
	}
	statements := []string{"create publication " + quoteIdent(p.name) + " for table " + tables + " with (" + params + ")"}
	if len(rows) > 0 {
		if rows[0][0] == made && parse64(rows[0][1]) == int64(p.distinct()) {
			return nil
		}
		statements = []string{
			"alter publication " + quoteIdent(p.name) + " set table " + tables,
			"alter publication " + quoteIdent(p.name) + " set (" + params + ")",
		}
	}
	statements = append(statements, "comment on publication "+quoteIdent(p.name)+" is "+quoteLiteral(made))
	_, err = c.Exec(ctx, "begin; "+strings.Join(statements, "; ")+"; commit").ReadAll()
	if err != nil {
		c.Exec(ctx, "rollback").ReadAll()
	}
	return err
}

func (p *publication) distinct() int {
	names := map[name]bool{}
	for _, t := range p.tables {
		names[t.at] = true
	}
	return len(names)
}

func (s *source) publicationParams(p *publication) string {
	params := "publish = '" + p.publish + "'"
	if s.version >= 130000 {
		params += ", publish_via_partition_root = true"
	}
	if s.version >= 180000 && slices.ContainsFunc(p.tables, func(t *tableRead) bool { return t.generated }) {
		params += ", publish_generated_columns = stored"
	}
	return params
}

// publicationTables spells the tables with column lists and row filters, as far as the server has them.
func (s *source) publicationTables(p *publication) string {
	var list []string
	seen := map[name]bool{}
	for _, t := range p.tables {
		if seen[t.at] {
			continue
		}
		seen[t.at] = true
		var same []*tableRead
		for _, o := range p.tables {
			if o.at == t.at {
				same = append(same, o)
			}
		}
		list = append(list, s.publicationTable(same, p.publish != "insert, truncate"))
	}
	return strings.Join(list, ", ")
}

// publicationTable spells one table that one or more declared tables read. The server refuses an application's update when
// a column list or a filter does not fit the replica identity, so neither is used unless it does.
func (s *source) publicationTable(reads []*tableRead, updates bool) string {
	t := reads[0]
	text := t.at.sql()
	if t.info.kind != 'p' {
		text = "only " + text // rows of inheriting tables would come under the names of those
	}
	if s.version < 150000 {
		return text
	}
	used := map[string]bool{}
	for _, r := range reads {
		for _, j := range r.physical {
			if j >= 0 {
				used[t.info.columns[j].name] = true
			}
		}
	}
	where, filtered := s.rowFilter(reads, updates)
	if updates && t.info.identity == 'f' {
		return text + where
	}
	for n := range filtered {
		used[n] = true
	}
	var columns []string
	for i := range t.info.columns {
		col := &t.info.columns[i]
		if used[col.name] || updates && col.identity {
			columns = append(columns, quoteIdent(col.name))
		}
	}
	if len(columns) > 0 && len(columns) < len(t.info.columns) {
		text += " (" + strings.Join(columns, ", ") + ")"
	}
	return text + where
}

// rowFilter is the filter that lets through what any of the reads wants, or nothing.
func (s *source) rowFilter(reads []*tableRead, updates bool) (string, map[string]bool) {
	columns := map[string]bool{}
	var parts []string
	for _, r := range reads {
		w := r.whereSQL(r.Where, columns)
		if w == "" {
			return "", nil
		}
		parts = append(parts, w)
	}
	for n := range columns {
		if updates && !reads[0].info.column(n).identity {
			return "", nil
		}
	}
	sort.Strings(parts)
	return " where (" + strings.Join(slices.Compact(parts), " or ") + ")", columns
}

// subscribed checks a publication that the user made: it must send what the tables need.
func (s *source) checkPublication(ctx context.Context, c *pgconn.PgConn, pub string) ([]string, error) {
	flags, err := lookUpOne(ctx, c, `select pubinsert, pubupdate, pubdelete, pubtruncate, `+s.viaRoot()+` from pg_publication where pubname = $1`, pub)
	if err != nil {
		return nil, err
	}
	attributes := "''"
	if s.version >= 150000 {
		attributes = "coalesce(array_to_string(attnames, E'\\n'), '')"
	}
	members, err := lookUp(ctx, c, "select schemaname, tablename, "+attributes+" from pg_publication_tables where pubname = $1", pub)
	if err != nil {
		return nil, err
	}
	var problems []string
	id := quoteIdent(pub)
	for _, t := range s.tables {
		if t.streams() {
			problems = append(problems, t.checkMember(id, flags, members)...)
		}
	}
	return problems, nil
}

func (s *source) viaRoot() string {
	if s.version >= 130000 {
		return "pubviaroot"
	}
	return "false"
}

// checkMember says what of one table a publication does not send, each with the statement that adds it.
func (t *tableRead) checkMember(pub string, flags []string, members [][]string) []string {
	var problems []string
	member := func(n name) int {
		return slices.IndexFunc(members, func(m []string) bool { return name{m[0], m[1]} == n })
	}
	i, leaf := member(t.at), -1
	for _, p := range t.info.partitions {
		leaf = max(leaf, member(p.name))
	}
	if i < 0 && leaf < 0 {
		problems = append(problems, fmt.Sprintf("publication %s does not hold table %s: alter publication %s add table %s", pub, t.at, pub, t.at.sql()))
	}
	if t.info.kind == 'p' && flags[4] != "t" {
		problems = append(problems, fmt.Sprintf("publication %s sends the rows of the partitioned table %s under the names of its partitions: alter publication %s set (publish_via_partition_root = true)", pub, t.at, pub))
	}
	if i < 0 {
		return problems
	}
	if flags[0] != "t" || !t.inserts && (flags[1] != "t" || flags[2] != "t") {
		want := "insert, update, delete, truncate"
		if t.inserts {
			want = "insert, truncate"
		}
		problems = append(problems, fmt.Sprintf("publication %s does not send all changes of table %s: alter publication %s set (publish = '%s')", pub, t.at, pub, want))
	}
	sent := strings.Split(members[i][2], "\n")
	if members[i][2] == "" {
		return problems
	}
	for _, j := range t.physical {
		if j >= 0 && !slices.Contains(sent, t.info.columns[j].name) && !t.info.columns[j].generated {
			problems = append(problems, fmt.Sprintf("publication %s leaves out column %q of table %s: alter publication %s set table %s", pub, t.info.columns[j].name, t.at, pub, t.at.sql()))
		}
	}
	return problems
}

// slotOf is the slot of the pipeline.
func (s *source) slotOf() (slot string, given bool, err error) {
	slot = ownName(s.read.Pipeline)
	if s.read.Throwaway {
		return slot, false, nil // the named slot is a pipeline's, and moving it would lose that pipeline's changes
	}
	for _, t := range s.tables {
		if !t.Options.Has(slotName.Key) {
			continue
		}
		n := slotName.Get(t.Options)
		if given && n != slot {
			return "", true, connectors.Permanent(fmt.Errorf("the tables of one pipeline name two slots, %q and %q", slot, n), "give them the same 'slot.name': one slot serves all tables of a pipeline")
		}
		slot, given = n, true
	}
	return slot, given, nil
}
