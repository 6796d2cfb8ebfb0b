package history

import (
	"context"
	"database/sql"
	"fmt"
)

// A migration is a list of statements that change the schema from one version to the next. Released
// migrations never change. A new version is a new migration at the end of the list.
type migration []string

// migrations lists all migrations. The first one creates version 1 in an empty database. Each
// backend replaces the placeholders IDENTITY and BYTES by its own types. Times are microseconds
// since 1970.
var migrations = []migration{
	{
		`CREATE TABLE vramsoak_runs (
			id          IDENTITY,
			suite       TEXT NOT NULL,
			started     BIGINT NOT NULL,
			host        TEXT NOT NULL,
			digest      TEXT NOT NULL,
			commit_id   TEXT NOT NULL,
			gpu         TEXT NOT NULL,
			driver      TEXT NOT NULL,
			version     TEXT NOT NULL,
			log         TEXT NOT NULL,
			verdict     TEXT NOT NULL,
			files       BIGINT NOT NULL,
			detail      BYTES NOT NULL,
			UNIQUE (suite, started, host, digest)
		)`,
		`CREATE TABLE vramsoak_values (
			run_id           BIGINT NOT NULL REFERENCES vramsoak_runs (id) ON DELETE CASCADE,
			metric           TEXT NOT NULL,
			statistic        TEXT NOT NULL,
			rank             BIGINT NOT NULL,
			device           BIGINT NOT NULL,
			unit             TEXT NOT NULL,
			higher_is_better BIGINT NOT NULL,
			resolution       DOUBLE PRECISION NOT NULL,
			value            DOUBLE PRECISION NOT NULL,
			PRIMARY KEY (run_id, metric, statistic, rank, device)
		)`,
		`CREATE TABLE vramsoak_accepted (
			id        IDENTITY,
			run_id    BIGINT NOT NULL REFERENCES vramsoak_runs (id) ON DELETE CASCADE,
			metric    TEXT NOT NULL,
			statistic TEXT NOT NULL,
			rank      BIGINT NOT NULL,
			device    BIGINT NOT NULL,
			step      DOUBLE PRECISION NOT NULL,
			accepted  BIGINT NOT NULL,
			note      TEXT NOT NULL,
			UNIQUE (run_id, metric, statistic, rank, device)
		)`,
	},
	{ // the last day of an acceptance, as 2027-01-31; '' without an end
		`ALTER TABLE vramsoak_accepted ADD COLUMN until TEXT NOT NULL DEFAULT ''`,
	},
}

// A NewerError reports that a newer vramsoak made the database.
type NewerError struct{ Found, Known int }

func (e NewerError) Error() string {
	return fmt.Sprintf("its schema has version %d, this vramsoak knows versions up to %d; "+
		"use the newer vramsoak that made it, or another --db", e.Found, e.Known)
}

// migrate brings a database to the newest version in the list. If a statement fails, the database
// stays unchanged. Other programs wait until migrate is done.
func migrate(ctx context.Context, db *sql.DB, b *backend, list []migration) error {
	version, err := schemaVersion(ctx, db, b)
	if err != nil || version == len(list) {
		return err
	}
	if version > len(list) {
		return NewerError{Found: version, Known: len(list)}
	}
	return inTransaction(ctx, db, b, func(tx *sql.Tx) error {
		statements := []string{"CREATE TABLE IF NOT EXISTS vramsoak_schema (version BIGINT NOT NULL)"}
		if b.lock != "" {
			statements = append([]string{b.lock}, statements...)
		}
		for _, s := range statements {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		version, err := newestVersion(ctx, tx) // another process may have migrated since the first look
		if err != nil {
			return err
		}
		if version > len(list) {
			return NewerError{Found: version, Known: len(list)}
		}
		for ; version < len(list); version++ {
			for _, s := range list[version] {
				if _, err := tx.ExecContext(ctx, b.words.Replace(s)); err != nil {
					return fmt.Errorf("schema version %d: %w", version+1, err)
				}
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO vramsoak_schema (version) VALUES ($1)",
				version+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// A querier is a database or a transaction, which both can run a query.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaVersion returns the version of the schema, or 0 for a database without vramsoak's tables.
func schemaVersion(ctx context.Context, db querier, b *backend) (int, error) {
	tables := 0
	if err := db.QueryRowContext(ctx, b.known).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	return newestVersion(ctx, db)
}

func newestVersion(ctx context.Context, db querier) (version int, err error) {
	err = db.QueryRowContext(ctx,
		"SELECT COALESCE(MAX(version), 0) FROM vramsoak_schema").Scan(&version)
	return version, err
}

// inTransaction calls do in a transaction. If do returns an error, the transaction is rolled back.
func inTransaction(ctx context.Context, db *sql.DB, b *backend, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	for _, s := range b.begin {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}
