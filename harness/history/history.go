package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Store is a history in a database. Several goroutines may use one Store, and several programs
// one database.
type Store struct {
	db      *sql.DB
	backend *backend
	name    string
}

// Open opens an existing history. The parameter name is the path of an SQLite file, or an address
// such as postgres://user@host/database. If there is no such file, the error wraps
// [io/fs.ErrNotExist].
func Open(ctx context.Context, name string) (*Store, error) {
	return open(ctx, name, false, migrations)
}

// Create opens a history. If there is no such SQLite file, Create makes the file and its folder.
func Create(ctx context.Context, name string) (*Store, error) {
	return open(ctx, name, true, migrations)
}

func open(ctx context.Context, name string, create bool, list []migration) (*Store, error) {
	s := &Store{name: display(name), backend: &sqliteBackend}
	var err error
	if IsPostgres(name) {
		s.backend = &postgresBackend
		s.db, err = openPostgres(name)
	} else {
		s.db, err = openSQLite(ctx, name, create)
	}
	if err == nil {
		err = migrate(ctx, s.db, s.backend, list)
	}
	if err != nil {
		if s.db != nil {
			_ = s.db.Close() // the first error says why
		}
		return nil, s.fail("cannot be opened", err)
	}
	return s, nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// fail returns an error that names the history, what failed, and what to do.
func (s *Store) fail(what string, err error) error {
	if a := advice(err); a != "" {
		return fmt.Errorf("history %s: %s: %w (%s)", s.name, what, err, a)
	}
	return fmt.Errorf("history %s: %s: %w", s.name, what, err)
}

// Add stores a run and returns its number. If the run was stored before, Add returns its old
// number, and added is false. If err is nil, the run is on the disk. If err is not nil, no part of
// the run is stored.
func (s *Store) Add(ctx context.Context, r Run) (id int64, added bool, err error) {
	if r.Suite == "" || r.Digest == "" || r.Baseline.Run.Started.IsZero() {
		return 0, false, errors.New("expected a run with a suite, a digest and the time of its start")
	}
	detail, err := r.encode()
	if err != nil {
		return 0, false, err
	}
	info := r.Baseline.Run
	key := []any{text(r.Suite), info.Started.UnixMicro(), text(info.Host), text(r.Digest)}
	err = inTransaction(ctx, s.db, s.backend, func(tx *sql.Tx) error {
		find := func() error {
			return tx.QueryRowContext(ctx,
				"SELECT id FROM vramsoak_runs WHERE suite = $1 AND started = $2 AND host = $3 AND digest = $4",
				key...).Scan(&id)
		}
		if err := find(); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		err := tx.QueryRowContext(ctx, `INSERT INTO vramsoak_runs
			(suite, started, host, digest, commit_id, gpu, driver, version, log, verdict, files, detail)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (suite, started, host, digest) DO NOTHING RETURNING id`,
			append(key, text(info.Commit), text(info.GPU), text(info.Driver), text(info.Version),
				text(info.Log),
				string(info.Verdict), r.Files, detail)...).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) { // another program has just added the run
			return find()
		}
		if err != nil {
			return err
		}
		added = true
		return insertValues(ctx, tx, id, r.scalars())
	})
	if err != nil {
		return 0, false, s.fail("the run was not stored", err)
	}
	return id, added, nil
}

// insertValues stores the values of the run with the number id, up to 1,000 rows with each
// statement. Databases limit the number of parameters of a statement; SQLite's limit is 32766.
func insertValues(ctx context.Context, tx *sql.Tx, id int64, all []scalar) error {
	const columns, most = 9, 1000
	for len(all) > 0 {
		part := all[:min(most, len(all))]
		all = all[len(part):]
		query := strings.Builder{}
		query.WriteString(`INSERT INTO vramsoak_values
			(run_id, metric, statistic, rank, device, unit, higher_is_better, resolution, value) VALUES `)
		var args []any
		for i, v := range part {
			if i > 0 {
				query.WriteString(", ")
			}
			for c := range columns {
				fmt.Fprintf(&query, "%c$%d", "(,"[min(c, 1)], i*columns+c+1)
			}
			query.WriteByte(')')
			better := 0
			if v.higherIsBetter {
				better = 1
			}
			args = append(args, id, text(v.metric), v.statistic, v.rank, v.device, v.unit, better,
				v.resolution, v.value)
		}
		// The function text replaces characters, so that two names may become equal. The first one is
		// kept.
		query.WriteString(" ON CONFLICT DO NOTHING")
		if _, err := tx.ExecContext(ctx, query.String(), args...); err != nil {
			return err
		}
	}
	return nil
}

// longest is the largest number of bytes in a stored text. PostgreSQL's indexes accept rows of up
// to 2704 bytes.
const longest = 1000

// text returns a form of the string that every database accepts: cut to longest bytes, with NUL and
// invalid UTF-8 replaced, which PostgreSQL refuses.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), longest)], "\uFFFD"), "\x00",
		"\uFFFD")
}

// entryColumns lists the columns of an [Entry].
const entryColumns = "id, suite, started, host, commit_id, gpu, driver, version, log, verdict, " +
	"files"

func scanEntry(row interface{ Scan(...any) error }, more ...any) (e Entry, err error) {
	started := int64(0)
	err = row.Scan(append([]any{
		&e.ID, &e.Suite, &started, &e.Host, &e.Commit, &e.GPU, &e.Driver, &e.Version, &e.Log, &e.Verdict,
		&e.Files,
	}, more...)...)
	e.Started = time.UnixMicro(started).UTC()
	return e, err
}

// List returns the runs of a suite, in the order of their start. If suite is "", List returns the
// runs of all suites.
func (s *Store) List(ctx context.Context, suite string) ([]Entry, error) {
	return query(ctx, s, func(rows *sql.Rows) (Entry, error) { return scanEntry(rows) },
		"SELECT "+entryColumns+" FROM vramsoak_runs WHERE suite = $1 OR $1 = '' ORDER BY started, id",
		text(suite))
}

// Get returns the run with this number, as an entry of a list and in full.
func (s *Store) Get(ctx context.Context, id int64) (Entry, *Run, error) {
	var detail []byte
	e, err := scanEntry(s.db.QueryRowContext(ctx,
		"SELECT "+entryColumns+", detail FROM vramsoak_runs WHERE id = $1", id), &detail)
	if errors.Is(err, sql.ErrNoRows) {
		return e, nil, fmt.Errorf("history %s has no run %d; vramsoak history list shows those that it "+
			"has", s.name, id)
	}
	if err != nil {
		return e, nil, s.fail("cannot be read", err)
	}
	run, err := decode(detail)
	if err != nil {
		return e, nil, fmt.Errorf("history %s: run %d: %w", s.name, id, err)
	}
	return e, run, nil
}

// query runs the query q and returns its rows, each as the function scan returns it.
func query[T any](ctx context.Context, s *Store, scan func(*sql.Rows) (T, error), q string,
	args ...any,
) ([]T, error) {
	rows, err := s.db.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, s.fail("cannot be read", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	var out []T
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, s.fail("cannot be read", err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		return nil, s.fail("cannot be read", err)
	}
	return out, nil
}
