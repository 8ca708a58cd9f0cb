package postgres

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
	"github.com/syncsql/syncsql/option"
)

// sourceRig reads tables of a database as a pipeline would.
type sourceRig struct {
	t        testing.TB
	url      string
	read     connectors.Read
	source   connectors.Source
	mu       sync.Mutex
	warnings []connectors.Warning
	rejected []*connectors.RowError
	skip     bool // go on after a row that cannot be mapped
}

func newSourceRig(t testing.TB, ddl ...string) *sourceRig {
	t.Helper()
	x := &sourceRig{t: t, url: pgtest.Start(t).CreateDB(t)}
	x.read.Pipeline = "p"
	x.read.Warn = func(w connectors.Warning) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.warnings = append(x.warnings, w)
	}
	x.read.Reject = func(_ context.Context, e *connectors.RowError) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.rejected = append(x.rejected, e)
		if x.skip {
			return nil
		}
		return e
	}
	x.exec(ddl...)
	t.Cleanup(x.close)
	// Slots of one server share a name space, and the databases of all tests are on one server.
	parts := strings.Split(strings.Split(x.url, "?")[0], "/")
	x.read.Pipeline = parts[len(parts)-1] + " p"
	return x
}

func (x *sourceRig) exec(statements ...string) {
	x.t.Helper()
	if len(statements) > 0 {
		pgtest.Exec(x.t, x.url, statements...)
	}
}

// table declares a table: "id BIGINT key; name STRING; l STRING from lsn", and options in pairs.
func (x *sourceRig) table(name, columns string, options ...string) *sourceRig {
	x.t.Helper()
	t := connectors.TableRead{Table: connectors.Table{Name: name}}
	set := map[string]string{"url": x.url, "table-name": name}
	for i := 0; i < len(options); i += 2 {
		set[options[i]] = options[i+1]
	}
	for i, spec := range strings.Split(columns, "; ") {
		spec, isKey := strings.CutSuffix(spec, " key")
		spec, meta, _ := strings.Cut(spec, " from ")
		at := strings.LastIndexByte(spec, ' ')
		t.Columns = append(t.Columns, connectors.Column{Name: spec[:at], SQL: spec[at+1:], Type: arrowType(x.t, spec[at+1:]), Nullable: !isKey, Metadata: meta})
		if isKey {
			t.Key = append(t.Key, i)
		}
	}
	t.Options = option.SetOf(set)
	x.read.Tables = append(x.read.Tables, t)
	return x
}

func (x *sourceRig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	x.t.Cleanup(cancel)
	return ctx
}

func (x *sourceRig) open() *sourceRig {
	x.t.Helper()
	s, err := openSource(x.ctx(), x.read)
	if err != nil {
		x.t.Fatalf("open: %v", err)
	}
	x.source = s
	return x
}

func (x *sourceRig) close() {
	if x.source != nil {
		x.source.Close()
		x.source = nil
	}
}

// copyRows takes the first copy and leaves the position of the stream in From. The rows are sorted.
func (x *sourceRig) copyRows() []string {
	x.t.Helper()
	s, err := openSnapshot(x.ctx(), x.read, nil)
	if err != nil {
		x.t.Fatalf("snapshot: %v", err)
	}
	defer s.Close()
	var rows []string
	for _, p := range s.Partitions() {
		rows = append(rows, x.copyPartition(s, p)...)
	}
	slices.Sort(rows)
	x.read.From = s.Start()
	return rows
}

func (x *sourceRig) copyPartition(s connectors.Snapshot, p connectors.Partition) []string {
	x.t.Helper()
	src, err := s.Open(x.ctx(), p)
	if err != nil {
		x.t.Fatalf("partition %s: %v", p.ID, err)
	}
	defer src.Close()
	rows, last, err := x.drain(src)
	if !errors.Is(err, io.EOF) {
		x.t.Fatalf("partition %s: %v", p.ID, err)
	}
	if last == nil {
		x.t.Fatalf("partition %s: the last batch has no position", p.ID)
	}
	if x.read.Tables[p.Table].ExactHandover {
		x.read.Tables[p.Table].Handover = last
	}
	return rows
}

// drain reads to the end.
func (x *sourceRig) drain(src connectors.Source) (rows []string, last change.Position, err error) {
	for {
		b, err := src.Next(x.ctx())
		if err != nil {
			return rows, last, err
		}
		rows = append(rows, show(&b)...)
		if b.Position != nil {
			last = b.Position
		}
		b.Release()
	}
}

// caughtUp opens the stream, reads what there is, acknowledges it, and closes.
func (x *sourceRig) caughtUp() []string {
	x.t.Helper()
	rows, err := x.tryCaughtUp()
	if err != nil {
		x.t.Fatalf("stream: %v", err)
	}
	return rows
}

func (x *sourceRig) tryCaughtUp() ([]string, error) {
	x.t.Helper()
	x.read.CaughtUp = true
	defer func() { x.read.CaughtUp = false }()
	s, err := openSource(x.ctx(), x.read)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows, last, err := x.drain(s)
	if last != nil {
		x.read.From = last
		if err := s.Ack(x.ctx(), last); err != nil {
			x.t.Fatalf("ack: %v", err)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return rows, err
}

// next reads until n rows have come from the open source.
func (x *sourceRig) next(n int) []string {
	x.t.Helper()
	var rows []string
	for len(rows) < n {
		b, err := x.source.Next(x.ctx())
		if err != nil {
			x.t.Fatalf("after %q: %v", rows, err)
		}
		rows = append(rows, show(&b)...)
		if b.Position != nil {
			x.read.From = b.Position
		}
		b.Release()
	}
	return rows
}

// show prints the rows of a batch: kind and values; ~ is a value that was not sent.
func show(b *change.Batch) []string {
	var rows []string
	for i := range b.Len() {
		row := b.Kind(i).String()
		for c := range int(b.Record.NumCols()) {
			v := b.Record.Column(c).ValueStr(i)
			switch {
			case !b.Sent(c, i):
				v = "~"
			case b.Record.Column(c).IsNull(i):
				v = "NULL"
			}
			row += " " + v
		}
		rows = append(rows, row)
	}
	return rows
}

func (x *sourceRig) want(got []string, want ...string) {
	x.t.Helper()
	if !slices.Equal(got, want) {
		x.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestCopyThenStream(t *testing.T) {
	x := newSourceRig(t, "create table t(id bigint primary key, name text)", "insert into t values (1,'a'),(2,'b')")
	x.table("t", "id BIGINT key; name STRING")
	x.want(x.copyRows(), "+I 1 a", "+I 2 b")
	x.exec("insert into t values (3,'c')", "update t set name='B' where id=2", "delete from t where id=1", "update t set id=4 where id=3")
	x.want(x.caughtUp(), "+I 3 c", "+U 2 B", "-D 1 ~", "-D 3 ~", "+U 4 c")
	x.want(x.caughtUp())
	x.exec("insert into t values (9,null)")
	x.want(x.caughtUp(), "+I 9 NULL")
}

func TestReplicaIdentityFull(t *testing.T) {
	x := newSourceRig(t, "create table t(id bigint, name text)", "alter table t replica identity full")
	x.table("t", "id BIGINT; name STRING", "replica-identity", "full")
	x.copyRows()
	x.exec("insert into t values (1,'a')", "update t set name='b'", "delete from t")
	x.want(x.caughtUp(), "+I 1 a", "-U 1 a", "+U 1 b", "-D 1 b")
}

func TestChangelogModes(t *testing.T) {
	for mode, want := range map[string][]string{
		"all":    {"+I 1 a", "-U 1 a", "+U 1 b", "-D 1 b", "+U 2 b", "-D 2 b"},
		"upsert": {"+I 1 a", "+U 1 b", "-D 1 b", "+U 2 b", "-D 2 b"},
		"append": {"+I 1 a"},
	} {
		t.Run(mode, func(t *testing.T) {
			x := newSourceRig(t, "create table t(id bigint primary key, name text)", "alter table t replica identity full")
			x.table("t", "id BIGINT key; name STRING", "replica-identity", "full", "changelog.mode", mode)
			x.copyRows()
			x.exec("insert into t values (1,'a')", "update t set name='b'", "update t set id=2", "delete from t")
			x.want(x.caughtUp(), want...)
		})
	}
}

// from reads a caught-up stream from a position; the rows are in the order of their positions.
func (x *sourceRig) from(at change.Position) (rows []string, positions []change.Position) {
	x.t.Helper()
	read := x.read
	read.From, read.CaughtUp = at, true
	s, err := openSource(x.ctx(), read)
	if err != nil {
		x.t.Fatalf("open: %v", err)
	}
	defer s.Close()
	text := map[string]string{}
	for {
		b, err := s.Next(x.ctx())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			x.t.Fatal(err)
		}
		for i, row := range show(&b) {
			text[string(b.At(i))] = row
			positions = append(positions, slices.Clone(b.At(i)))
		}
		b.Release()
	}
	slices.SortFunc(positions, change.Position.Compare)
	for _, p := range positions {
		rows = append(rows, text[string(p)])
	}
	return rows, positions
}

func TestPositionsInsideATransaction(t *testing.T) {
	x := newSourceRig(t, "create table t(id bigint primary key)", "create table u(id bigint primary key)")
	x.table("t", "id BIGINT key").table("u", "id BIGINT key")
	x.copyRows()
	x.read.Limits = connectors.Limits{Rows: 1} // ten rows a batch
	x.exec("begin; insert into t select generate_series(1,15); update t set id=100 where id=1; insert into u values (1); commit", "insert into t values (26)")
	rows, positions := x.from(x.read.From)
	if len(rows) != 19 {
		t.Fatalf("%q", rows)
	}
	for i, at := range positions {
		rest, _ := x.from(at)
		if i == 15 { // between the two rows of one update: it comes again whole
			x.want(rest, rows[15:]...)
			continue
		}
		x.want(rest, rows[i+1:]...)
	}
}
