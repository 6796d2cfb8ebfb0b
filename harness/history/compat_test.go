package history_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/harness/waiver"
)

// compat is the folder with the history that an earlier version wrote, as an SQLite file and as
// rows. See fixtures/compat/README.md.
const compat = "../../fixtures/compat/history"

// TestCompatRows loads rows that an earlier version stored, into both kinds of database, and reads
// them.
func TestCompatRows(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		old, err := history.OpenBare(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := history.Execute(t.Context(), old, filepath.Join(compat, "history.sql")); err != nil {
			t.Fatal(err)
		}
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		checkCompat(t, create(t, name))
	})
}

// TestCompatFile opens a copy of the SQLite file that an earlier version wrote.
func TestCompatFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(compat, "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "history.db")
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
	checkCompat(t, create(t, name))
}

// checkCompat fails the test unless a store has the two suites of that history. One suite has
// twelve nights; in the last three the model is 512 MiB larger. The other suite has two run
// folders, and its second run leaks 4 MiB a file.
func checkCompat(t *testing.T, s *history.Store) {
	t.Helper()
	nights, err := s.Load(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	series := map[string][]float64{}
	for _, of := range nights.Series {
		series[of.String()] = of.Values
	}
	// The last of the four files of a night is the largest. It begins at 24 MiB and 512 B. Its 108 s
	// of audio take 1 MiB each. The model is 8 KiB larger in the second of three nights and 16 KiB
	// larger in the third.
	var peaks []float64
	for night := range 12 {
		model := 3 << 30
		if night >= 9 {
			model += 512 << 20
		}
		peaks = append(peaks, float64(24<<20+512+108<<20+model+(night+1)%3*8192))
	}
	if diff := cmp.Diff(peaks, series["peak, worst"]); diff != "" {
		t.Errorf("worst peaks (-want +got):\n%s", diff)
	}
	var accepted []string
	for _, a := range nights.Accepted {
		if a.Run != 10 || math.Abs(a.Step-512<<20) > 16<<10 ||
			a.Waiver != (waiver.Waiver{Reason: "whisper large-v3"}) {
			t.Errorf("expected that 512 MiB since run 10 was accepted, found %+v", a)
		}
		accepted = append(accepted, a.String())
	}
	slices.Sort(accepted)
	known := []string{"peak of Transcription, worst", "peak reserved, worst", "peak, worst"}
	if diff := cmp.Diff(known, accepted); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}

	folders, err := s.List(t.Context(), "folders")
	if err != nil || len(folders) != 2 {
		t.Fatalf("expected 2 runs in the suite folders, found %d: %v", len(folders), err)
	}
	for i, want := range []struct{ log, verdict string }{{"clean-stdin", "pass"}, {"leak", "fail"}} {
		got := folders[i]
		if got.Log != want.log || string(got.Verdict) != want.verdict ||
			got.Host != "gpu-1" || got.Files != 10 {
			t.Errorf("run %d: expected %s of gpu-1, 10 files, %s, found %+v",
				got.ID, want.log, want.verdict, got)
		}
	}
	_, leak, err := s.Get(t.Context(), folders[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	files := leak.Baseline.Files
	if len(files) != 10 || files[9].Path != "audio/010.wav" || files[9].AudioSeconds != 80 {
		t.Errorf("expected ten files, the last one audio/010.wav of 80 s, found %+v", files)
	}
	kept := map[string]check.Metric{}
	for _, m := range leak.Baseline.Metrics {
		kept[m.Name] = m
	}
	// The first file begins at 24 MiB and 2 KiB and leaves 4 MiB more, so its idle level is 28 MiB and
	// 2 KiB.
	idle := kept["idle level"]
	if idle.Unit != "bytes" || idle.HigherIsBetter || len(idle.Values) != 10 ||
		idle.Values[0] != 28<<20+2048 {
		t.Errorf("expected the idle level of ten files, 28 MiB and 2 KiB after the first, found %+v",
			idle)
	}
	if m := kept["recovery of Transcription"]; m.Unit != "ratio" || !m.HigherIsBetter ||
		m.Values[0] != 1 {
		t.Errorf("expected that all of Transcription was given back, found %+v", m)
	}
	if grows := leak.Growth["idle level"]; grows < 4<<20-1024 || grows > 4<<20+1024 {
		t.Errorf("expected that the leak grows by 4 MiB a file, found %v", grows)
	}
	failed := ""
	for _, f := range leak.Findings {
		if f.Verdict == "fail" {
			failed += f.Check + ", " + f.Subject + ";"
		}
	}
	if failed != "leak, idle level;" {
		t.Errorf("expected that the idle level failed, found %q", failed)
	}
	if id := add(t, s, night(100, 100)); id != 15 {
		t.Errorf("the next run has the number %d, want 15", id)
	}
}
