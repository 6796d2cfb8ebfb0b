package check_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// These are the limits, a file, by which the series of this test are judged.
const (
	hostLimit  = 1 << 20
	countLimit = 0.1
)

// TestResourceVerdicts judges the host memory, the file descriptors and the threads of clean runs
// and of runs that leak. Series of real programs are judged too, resampled.
func TestResourceVerdicts(t *testing.T) {
	t.Parallel()
	runs := *verdictRuns
	out := &strings.Builder{}
	fmt.Fprintf(out, "\nHost memory, %% of %d runs of 50 files that fail / are undecided, "+
		"by MiB a file:\n\n| series | clean | 0.5 | 1 | 4 |\n|---|--:|--:|--:|--:|\n", runs)
	for _, kind := range fixtures.HostKinds {
		resourceRow(t, out, fixtures.LevelSpec{Kind: kind, Sigma: 0.2}, hostLimit, runs, 0.5, 1, 4)
	}
	fmt.Fprintf(out, "\nCounts, %% of %d runs of 50 files that fail / are undecided:\n\n"+
		"| series | clean | one in five files | one a file |\n|---|--:|--:|--:|\n", runs)
	for _, kind := range fixtures.CountKinds {
		resourceRow(t, out, fixtures.LevelSpec{Kind: kind}, countLimit, runs, 0.2, 1)
	}
	fmt.Fprintf(out, "\nRecorded series, resampled, %% of %d runs that fail / are undecided:\n\n"+
		"| series | clean | 4 MiB or 1 a file |\n|---|--:|--:|\n", runs)
	paths, err := filepath.Glob("../../fixtures/series/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recorded series: %v", err)
	}
	for _, path := range paths {
		s, unit, limit := recorded(t, path)
		found := shape.Of(s)
		growth, step := 1.0, 1.0
		if unit == check.Bytes {
			growth, step = 4*mib, 4096
		}
		fmt.Fprintf(out, "| %s |", strings.TrimSuffix(filepath.Base(path), ".txt"))
		for _, growth := range []float64{0, growth} {
			resourceCell(t, out, path, limit, runs, growth, func(r *rand.Rand) shape.Series {
				drawn := resampled(r, s, &found, step)
				for i := range drawn.Values {
					drawn.Values[i] += growth * float64(i)
				}
				return drawn
			})
		}
		fmt.Fprintln(out)
	}
	writeTable(t, "resources", out)
}

// resourceRow judges clean runs of a kind, and runs with leaks, and writes a row of a table to out.
func resourceRow(
	t *testing.T, out *strings.Builder, spec fixtures.LevelSpec, limit float64, runs int,
	growths ...float64,
) {
	t.Helper()
	fmt.Fprintf(out, "| %s |", spec.Kind)
	for _, growth := range slices.Concat([]float64{0}, growths) {
		resourceCell(t, out, spec.Kind, limit, runs, growth, func(r *rand.Rand) shape.Series {
			s := spec
			s.Files, s.Growth, s.Seed = 50, growth, r.Uint64()
			levels := fixtures.Levels(s)
			series := seriesOf(&levels)
			series.Grain, series.Audio = grainOf(spec.Kind), nil
			return series
		})
	}
	fmt.Fprintln(out)
}

// resourceCell judges runs that the function draw draws, and writes to out how many fail and how
// many are undecided. Of clean runs, 0.1 % may fail.
func resourceCell(
	t *testing.T, out *strings.Builder, name string, limit float64, runs int, growth float64,
	draw func(r *rand.Rand) shape.Series,
) {
	t.Helper()
	results := inParallel(runs, func(seed uint64) check.Verdict {
		s := draw(rand.New(rand.NewPCG(seed, 0x686f7374)))
		r := shape.Of(s)
		verdict := check.GrowthVerdict(&r, limit)
		if verdict == check.Fail && limit == hostLimit && shape.Slows(s.Values[r.From:]) {
			return check.Undecided // as of host memory
		}
		return verdict
	})
	failed, undecided := results[check.Fail], results[check.Undecided]
	fmt.Fprintf(out, " %.2f / %.1f |", share(failed, runs), share(undecided, runs))
	if most := mostByChance(runs, 0.001); growth == 0 && failed > most {
		t.Errorf("%s: %d of %d clean runs fail, want at most %d", name, failed, runs, most)
	}
}

// inParallel calls judge for each seed below runs, and returns how often it gave each result.
func inParallel[T comparable](runs int, judge func(seed uint64) T) map[T]int {
	results := make(chan T)
	const workers = 4
	for w := range workers {
		go func() {
			for seed := w; seed < runs; seed += workers {
				results <- judge(uint64(seed))
			}
		}()
	}
	count := map[T]int{}
	for range runs {
		count[<-results]++
	}
	return count
}

// grainOf returns the grain with which the program judges a kind of series.
func grainOf(kind string) float64 {
	if slices.Contains(fixtures.CountKinds, kind) {
		return check.Grain(check.Count)
	}
	return check.Grain(check.Bytes)
}

// recorded reads a series of fixtures/series: a first line "# bytes limit L: what it is", then a
// value for each file. The limit is in the unit of the values.
func recorded(t *testing.T, path string) (s shape.Series, unit string, limit float64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if _, err := fmt.Sscanf(lines[0], "# %s limit %g:", &unit, &limit); err != nil {
		t.Fatalf("%s: the first line must be \"# bytes limit L: what it is\": %v", path, err)
	}
	s.Grain = check.Grain(unit)
	for i, line := range lines[1:] {
		v, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Fatalf("%s:%d: %v", path, i+2, err)
		}
		s.Values = append(s.Values, v)
	}
	return s, unit, limit
}

// resampled returns a series like s: the shape that was found in s, without growth, and the
// residuals in blocks of eight files that are drawn at random (Künsch 1989). Blocks keep the
// autocorrelation of near values. The values are multiples of step, as those of s are.
func resampled(r *rand.Rand, s shape.Series, found *shape.Result, step float64) shape.Series {
	const block = 8
	drawn := s
	drawn.Values = make([]float64, len(s.Values))
	from := 0
	for i := range drawn.Values {
		if i%block == 0 {
			from = r.IntN(len(s.Values) - block + 1)
		}
		at := from + i%block
		level := found.Fitted[i] - max(0, found.Slope.Estimate)*float64(i)
		v := level + s.Values[at] - found.Fitted[at]
		drawn.Values[i] = step * math.Round(v/step)
	}
	return drawn
}
