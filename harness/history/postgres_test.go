package history_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver, to make databases with
)

// A cluster is a private PostgreSQL server. It listens on a socket in its own folder.
type cluster struct {
	dir     string
	command []string
	process *os.Process
	ended   chan error
	log     bytes.Buffer
}

// errNoPostgres says why the tests with PostgreSQL are skipped.
var errNoPostgres = errors.New("no PostgreSQL server on this machine: neither initdb in PATH nor " +
	"/usr/lib/postgresql/*/bin/initdb")

// server starts the tests' PostgreSQL server once.
var server = sync.OnceValues(startCluster)

func startCluster() (*cluster, error) {
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
		if len(found) == 0 {
			return nil, errNoPostgres
		}
		initdb = slices.Max(found)
	}
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		return nil, err
	}
	c := &cluster{ended: make(chan error, 1)}
	if c.dir, err = os.MkdirTemp("", "pg"); err != nil { // a socket's path may have only 107 bytes
		return nil, err
	}
	as, err := c.owner()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(c.dir, "data")
	create := exec.Command(initdb,
		"-D", data, "-U", "vramsoak", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
		"--wal-segsize=1")
	create.SysProcAttr, create.Dir = as, c.dir
	if out, err := create.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	c.command = []string{
		filepath.Join(filepath.Dir(initdb), "postgres"), "-D", data, "-k", c.dir, "-c",
		"listen_addresses=", "-c", "max_connections=200",
	}
	return c, c.start(as)
}

// start starts the server, and waits until it answers.
func (c *cluster) start(as *syscall.SysProcAttr) error {
	run := exec.Command(c.command[0], c.command[1:]...)
	run.SysProcAttr, run.Dir, run.Stderr = as, c.dir, &c.log
	started := make(chan error, 1)
	go func() { // Linux ends the server when the thread that started it ends
		runtime.LockOSThread()
		err := run.Start()
		started <- err
		if err == nil {
			c.ended <- run.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.process = run.Process
	return c.ready()
}

// owner returns how to start the server as a user other than root, because PostgreSQL refuses to
// run as root.
func (c *cluster) owner() (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return as, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid) // user ids are numbers on Linux
		gid, _ := strconv.Atoi(u.Gid)
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return as, os.Chown(c.dir, uid, gid)
	}
	return nil, errors.New("PostgreSQL does not run as root, and this machine has neither a user " +
		"postgres nor nobody")
}

// ready waits until the server answers.
func (c *cluster) ready() error {
	db, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-c.ended:
			return fmt.Errorf("postgres ended: %w\n%s", err, c.log.String())
		default:
		}
		if err = db.Ping(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (c *cluster) url(database string) string {
	return "postgres://vramsoak@/" + database + "?host=" + url.QueryEscape(c.dir)
}

// crash ends the server without a checkpoint, so that the server must recover from its log. Then it
// starts the server again.
func (c *cluster) crash() error {
	if err := c.process.Signal(syscall.SIGQUIT); err != nil { // immediate shutdown
		return err
	}
	if err := <-c.ended; err != nil {
		return err
	}
	as, err := c.owner()
	if err != nil {
		return err
	}
	return c.start(as)
}

// stop ends the server and returns its error.
func (c *cluster) stop() error {
	if err := c.process.Signal(syscall.SIGINT); err != nil { // fast shutdown
		return err
	}
	return errors.Join(<-c.ended, os.RemoveAll(c.dir))
}

var databases atomic.Int64 // how many were made so far

// newPostgres makes a database of its own for a test, and returns its address.
func newPostgres(t *testing.T) string { return newPostgresIn(t, "") }

// running returns the server. If the machine has no PostgreSQL, it skips the test.
func running(t *testing.T) *cluster {
	t.Helper()
	c, err := server()
	if errors.Is(err, errNoPostgres) {
		t.Skip("not run: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newPostgresIn makes a database whose tables are in the folder dir, and returns its address.
func newPostgresIn(t *testing.T, dir string) string {
	t.Helper()
	c := running(t)
	name := fmt.Sprintf("test%d", databases.Add(1))
	statement := "CREATE DATABASE " + name
	db := sqlDB(t, c.url("postgres"))
	if dir != "" {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("CREATE TABLESPACE %s LOCATION '%s'", name,
			dir)); err != nil {
			t.Fatal(err)
		}
		statement += " TABLESPACE " + name
	}
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if dir != "" { // before the folder is removed: without it the server cannot shut down cleanly
		t.Cleanup(func() {
			for _, what := range []string{"DATABASE " + name + " WITH (FORCE)", "TABLESPACE " + name} {
				if _, err := sqlDB(t, c.url("postgres")).ExecContext(context.Background(),
					"DROP "+what); err != nil {
					t.Error(err)
				}
			}
		})
	}
	return c.url(name)
}

// backends holds, for each kind of database, the function that makes a new one. Every test of the
// store runs with each kind.
var backends = map[string]func(t *testing.T) string{
	"sqlite": func(t *testing.T) string {
		return filepath.Join(t.TempDir(), "a folder",
			"100% #1?.db")
	},
	"postgres": newPostgres,
}

// onEach runs a test on a new database of each kind, in parallel. A test that crashes the server
// must not call t.Parallel. Go then never runs it at the same time as the tests of onEach.
func onEach(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for backend, newName := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			test(t, newName(t))
		})
	}
}

// sqlDB opens a store's database directly, without the store.
func sqlDB(t *testing.T, name string) *sql.DB {
	t.Helper()
	driver := "sqlite"
	if strings.HasPrefix(name, "postgres:") {
		driver = "pgx"
	} else {
		name = "file:" + (&url.URL{Path: name}).EscapedPath()
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
