package pool_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/harness/pool"
	"vramsoak/harness/shape"
)

var (
	poolSeries = flag.Int("pool.series", 60, "simulated series of each kind in TestPoolVerdicts")
	poolRuns   = flag.Int("pool.runs", 40, "runs of each kind and size in TestPoolVerdicts")
	poolTable  = flag.String("pool.table", "", "file for the tables of TestPoolVerdicts")
)

const (
	kib       = 1024.0
	mib       = 1024 * kib
	files     = 50
	runLevel  = 0.001
	smallOnes = 64 * kib // the limit of memory on the device: a quarter of the default
)

// sizes are the numbers of processes of a run.
var (
	cleanSizes = []int{1, 16, 128, 1024}
	leakSizes  = []int{1, 2, 4, 8, 16, 32, 64, 128, 1024}
)

// A kind is a kind of series, all of which do the same work, with the limit of its ledger.
type kind struct {
	fixtures.LevelSpec
	limit float64
}

func (k kind) name() string {
	unit := "MiB"
	if slices.Contains(fixtures.CountKinds, k.Kind) {
		return fmt.Sprintf("%s | | exact | %g", k.Kind, k.limit)
	}
	printed := "exact"
	if k.Digit > 0 {
		printed = fmt.Sprintf("%g GB", k.Digit/1024)
	}
	return fmt.Sprintf("%s | %g %s | %s | %g KiB", k.Kind, k.Sigma, unit, printed, k.limit/kib)
}

// cleanKinds are the clean kinds of fixtures/levels.go. Memory on the device has a limit that is
// stricter than the default, and the ledgers of the machine have their default limits.
func cleanKinds() []kind {
	device := func(name string, sigma, digit float64) kind {
		return kind{fixtures.LevelSpec{Kind: name, Sigma: sigma, Digit: digit}, smallOnes}
	}
	machine := func(name string, sigma, limit float64) kind {
		return kind{fixtures.LevelSpec{Kind: name, Sigma: sigma}, limit}
	}
	return []kind{
		device("white", 0, 10.24), device("white", 2, 10.24), device("white", 5, 10.24),
		device("white", 20, 0), device("white", 20, 10.24), device("white", 50, 0),
		device("autoregressive", 5, 10.24), device("autoregressive", 20, 0),
		device("warm-up", 5, 0), device("warm-up", 5, 10.24), device("warm-up", 20, 0),
		device("sawtooth-5", 20, 0), device("sawtooth-10", 20, 0),
		device("step", 5, 10.24), device("step", 20, 0),
		device("outliers", 5, 0), device("outliers", 20, 0),
		device("audio", 5, 0), device("audio", 20, 0),
		machine("pages", 1, mib), machine("interpreter", 0.2, mib), machine("collector", 0, mib),
		machine("arenas", 0.2, mib), machine("descriptors", 0, 0.1), machine("pool", 0, 0.1),
		machine("interpreter", 0.2, smallOnes), machine("interpreter", 2, smallOnes),
	}
}

// TestPoolVerdicts judges runs of many processes that do the same work. Clean runs may fail in
// 0.1 % of cases, by the single series and by the pool together. Then it judges runs in which each
// process leaks 0.1 MiB a file at a limit of 64 KiB.
//
// A run of 1,024 processes takes seconds to judge. So the series of each kind are judged once, and
// each run draws its processes from them. The runs of a kind therefore depend on each other: what
// is rare among the series is rare, or missing, in all runs.
func TestPoolVerdicts(t *testing.T) {
	t.Parallel()
	out := &strings.Builder{}
	falseAlarms(t, out)
	hiddenLeaks(t, out)
	oneLeaks(t, out)
	if *poolTable == "" {
		t.Log(out)
		return
	}
	if err := os.WriteFile(*poolTable, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// enough returns those sizes of runs for which there are enough series: the mean of a run must not
// mostly be the mean of all series, which chance has moved.
func enough(sizes []int) []int {
	return slices.DeleteFunc(slices.Clone(sizes), func(n int) bool { return 5*n > 3**poolSeries })
}

// A tally counts what runs of one kind and size show.
type tally struct{ failed, passed, named, covered atomic.Int64 }

func falseAlarms(t *testing.T, out *strings.Builder) {
	fmt.Fprintf(out, "\nFalse alarms in runs of many processes, %% of %d clean runs of each that "+
		"fail / name a shard that differs / are undecided by the pool:\n\n| series | noise | "+
		"printed | limit |",
		*poolRuns)
	rule := "|---|--:|---|--:|"
	for _, n := range enough(cleanSizes) {
		fmt.Fprintf(out, " %d |", n)
		rule += "--:|"
	}
	fmt.Fprintf(out, "\n%s\n", rule)
	sure := map[float64]int{1e-3: 0, 1e-4: 0, 1e-5: 0, 1e-6: 0}
	judged, failed, named, runs := 0, 0, 0, 0
	for _, k := range cleanKinds() {
		series := judge(k.LevelSpec, k.limit, *poolSeries)
		judged += len(series)
		for i := range series {
			for level := range sure {
				if series[i].Sure <= level {
					sure[level]++
				}
			}
		}
		fmt.Fprintf(out, "| %s |", k.name())
		for _, n := range enough(cleanSizes) {
			c := judgeRuns(series, n, 0)
			fmt.Fprintf(out, " %.2f / %.2f", percent(&c.failed), percent(&c.named))
			if n > 1 {
				undecided := 100 - percent(&c.failed) - percent(&c.passed)
				fmt.Fprintf(out, " / %.0f", undecided)
			}
			fmt.Fprint(out, " |")
			f, m := int(c.failed.Load()), int(c.named.Load())
			failed, named, runs = failed+f, named+m, runs+*poolRuns
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "\nOf all %d runs %d fail, and %d name a shard.\n\n| level | series certain to "+
		"grow, of %d | expected at most |\n|--:|--:|--:|\n", runs, failed, named, judged)
	for _, level := range []float64{1e-3, 1e-4, 1e-5, 1e-6} {
		fmt.Fprintf(out, "| %g | %d | %.2g |\n", level, sure[level], level*float64(judged))
	}
	// A series that is rare is in many runs of 16 processes that are drawn from few series.
	if most := runs / 100; failed > most || named > most {
		t.Errorf("of %d clean runs %d fail and %d name a shard, want at most %d", runs, failed, named,
			most)
	}
}

func hiddenLeaks(t *testing.T, out *strings.Builder) {
	const growth = 0.1 // MiB a file
	kinds := []kind{
		{fixtures.LevelSpec{Kind: "white", Sigma: 5}, smallOnes},
		{fixtures.LevelSpec{Kind: "white", Sigma: 10}, smallOnes},
		{fixtures.LevelSpec{Kind: "white", Sigma: 20}, smallOnes},
		{fixtures.LevelSpec{Kind: "white", Sigma: 20, Digit: 10.24}, smallOnes},
		{fixtures.LevelSpec{Kind: "white", Sigma: 50}, smallOnes},
		{fixtures.LevelSpec{Kind: "autoregressive", Sigma: 20}, smallOnes},
		{fixtures.LevelSpec{Kind: "step", Sigma: 5}, smallOnes},
		{fixtures.LevelSpec{Kind: "warm-up", Sigma: 5}, smallOnes},
	}
	head, rule := "", "|---|--:|---|--:|"
	for _, n := range enough(leakSizes) {
		head += fmt.Sprintf(" %d |", n)
		rule += "--:|"
	}
	found, passed, covered := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	title := "| series | noise | printed | limit |" + head + "\n" + rule + "\n"
	fmt.Fprintf(found, "\nLeaks of 0.1 MiB a file found, %% of %d runs, by number of shards of %d "+
		"files (in brackets: the best test):\n\n%s", *poolRuns, files, title)
	fmt.Fprintf(passed, "\nThe same runs, %% that pass:\n\n%s", title)
	fmt.Fprintf(covered, "\nThe same runs, %% in which the interval of the mean covers the leak:"+
		"\n\n%s", title)
	for _, k := range kinds {
		k.Growth = growth
		series := judge(k.LevelSpec, k.limit, *poolSeries)
		for _, b := range []*strings.Builder{found, passed, covered} {
			fmt.Fprintf(b, "| %s |", k.name())
		}
		for _, n := range enough(leakSizes) {
			c := judgeRuns(series, n, growth*mib)
			fmt.Fprintf(found, " %.0f", percent(&c.failed))
			if k.Kind == "white" || k.Kind == "autoregressive" {
				phi := map[string]float64{"white": 0, "autoregressive": 0.6}[k.Kind]
				fmt.Fprintf(found, " (%.0f)", 100*best(k.Sigma*mib, phi, growth*mib, k.limit, n))
			}
			fmt.Fprint(found, " |")
			fmt.Fprintf(passed, " %.1f |", percent(&c.passed))
			if n == 1 {
				fmt.Fprint(covered, " |")
			} else {
				fmt.Fprintf(covered, " %.1f |", percent(&c.covered))
			}
			if k.Kind == "white" && k.Sigma == 5 && n >= 32 && percent(&c.failed) < 95 {
				t.Errorf("%d shards find %.0f %% of leaks in noise of 5 MiB, want all", n, percent(&c.failed))
			}
		}
		for _, b := range []*strings.Builder{found, passed, covered} {
			fmt.Fprintln(b)
		}
	}
	out.WriteString(found.String() + passed.String() + covered.String())
}

// nodeShards is the number of shards of each node.
const nodeShards = 8

// oneLeaks judges runs in which one shard leaks, or all shards of one node, and the others do not.
func oneLeaks(t *testing.T, out *strings.Builder) {
	noise := fixtures.LevelSpec{Kind: "white", Sigma: 20}
	clean := judge(noise, smallOnes, *poolSeries)
	sizes := enough([]int{16, 32, 128, 1024})
	fmt.Fprintf(out, "\nOne shard, or the %d shards of a node, leak in noise of 20 MiB, %% of %d "+
		"runs in which it is named (in brackets: fails by itself):\n\n| leaks |", nodeShards, *poolRuns)
	rule := "|---|"
	for _, n := range sizes {
		fmt.Fprintf(out, " %d shards |", n)
		rule += "--:|"
	}
	fmt.Fprintf(out, "\n%s\n", rule)
	for _, c := range []struct {
		who    string
		shards int
		growth float64 // MiB a file
	}{
		{"one shard", 1, 1},
		{"one shard", 1, 2},
		{"one shard", 1, 4},
		{"one node", nodeShards, 0.5},
		{"one node", nodeShards, 1},
		{"one node", nodeShards, 2},
	} {
		spec := noise
		spec.Growth = c.growth
		leaking := judge(spec, smallOnes, *poolSeries)
		fmt.Fprintf(out, "| %s, %g MiB a file |", c.who, c.growth)
		for _, n := range sizes {
			var named, failed atomic.Int64
			inParallel(*poolRuns, func(run int) {
				r := rand.New(rand.NewPCG(uint64(run), uint64(n)))
				single, pooled := pool.Levels(runLevel, n, 1)
				slopes := make([]pool.Slope, n)
				fails := false
				for i := range slopes {
					g := &clean[r.IntN(len(clean))]
					if i < c.shards {
						g = &leaking[r.IntN(len(leaking))]
						fails = fails || g.Sure <= single && g.Slope > smallOnes
					}
					slopes[i] = pool.SlopeOf(i+1, fmt.Sprintf("n%d", i/nodeShards), g)
				}
				if fails {
					failed.Add(1)
				}
				result := pool.Of(slopes, smallOnes, pooled)
				if slices.ContainsFunc(result.Shards, func(d pool.Difference) bool { return d.Shard == 1 }) ||
					slices.ContainsFunc(result.Nodes, func(d pool.Difference) bool { return d.Node == "n0" }) {
					named.Add(1)
				}
			})
			fmt.Fprintf(out, " %.0f (%.0f) |", percent(&named), percent(&failed))
			if c.growth >= 2 && c.shards > 1 && percent(&named) < 90 {
				t.Errorf("%d shards: a node that leaks %g MiB a file is named in %.0f %% of runs", n, c.growth,
					percent(&named))
			}
		}
		fmt.Fprintln(out)
	}
}

func percent(n *atomic.Int64) float64 { return 100 * float64(n.Load()) / float64(*poolRuns) }

// judge simulates series and judges each of them, as package check does.
func judge(spec fixtures.LevelSpec, limit float64, n int) []check.Growth {
	series := make([]check.Growth, n)
	inParallel(n, func(i int) {
		spec := spec
		spec.Files, spec.Seed = files, uint64(i)+77_000
		levels := fixtures.Levels(spec)
		s := shape.Series{Resolution: float64(levels.Resolution), Grain: levels.Grain}
		for _, b := range levels.Bytes {
			s.Values = append(s.Values, float64(b))
		}
		if spec.Kind == "audio" {
			s.Audio = levels.AudioSeconds
		}
		r := shape.Of(s)
		g := check.Growth{
			Subject: "idle level", Files: r.Files, Slope: r.Slope.Estimate, Error: r.Error, Early: r.Early,
			Late: r.Late, Rounding: r.Rounding, Sure: r.Sure, Shape: r.Shape,
		}
		g.Check, g.Ledger, g.Gates, g.Limit = check.Leak, check.IdleLevel, true, limit
		if check.GrowthVerdict(&r, limit) == check.Pass {
			g.Verdict = check.Pass
		}
		if r.Shape == shape.Steps && r.Size > 0 {
			g.Leaps, g.Leapt = 2, r.Size
		} else if r.Ends > 0 {
			g.Leaps, g.Leapt = 1, r.Ends
		}
		series[i] = g
	})
	return series
}

// judgeRuns judges runs of n processes each, which it draws from the series.
func judgeRuns(series []check.Growth, n int, growth float64) *tally {
	c := &tally{}
	inParallel(*poolRuns, func(seed int) {
		r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
		order := r.Perm(len(series))
		var run pool.Run
		for i := range n {
			at := r.IntN(len(series))
			if n <= len(series) {
				at = order[i]
			}
			run.Add(i+1, fmt.Sprintf("n%d", i/nodeShards), &check.Report{
				Level: runLevel, Series: 1, Growths: series[at : at+1],
			})
		}
		judged := run.Judge()
		if n == 1 { // a run of one shard has no pool
			switch g := &series[order[0]]; {
			case g.Sure <= judged.Single && g.Slope-g.Rounding > g.Limit:
				c.failed.Add(1)
			case g.Verdict == check.Pass:
				c.passed.Add(1)
			}
			return
		}
		l := &judged.Ledgers[0]
		switch {
		case l.Confirmed > 0 || l.Verdict == check.Fail:
			c.failed.Add(1)
		case l.Verdict == check.Pass && l.Alone == 0:
			c.passed.Add(1)
		}
		if l.Differing > 0 || len(l.Nodes) > 0 {
			c.named.Add(1)
		}
		if l.Mean.Low <= growth && growth <= l.Mean.High {
			c.covered.Add(1)
		}
	})
	return c
}

func inParallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// best returns the probability with which the best test finds a leak in n series. It knows the
// noise, and that nothing but a constant and growth is in the series. It fails a run by the same
// rule: growth is certain at a level of 0.1 %, and its estimate exceeds the limit. The estimate is
// that of generalized least squares.
func best(sigma, phi, growth, limit float64, n int) float64 {
	// Without their autocorrelation, the values have rows (a, b) of a constant and of the file. The
	// first row is that of Prais and Winsten.
	var aa, ab, bb float64
	for i := range files {
		a, b := 1-phi, float64(i)-phi*float64(i-1)
		if i == 0 {
			a, b = math.Sqrt(1-phi*phi), 0
		}
		aa, ab, bb = aa+a*a, ab+a*b, bb+b*b
	}
	noise := sigma * math.Sqrt(1-phi*phi)
	off := noise / math.Sqrt((bb-ab*ab/aa)*float64(n))
	const certain = 3.0902 // the quantile of the normal distribution for 0.1 %
	return 0.5 * math.Erfc((max(limit, certain*off)-growth)/off/math.Sqrt2)
}
