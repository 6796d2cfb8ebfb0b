package calibrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"vramsoak/harness/shape"
)

// TestRate compares intervals with values that were computed in another way. Suppose the true
// probability is at an end of the interval. A count as extreme as the observed one then has a
// probability of 2.5 %, by a sum of terms of the binomial distribution. For a count of 0 of n, the
// upper end is 1 - 0.05^(1/n). For n of n, the lower end is 0.05^(1/n).
func TestRate(t *testing.T) {
	for _, c := range []struct {
		count, of int
		low, high float64
	}{
		{3, 2000, 0.000309443, 0.00437732},
		{62, 100, 0.517461, 0.715233},
		{0, 2000, 0, 0.0014967},
		{5, 5, 0.54928, 1},
		{0, 0, 0, 1},
	} {
		r := rateOf(c.count, c.of)
		if math.Abs(r.Low-c.low) > 1e-4*c.low || math.Abs(r.High-c.high) > 1e-4*c.high {
			t.Errorf("%d of %d: %g to %g, want %g to %g", c.count, c.of, r.Low, r.High, c.low, c.high)
		}
	}
	// The smallest n with 0.999^n <= 0.05 is 2995. The search goes in steps of a thousandth of n, so
	// it may return a little more.
	if n := leastTries(0.001); n < 2995 || n > 2998 {
		t.Errorf("%d tries show 0.1 %%, expected 2995", n)
	}
}

func TestReadable(t *testing.T) {
	for _, c := range []struct {
		needed float64
		want   string
	}{
		{0, "1KiB"},
		{1025, "2KiB"},
		{192 << 10, "192KiB"},
		{192<<10 + 1, "224KiB"},
		{1 << 20, "1MiB"},
		{1<<20 + 1, "1280KiB"},
		{9 << 20, "10MiB"},
	} {
		if limit, ok := readable(amounts, c.needed); !ok || amountText(limit) != c.want {
			t.Errorf("%g: %s, want %s", c.needed, amountText(limit), c.want)
		}
	}
	if limit, ok := readable(fractions, 0.0101); !ok || percent(limit) != "1.2%" {
		t.Errorf("limit %g", limit)
	}
	if _, ok := readable(fractions, 1.01); ok {
		t.Error("a fraction above 1 is readable")
	}
}

// TestDraw: the noise that draw returns has nearly the autocorrelation and the size of the noise
// from which it draws.
func TestDraw(t *testing.T) {
	const phi, files = 0.6, 200
	r := rand.New(rand.NewPCG(3, 4))
	var units []unit
	for range 5 {
		s := shape.Series{Grain: 512}
		e := 0.0
		for range files {
			e = phi*e + r.NormFloat64()
			s.Values = append(s.Values, 1e9+1e6*e)
		}
		units = append(units, unit{newSource(s)})
	}
	n := newNoise(units)
	var square, product float64
	for range 200 {
		drawn := n.draw(units[0][0], r)
		for i := 1; i < files; i++ {
			square, product = square+drawn[i]*drawn[i], product+drawn[i]*drawn[i-1]
		}
	}
	// An autoregression whose noise has a standard deviation of 1 has itself one of 1 / sqrt(1 -
	// phi^2) = 1.25. At the border of a block, a value loses its neighbour: one of l values in blocks
	// of l files.
	if sigma := math.Sqrt(square / (200 * (files - 1))); math.Abs(sigma/1.25e6-1) > 0.2 {
		t.Errorf("standard deviation %g, want about 1.25e6", sigma)
	}
	if kept := product / square; kept < 0.75*phi || kept > 1.1*phi {
		t.Errorf("autocorrelation %g, want nearly %g", kept, phi)
	}
}
