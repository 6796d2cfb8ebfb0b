package check_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// TestPrintedVerdicts judges runs of 50 files whose levels are printed in GB with two decimals,
// and some with exact bytes. Beside each figure it writes the best possible one, of a judge
// that knows the noise and the shape: see bestDecided. The bounds keep what was reached; the goal
// for noise of 5 MiB, printed to 0.01 GB, is 1 % undecided.
func TestPrintedVerdicts(t *testing.T) {
	t.Parallel()
	runs := *verdictRuns
	out := &strings.Builder{}
	fmt.Fprintf(out, "\nClean runs, %% of %d runs of 50 files:\n\n"+
		"| series | noise, MiB | printed | fail | undecided | at best |\n"+
		"|---|--:|---|--:|--:|--:|\n", runs)
	for _, c := range []struct {
		spec fixtures.LevelSpec
		most float64 // % undecided at most
	}{
		{white(0, 0, 10.24), 0},
		{white(0.5, 0, 10.24), 1},
		{white(2, 0, 10.24), 1.3},
		{white(5, 0, 10.24), 1.7},
		{white(5, 0, 0), 1},
		{fixtures.LevelSpec{Kind: "sawtooth-5", Sigma: 5, Digit: 10.24}, 5},
		{fixtures.LevelSpec{Kind: "sawtooth-10", Sigma: 5, Digit: 10.24}, 5},
		{fixtures.LevelSpec{Kind: "outliers", Sigma: 5, Digit: 10.24}, 5},
	} {
		tally := judgeAll(c.spec, runs, nil)
		_, undecided := bestDecided(c.spec)
		fmt.Fprintf(out, "| %s | %g | %s | %.2f | %.2f | %.2f |\n", c.spec.Kind, c.spec.Sigma,
			printedAs(c.spec.Digit), share(tally.failed, runs), share(tally.undecided, runs), 100*undecided)
		if most := mostOfKind(runs, 0.001); tally.failed > most {
			t.Errorf("%+v: %d of %d clean runs fail, want at most %d", c.spec, tally.failed, runs, most)
		}
		if most := mostOfKind(runs, c.most/100); tally.undecided > most {
			t.Errorf("%+v: %d of %d runs are undecided, want at most %d", c.spec, tally.undecided, runs,
				most)
		}
	}
	fmt.Fprintf(out, "\nLeaks, %% of %d runs of 50 files:\n\n"+
		"| MiB a file | noise, MiB | printed | found | at best | passed |\n"+
		"|--:|--:|---|--:|--:|--:|\n", runs)
	for _, c := range []struct {
		spec         fixtures.LevelSpec
		least, never float64 // % found at least, and % passed at most
	}{
		{white(5, 0.5, 10.24), 95, 0.01},
		{white(5, 0.5, 0), 95, 0.01},
		{white(0, 0.3, 10.24), 0, 0.01},
		{white(5, 0.3, 10.24), 0, 1.2},
		{white(5, 0.25, 10.24), 0, 3.5},
		{white(2, 0.5, 10.24), 0, 0.01},
		{white(10, 0.5, 10.24), 0, 0.1},
		{white(10, 1, 10.24), 95, 0.01},
	} {
		tally := judgeAll(c.spec, runs, nil)
		found, _ := bestDecided(c.spec)
		fmt.Fprintf(out, "| %g | %g | %s | %.1f | %.1f | %.2f |\n", c.spec.Growth, c.spec.Sigma,
			printedAs(c.spec.Digit), share(tally.failed, runs), 100*found, share(tally.passed, runs))
		if most := mostOfKind(runs, 1-c.least/100); c.least > 0 && runs-tally.failed > most {
			t.Errorf("%+v: found %d of %d, want %g %%", c.spec, tally.failed, runs, c.least)
		}
		if most := mostOfKind(runs, c.never/100); tally.passed > most {
			t.Errorf("%+v: %d of %d pass, want at most %d", c.spec, tally.passed, runs, most)
		}
	}
	writeTable(t, "printed", out)
}

func printedAs(digit float64) string {
	return digits[slices.IndexFunc(digits, func(d struct {
		name string
		mib  float64
	},
	) bool {
		return d.mib == digit
	})].name
}

// bestDecided returns how many runs of 50 files a judge finds, and how many it leaves undecided,
// if it knows the standard deviation of the noise, that the noise is white, and the columns of
// the shape. It fits by ordinary least squares. Rounding is one more independent noise, of a
// twelfth of the squared digit (Sheppard). It finds growth of more than 3.09 standard errors, for
// 0.1 % false alarms, whose estimate is above the limit. It passes a run whose one-sided 95 %
// bound is within the limit. Without noise, only the digits count: they hide a digit over the 49
// files after the first.
func bestDecided(spec fixtures.LevelSpec) (found, undecided float64) {
	const n = 50
	limit := check.DefaultPolicy().MaxGrowth[check.IdleLevel] / mib
	if spec.Sigma == 0 {
		hidden := spec.Digit / (n - 1)
		if spec.Growth-hidden > limit {
			found = 1
		}
		if spec.Growth+hidden > limit {
			undecided = 1 - found
		}
		return found, undecided
	}
	sigma := math.Sqrt(spec.Sigma*spec.Sigma + spec.Digit*spec.Digit/12)
	columns := [][]float64{make([]float64, n), make([]float64, n)}
	for i := range n {
		columns[0][i], columns[1][i] = 1, float64(i)
	}
	values := float64(n)
	switch spec.Kind {
	case "outliers":
		values *= 0.95
	case "sawtooth-5", "sawtooth-10":
		period := map[string]int{"sawtooth-5": 5, "sawtooth-10": 10}[spec.Kind]
		tooth := make([]float64, n)
		for i := range tooth {
			tooth[i] = float64(i % period)
		}
		columns = append(columns, tooth)
	}
	squares := mat.NewSymDense(len(columns), nil)
	for i, a := range columns {
		for j, b := range columns[:i+1] {
			sum := 0.0
			for k := range a {
				sum += a[k] * b[k]
			}
			squares.SetSym(i, j, sum*values/n)
		}
	}
	var cholesky mat.Cholesky
	var inverse mat.SymDense
	if !cholesky.Factorize(squares) || cholesky.InverseTo(&inverse) != nil {
		panic("the columns depend on each other")
	}
	se := sigma * math.Sqrt(inverse.At(1, 1))
	below := func(x float64) float64 { return 0.5 * math.Erfc(-(x-spec.Growth)/se/math.Sqrt2) }
	found = 1 - below(max(limit, 3.09*se))
	return found, 1 - found - below(limit-1.645*se)
}

// TestFlagshipCase: a log of 50 files whose level is printed as 7.23GB each time passes, and the
// message says what the digits rule out: 0.01 GB over 49 files is 214 KiB.
func TestFlagshipCase(t *testing.T) {
	levels := fixtures.LevelSeries{Resolution: 5_368_709}
	for range 50 {
		levels.Bytes = append(levels.Bytes, 7_763_153_387) // 7.23 GB
		levels.AudioSeconds = append(levels.AudioSeconds, 0)
	}
	f := leakOf(check.Of(levelsTimeline(&levels), check.DefaultPolicy()))
	if want := "no growth above 214 KiB a file: "; f.Verdict != check.Pass ||
		!strings.HasPrefix(f.Message, want) {
		t.Errorf("%s: %s; want a pass and %q", f.Verdict, f.Message, want)
	}
}

// TestLeaps judges two steps up and a high last value by what they may amount to. Two steps of
// 1.21 MiB in sum, over 60 files, are at most 7.225/2 * 1.21/60 = 0.073 MiB a file.
func TestLeaps(t *testing.T) {
	steps := func(size float64) shape.Result {
		return shape.Result{Shape: shape.Steps, Size: size * mib, Files: 60}
	}
	ends := func(size float64) shape.Result {
		return shape.Result{Shape: shape.Flat, Ends: size * mib, Files: 60}
	}
	for _, c := range []struct {
		name  string
		r     shape.Result
		limit float64
		want  check.Verdict
	}{
		{"two small steps", steps(1.21), 1 * mib, check.Pass},
		{"two steps just below the limit", steps(1.21), 0.073 * mib, check.Pass},
		{"two steps just above", steps(1.21), 0.072 * mib, check.Undecided},
		{"two large steps", steps(100), 1 * mib, check.Undecided},
		{"two steps down", steps(-100), 1 * mib, check.Pass},
		{"a last value", ends(10), 1 * mib, check.Pass}, // 5.572 * 10/60 = 0.93
		{"a high last value", ends(11), 1 * mib, check.Undecided},
	} {
		if got := check.GrowthVerdict(&c.r, c.limit); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
