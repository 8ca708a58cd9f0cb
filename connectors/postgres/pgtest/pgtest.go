// Package pgtest runs throwaway Postgres servers for tests: real ones, with wal_level=logical, as a user that is not root.
//
// It must never touch a server that it did not start, and never outlive the test process.
package pgtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is one running cluster.
type Server struct {
	Port   int
	Dir    string // the data directory
	bin    string
	attr   *syscall.Credential
	proc   *os.Process
	exited chan error
}

var (
	shared     *Server
	sharedErr  error
	sharedOnce sync.Once
	databases  sync.Mutex
	databaseN  int
)

// Start returns the server that all tests of a package share.
func Start(t testing.TB) *Server {
	t.Helper()
	sharedOnce.Do(func() { shared, sharedErr = Launch("", "fsync = off") })
	if sharedErr != nil {
		t.Fatalf("start postgres: %v", sharedErr)
	}
	return shared
}

// StartNew returns a server of the test's own, with extra lines for postgresql.conf; it is stopped when the test ends.
func StartNew(t testing.TB, conf ...string) *Server {
	t.Helper()
	s, err := Launch("", append([]string{"fsync = off"}, conf...)...)
	if err != nil {
		t.Fatalf("start postgres: %v", err)
	}
	t.Cleanup(func() {
		s.Stop()
		os.RemoveAll(filepath.Dir(s.Dir))
	})
	return s
}

// URL is the connection string of a database, as the superuser "postgres".
func (s *Server) URL(db string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.Port, db)
}

// CreateDB makes a new empty database for a test and returns its URL. It is dropped, with its slots, when the test ends.
func (s *Server) CreateDB(t testing.TB) string {
	t.Helper()
	databases.Lock()
	databaseN++
	name := fmt.Sprintf("t%d", databaseN)
	databases.Unlock()
	Exec(t, s.URL("postgres"), "create database "+name)
	t.Cleanup(func() { s.dropDB(name) })
	return s.URL(name)
}

// dropDB removes a test's database. Errors do not matter: the cluster goes away with the process.
func (s *Server) dropDB(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return
	}
	defer c.Close(ctx)
	for range 50 {
		c.Exec(ctx, "select pg_terminate_backend(active_pid) from pg_replication_slots where active and database=$1", name)
		c.Exec(ctx, "select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active and database=$1", name)
		if _, err = c.Exec(ctx, "drop database "+name+" with (force)"); err == nil {
			return
		}
	}
}

// Exec runs statements in a database, one after the other.
func Exec(t testing.TB, url string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer c.Close(ctx)
	for _, q := range statements {
		if _, err := c.PgConn().Exec(ctx, q).ReadAll(); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// Rows reads a query; each value is its text form, NULL is "NULL".
func Rows(t testing.TB, url, query string) [][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer c.Close(ctx)
	results, err := c.PgConn().Exec(ctx, query).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var rows [][]string
	for _, r := range results[len(results)-1].Rows {
		row := make([]string, len(r))
		for i, v := range r {
			row[i] = "NULL"
			if v != nil {
				row[i] = string(v)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Eventually polls cond until it holds; the test fails after the limit.
func Eventually(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, limit)
		}
		<-tick.C
	}
}

// Stop ends the server at once, as a power cut would (nothing is lost: WAL is replayed by the next Restart).
func (s *Server) Stop() {
	if s.proc == nil {
		return
	}
	s.proc.Signal(syscall.SIGQUIT)
	<-s.exited
	s.proc = nil
}

// Restart stops and starts the server on the same port and data.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	if err := s.run(); err != nil {
		t.Fatalf("restart postgres: %v", err)
	}
}

// PID is the process ID of the server.
func (s *Server) PID() int { return s.proc.Pid }

// Bin finds a program of the server's version, for example pgbench.
func (s *Server) Bin(name string) string { return filepath.Join(s.bin, name) }

// Launch starts a server outside a test: in dir, where it goes on with the data it finds there, or in a fresh directory
// when dir is empty. conf are extra lines for postgresql.conf. The server ends with the process, or by Stop.
func Launch(dir string, conf ...string) (*Server, error) {
	bin, err := binDir()
	if err != nil {
		return nil, err
	}
	removeStale()
	if dir == "" {
		if dir, err = os.MkdirTemp("", fmt.Sprintf("syncsql-pg-%d-", os.Getpid())); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &Server{Dir: filepath.Join(dir, "data"), bin: bin, attr: unprivileged()}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	if s.attr != nil {
		if err := os.Chown(dir, int(s.attr.Uid), int(s.attr.Gid)); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "PG_VERSION")); err != nil {
		if err := s.initdb(conf); err != nil {
			return nil, err
		}
	}
	return s, s.run()
}

func (s *Server) initdb(conf []string) error {
	cmd := exec.Command(s.Bin("initdb"), "-D", s.Dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	cmd.Dir = filepath.Dir(s.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.attr}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	lines := append([]string{
		"listen_addresses = '127.0.0.1'", "unix_socket_directories = ''", "wal_level = logical",
		"max_connections = 200", "max_replication_slots = 100", "max_wal_senders = 100", "shared_buffers = 64MB",
		"max_prepared_transactions = 10", "logging_collector = off", "log_min_messages = fatal",
	}, conf...)
	f, err := os.OpenFile(filepath.Join(s.Dir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fmt.Fprintln(f, strings.Join(lines, "\n"))
	return f.Close()
}

// run starts the server process and waits until it answers. The goroutine keeps its thread for as long as the process
// lives: the kernel sends Pdeathsig when the thread that started the child ends, and that must be at our own end.
func (s *Server) run() error {
	started := make(chan error)
	s.exited = make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		cmd := exec.Command(s.Bin("postgres"), "-D", s.Dir, "-p", strconv.Itoa(s.Port))
		cmd.Dir = s.Dir
		log, err := os.OpenFile(filepath.Join(filepath.Dir(s.Dir), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			started <- err
			return
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.attr, Pdeathsig: syscall.SIGQUIT}
		err = cmd.Start()
		s.proc = cmd.Process
		started <- err
		if err == nil {
			s.exited <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case werr := <-s.exited:
			out, _ := os.ReadFile(filepath.Join(filepath.Dir(s.Dir), "log"))
			return fmt.Errorf("postgres ended: %w\n%s", werr, out)
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// binDir finds the server's programs: SYNCSQL_PG_BIN, the newest of Debian's directories, else the PATH.
func binDir() (string, error) {
	if d := os.Getenv("SYNCSQL_PG_BIN"); d != "" {
		return d, nil
	}
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(dirs) > 0 {
		sort.Slice(dirs, func(i, j int) bool { return version(dirs[i]) > version(dirs[j]) })
		return filepath.Dir(dirs[0]), nil
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(p), nil
	}
	return "", fmt.Errorf("no Postgres server found: run `make setup`, or set SYNCSQL_PG_BIN to the directory of initdb and postgres")
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// unprivileged is the account that a root process runs the server as; Postgres refuses root.
func unprivileged() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// removeStale deletes the directories of test processes that are gone.
func removeStale() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "syncsql-pg-*"))
	for _, d := range dirs {
		part := strings.Split(strings.TrimPrefix(filepath.Base(d), "syncsql-pg-"), "-")[0]
		pid, err := strconv.Atoi(part)
		if err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			os.RemoveAll(d)
		}
	}
}
