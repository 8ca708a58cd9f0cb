package exec_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/exec"
	"github.com/syncsql/syncsql/planner"
)

const (
	killDir  = "SYNCSQL_TEST_KILL_DIR" // set in the child: where its state store and its targets live
	killRows = 3000
)

// TestKill runs a pipeline in a child process that is killed again and again while it writes, against the real state
// store and targets on disk: a database that takes rows with their position, and files that appear when committed.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for ; kills < 25; kills++ {
		if runChild(t, dir, 1+r.IntN(40)) {
			break
		}
	}
	for !runChild(t, dir, 1<<30) {
		t.Fatal("the child that was left alone did not finish")
	}
	if kills < 10 {
		t.Errorf("the pipeline finished after %d kills; they did not hit it", kills)
	}
	want := make([]int64, killRows)
	for i := range want {
		want[i] = int64(i)
	}
	for name, read := range map[string]func(*testing.T, string) []int64{"database": databaseRows, "files": fileRows} {
		got := read(t, dir)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, %d of them different, want %d rows once each", name, len(got), len(slices.Compact(slices.Clone(got))), killRows)
		}
	}
}

// runChild starts the child and kills it when it has told of a number of writes. It reports whether the child finished.
func runChild(t *testing.T, dir string, writes int) bool {
	t.Helper()
	child := osexec.Command(os.Args[0], "-test.run=^TestKillChild$", "-test.v")
	child.Env = append(os.Environ(), killDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	finished := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch line := lines.Text(); {
		case line == "wrote":
			if writes--; writes == 0 {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		case line == "finished":
			finished = true
		case strings.Contains(line, "FAIL") || strings.Contains(line, ".go:"):
			t.Error(line)
		}
	}
	if err := child.Wait(); err == nil && !finished {
		t.Fatal("the child ended before its pipeline")
	}
	return finished
}

// TestKillChild is the child of TestKill and does nothing else.
func TestKillChild(t *testing.T) {
	dir := os.Getenv(killDir)
	if dir == "" {
		return
	}
	ctx := context.Background()
	store, err := checkpoint.Open(ctx, "sqlite:"+filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	p := &planner.Pipeline{Name: "p", Fingerprint: "f"}
	p.Source.Connector = &connectors.Connector{OpenSource: openCounter}
	p.Source.Modes = []connectors.ReadMode{{Name: "count"}}
	p.Source.Read.Tables = []connectors.TableRead{{Table: connectors.Table{Name: "src", Columns: columns[:1]}}}
	p.CheckpointInterval = 1 // after every batch: the more effects there are, the more a kill can meet
	open := map[string]func(string, connectors.Write) (connectors.Sink, error){"database": openDatabase, "files": openFiles}
	for i, name := range []string{"database", "files"} {
		p.Sinks = append(p.Sinks, planner.Sink{
			Connector: &connectors.Connector{OpenSink: func(_ context.Context, w connectors.Write) (connectors.Sink, error) { return open[name](dir, w) }},
			Table:     connectors.Table{Name: name, Columns: columns[:1]},
		})
		p.Routes = append(p.Routes, planner.Route{Sink: i})
	}
	if err := exec.Run(ctx, p, exec.Options{Store: store, CaughtUp: true}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("finished")
}

// counter is a source of the numbers below killRows.
type counter struct{ next uint64 }

func openCounter(_ context.Context, r connectors.Read) (connectors.Source, error) {
	c := &counter{}
	if r.From != nil {
		c.next = binary.BigEndian.Uint64(r.From)
	}
	return c, nil
}

func (c *counter) Next(context.Context) (change.Batch, error) {
	if c.next == killRows {
		return change.Batch{}, io.EOF
	}
	bld := array.NewRecordBuilder(arrowmemory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "id", Type: columns[0].Type}}, nil))
	defer bld.Release()
	b := change.Batch{RowPositionSize: 8}
	for range min(7, killRows-c.next) {
		bld.Field(0).(*array.Int64Builder).Append(int64(c.next))
		c.next++
		b.RowPositions = binary.BigEndian.AppendUint64(b.RowPositions, c.next)
	}
	b.Record = bld.NewRecordBatch()
	b.Position = binary.BigEndian.AppendUint64(nil, c.next)
	return b, nil
}

func (*counter) Ack(context.Context, change.Position) error { return nil }
func (*counter) Close() error                               { return nil }

func ids(b change.Batch) []int64 { return b.Record.Column(0).(*array.Int64).Int64Values() }

// database writes rows and position in one transaction.
type database struct {
	db   *sql.DB
	held change.Position
}

func openDatabase(dir string, _ connectors.Write) (connectors.Sink, error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "target.db"))
	if err != nil {
		return nil, err
	}
	s := &database{db: db}
	if _, err := db.Exec(`CREATE TABLE IF NOT EXISTS t (id INTEGER); CREATE TABLE IF NOT EXISTS at (p BLOB)`); err != nil {
		return nil, err
	}
	if err := db.QueryRow(`SELECT p FROM at`).Scan(&s.held); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	return s, nil
}

func (s *database) Write(_ context.Context, b change.Batch) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, id := range ids(b) {
		if _, err := tx.Exec(`INSERT INTO t VALUES (?)`, id); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(`DELETE FROM at; INSERT INTO at VALUES (?)`, []byte(b.Position)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	fmt.Println("wrote")
	return nil
}

func (s *database) Flush(context.Context) ([]byte, error) { return nil, nil }
func (s *database) Position() change.Position             { return s.held }
func (s *database) Close() error                          { return s.db.Close() }

func databaseRows(t *testing.T, dir string) (out []int64) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "target.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT id FROM t`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// files stages rows in a file and commits it with a new name.
type files struct {
	dir   string
	write connectors.Write
	rows  []int64
	n     int
}

func openFiles(dir string, w connectors.Write) (connectors.Sink, error) {
	staged, err := filepath.Glob(filepath.Join(dir, "staged-*"))
	for _, path := range staged {
		if filepath.Base(path) != "staged-"+string(w.Token) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return &files{dir: dir, write: w}, err
}

func (s *files) Write(_ context.Context, b change.Batch) error {
	s.rows = append(s.rows, ids(b)...)
	return nil
}

func (s *files) Flush(context.Context) ([]byte, error) {
	if len(s.rows) == 0 {
		return nil, nil
	}
	s.n++
	token := fmt.Sprintf("%d-%d", s.write.Epoch, s.n)
	text := strings.Trim(fmt.Sprint(s.rows), "[]")
	s.rows = nil
	return []byte(token), os.WriteFile(filepath.Join(s.dir, "staged-"+token), []byte(text), 0o600)
}

func (s *files) Commit(_ context.Context, token []byte) error {
	done := filepath.Join(s.dir, "done-"+string(token))
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	return os.Rename(filepath.Join(s.dir, "staged-"+string(token)), done)
}

func (s *files) Position() change.Position { return nil }
func (s *files) Close() error              { return nil }

func fileRows(t *testing.T, dir string) (out []int64) {
	paths, err := filepath.Glob(filepath.Join(dir, "done-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsSeq(string(text)) {
			var id int64
			if _, err := fmt.Sscan(word, &id); err != nil {
				t.Fatal(err)
			}
			out = append(out, id)
		}
	}
	return out
}
