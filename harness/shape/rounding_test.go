package shape

import (
	"math"
	"math/rand/v2"
	"testing"
)

// flatOf returns a fitter for a series, and a straight line through the series that has the given
// slope.
func flatOf(y []float64, slope float64) (*fitter, *model) {
	x := made(len(y), func(i int) float64 { return float64(i) })
	b := newFitter(y, x, &audio{}, 1, 1)
	m := model{shape: Flat, growing: true, regression: regression{y, [][]float64{b.fixed[0], b.line}}}
	m.beta[1] = slope
	return b, &m
}

// TestRounding has expected values that were worked out by hand, for printed values that are
// whole numbers.
func TestRounding(t *testing.T) {
	constant, flat := flatOf(make([]float64, 10), 0)
	// Lines that stay within half a digit of 0, 0, 1, 1 have slopes from 0 (0.5 everywhere) to 2/3
	// (from -0.5 to 1.5). The slope by least squares is 0.4.
	stairs, line := flatOf([]float64{0, 0, 1, 1}, 0.4)
	// The mean of the first half may be off by half a digit, because nothing shows noise there. In
	// the second half the noise is larger than the digits. That is 0.25 digits on average.
	rough, noisy := flatOf([]float64{0, 5, 0}, 0)
	late := *noisy
	late.breaks, late.searched = []float64{1}, 1
	for _, c := range []struct {
		name             string
		b                *fitter
		m                *model
		resolution, want float64
	}{
		{"exact", constant, flat, 0, 0},
		// The level may rise from half a digit below to half a digit above, over 9 files.
		{"constant", constant, flat, 0.5, 1.0 / 9},
		{"staircase", stairs, line, 0.5, 0.4},
		{"no line", rough, noisy, 0.5, 9.0 / 8 * 0.25},
		{"behind a break", rough, &late, 0.5, 2 * 0.25},
	} {
		if got := rounding(c.b, c.m, c.resolution); !near(got, c.want, 1e-4) {
			t.Errorf("%s: %g, by hand it is %g", c.name, got, c.want)
		}
	}
}

// TestFlattest was worked out by hand. A step at the part s of a series, counted from its middle,
// has the slope 6(1/4 - s²) over the series. A rise of 0.9 digits may be hidden completely. The
// flattest staircase of 1.2 digits has one step, a whole digit after the beginning, so at s =
// 1/3: that is a slope of 0.833. That of 1.5 digits has it at s = 1/6: 1.333.
func TestFlattest(t *testing.T) {
	const n = 1001
	b, _ := flatOf(make([]float64, n), 0)
	for _, c := range [][2]float64{{0, 0}, {0.9, 0}, {1.2, 0.833}, {1.5, 1.333}} {
		got := (n - 1) * b.flattest(c[0]/(n-1), 0.5)
		if math.Abs(got-c[1]) > 0.05 {
			t.Errorf("%g digits show as %g, by hand as %g", c[0], got, c[1])
		}
	}
}

// TestRoundedCovers judges rounded series whose noise is small, becomes smaller, is a pattern or
// has only two values. The interval of the slope must contain the true slope in 93 % at least.
// Amounts are in digits.
func TestRoundedCovers(t *testing.T) {
	const n = 50
	series := 60
	if testing.Short() {
		series = 15
	}
	normal := func(sigma float64) func(*rand.Rand, int) float64 {
		return func(r *rand.Rand, _ int) float64 { return sigma * r.NormFloat64() }
	}
	for _, c := range []struct {
		name  string
		noise func(r *rand.Rand, i int) float64
		audio float64 // how far the level follows the lengths of files: a standard deviation
	}{
		{"none", normal(0), 0},
		{"0.05", normal(0.05), 0},
		{"0.1", normal(0.1), 0},
		{"0.2", normal(0.2), 0},
		{"0.3", normal(0.3), 0},
		{"0.5", normal(0.5), 0},
		{"1", normal(1), 0},
		{"that shrinks from 1", func(r *rand.Rand, i int) float64 {
			return r.NormFloat64() * float64(n-i) / n
		}, 0},
		{"that ends", func(r *rand.Rand, i int) float64 {
			return r.NormFloat64() * float64(min(1, max(0, n/2-i)))
		}, 0},
		{"two values in turn", func(_ *rand.Rand, i int) float64 { return float64(i%2) - 0.5 }, 0},
		{"two far values in turn", func(_ *rand.Rand, i int) float64 {
			return float64(2*(i%2)) - 1
		}, 0},
		{"four values in turn", func(_ *rand.Rand, i int) float64 { return float64(i % 4 / 2) }, 0},
		{"two values at random", func(r *rand.Rand, _ int) float64 {
			return float64(r.IntN(2)) - 0.5
		}, 0},
		{"none, beside audio", normal(0), 0.5},
		{"0.3, beside audio", normal(0.3), 0.3},
		{"a small dither", func(_ *rand.Rand, i int) float64 { return 0.3 * math.Sin(float64(i)) }, 0},
	} {
		for _, rise := range []float64{0, 0.5, 1, 1.5, 3} {
			slope := rise / (n - 1)
			low, high := 0, 0
			for seed := range uint64(series) {
				r := rand.New(rand.NewPCG(seed, 21))
				level := r.Float64()
				if seed%3 == 0 {
					level = 0.5 // at the edge between two digits
				}
				audio := made(n, func(int) float64 { return 5 + 15*r.Float64() })
				got := Of(Series{
					Resolution: 0.5, Grain: 1e-4, Audio: audio,
					Values: made(n, func(i int) float64 {
						longer := c.audio * (audio[i] - 12.5) / (15 / math.Sqrt(12))
						return math.Round(100 + level + slope*float64(i) + longer + c.noise(r, i))
					}),
				})
				if got.Slope.Low > slope+0.05/(n-1) { // a step shows that the level rises, if only a little
					low++
				}
				if got.Slope.High < slope*(1-1e-9) {
					high++
				}
			}
			most := mostByChance(series, 0.07)
			if low+high > most {
				t.Errorf("noise %s, %g digits: %d of %d intervals lie above the slope and %d below, want %d",
					c.name, rise, low, series, high, most)
			}
		}
	}
}

// TestHidden compares the function hidden with what it computes: how far the mean of rounded
// readings is off at the worst level.
func TestHidden(t *testing.T) {
	if got := hidden(0.5, 0); got != 0.5 {
		t.Errorf("without noise %g of half a digit is hidden", got)
	}
	if got := hidden(0.5, 1); got > 1e-8 {
		t.Errorf("with noise of a digit, %g of one is hidden", got)
	}
	for _, sigma := range []float64{0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5} {
		worst := 0.0
		for level := 0.0; level < 0.5; level += 0.001 {
			mean := 0.0
			// A reading is k if the noise carries the level to within half a digit of k.
			for k := -9.0; k <= 9; k++ {
				mean += k * (normal((k+0.5-level)/sigma) - normal((k-0.5-level)/sigma))
			}
			worst = max(worst, math.Abs(mean-level))
		}
		// The standard deviation that is observed includes both the noise and the rounding.
		for _, digit := range []float64{1, 10} {
			if got := hidden(digit/2,
				digit*math.Sqrt(sigma*sigma+1.0/12)); math.Abs(got-digit*worst) > digit*0.002 {
				t.Errorf("noise of %g digits: %g digits hidden, by definition it is %g", sigma, got/digit,
					worst)
			}
		}
	}
}

// normal is the distribution function of the standard normal distribution.
func normal(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// rounding returns how far the slope of a model may be off.
func rounding(b *fitter, m *model, resolution float64) float64 {
	low, high := b.unrounded(m, m.slope(), resolution)
	return max(m.slope()-low, high-m.slope())
}
