package shape

import (
	"math"
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

// TestRounding has expected values that were worked out by hand, for printed values that are whole
// numbers.
func TestRounding(t *testing.T) {
	constant, flat := flatOf(make([]float64, 10), 0)
	// Lines that stay within half a digit of 0, 0, 1, 1 have slopes from 0 (0.5 everywhere) to 2/3
	// (from -0.5 to 1.5). The slope by least squares is 0.4.
	stairs, line := flatOf([]float64{0, 0, 1, 1}, 0.4)
	// No line stays within half a digit of all values. In the worst case the means of the two halves
	// are off in opposite directions. Without noise, each may be off by half a digit.
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
		{"no line", rough, noisy, 0.5, 3 * 0.5 / 3},
		{"behind a break", rough, &late, 0.5, 3 * 0.5 / 2},
	} {
		if got := c.b.rounding(c.m, c.resolution); !near(got, c.want, 1e-12) {
			t.Errorf("%s: %g, by hand it is %g", c.name, got, c.want)
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

// TestGoesOnWithoutAudio: in the second half, the length of the audio does not vary. The series is
// flat there, after a rise that no shape describes.
func TestGoesOnWithoutAudio(t *testing.T) {
	y := made(40, func(i int) float64 { return mib * math.Sqrt(float64(min(i, 20))) })
	x := made(40, func(i int) float64 { return float64(i) })
	seconds := made(40, func(i int) float64 {
		if i >= 20 {
			return 300
		}
		return 300 + 60*float64(i%3)
	})
	b := newFitter(y, x, &audio{seconds: seconds, ordered: true}, 512, 512)
	growing, ok := b.model(model{shape: Flat, growing: true}, b.line)
	if !ok || len(growing.columns) != 3 {
		t.Fatalf("%d columns", len(growing.columns))
	}
	growing.noise = mib / 100
	if b.goesOn(&growing) {
		t.Error("goes on in a half that is flat")
	}
}

// TestNeeded: a line without a break needs the table's threshold. A break adds 4.5 to the
// threshold, and the length of the audio adds 0.2.
func TestNeeded(t *testing.T) {
	x := made(30, func(i int) float64 { return float64(i) })
	line := newFitter(x, x, &audio{}, 1, 1)
	byAudio := newFitter(x, x, &audio{
		seconds: made(30,
			func(i int) float64 { return float64(60 + i%7) }),
		ordered: true,
	}, 1, 1)
	for _, c := range []struct {
		name     string
		b        *fitter
		searched int
		more     float64
	}{
		{"a line", line, 0, 0},
		{"behind a break", line, 1, 4.5},
		{"behind two breaks", line, 2, 4.5},
		{"with audio", byAudio, 0, 0.2},
		{"after a break, with audio", byAudio, 1, 4.7},
	} {
		want := criticalT(30, 0.3) + c.more
		if got := c.b.needed(&model{searched: c.searched, fit: fit{phi: 0.3}}); !near(got, want, 1e-12) {
			t.Errorf("%s: needs %g, want %g", c.name, got, want)
		}
	}
}
