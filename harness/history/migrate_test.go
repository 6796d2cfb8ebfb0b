package history_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/history"
	"vramsoak/harness/waiver"
)

// TestVersion1 opens a database with version 1 of the schema.
func TestVersion1(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		old, err := history.OpenBare(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := history.Fixture(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		s := create(t, name)
		h, err := s.Load(t.Context(), "nightly")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Date(2026, 9, 1, 2, 0, 0, 0, time.UTC)
		want := &history.History{
			Suite: "nightly",
			Runs: []history.Entry{{
				ID: 1, Suite: "nightly", Started: began, Commit: "1a2b3c4", Host: "gpu-1", GPU: "NVIDIA H100",
				Driver: "550.54", Version: "v1",
				Log: "a/soak.log", Verdict: "pass", Files: 2,
			}},
			Series: []history.Series{{
				SeriesKey: history.SeriesKey{Metric: "peak", Statistic: "median"}, Unit: "bytes",
				Runs: []int{0}, Values: []float64{100},
			}},
			Accepted: []history.Acceptance{{
				SeriesKey: history.SeriesKey{Metric: "peak", Statistic: "worst"}, Run: 1, Step: 50, At: began,
				Waiver: waiver.Waiver{Reason: "a larger model"},
			}},
		}
		if diff := cmp.Diff(want, h); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		_, run, err := s.Get(t.Context(), 1)
		if err != nil || run.Digest != "d1" || run.Baseline.Metrics[0].Values[0] != 100 {
			t.Errorf("run 1: %+v, %v", run, err)
		}
		if id := add(t, s, night(1, 100)); id != 2 {
			t.Errorf("the next run has the number %d, want 2", id)
		}
	})
}

// TestMigrations migrates a database from version 1 to a version that only the test knows. The
// released program must then refuse that database.
func TestMigrations(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		s := create(t, name)
		known, err := s.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id := add(t, s, night(0, 100))

		broken := []string{
			"ALTER TABLE vramsoak_runs ADD COLUMN note TEXT NOT NULL DEFAULT ''",
			"ALTER TABLE no_such_table ADD COLUMN x BIGINT",
		}
		if _, err := history.OpenWith(t.Context(), name, known, broken); err == nil ||
			!strings.Contains(err.Error(), "no_such_table") {
			t.Errorf("a migration that fails: %v", err)
		}
		if v, err := s.Version(t.Context()); err != nil || v != known {
			t.Errorf("after a migration that failed: version %d, %v, want %d", v, err, known)
		}

		newer, err := history.OpenWith(t.Context(), name, known, broken[:1],
			[]string{"CREATE TABLE vramsoak_more (x BIGINT)"})
		if err != nil {
			t.Fatal(err) // for example if the failed migration had left its column
		}
		if v, err := newer.Version(t.Context()); err != nil || v != known+2 {
			t.Errorf("version %d, %v, want %d", v, err, known+2)
		}
		if _, run, err := newer.Get(t.Context(), id); err != nil || run.Digest != "d" {
			t.Errorf("run %d after the migration: %v", id, err)
		}
		if err := newer.Close(); err != nil {
			t.Fatal(err)
		}

		_, err = history.Open(t.Context(), name)
		e, ok := errors.AsType[history.NewerError](err)
		if !ok || e.Found != known+2 || !strings.Contains(err.Error(), "use the newer vramsoak") {
			t.Errorf("a database newer than the program: %v", err)
		}
	})
}
