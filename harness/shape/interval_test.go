package shape

import "testing"

// TestSlopeTrust: if only half of the values were measured and the others replace outliers, the
// standard error of the slope is twice as large. The slope does not change.
func TestSlopeTrust(t *testing.T) {
	y := made(40, func(i int) float64 { return 3*float64(i) + float64(i%2) })
	x := made(40, func(i int) float64 { return float64(i) })
	b := newFitter(y, x, &audio{}, 0.1, 0.1)
	line, _ := b.model(model{shape: Flat, growing: true}, b.line)
	step, _ := b.model(model{shape: Step, breaks: []float64{20}, searched: 1}, b.step(20))
	for _, c := range []struct {
		name   string
		m      *model
		grows  bool
		models []model
	}{
		{"a line", &line, true, nil},
		{"a step, and a line that may explain it", &step, false, []model{line}},
		{"a step without growth", &step, false, nil},
	} {
		b.all = c.models
		b.trust = 1
		whole, se := b.slope(c.m, c.grows)
		b.trust = 0.5
		half, twice := b.slope(c.m, c.grows)
		if se <= 0 || half != whole || !near(twice, 2*se, 1e-12) {
			t.Errorf("%s: %g ± %g, of half the values %g ± %g", c.name, whole, se, half, twice)
		}
	}
}

// TestMixture was worked out by hand. The values 1 and 5 with the weights 3 and 1 have a mean of 2.
// Their squared distances from it, 1 and 9, are 3 on average, and the variances 4 and 8 are 5 on
// average. The variance of the mixture is the sum, 8.
func TestMixture(t *testing.T) {
	for _, origin := range []float64{0, 1, -7} {
		m := mixture{origin: origin}
		m.add(3, 1, 4)
		m.add(1, 5, 8)
		if mean, variance := m.moments(); !near(mean, 2, 1e-12) || !near(variance, 8, 1e-12) {
			t.Errorf("from %g: mean %g, variance %g; by hand 2 and 8", origin, mean, variance)
		}
	}
}
