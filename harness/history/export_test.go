package history

import (
	"context"
	"os"
	"strings"
)

// Fixture fills an empty database of any kind with rows of schema version 1.
func Fixture(ctx context.Context, s *Store) error {
	return Execute(ctx, s,
		"testdata/version1.sql")
}

// Execute runs the SQL statements in a file. In them, the words IDENTITY and BYTES are replaced by
// the backend's types, and HEX'00ff' by bytes.
func Execute(ctx context.Context, s *Store, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	hex := `x'`
	if s.backend == &postgresBackend {
		hex = `'\x`
	}
	statements := strings.ReplaceAll(s.backend.words.Replace(string(text)), "HEX'", hex)
	for statement := range strings.SplitSeq(statements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// OpenWith opens a history with the first n migrations of the program, followed by the migrations
// more of a test.
func OpenWith(ctx context.Context, name string, n int, more ...[]string) (*Store, error) {
	list := append([]migration{}, migrations[:n]...)
	for _, m := range more {
		list = append(list, m)
	}
	return open(ctx, name, true, list)
}

// OpenBare opens a database without checking its schema.
func OpenBare(ctx context.Context, name string) (*Store, error) {
	if IsPostgres(name) {
		db, err := openPostgres(name)
		return &Store{db: db, backend: &postgresBackend, name: name}, err
	}
	db, err := openSQLite(ctx, name, true)
	return &Store{db: db, backend: &sqliteBackend, name: name}, err
}

// Version returns the version of a store's schema.
func (s *Store) Version(ctx context.Context) (int,
	error,
) {
	return schemaVersion(ctx, s.db, s.backend)
}
