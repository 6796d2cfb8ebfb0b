package shape

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCounts judges whole numbers, such as file descriptors. Their noise may be smaller than
// their grain. That must not look like noise with a high autocorrelation.
func TestCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 22))
	blips := made(50, func(int) float64 { return float64(max(0, r.IntN(6)-4)) }) // 1 in one of six
	for _, c := range []struct {
		name    string
		level   func(i int) float64
		growing bool
		slope   float64
	}{
		{"12, and sometimes 13", func(int) float64 { return 12 }, false, 0},
		{"one a file", func(i int) float64 { return 12 + float64(i) }, true, 1},
		{"one in five files", func(i int) float64 { return 12 + float64(i/5) }, true, 0.2},
		{"a pool of 20 that starts within 10 files", func(i int) float64 {
			return 4 + float64(min(16, 2*i*8/10))
		}, false, 0},
	} {
		s := Series{Grain: 1, Values: made(50, func(i int) float64 { return c.level(i) + blips[i] })}
		got := Of(s)
		invariants(t, got, s)
		if got.Growing != c.growing || got.Slope.Low > c.slope || got.Slope.High < c.slope ||
			got.Slope.High-got.Slope.Low > 0.15 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestEnds: a last value above the others is no sign of growth if an outlier at least half as
// high came back before. Several last values are one, and so are stairs up to the end.
func TestEnds(t *testing.T) {
	flat := made(40, func(i int) float64 { return 100 + float64(i%2) })
	stairs := func(from, to int) []float64 {
		return made(200, func(i int) float64 {
			return 100 + math.Floor(float64(min(max(i, from), to)-from)/8)
		})
	}
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", flat, 0},
		{"the last", with(flat, map[int]float64{39: 900}), 800},
		{"a small one before", with(flat, map[int]float64{10: 400, 39: 900}), 800},
		{"one as high before", with(flat, map[int]float64{10: 600, 39: 900}), 0},
		{"two at the end", with(flat, map[int]float64{38: 900, 39: 900}), 800},
		{"two at the end, one before", with(flat, map[int]float64{10: 900, 38: 900, 39: 900}), 800},
		{"four that rise", with(flat, map[int]float64{36: 300, 37: 500, 38: 700, 39: 900}), 800},
		{"late stairs", stairs(160, 200), 4},
		{"stairs that end", stairs(0, 140), 0},
	} {
		got := Of(Series{Values: c.values, Resolution: 0.5, Grain: 1e-3}).Ends
		if math.Abs(got-c.want) > 1 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

// TestLevel: growth of 6 standard errors is certain at a level of 0.1 %, and not at a level of
// that divided by 128.
func TestLevel(t *testing.T) {
	noise := autoregressive(rand.New(rand.NewPCG(2, 22)), 50, 0)
	s := Series{Values: made(50, func(i int) float64 { return 6*float64(i)/102 + noise[i] })}
	if !Of(s).Growing {
		t.Error("not certain at 0.1 %")
	}
	if s.Level = 0.001 / 128; Of(s).Growing {
		t.Error("certain at 0.1 % / 128")
	}
}
