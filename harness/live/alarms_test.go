package live_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/harness/live"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

var alarmRuns = flag.Int("alarms.runs", 10, "clean runs of each kind")

// timelineOf returns a timeline of the first files of a series, with one checkpoint per file.
func timelineOf(s *fixtures.LevelSeries, files int, failFast bool) *timeline.Timeline {
	tl := &timeline.Timeline{Runs: []timeline.Run{{Start: record.RunStart{FailFast: failFast}}}}
	for i, bytes := range s.Bytes[:files] {
		c := record.Checkpoint{Name: "After File"}
		c.Pos.Line = i + 1
		c.Set(record.Allocated, record.Size{Bytes: bytes, Resolution: s.Resolution})
		tl.Files = append(tl.Files, &timeline.File{
			Index: i + 1, AudioSeconds: s.AudioSeconds[i], Status: record.StatusOK, Supervised: true,
			Pos: c.Pos, EndPos: c.Pos, Checkpoints: []record.Checkpoint{c},
		})
	}
	return tl
}

// grows reports whether growth fails at a look, or at the end for look 0.
func grows(s *fixtures.LevelSeries, files, look int) bool {
	tl := timelineOf(s, files, true)
	j := check.New(check.DefaultPolicy())
	j.Look = look
	for f := range tl.InOrder() {
		j.Add(f)
	}
	return len(live.Growing(j.Report(tl))) > 0
}

// certainAt returns after how many files growth is certain, or 0 if it never is.
func certainAt(s *fixtures.LevelSeries) (files int) {
	before := false
	for look := 1; live.FilesAt(look) <= len(s.Bytes); look++ {
		now := grows(s, live.FilesAt(look), look)
		if now && before {
			return live.FilesAt(look)
		}
		before = now
	}
	return 0
}

// TestFalseAlarms: clean runs are not ended early, and do not fail at their end. With
//
//	go test ./harness/live -run TestFalseAlarms -alarms.runs 3000 -v
//
// it makes the table of docs/explanation/false-alarms.md.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	const files = 100
	all, failed := 0, 0
	for _, kind := range fixtures.LevelKinds {
		for _, sigma := range []float64{5, 20} {
			t.Run(fmt.Sprintf("%s-%g", kind, sigma), func(t *testing.T) {
				early, late := count(*alarmRuns, func(seed uint64) (bool, bool) {
					s := fixtures.Levels(fixtures.LevelSpec{
						Kind: kind, Files: files, Sigma: sigma, Seed: seed,
					})
					return certainAt(&s) > 0, grows(&s, files, 0)
				})
				t.Logf("| %s | %g | %d | %d |", kind, sigma, early, late)
				all += *alarmRuns
				failed += early + late
			})
		}
	}
	// 1 in 1,000 is promised. In up to 400 runs, more than 3 alarms have a probability below 1 in
	// 1,000 (Poisson with a mean of 0.4: 0.0008).
	if most := max(3, 2*all/1000); failed > most {
		t.Errorf("%d of %d clean runs failed, at most %d may", failed, all, most)
	}
}

// TestLeaksAreCertainEarly: a leak that is large beside the noise is found long before the end.
func TestLeaksAreCertainEarly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		growth, sigma float64
		latest        int
	}{
		{4, 0, live.FilesAt(2)},
		{4, 5, live.FilesAt(2)},
		{16, 20, live.FilesAt(2)},
		{4, 20, live.FilesAt(4)},
		{1, 5, live.FilesAt(4)},
	} {
		late, _ := count(max(10, *alarmRuns/20), func(seed uint64) (bool, bool) {
			s := fixtures.Levels(fixtures.LevelSpec{
				Kind: "white", Files: 64, Sigma: c.sigma, Growth: c.growth, Seed: seed,
			})
			at := certainAt(&s)
			return at == 0 || at > c.latest, false
		})
		if late > 0 {
			t.Errorf("%g MiB a file in noise of %g MiB: not certain after %d files in %d runs",
				c.growth, c.sigma, c.latest, late)
		}
	}
}

// count counts in how many runs the results are true.
func count(runs int, run func(seed uint64) (a, b bool)) (as, bs int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := range seeds {
				a, b := run(seed)
				mu.Lock()
				if a {
					as++
				}
				if b {
					bs++
				}
				mu.Unlock()
			}
		})
	}
	for i := range runs {
		seeds <- uint64(i + 1)
	}
	close(seeds)
	all.Wait()
	return as, bs
}

// TestFilesAt: looks are after 24, 32, 48, 64 files and so on.
func TestFilesAt(t *testing.T) {
	t.Parallel()
	var got []int
	for look := 1; look <= 8; look++ {
		got = append(got, live.FilesAt(look))
	}
	if want := []int{24, 32, 48, 64, 96, 128, 192, 256}; !slices.Equal(got, want) {
		t.Error(fmt.Sprint(got))
	}
}
