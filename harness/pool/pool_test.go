package pool

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

const kib = 1024.0

// slopesOf returns slopes that scatter around a mean by off, their error, all in KiB a file. The
// halves agree with them.
func slopesOf(n int, seed uint64, mean, off float64) []Slope {
	r := rand.New(rand.NewPCG(seed, 1))
	slopes := make([]Slope, n)
	for i := range slopes {
		late := math.Pow(2, 1.5) * off
		slopes[i] = Slope{
			Shard: i + 1, Node: fmt.Sprintf("n%d", i%4), Name: "idle level", Files: 50,
			Estimate: kib * (mean + off*r.NormFloat64()), Error: kib * off,
			Early: kib * (mean + late*r.NormFloat64()), Late: kib * (mean + late*r.NormFloat64()),
		}
	}
	return slopes
}

func near(got, want, precision float64) bool { return math.Abs(got-want) <= precision }

// TestPauleMandel: the 13 trials of a vaccine that the R package metafor has as dat.bcg, as
// logarithms of relative risks with their variances. Its method "PM" gives a tau² of 0.318; with
// the test "knha" the mean is -0.715 and its standard error 0.181.
func TestPauleMandel(t *testing.T) {
	t.Parallel()
	p := &pooled{
		x: []float64{
			-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713,
			-0.3394, 0.4459, -0.0173,
		},
		slopes: make([]Slope, 13),
	}
	for _, v := range []float64{
		0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325,
		0.0714,
	} {
		p.errors = append(p.errors, math.Sqrt(v))
	}
	tau := p.pauleMandel(1)
	if !near(tau*tau, 0.3181, 5e-4) {
		t.Errorf("tau² is %.4f, want 0.3181", tau*tau)
	}
	m := p.mean()
	if !near(m.estimate, -0.715, 5e-4) {
		t.Errorf("the mean is %.4f, want -0.715", m.estimate)
	}
	if sandwich := scattered(p.x, m.weights).error; !near(m.error, max(0.1809, sandwich), 5e-4) {
		t.Errorf("the standard error is %.4f, want 0.1809, or %.4f by the scatter", m.error, sandwich)
	}
}

// TestVerdicts: what a pool says of slopes of a known mean, error and limit, in KiB a file.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	slows := func(s []Slope) []Slope {
		for i := range s {
			s[i].Early, s[i].Late = 3*s[i].Estimate, 0.01*s[i].Early
		}
		return s
	}
	each := func(s []Slope, change func(s *Slope)) []Slope {
		for i := range s {
			change(&s[i])
		}
		return s
	}
	for _, c := range []struct {
		name   string
		slopes []Slope
		limit  float64
		want   check.Verdict
	}{
		{"none", nil, 64, check.Undecided},
		{"one that leaks", slopesOf(1, 1, 1000, 1), 64, check.Undecided},
		{"hidden leak", slopesOf(128, 1, 102.4, 200), 64, check.Fail},
		{"hidden leak, few shards", slopesOf(4, 1, 102.4, 200), 64, check.Undecided},
		{"clean", slopesOf(128, 1, 0, 200), 64, check.Pass},
		{"clean, few shards", slopesOf(4, 1, 0, 200), 64, check.Undecided},
		{"below the limit", slopesOf(128, 1, 40, 20), 64, check.Pass},
		{"at the limit", slopesOf(128, 1, 64, 20), 64, check.Undecided},
		{"slows", slows(slopesOf(128, 1, 102.4, 50)), 64, check.Undecided},
		{
			"rounding", each(slopesOf(128, 1, 102.4, 20), func(s *Slope) { s.Rounding = 60 * kib }), 64,
			check.Undecided,
		},
		{"rounding of a clean run", each(slopesOf(128, 1, 0, 20), func(s *Slope) {
			s.Rounding = 50 * kib
		}), 64, check.Pass},
		{
			"hidden by rounding", each(slopesOf(128, 1, 0, 20), func(s *Slope) { s.Rounding = 70 * kib }),
			64, check.Undecided,
		},
		{
			"leaps", each(slopesOf(128, 1, 0, 20), func(s *Slope) { s.Leaps, s.Leapt = 2, 5000*kib }),
			64, check.Undecided,
		},
		{"one shard leaps", each(slopesOf(128, 1, 0, 20), func(s *Slope) {
			if s.Shard == 1 {
				s.Leaps, s.Leapt = 2, 5000*kib
			}
		}), 64, check.Pass},
		{"a third leaks", each(slopesOf(240, 1, 0, 20), func(s *Slope) {
			if s.Shard%3 == 0 {
				s.Estimate += 90 * kib
			}
		}), 64, check.Undecided},
		{"constants", each(slopesOf(64, 1, 0, 0), func(*Slope) {}), 64, check.Pass},
		{"halves unknown", each(slopesOf(128, 1, 102.4, 50), func(s *Slope) {
			s.Early, s.Late = math.NaN(), math.NaN()
		}), 64, check.Undecided},
		{
			"no errors", each(slopesOf(64, 1, 102.4, 50), func(s *Slope) { s.Error = math.Inf(1) }), 64,
			check.Undecided,
		},
	} {
		r := Of(c.slopes, c.limit*kib, 1e-4)
		if r.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %+v", c.name, r.Verdict, c.want, r)
		}
		if r.Slopes > 1 && !(r.Mean.Low <= r.Mean.Estimate && r.Mean.Estimate <= r.Mean.High) {
			t.Errorf("%s: the mean is %+v", c.name, r.Mean)
		}
	}
}

// TestTau: slopes that lie farther apart than their errors have a tau, and a wider interval.
func TestTau(t *testing.T) {
	t.Parallel()
	r := Of(slopesOf(1024, 3, 0, 50), 64*kib, 1e-4)
	if r.Tau > 20*kib {
		t.Errorf("tau is %g KiB, and the slopes have only their errors", r.Tau/kib)
	}
	apart := slopesOf(1024, 3, 0, 50)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range apart {
		apart[i].Estimate += 80 * kib * random.NormFloat64()
	}
	wide := Of(apart, 64*kib, 1e-4)
	if !near(wide.Tau, 80*kib, 6*kib) || wide.Error < 1.6*r.Error {
		t.Errorf("tau is %g KiB, want 80; the error is %g, and %g without a tau", wide.Tau/kib,
			wide.Error/kib, r.Error/kib)
	}
}

// TestDiffers: a shard or a node that differs is named, and no other.
func TestDiffers(t *testing.T) {
	t.Parallel()
	slopes := slopesOf(64, 5, 0, 20)
	if r := Of(slopes, 64*kib, 1e-4); r.Differing > 0 || len(r.Nodes) > 0 {
		t.Errorf("nothing differs, but the result names %+v %+v", r.Shards, r.Nodes)
	}
	slopes[6].Estimate += 400 * kib
	slopes[6].Sure = 1
	if r := Of(slopes, 64*kib, 1e-4); r.Differing > 0 {
		t.Errorf("a shard whose series does not look like growth is named: %+v", r)
	}
	slopes[6].Sure = 1e-4
	r := Of(slopes, 64*kib, 1e-4)
	if r.Differing != 1 || r.Shards[0].Shard != 7 || r.Shards[0].Node != "n2" ||
		!near(r.Shards[0].By, 400*kib, 70*kib) || r.Verdict == check.Pass || len(r.Nodes) > 0 {
		t.Errorf("shard 7 on n2 differs by 400 KiB: %+v", r)
	}
	// A shard that warms up longer than the others does not grow at its end.
	slopes[6].Early, slopes[6].Late = 2000*kib, 10*kib
	if r := Of(slopes, 64*kib, 1e-4); r.Differing > 0 {
		t.Errorf("shard 7 grows only in its first half: %+v", r.Shards)
	}
	// Each shard of node n1 is within the noise, but their mean is not.
	slopes = slopesOf(64, 5, 0, 60)
	for i := range slopes {
		if slopes[i].Node == "n1" {
			slopes[i].Estimate += 200 * kib
		}
	}
	r = Of(slopes, 64*kib, 1e-4)
	if len(r.Nodes) != 1 || r.Nodes[0].Node != "n1" || r.Nodes[0].Slopes != 16 ||
		!near(r.Nodes[0].By, 200*kib, 60*kib) || r.Verdict == check.Pass {
		t.Errorf("node n1 differs by 200 KiB: %+v", r)
	}
	// A difference below the limit does not matter, however certain it is.
	slopes = slopesOf(64, 5, 0, 1)
	slopes[0].Estimate += 50 * kib
	if r := Of(slopes, 64*kib, 1e-4); r.Differing > 0 || r.Verdict != check.Pass {
		t.Errorf("a difference of 50 KiB is within the limit: %+v", r)
	}
	// At most MostNamed are named.
	slopes = slopesOf(2000, 5, 0, 1)
	for i := range 40 {
		slopes[i].Estimate += 500 * kib
	}
	if r := Of(slopes, 64*kib, 1e-4); r.Differing != 40 || len(r.Shards) != MostNamed {
		t.Errorf("%d differ, %d are named; want 40 and %d", r.Differing, len(r.Shards), MostNamed)
	}
}

// TestLevels: all tests of a run together have its level.
func TestLevels(t *testing.T) {
	t.Parallel()
	if single, _ := Levels(0.001, 4, 0); single != 0.001/4 {
		t.Errorf("a run without pools has the level %g for each of 4 series", single)
	}
	single, pooled := Levels(0.001, 5000, 4)
	if sum := 5000*single + 4*pooled; !near(sum, 0.001, 1e-12) {
		t.Errorf("the levels add up to %g", sum)
	}
}

// TestLeapsOfOne: in one series, leaps have the bound of the verdict on a series.
func TestLeapsOfOne(t *testing.T) {
	t.Parallel()
	for n, most := range map[int]float64{1: 5.572, 2: 7.225} {
		s := Slope{Leaps: n, Leapt: float64(n), Files: 1}
		if got := leaps([]Slope{s}); !near(got, most, 1e-3) {
			t.Errorf("%d leaps of size 1 in a file: at most %g, want %g", n, got, most)
		}
	}
}

// TestSlopeOf: a growth keeps its numbers.
func TestSlopeOf(t *testing.T) {
	t.Parallel()
	got := SlopeOf(3, "n2", &check.Growth{
		Subject: "idle level", Slope: 1, Error: 2, Rounding: 3, Early: 4, Late: 5, Sure: 0.5, Files: 6,
		Leaps: 1,
		Leapt: 7, Shape: shape.Flat,
	})
	want := Slope{3, "n2", "idle level", 1, 2, 3, 4, 5, 0.5, 6, 1, 7}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestRoundingWeighs: where noise carries values from digit to digit in most series, the others do
// not hide growth.
func TestRoundingWeighs(t *testing.T) {
	t.Parallel()
	slopes := slopesOf(128, 1, 0, 40)
	for i := range slopes {
		if slopes[i].Rounding = 5 * kib; i%3 == 0 {
			slopes[i].Rounding = 400 * kib
		}
	}
	if r := Of(slopes, 64*kib, 1e-4); r.Verdict != check.Pass || r.Rounding > 20*kib {
		t.Errorf("a third of the series says little: %+v", r)
	}
}

// TestExtremes: no numbers of a log, however odd, make a pool panic, or decide without bounds.
func TestExtremes(t *testing.T) {
	t.Parallel()
	odd := []float64{0, 1, -1, 1e-300, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324}
	r := rand.New(rand.NewPCG(1, 1))
	one := func() float64 { return odd[r.IntN(len(odd))] }
	for range 3000 {
		slopes := make([]Slope, 1+r.IntN(12))
		for i := range slopes {
			slopes[i] = Slope{
				Shard: i + 1, Node: fmt.Sprintf("n%d", i%2), Estimate: one(), Error: math.Abs(one()),
				Rounding: math.Abs(one()), Early: one(), Late: one(), Files: r.IntN(3) * 100,
				Leaps: r.IntN(3), Leapt: math.Abs(one()),
			}
		}
		got := Of(slopes, 64*kib, 1e-4)
		if got.Verdict != check.Undecided && (math.IsNaN(got.Mean.Low) || math.IsNaN(got.Mean.High)) {
			t.Fatalf("%s without bounds: %+v of %+v", got.Verdict, got, slopes)
		}
	}
}
