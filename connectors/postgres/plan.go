package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/syncsql/syncsql/connectors"
)

// tableRead is one table of a Read, bound to the server's table.
type tableRead struct {
	connectors.TableRead
	index     int
	at        name
	info      *sourceTable
	schema    *arrow.Schema
	physical  []int  // for each declared column its index in info.columns, -1 for metadata
	isKey     []bool // for each declared column
	metadata  []int  // declared columns that are metadata
	scan      string // 'scan.mode'
	inserts   bool   // updates and deletes are not handed on
	before    bool   // updates hand on the old row
	truncate  string
	database  string
	handover  *handover
	generated bool
}

// streams reports whether the table is read from the log.
func (t *tableRead) streams() bool { return t.scan != "snapshot" }

// copies reports whether the table is copied first.
func (t *tableRead) copies() bool { return t.scan != "stream" }

func newTableRead(index int, r connectors.TableRead) (*tableRead, error) {
	at, err := tableName(r.Options)
	if err != nil {
		return nil, connectors.Permanent(err, "")
	}
	t := &tableRead{
		TableRead: r, index: index, at: at, scan: scanMode.Get(r.Options), truncate: truncateMode.Get(r.Options),
		isKey: make([]bool, len(r.Columns)), generated: publishGenerated.Get(r.Options),
	}
	identity, log := replicaIdentity.Get(r.Options), changelogMode.Get(r.Options)
	t.inserts = identity == "nothing" || log == "append"
	t.before = identity == "full" && log == "all"
	for _, k := range r.Key {
		t.isKey[k] = true
	}
	fields := make([]arrow.Field, len(r.Columns))
	for i, c := range r.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: true}
		if c.Metadata != "" {
			t.metadata = append(t.metadata, i)
		}
	}
	t.schema = arrow.NewSchema(fields, nil)
	if r.ExactHandover && r.Handover != nil {
		h, err := decodeHandover(r.Handover)
		if err != nil {
			return nil, connectors.Permanent(fmt.Errorf("table %q: %w", r.Name, err), "")
		}
		t.handover = &h
	}
	return t, nil
}

// bind looks the table up. The error tells everything that is missing at once.
func (t *tableRead) bind(ctx context.Context, c *pgconn.PgConn) error {
	info, err := loadTable(ctx, c, t.at)
	if err != nil {
		return err
	}
	if info == nil {
		return connectors.Permanent(fmt.Errorf("table %s does not exist in database %q", t.at, t.database), "check 'table-name', 'schema-name' and the database; case counts")
	}
	if missing := t.match(info); len(missing) > 0 {
		return &connectors.SchemaChange{Table: t.Name, What: strings.Join(missing, "; "), Broken: true}
	}
	return nil
}

// match finds the declared columns in the server's table and names those that are missing.
func (t *tableRead) match(info *sourceTable) (missing []string) {
	t.info = info
	t.physical = make([]int, len(t.Columns))
	for i, col := range t.Columns {
		t.physical[i] = -1
		if col.Metadata != "" {
			continue
		}
		for j := range info.columns {
			if info.columns[j].name == col.Name {
				t.physical[i] = j
			}
		}
		if t.physical[i] < 0 {
			missing = append(missing, missingColumn(info, col.Name))
		}
	}
	return missing
}

// missingColumn says that a column is gone, and which one differs in case only.
func missingColumn(t *sourceTable, name string) string {
	for i := range t.columns {
		if strings.EqualFold(t.columns[i].name, name) {
			return fmt.Sprintf("column %q does not exist in %s; there is %q, and case counts", name, t.name, t.columns[i].name)
		}
	}
	return fmt.Sprintf("column %q does not exist in %s", name, t.name)
}

// source is everything that reading needs to know about the server.
type source struct {
	read    connectors.Read
	tables  []*tableRead
	types   typeSet
	version int // such as 150004
	// text: the stream asks for the text form of all values, because some type is known by its text only.
	text bool
}

// bindRead looks at all tables of a Read.
func bindRead(ctx context.Context, c *pgconn.PgConn, r connectors.Read) (*source, error) {
	s := &source{read: r, types: typeSet{}}
	row, err := lookUpOne(ctx, c, "select current_setting('server_version_num'), current_database()")
	if err != nil {
		return nil, err
	}
	s.version = int(parse64(row[0]))
	var oids []uint32
	var failed []error
	for i, tr := range r.Tables {
		t, err := newTableRead(i, tr)
		if err != nil {
			return nil, err
		}
		t.database = row[1]
		if err := t.bind(ctx, c); err != nil {
			failed = append(failed, err)
			continue
		}
		s.tables = append(s.tables, t)
		for i := range t.info.columns {
			oids = append(oids, t.info.columns[i].oid)
		}
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	if err := loadTypes(ctx, c, s.types, oids); err != nil {
		return nil, err
	}
	return s, s.chooseForm()
}

// chooseForm decides between the binary and the text form of the stream, and refuses types that do not fit.
func (s *source) chooseForm() error {
	s.text = s.version < 140000 // older servers have no binary form in the stream
	var misfits []string
	for _, t := range s.tables {
		misfits = append(misfits, s.misfits(t)...)
	}
	if len(misfits) > 0 {
		return connectors.Permanent(errors.New(strings.Join(misfits, "\n")), "")
	}
	return nil
}

// misfits names the columns of a table whose type does not fit the declared one.
func (s *source) misfits(t *tableRead) (list []string) {
	for i, j := range t.physical {
		if j < 0 {
			continue
		}
		col := &t.info.columns[j]
		_, err := newDecoder(s.types, col.oid, inBinary, t.Columns[i].Type)
		if errors.Is(err, errNeedsText) {
			_, err = newDecoder(s.types, col.oid, inText, t.Columns[i].Type)
			s.text = s.text || t.streams()
		}
		if err != nil {
			list = append(list, fmt.Sprintf("table %q column %q (%s): %v", t.Name, col.name, t.Columns[i].SQL, err))
		}
	}
	return list
}

// warn tells the user, when somebody listens.
func (s *source) warn(code, table, format string, args ...any) {
	if s.read.Warn != nil {
		s.read.Warn(connectors.Warning{Code: code, Table: table, Message: fmt.Sprintf(format, args...)})
	}
}
