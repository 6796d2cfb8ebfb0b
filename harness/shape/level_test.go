package shape

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCriticalLevel computes how often the slope of a line in noise exceeds the threshold for small
// levels. A count would need millions of series for each level. But the best slope of a series
// whose phi is known is independent of all that the residuals show, so also of the estimated phi
// and of the standard error (Basu 1955). So each series gives the probability that its slope would
// exceed the threshold, given its residuals, and the test takes the mean. The table itself allows
// up to twice its level for lines with a phi of 0.15 to 0.45, and the simulation has a standard
// error of a fifth. The whole method, of which a line is a part, gives fewer alarms:
// TestFamilyVerdicts in harness/check counts them.
func TestCriticalLevel(t *testing.T) {
	series := 1500
	if testing.Short() {
		series = 300
	}
	for _, n := range []int{12, 30, 50, 120} {
		x := made(n, func(i int) float64 { return float64(i) })
		for _, phi := range []float64{0, 0.3, 0.6} {
			r := rand.New(rand.NewPCG(uint64(n), uint64(100*phi)))
			levels := []float64{0.001, 0.001 / 16, 0.001 / 128, 0.001 / 1024, 0.001 / 50_000}
			rates := make([]float64, len(levels))
			for range series {
				b := newFitter(autoregressive(r, n, phi), x, &audio{}, 0, 0)
				m, _ := b.model(model{shape: Flat, growing: true}, b.line)
				best, ok := m.solve(phi)
				if !ok {
					t.Fatal("not solved")
				}
				deviation := math.Sqrt(1-phi*phi) * math.Sqrt(best.last) // of the best slope
				off := m.slope() - best.beta[1]                          // known from the residuals
				for i := range levels {
					b.level = levels[i]
					rates[i] += normal((off-b.needed(&m)*b.se(&m))/deviation) / float64(series)
				}
			}
			for i, level := range levels {
				most := 2.5 * level
				if level < 0.001/128 { // a few series decide the mean
					most *= 2
				}
				if rates[i] > most {
					t.Errorf("%d values, phi %g: rate %g at a level of %g", n, phi, rates[i], level)
				}
			}
			t.Logf("%d values, phi %g: rates %.2g at levels %.2g", n, phi, rates, levels)
		}
	}
}

// TestRarer: for many values the distribution is normal, and its quantiles are 4.318 for 0.001/128
// and 3.090 for 0.001.
func TestRarer(t *testing.T) {
	for _, c := range []struct {
		files       int
		level, want float64
	}{
		{50, 0, 1},
		{50, 0.001, 1},
		{50, 0.01, 1},
		{1_000_000, 0.001 / 128, 4.318 / 3.090},
	} {
		if got := rarer(c.files, c.level); !near(got, c.want, 1e-3) {
			t.Errorf("%d values, level %g: %g, want %g", c.files, c.level, got, c.want)
		}
	}
}
