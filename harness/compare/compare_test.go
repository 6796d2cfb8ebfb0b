package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

const mib = float64(1 << 20)

// run returns a run of n files with one metric. The function value gives the metric of each file.
func run(metric check.Metric, n int, value func(i int) float64) *compare.Baseline {
	m := check.Measurements{}
	for i := range n {
		m.Files = append(m.Files, check.MeasuredFile{
			Path:  fmt.Sprintf("audio/%04d.wav", i+1),
			Index: i + 1,
		})
		metric.Values = append(metric.Values, value(i))
	}
	m.Metrics = []check.Metric{metric}
	return compare.New(m, compare.RunInfo{})
}

var (
	peak       = check.Metric{Name: "peak", Unit: check.Bytes}
	throughput = check.Metric{Name: "throughput", Unit: check.TimesRealTime, HigherIsBetter: true}
	recovery   = check.Metric{
		Name: "recovery of Whisper Cleanup", Unit: check.Ratio,
		HigherIsBetter: true,
	}
)

func steady(v float64) func(int) float64 { return func(int) float64 { return v } }

func defaults() check.RegressionPolicy { return check.DefaultPolicy().Regression }

// TestVerdicts uses limits that were derived by hand from the default policy. A peak of 1,000 MiB
// may grow by 10 MiB, and one of 100 MiB by 8 MiB. A throughput of 30 times real time may fall by
// 1.5, and a recovery of 98 % by 0.98 percentage points.
func TestVerdicts(t *testing.T) {
	digits := peak
	digits.Resolution = 5 * mib
	for _, c := range []struct {
		name      string
		base, new *compare.Baseline
		want      check.Verdict
		message   string
	}{
		{
			"the same", run(peak, 8, steady(1000*mib)), run(peak, 8, steady(1000*mib)), check.Pass,
			"unchanged at 1000 MiB, over the same 8 files",
		},
		{
			"more than 1 %", run(peak, 14, steady(1000*mib)), run(peak, 14, steady(1011*mib)), check.Fail,
			"rose by 11.0 MiB (+1.1 %, 95 % interval 11.0 MiB to 11.0 MiB) from 1000 MiB, over the same " +
				"14 files; at most 10.0 MiB is allowed",
		},
		{
			"up to 1 %", run(peak, 14, steady(1000*mib)), run(peak, 14, steady(1010*mib)), check.Pass,
			"no worse than is allowed: rose by 10.0 MiB",
		},
		{
			"more than 1 %, less than 8 MiB", run(peak, 14, steady(100*mib)), run(peak, 14, steady(107*mib)),
			check.Pass, "+7.0 %",
		},
		{
			"more than 8 MiB", run(peak, 14, steady(100*mib)), run(peak, 14, steady(109*mib)), check.Fail,
			"at most 8.00 MiB",
		},
		{
			"better", run(peak, 14, steady(1000*mib)), run(peak, 14, steady(900*mib)), check.Pass,
			"better: fell by 100 MiB (-10.0 %",
		},
		// A metric may fail by chance in 0.1 % of the runs. 10 files can show that, because 2^-10 is just
		// below 0.1 %.
		{
			"too few to fail", run(peak, 9, steady(1000*mib)), run(peak, 9, steady(2000*mib)),
			check.Undecided, "10 in both runs can decide it",
		},
		{
			"too few to pass", run(peak, 5, steady(1000*mib)), run(peak, 5, steady(1000*mib)),
			check.Undecided, "10 in both runs can decide it",
		},
		{
			"digits", run(digits, 14, steady(1000*mib)), run(digits, 14, steady(1015*mib)), check.Undecided,
			"exact bytes would decide it",
		},
		{
			"digits on the good side", run(digits, 14, steady(1000*mib)), run(digits, 14, steady(1005*mib)),
			check.Undecided, "exact bytes",
		},
		{
			"past the digits", run(digits, 14, steady(1000*mib)), run(digits, 14, steady(1021*mib)),
			check.Fail, "interval 11.0 MiB to 31.0 MiB",
		},
		{
			"slower", run(throughput, 14, steady(30)), run(throughput, 14, steady(28.2)), check.Fail,
			"fell by 1.80 x real time (-6.0 %",
		},
		{
			"a little slower", run(throughput, 14, steady(30)), run(throughput, 14, steady(28.65)),
			check.Pass, "-4.5 %",
		},
		{
			"faster", run(throughput, 14, steady(30)), run(throughput, 14, steady(33)), check.Pass,
			"better: rose by 3.00 x real time (+10.0 %",
		},
		{
			"less recovered", run(recovery, 14, steady(0.98)), run(recovery, 14, steady(0.97)), check.Fail,
			"fell by 1.0 points",
		},
		{
			"a little less recovered", run(recovery, 14, steady(0.98)), run(recovery, 14, steady(0.971)),
			check.Pass, "fell by 0.9 points",
		},
		{
			"gone", run(peak, 14, steady(1)), run(recovery, 14, steady(1)), check.Skipped,
			"only the base has it",
		},
		{"few files have the level", run(peak, 14, steady(1)), run(peak, 14, func(i int) float64 {
			if i < 5 {
				return 1
			}
			return math.NaN()
		}), check.Skipped, "5 files have it in both runs; it takes at least 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compare.Compare(c.base, c.new, defaults()).Changes[0]
			if got.Verdict != c.want || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %s: %s\nwant %s: %s", got.Verdict, got.Message, c.want, c.message)
			}
		})
	}
}

// TestPairing: noisy values are compared file by file if both runs have the same files, and
// otherwise as two samples.
func TestPairing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	size := func(i int) float64 { return 500*mib + 100*mib*math.Mod(float64(i)*0.618, 1) }
	noisy := func(i int) float64 { return size(i) + mib*r.Float64() }
	base, same := run(peak, 20, noisy), run(peak, 20, noisy)
	if got := compare.Compare(base, same, defaults()).Changes[0]; got.Verdict != check.Pass ||
		!got.Paired || got.Files != 20 {
		t.Errorf("the same files: %+v", got)
	}
	for i := range same.Files {
		same.Files[i].Path = fmt.Sprintf("other/%04d.wav", i+101)
	}
	if got := compare.Compare(base, same, defaults()).Changes[0]; got.Verdict != check.Undecided ||
		got.Paired {
		t.Errorf("other files: %+v", got)
	}
	larger := run(peak, 20, func(i int) float64 { return noisy(i) + 300*mib })
	larger.Files = same.Files
	if got := compare.Compare(base, larger, defaults()).Changes[0]; got.Verdict != check.Fail ||
		got.Paired || !near(got.Difference, 300*mib, 40*mib) {
		t.Errorf("other files, larger: %+v", got)
	}
}

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

// TestExact: runs without noise are compared byte by byte.
func TestExact(t *testing.T) {
	policy := defaults()
	policy.Exact = true
	base := run(peak, 3, steady(1000))
	for _, c := range []struct {
		name    string
		values  []float64
		want    check.Verdict
		message string
		file    int
	}{
		{"the same", []float64{1000, 1000, 1000}, check.Pass, "the same in 3 files", 0},
		{
			"one byte",
			[]float64{1000, 1001, 1000},
			check.Fail,
			"worse in 1 of 3 files, first in file 2 (0002.wav): 1001 B in place of 1000 B", 2,
		},
		{"worse and better", []float64{1, 1000, 1001}, check.Fail, "first in file 3", 3},
		{
			"better",
			[]float64{1000, 990, 999},
			check.Pass,
			"better in 2 of 3 files, by up to 10 B, and worse in none", 0,
		},
	} {
		now := run(peak, 3, func(i int) float64 { return c.values[i] })
		got := compare.Compare(base, now, policy).Changes[0]
		if got.Verdict != c.want || !strings.Contains(got.Message, c.message) || got.File != c.file {
			t.Errorf("%s: got %s, file %d: %s", c.name, got.Verdict, got.File, got.Message)
		}
	}
	coarse := peak
	coarse.Resolution = 50
	if got := compare.Compare(run(coarse, 3, steady(1000)), run(coarse, 3, steady(1000)),
		policy).Changes[0]; got.Verdict != check.Undecided {
		t.Errorf("printed digits: got %s: %s", got.Verdict, got.Message)
	}
	// Times have noise even if memory has none.
	if got := compare.Compare(run(throughput, 14, steady(30)), run(throughput, 14, steady(29.9)),
		policy).Changes[0]; got.Verdict != check.Pass {
		t.Errorf("throughput: got %s: %s", got.Verdict, got.Message)
	}
}

// TestRemarks: a comparison reports the differences between two runs, such as another GPU, that may
// explain a change.
func TestRemarks(t *testing.T) {
	base, now := run(peak, 6, steady(1)), run(peak, 6, steady(1))
	base.Run = compare.RunInfo{
		Host: "a", GPU: "NVIDIA A10", Command: []string{"python", "x.py"},
		Verdict: check.Fail,
	}
	now.Run = compare.RunInfo{
		Host: "a", GPU: "NVIDIA L4", Command: []string{"python", "y.py"},
		Driver: "550.54",
	}
	want := "the base failed when it was judged by itself\n" +
		"another GPU: \"NVIDIA L4\", in the base \"NVIDIA A10\"\n" +
		"another command: \"python y.py\", in the base \"python x.py\""
	if got := strings.Join(compare.Compare(base, now, defaults()).Remarks, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTenNights has ten nights, each 3 % worse than the night before. With the default policy the
// second night fails. A policy that allows 5 % passes each night when it is compared with the night
// before. Compared with the first night, the second passes with 3 %, but the third fails with 6.1 %
// (1.03^2).
func TestTenNights(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	night := func(n int) *compare.Baseline {
		level := 4000 * mib * math.Pow(1.03, float64(n))
		return run(peak, 30, func(int) float64 { return level * (1 + 0.002*r.NormFloat64()) })
	}
	nights := make([]*compare.Baseline, 11)
	for n := range nights {
		nights[n] = night(n)
	}
	wide := defaults()
	wide.MinEffect = 0.05
	for n := 1; n < len(nights); n++ {
		verdict := func(base int, p check.RegressionPolicy) check.Verdict {
			return compare.Compare(nights[base], nights[n], p).Changes[0].Verdict
		}
		if got := verdict(n-1, defaults()); got != check.Fail {
			t.Errorf("night %d against the one before: %s, want fail", n, got)
		}
		if got := verdict(n-1, wide); got != check.Pass {
			t.Errorf("night %d against the one before, 5 %% allowed: %s, want pass", n, got)
		}
		want := check.Fail
		if n == 1 {
			want = check.Pass
		}
		if got := verdict(0, wide); got != want {
			t.Errorf("night %d against the first, 5 %% allowed: %s, want %s", n, got, want)
		}
	}
}

// TestPairs: a file that is in both runs is paired even if the batch has moved to another folder. A
// file whose audio length differs is not paired.
func TestPairs(t *testing.T) {
	files := func(paths ...string) *compare.Baseline {
		m := check.Measurements{}
		metric := peak
		for i, p := range paths {
			f := check.MeasuredFile{Index: i + 1}
			f.Path, _, _ = strings.Cut(p, " ")
			if _, long, ok := strings.Cut(p, " "); ok {
				f.AudioSeconds = float64(len(long))
			}
			m.Files = append(m.Files, f)
			metric.Values = append(metric.Values, 1)
		}
		m.Metrics = []check.Metric{metric}
		return compare.New(m, compare.RunInfo{})
	}
	for _, c := range []struct {
		name      string
		base, new *compare.Baseline
		want      int
	}{
		{"same paths in another order", files("a/1.wav", "a/2.wav"), files("a/2.wav", "a/1.wav"), 2},
		{"another folder", files("a/1.wav", "a/2.wav"), files("/mnt/1.wav", "/mnt/3.wav"), 1},
		{
			"folders that tell files apart", files("a/en/1.wav", "a/de/1.wav"),
			files("b/de/1.wav", "b/en/1.wav", "b/fr/1.wav"), 2,
		},
		{"names that could be two", files("a/1.wav"), files("b/1.wav", "c/1.wav"), 0},
		{
			"repeats", files("1.wav", "2.wav", "1.wav", "2.wav"), files("1.wav", "1.wav", "1.wav", "2.wav"),
			3,
		},
		{"another length", files("1.wav xx", "2.wav xx"), files("1.wav xxx", "2.wav xx"), 1},
		{"no names", files("", "", ""), files("", "", ""), 3},
		{"no names, another number", files("", "", ""), files("", ""), 0},
		{"no names in one", files("", ""), files("1.wav", "2.wav"), 0},
	} {
		if got := compare.Compare(c.base, c.new, defaults()).Files; got != c.want {
			t.Errorf("%s: got %d pairs, want %d", c.name, got, c.want)
		}
	}
}

// TestFindings: the subjects of findings name the rank, the device and the base if there are
// several.
func TestFindings(t *testing.T) {
	base, now := run(peak, 14, steady(1000*mib)), run(peak, 14, steady(1100*mib))
	if got := compare.Compare(base, now, defaults()).Findings(""); len(got) != 1 ||
		got[0].Check != check.Regression ||
		got[0].Subject != "peak" || *got[0].Measured != 100*mib || *got[0].Limit != 10*mib ||
		got[0].Unit != check.Bytes {
		t.Errorf("got %+v", got)
	}
	second := base.Metrics[0]
	second.Device = 1
	base.Metrics = append(base.Metrics, second)
	got := compare.Compare(base, now, defaults()).Findings("anchor.json")
	if len(got) != 2 || got[0].Subject != "peak (device 0), against anchor.json" ||
		got[1].Verdict != check.Skipped {
		t.Errorf("got %+v", got)
	}
	if got := compare.Compare(&compare.Baseline{}, &compare.Baseline{},
		defaults()).Findings(""); len(got) != 1 || got[0].Verdict != check.Skipped {
		t.Errorf("nothing measured: got %+v", got)
	}
}
