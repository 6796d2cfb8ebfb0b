package history_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/harness/history"
)

func TestMain(m *testing.M) {
	if job := os.Getenv("VRAMSOAK_TEST_CHILD"); job != "" {
		os.Exit(child(job, os.Args[1:]))
	}
	code := m.Run()
	if c, err := server(); err == nil {
		if err := c.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "PostgreSQL:", err)
		}
	}
	os.Exit(code)
}

var firstNight = time.Date(2026, 9, 1, 2, 0, 0, 0, time.UTC)

// night returns the run of night n. Its files have the given peaks, in MiB.
func night(n int, peaks ...float64) history.Run {
	values := check.Values{}
	for _, p := range peaks {
		values = append(values, p*(1<<20))
	}
	return history.Run{
		Suite: "nightly", Digest: "d", Files: len(peaks), Findings: []check.Finding{},
		Baseline: compare.Baseline{
			Schema: compare.Schema,
			Run: compare.RunInfo{
				Started: firstNight.AddDate(0, 0, n), Host: "gpu-1",
				Commit: strings.Repeat(string(rune('a'+n%26)), 40), Verdict: check.Pass,
			},
			Measurements: check.Measurements{Metrics: []check.Metric{{
				Name: "peak", Unit: check.Bytes,
				Values: values,
			}}},
		},
	}
}

// heavyNight returns the run of night n with so many random values that it takes about 100 KB.
func heavyNight(n int) history.Run {
	run := night(n, 100)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	values := make(check.Values, 12000)
	for i := range values {
		values[i] = r.Float64()
	}
	run.Baseline.Metrics[0].Values = values
	return run
}

func create(t *testing.T, name string) *history.Store {
	t.Helper()
	s, err := history.Create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func add(t *testing.T, s *history.Store, r history.Run) int64 {
	t.Helper()
	id, added, err := s.Add(t.Context(), r)
	if err != nil || !added {
		t.Fatalf("Add = %d, %v, %v", id, added, err)
	}
	return id
}

func TestAddAndGet(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		s := create(t, name)
		want := night(0, 100, math.NaN(), 120)
		want.Baseline.Run.GPU, want.Baseline.Run.Command = "NVIDIA H100",
			[]string{"python", "transcribe.py"}
		want.Growth = map[string]float64{"idle level": 4096}
		limit := 0.95
		want.Findings = []check.Finding{
			{
				Check: "recovery", Verdict: check.Fail, Subject: "Whisper\x00\xff Cleanup", Limit: &limit,
				Message: "kept",
			},
		}
		want.Baseline.Metrics[0].Name = "peak of \x00 a name \xff that a log may hold " +
			strings.Repeat("long ", 1000)
		id := add(t, s, want)

		entry, got, err := s.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		want.Findings[0].Subject = "Whisper\x00\uFFFD Cleanup" // JSON is UTF-8
		want.Baseline.Metrics[0].Name = strings.ToValidUTF8(want.Baseline.Metrics[0].Name, "\uFFFD")
		if diff := cmp.Diff(&want, got, cmpopts.EquateNaNs(),
			cmpopts.IgnoreUnexported(check.Finding{})); diff != "" {
			t.Errorf("run (-want +got):\n%s", diff)
		}
		wantEntry := history.Entry{
			ID: id, Suite: "nightly", Started: firstNight, Commit: strings.Repeat("a", 40), Host: "gpu-1",
			GPU:     "NVIDIA H100",
			Verdict: check.Pass, Files: 3,
		}
		if diff := cmp.Diff(wantEntry, entry); diff != "" {
			t.Errorf("entry (-want +got):\n%s", diff)
		}

		again, added, err := s.Add(t.Context(), want)
		if err != nil || added || again != id {
			t.Errorf("the same run again: Add = %d, %v, %v, want %d, false", again, added, err, id)
		}
		other := want
		other.Suite = "weekly"
		if again = add(t, s, other); again == id {
			t.Error("a run of another suite has the same number")
		}
		if _, _, err := s.Get(t.Context(), 99); err == nil ||
			!strings.Contains(err.Error(), "has no run 99") {
			t.Errorf("Get of a run that is not there: %v", err)
		}
		if _, _, err := s.Add(t.Context(), history.Run{Suite: "nightly", Digest: "d"}); err == nil {
			t.Error("a run without a start was added")
		}
	})
}

func TestListAndLoad(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		s := create(t, name)
		for _, n := range []int{2, 0, 1} { // in any order
			add(t, s, night(n, 100, 120, 110+float64(n)))
		}
		other := night(0, 7)
		other.Suite = "weekly"
		add(t, s, other)

		all, err := s.List(t.Context(), "")
		if err != nil || len(all) != 4 {
			t.Errorf("List of all: %d runs, %v, want 4", len(all), err)
		}
		h, err := s.Load(t.Context(), "nightly")
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range h.Runs {
			if want := firstNight.AddDate(0, 0, i); !r.Started.Equal(want) {
				t.Errorf("run %d began at %v, want %v", i, r.Started, want)
			}
		}
		const mib = 1 << 20
		want := []history.Series{
			{Unit: "bytes", Values: []float64{110 * mib, 111 * mib, 112 * mib}},
			// The peaks are 100, 110+n and 120. P95 lies at 95 % of the way from the first to the third,
			// which is 9/10 of the way from the second to the third.
			{Unit: "bytes", Values: []float64{119 * mib, 119.1 * mib, 119.2 * mib}},
			{Unit: "bytes", Values: []float64{120 * mib, 120 * mib, 120 * mib}},
		}
		for i := range want {
			want[i].SeriesKey = history.SeriesKey{Metric: "peak", Statistic: history.Statistics[i]}
			want[i].Runs = []int{0, 1, 2}
		}
		if diff := cmp.Diff(want, h.Series, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("series (-want +got):\n%s", diff)
		}
		until, err := h.Until(h.Runs[1].ID)
		if err != nil || len(until.Runs) != 2 || len(until.Series[0].Values) != 2 {
			t.Errorf("until the second run: %+v, %v", until, err)
		}
	})
}

func TestOpen(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.db")
	_, err := history.Open(t.Context(), missing)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "vramsoak history add") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("Open made the file")
	}
	text := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(text, []byte(strings.Repeat("[GPU Memory] no database\n", 100)),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := history.Open(t.Context(), text); err == nil ||
		!strings.Contains(err.Error(), "not an SQLite file") {
		t.Errorf("a file of another kind: %v", err)
	}
	_, err = history.Open(t.Context(), "postgres://user:secret@127.0.0.1:1/db?connect_timeout=1")
	if err == nil || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "see that the server runs") {
		t.Errorf("a server that is not there: %v", err)
	}
}
