package check_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

var familyRuns = flag.Int("family.runs", 10, "runs of each kind and size in TestFamilyVerdicts")

// familyKinds are the series of which a family consists, in turn.
var familyKinds = []struct {
	name   string
	series []fixtures.LevelSpec
}{
	{"white", []fixtures.LevelSpec{white(20, 0, 0)}},
	{"autoregressive", []fixtures.LevelSpec{{Kind: "autoregressive", Sigma: 20}}},
	{"of all kinds", []fixtures.LevelSpec{
		white(20, 0, 0), white(5, 0, 10.24),
		{Kind: "autoregressive", Sigma: 20},
		{Kind: "warm-up", Sigma: 5},
		{Kind: "sawtooth-5", Sigma: 5},
		{Kind: "step", Sigma: 20},
		{Kind: "outliers", Sigma: 5},
		{Kind: "pages", Sigma: 1},
		{Kind: "interpreter", Sigma: 0.2},
		{Kind: "collector"},
		{Kind: "arenas", Sigma: 0.2},
		{Kind: "descriptors"},
		{Kind: "pool"},
	}},
}

// TestFamilyVerdicts judges runs of several series. Each series has a level of 0.001, divided by
// their number, so at most 0.1 % of all runs may have a series that seems to grow. It also judges
// leaks at these levels, because a smaller level finds fewer.
func TestFamilyVerdicts(t *testing.T) {
	t.Parallel()
	runs := *familyRuns
	sizes := []int{1, 16, 128}
	out := &strings.Builder{}
	fmt.Fprintf(out, "\nFalse alarms in families of series, %d clean runs of each "+
		"(95 %% upper bound):\n\n| series | 1 | 16 | 128 |\n|---|--:|--:|--:|\n", runs)
	for _, kind := range familyKinds {
		fmt.Fprintf(out, "| %s |", kind.name)
		for _, size := range sizes {
			failed := inParallel(runs, func(seed uint64) bool {
				for i := range size {
					spec := kind.series[(int(seed)+i)%len(kind.series)]
					if inFamily(spec, seed*uint64(size)+uint64(i), size).Growing {
						return true
					}
				}
				return false
			})[true]
			fmt.Fprintf(out, " %.2f %% (%.2f %%) |", share(failed, runs), 100*upperBound(failed, runs))
			if most := mostOfKind(runs, 0.001); failed > most {
				t.Errorf("%d series, %s: %d of %d clean runs fail, want at most %d", size, kind.name, failed,
					runs, most)
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "\nLeaks found in one of so many series, at a limit of 1 MiB a file, "+
		"%% of %d runs:\n\n"+
		"| leak | 1 | 16 | 128 |\n|---|--:|--:|--:|\n", runs)
	for _, spec := range []fixtures.LevelSpec{
		white(20, 2, 0), white(20, 4, 0), white(20, 4, 10.24),
		{Kind: "autoregressive", Sigma: 20, Growth: 4},
	} {
		printed := "exact"
		if spec.Digit > 0 {
			printed = "0.01 GB"
		}
		fmt.Fprintf(out, "| %g MiB a file, %s, noise %g MiB, %s |", spec.Growth, spec.Kind, spec.Sigma,
			printed)
		for _, size := range sizes {
			found := inParallel(runs, func(seed uint64) check.Verdict {
				return check.GrowthVerdict(inFamily(spec, seed, size), hostLimit)
			})[check.Fail]
			fmt.Fprintf(out, " %.1f |", share(found, runs))
		}
		fmt.Fprintln(out)
	}
	writeTable(t, "families", out)
}

// inFamily returns the result for a series of 50 files, in a family of so many series.
func inFamily(spec fixtures.LevelSpec, seed uint64, family int) *shape.Result {
	spec.Files, spec.Seed = 50, seed
	levels := fixtures.Levels(spec)
	s := seriesOf(&levels)
	s.Grain, s.Level = grainOf(spec.Kind), 0.001/float64(family)
	r := shape.Of(s)
	return &r
}

// upperBound returns the largest probability with which so many of n runs may fail: above it, at
// most as many would fail in less than 5 % of cases (Clopper and Pearson 1934).
func upperBound(failed, n int) float64 {
	low, high := 0.0, 1.0
	for range 50 {
		p := (low + high) / 2
		if atMost(failed, n, p) < 0.05 {
			high = p
		} else {
			low = p
		}
	}
	return high
}
