package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A backend holds the SQL that differs between SQLite and PostgreSQL. All other SQL is the same for
// both, because both know $1, ON CONFLICT and RETURNING.
type backend struct {
	words *strings.Replacer // replaces placeholders for types in migrations
	known string            // a query that returns 1 if the table of versions exists, else 0
	begin []string          // statements at the start of a writing transaction
	lock  string            // a statement that locks the schema against other writers
}

// busy is how long a writer waits for other writers to finish.
const busy = 30 * time.Second

var sqliteBackend = backend{
	words: strings.NewReplacer("IDENTITY", "INTEGER PRIMARY KEY AUTOINCREMENT", "BYTES", "BLOB"),
	known: "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'vramsoak_schema'",
}

var postgresBackend = backend{
	words: strings.NewReplacer("IDENTITY", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTES",
		"BYTEA"),
	known: "SELECT COUNT(*) FROM pg_catalog.pg_class WHERE relname = 'vramsoak_schema' AND " +
		"pg_catalog.pg_table_is_visible(oid)",
	// A server may be configured to acknowledge a commit before it is on the disk.
	begin: []string{"SELECT set_config('synchronous_commit', 'on', true) WHERE " +
		"current_setting('synchronous_commit') = 'off'"},
	lock: "SELECT pg_advisory_xact_lock(7236280172)",
}

func openPostgres(name string) (*sql.DB, error) {
	config, err := parsePostgres(name)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = busy
	}
	return stdlib.OpenDB(*config), nil
}

// openSQLite opens an SQLite file in WAL mode (write-ahead log) and with each commit synced to the
// disk. If the file does not exist, openSQLite creates it and its folder if create is set.
func openSQLite(ctx context.Context, name string, create bool) (*sql.DB, error) {
	mode := "rw"
	if create {
		mode = "rwc"
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	path := (&url.URL{Path: name}).EscapedPath()
	const options = "_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=synchronous(FULL)&" +
		"_pragma=foreign_keys(ON)"
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?mode=%s&"+options, path, mode,
		busy.Milliseconds()))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // writers of one process wait here, not at the file's lock
	return db, useWAL(ctx, db)
}

// useWAL turns on WAL mode, which the file then keeps. During this change SQLite does not wait for
// other programs, so useWAL tries again until they are done.
func useWAL(ctx context.Context, db *sql.DB) error {
	for deadline := time.Now().Add(busy); ; {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		if sqliteCode(err) != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// sqliteCode returns the primary result code of an SQLite error, or 0 if err is no SQLite error.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// advice returns what the user can do about an error, or "" if nothing is known.
func advice(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code { // https://www.postgresql.org/docs/current/errcodes-appendix.html
		case "53100":
			return "the server's disk is full; make room there and try again"
		case "42501":
			return "the user may not do that; ask for the rights on the tables vramsoak_*, or to create them"
		}
		return strings.ToLower(e.Hint)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "see that the server runs and that the URL names it"
	}
	switch sqliteCode(err) { // https://www.sqlite.org/rescode.html
	case sqlite3.SQLITE_FULL:
		return "the disk is full; make room and try again"
	case sqlite3.SQLITE_IOERR:
		return "the disk is full, limits the size of files, or fails; make room and try again"
	case sqlite3.SQLITE_BUSY:
		return "another program keeps it locked; end that and try again"
	case sqlite3.SQLITE_NOTADB:
		return "it is not an SQLite file; give another --db"
	case sqlite3.SQLITE_CORRUPT:
		return "the file is damaged; take a copy from a backup, or move it away and add the runs again"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return "the file and its folder must be writable, also to read: SQLite keeps its log beside " +
			"the file"
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "make it with vramsoak history add RUN, or give another --db"
	}
	return ""
}
