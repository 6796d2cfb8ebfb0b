package check_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

var (
	verdictRuns  = flag.Int("verdicts.runs", 60, "clean runs of each kind")
	verdictTable = flag.String("verdicts.table", "",
		"`file` for the tables of docs/explanation/false-alarms.md")
)

const mib = 1 << 20

// levelsTimeline returns a timeline of a series of levels, with one checkpoint per file.
func levelsTimeline(s *fixtures.LevelSeries) *timeline.Timeline {
	tl := &timeline.Timeline{}
	for i, bytes := range s.Bytes {
		c := record.Checkpoint{Name: "After File"}
		c.Pos.Line = i + 1
		c.Set(record.Allocated, record.Size{Bytes: bytes, Resolution: s.Resolution})
		tl.Files = append(tl.Files, &timeline.File{
			Index: i + 1, AudioSeconds: s.AudioSeconds[i], Status: record.StatusOK, Supervised: true,
			Pos: c.Pos, EndPos: c.Pos,
			Checkpoints: []record.Checkpoint{c},
		})
	}
	return tl
}

// leakOf returns the report's first finding on leaks.
func leakOf(r *check.Report) check.Finding {
	return r.Findings[slices.IndexFunc(r.Findings,
		func(f check.Finding) bool { return f.Check == check.Leak })]
}

func seriesOf(s *fixtures.LevelSeries) shape.Series {
	values := make([]float64, len(s.Bytes))
	for i := range values {
		values[i] = float64(s.Bytes[i])
	}
	return shape.Series{
		Values: values, Audio: s.AudioSeconds, Resolution: float64(s.Resolution),
		Grain: 512,
	}
}

// rules holds the rules by which people find leaks, for comparison with the check.
var rules = []struct {
	name  string
	leaks func(y []float64) bool
}{
	{"last > first + 5 %", func(y []float64) bool { return y[len(y)-1] > 1.05*y[0] }},
	{
		"R² > 0.6",
		func(y []float64) bool { slope, r2 := leastSquares(y); return slope > 0 && r2 > 0.6 },
	},
	{"Mann-Kendall", func(y []float64) bool { return mannKendall(y) > 3.09 }}, // 0.1 %, one-sided
}

func leastSquares(y []float64) (slope, r2 float64) {
	n := float64(len(y))
	var sx, sy, xx, xy, yy float64
	for i, v := range y {
		x := float64(i)
		sx, sy, xx, xy, yy = sx+x, sy+v, xx+x*x, xy+x*v, yy+v*v
	}
	xx, xy, yy = xx-sx*sx/n, xy-sx*sy/n, yy-sy*sy/n
	if yy <= 0 {
		return 0, 0
	}
	return xy / xx, xy * xy / (xx * yy)
}

// mannKendall returns the statistic of the test of Mann (1945) and Kendall (1975), in standard
// deviations, corrected for equal values.
func mannKendall(y []float64) float64 {
	n := float64(len(y))
	s := 0.0
	for j := range y {
		for i := range j {
			switch {
			case y[j] > y[i]:
				s++
			case y[j] < y[i]:
				s--
			}
		}
	}
	variance := n * (n - 1) * (2*n + 5)
	ties := map[float64]float64{}
	for _, v := range y {
		ties[v]++
	}
	for _, t := range ties {
		variance -= t * (t - 1) * (2*t + 5)
	}
	if variance <= 0 || s == 0 {
		return 0
	}
	return (s - math.Copysign(1, s)) / math.Sqrt(variance/18)
}

// A tally counts the verdicts on runs of one kind.
type tally struct {
	runs, failed, undecided, passed int
	rules                           [3]int
	// covered counts the runs whose interval contains the true growth. named counts the runs whose
	// shape is named right.
	covered, named int
}

// judgeAll returns the verdicts on runs of one kind. The function name reports whether a result
// names the right shape; nil skips that question.
func judgeAll(spec fixtures.LevelSpec, runs int, name func(*shape.Result) bool) tally {
	spec.Files = 50
	var all tally
	var mu sync.Mutex
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			var t tally
			for seed := w; seed < runs; seed += workers {
				s := spec
				s.Seed = uint64(seed)
				t.judge(s, name)
			}
			mu.Lock()
			defer mu.Unlock()
			all.add(&t)
		})
	}
	wg.Wait()
	return all
}

func (t *tally) judge(spec fixtures.LevelSpec, name func(*shape.Result) bool) {
	levels := fixtures.Levels(spec)
	t.runs++
	switch leakOf(check.Of(levelsTimeline(&levels), check.DefaultPolicy())).Verdict {
	case check.Fail:
		t.failed++
	case check.Undecided:
		t.undecided++
	case check.Pass:
		t.passed++
	}
	series := seriesOf(&levels)
	for i, rule := range rules {
		if rule.leaks(series.Values) {
			t.rules[i]++
		}
	}
	if name == nil {
		return
	}
	r := shape.Of(series)
	if growth := spec.Growth * mib; r.Slope.Low <= growth && growth <= r.Slope.High {
		t.covered++
	}
	if name(&r) {
		t.named++
	}
}

func (t *tally) add(u *tally) {
	t.runs, t.failed, t.undecided, t.passed = t.runs+u.runs, t.failed+u.failed,
		t.undecided+u.undecided, t.passed+u.passed
	t.covered, t.named = t.covered+u.covered, t.named+u.named
	for i := range u.rules {
		t.rules[i] += u.rules[i]
	}
}

func share(n, of int) float64 { return 100 * float64(n) / float64(of) }

// digits lists the precisions with which logs print levels.
var digits = []struct {
	name string
	mib  float64
}{{"exact", 0}, {"0.01 GB", 10.24}, {"0.1 GB", 102.4}}

// sigmas returns the standard deviations, in MiB, of the noise with which runs of a kind are made.
func sigmas(kind string) []float64 {
	switch kind {
	case "white":
		return []float64{0, 5, 20, 50}
	case "autoregressive":
		return []float64{20}
	}
	return []float64{5, 20}
}

// TestVerdicts judges many simulated runs for which the right verdict is known. With
// -verdicts.runs=10000 it makes the tables of docs/explanation/false-alarms.md. A test run judges
// fewer runs, and fails only if chance alone would give so many wrong verdicts in at most one of
// 10,000 test runs.
func TestVerdicts(t *testing.T) {
	out := &strings.Builder{}
	runs := *verdictRuns
	if testing.Short() {
		runs = min(runs, 5)
	}
	falseAlarms(t, out, runs)
	demands(t, out, max(runs/5, 60))
	names(t, out, max(runs/10, 40))
	if *verdictTable == "" {
		return
	}
	leaks(out, runs/20)
	speed(out)
	if err := os.WriteFile(*verdictTable, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// falseAlarms judges the kinds of runs that do not leak, and writes their table to out.
func falseAlarms(t *testing.T, out *strings.Builder, runs int) {
	fmt.Fprintf(out,
		"False alarms, %% of %d clean runs of 50 files each:\n\n"+
			"| series | noise, MiB | printed | vramsoak | "+
			"undecided |", runs)
	for _, rule := range rules {
		fmt.Fprintf(out, " %s |", rule.name)
	}
	fmt.Fprintf(out, "\n|---|--:|---|%s\n", strings.Repeat("--:|", 2+len(rules)))
	var all tally
	for _, kind := range fixtures.LevelKinds {
		for _, sigma := range sigmas(kind) {
			for _, digit := range digits {
				tally := judgeAll(fixtures.LevelSpec{Kind: kind, Sigma: sigma, Digit: digit.mib}, runs, nil)
				fmt.Fprintf(out, "| %s | %g | %s | %.2f | %.1f |", kind, sigma, digit.name,
					share(tally.failed, runs), share(tally.undecided, runs))
				for _, n := range tally.rules {
					fmt.Fprintf(out, " %.1f |", share(n, runs))
				}
				fmt.Fprintln(out)
				if most := mostByChance(runs, 0.001); tally.failed > most {
					t.Errorf("%s, noise of %g MiB, %s: %d of %d clean runs fail, want at most %d, 0.1 %%",
						kind, sigma, digit.name,
						tally.failed, runs, most)
				}
				all.add(&tally)
			}
		}
	}
	// All kinds together are a larger sample than one kind, so that a smaller excess over 0.1 % shows.
	if most := mostByChance(all.runs, 0.001); all.failed > most {
		t.Errorf("%d of all %d clean runs fail, want at most %d, which is 0.1 %%", all.failed, all.runs,
			most)
	}
}

// mostByChance returns how many of n runs may fail if each fails with the probability p. From
// 10,000 runs on, that is exactly n*p. For fewer runs it is the number that chance exceeds in one
// of 10,000 cases.
func mostByChance(n int, p float64) int {
	if n >= 10_000 {
		return int(p * float64(n))
	}
	return mostOfKind(n, p)
}

// mostOfKind returns the number that chance exceeds in one of 10,000 cases, for any n. It is for a
// single kind of runs, whose true probability may be p itself.
func mostOfKind(n int, p float64) int {
	k := 0
	for atMost(k, n, p) < 0.9999 {
		k++
	}
	return k
}

// atMost returns the probability that at most k of n runs fail, if each fails with probability p.
func atMost(k, n int, p float64) float64 {
	return distuv.Binomial{N: float64(n), P: p}.CDF(float64(k))
}

// A demand says how often the check must find a kind of leak.
type demand struct {
	name         string
	spec         fixtures.LevelSpec
	demanded     float64 // % to be found, by the specification
	found, never float64 // % found at least, % passed at most; 0 is as demanded
	// best is how many percent of the leaks the best test finds that knows the noise; 0 if that was
	// not calculated.
	best     float64
	coverage bool
}

func white(sigma, growth, digit float64) fixtures.LevelSpec {
	return fixtures.LevelSpec{Kind: "white", Sigma: sigma, Growth: growth, Digit: digit}
}

// demands judges leaking runs and writes their table to out. No rule can find more than 90 % of the
// leaks of 1 MiB a file in white noise of 20 MiB, if it keeps false alarms under 0.1 % on both
// white and autocorrelated series and does not know which of them it judges: see TestFrontier in
// package shape.
func demands(t *testing.T, out *strings.Builder, runs int) {
	ar := white(20, 4, 0)
	ar.Kind = "autoregressive"
	arOne := ar
	arOne.Growth = 1
	late := white(5, 4, 0)
	late.Start = 25
	fmt.Fprintf(out,
		"\nLeaks found, %% of %d runs of 50 files each:\n\n"+
			"| leak | found | demanded | passed | best test | interval covers |",
		runs)
	for _, rule := range rules {
		fmt.Fprintf(out, " %s |", rule.name)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("--:|", 5+len(rules)))
	for _, d := range []demand{
		{
			name: "1 MiB a file, noise 20 MiB, exact", spec: white(20, 1, 0), demanded: 90, found: 85,
			never: 0.1, best: best(20, 1, 0), coverage: true,
		},
		{
			name: "1 MiB a file, noise 20 MiB, 0.01 GB", spec: white(20, 1, 10.24), demanded: 90, found: 85,
			never: 0.1, best: best(20, 1, 0), coverage: true,
		},
		{
			name: "2 MiB a file, noise 20 MiB, exact", spec: white(20, 2, 0), demanded: 99.5, found: 99,
			best: best(20, 2, 0), coverage: true,
		},
		{
			name: "2 MiB a file, noise 20 MiB, 0.01 GB", spec: white(20, 2, 10.24), demanded: 99.5,
			found: 99, best: best(20, 2, 0), coverage: true,
		},
		{
			name: "4 MiB a file, autoregressive 20 MiB, exact", spec: ar, demanded: 95, found: 95,
			best: best(20, 4, 0.6), coverage: true,
		},
		{
			name: "1 MiB a file, autoregressive 20 MiB, exact", spec: arOne, best: best(20, 1, 0.6),
			never: 1, coverage: true,
		},
		{name: "4 MiB a file from file 25 on, noise 5 MiB, exact", spec: late, demanded: 95, found: 95},
		{name: "0.5 MiB a file, no noise, 0.01 GB", spec: white(0, 0.5, 10.24)},
		{name: "0.3 MiB a file, no noise, 0.01 GB", spec: white(0, 0.3, 10.24)},
	} {
		tally := judgeAll(d.spec, runs, func(*shape.Result) bool { return true })
		demanded, best, covers := "", "", ""
		if d.demanded > 0 {
			demanded = fmt.Sprint(d.demanded)
		}
		if d.best > 0 {
			best = fmt.Sprintf("%.1f", d.best)
		}
		if d.coverage {
			covers = fmt.Sprintf("%.1f", share(tally.covered, runs))
		}
		fmt.Fprintf(out, "| %s | %.1f | %s | %.2f | %s | %s |", d.name, share(tally.failed, runs),
			demanded, share(tally.passed, runs), best, covers)
		for _, n := range tally.rules {
			fmt.Fprintf(out, " %.1f |", share(n, runs))
		}
		fmt.Fprintln(out)
		if most := mostByChance(runs, 1-d.found/100); runs-tally.failed > most && d.found > 0 {
			t.Errorf("%s: found %d of %d, want %g %%", d.name, tally.failed, runs, d.found)
		}
		if most := mostByChance(runs, d.never/100); tally.passed > most {
			t.Errorf("%s: %d of %d leaking runs passed, want at most %g %%", d.name, tally.passed, runs,
				d.never)
		}
		if c := share(tally.covered, runs); d.coverage && runs >= 2000 && (c < 92.5 || c > 97.5) {
			t.Errorf("%s: the interval covers the growth in %.1f %%, want 92.5 to 97.5 %%", d.name, c)
		}
	}
}

// best returns how many percent of the leaks a test finds that knows the noise. It computes how
// many standard errors above 0 the slope of generalized least squares lies on average. A rate of 1
// false alarm in 1,000 needs 3.09 of them.
func best(sigma, growth, phi float64) float64 {
	const n = 50
	// This is the Fisher information on the slope in autoregressive noise, centred. The first value
	// gives one part of it, and each difference another.
	inner := sigma * math.Sqrt(1-phi*phi)
	var s11, s12, s22 float64
	for i := range n {
		u, v := math.Sqrt(1-phi*phi), 0.0
		if i > 0 {
			u, v = 1-phi, float64(i)-phi*float64(i-1)
		}
		s11, s12, s22 = s11+u*u, s12+u*v, s22+v*v
	}
	se := inner / math.Sqrt(s22-s12*s12/s11)
	return 100 * 0.5 * math.Erfc((3.09-growth/se)/math.Sqrt2)
}

// names counts how often a shape is named right, with growth and without, and writes the table to
// out.
func names(t *testing.T, out *strings.Builder, runs int) {
	fmt.Fprintf(out,
		"\nNamed right, %% of %d runs, exact bytes:\n\n"+
			"| series | noise, MiB | by itself | with 4 MiB a file on top |\n|---|--:|--:|--:|\n", runs)
	for _, c := range []struct {
		kind string
		is   []shape.Shape
	}{
		{"white", []shape.Shape{shape.Flat}},
		{"warm-up", []shape.Shape{shape.WarmUp}},
		{"step", []shape.Shape{shape.Step}},
		{"sawtooth-5", []shape.Shape{shape.Sawtooth}},
		{"sawtooth-10", []shape.Shape{shape.Sawtooth}},
	} {
		for _, sigma := range []float64{5, 20} {
			clean := judgeAll(fixtures.LevelSpec{Kind: c.kind, Sigma: sigma}, runs,
				func(r *shape.Result) bool {
					return slices.Contains(c.is, r.Shape) && !r.Growing
				})
			leaking := judgeAll(fixtures.LevelSpec{Kind: c.kind, Sigma: sigma, Growth: 4}, runs,
				func(r *shape.Result) bool { return r.Growing })
			fmt.Fprintf(out, "| %s | %g | %.1f | %.1f |\n", c.kind, sigma, share(clean.named, runs),
				share(leaking.named, runs))
			// The goal is 98 %. It is not reached where a shape is hard to see: a step of 100 MiB or teeth
			// of 32 MiB in noise of 20 MiB, and a leak on top of a step.
			for _, n := range []int{clean.named, leaking.named} {
				if most := mostByChance(runs, 0.07); runs-n > most {
					t.Errorf("%s, noise of %g MiB: %d of %d named right, want 93 %%", c.kind, sigma, n,
						runs)
				}
			}
		}
	}
}

// leaks writes the table of all leaking runs to out.
func leaks(out *strings.Builder, runs int) {
	rates := []float64{0.2, 0.5, 1, 2, 4, 16}
	fmt.Fprintf(out,
		"\nLeaks found / undecided, %% of %d runs of 50 files each, exact bytes, by MiB a file:\n\n"+
			"| series | noise, MiB |", runs)
	for _, r := range rates {
		fmt.Fprintf(out, " %g |", r)
	}
	fmt.Fprintf(out, "\n|---|--:|%s\n", strings.Repeat("--:|", len(rates)))
	row := func(name string, spec fixtures.LevelSpec) {
		fmt.Fprintf(out, "| %s | %g |", name, spec.Sigma)
		for _, rate := range rates {
			spec.Growth = rate
			tally := judgeAll(spec, runs, nil)
			fmt.Fprintf(out, " %.0f / %.0f |", share(tally.failed, runs), share(tally.undecided, runs))
		}
		fmt.Fprintln(out)
	}
	for _, kind := range fixtures.LevelKinds {
		for _, sigma := range sigmas(kind) {
			row(kind, fixtures.LevelSpec{Kind: kind, Sigma: sigma})
		}
	}
	for _, sigma := range []float64{0, 5, 20} {
		row("from file 25 on", fixtures.LevelSpec{Kind: "white", Sigma: sigma, Start: 25})
		row("in one file of ten", fixtures.LevelSpec{Kind: "white", Sigma: sigma, Every: 10})
		row("slows down after 100 files", fixtures.LevelSpec{Kind: "white", Sigma: sigma, Saturates: 100})
	}
}

// speed writes to out the table of how long a judgement takes.
func speed(out *strings.Builder) {
	fmt.Fprintf(out, "\n| files | judged in | memory |\n|--:|--:|--:|\n")
	for _, files := range []int{60, 1000, 10_000, 100_000} {
		levels := fixtures.Levels(fixtures.LevelSpec{
			Kind: "autoregressive", Files: files, Sigma: 20,
			Growth: 0.01,
		})
		tl := levelsTimeline(&levels)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		check.Of(tl, check.DefaultPolicy())
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		fmt.Fprintf(out, "| %d | %v | %s |\n", files, took.Round(100*time.Microsecond),
			record.FormatBytes(int64(after.TotalAlloc-before.TotalAlloc)))
	}
}
