package check

import (
	"math"
	"testing"
)

// TestSure holds the factor against tables of the normal distribution: 3.0902, 3.2905 and 3.7190
// standard deviations are exceeded in 0.1 %, 0.05 % and 0.01 % of cases.
func TestSure(t *testing.T) {
	for series, want := range map[int]float64{0: 1, 1: 1, 2: 3.2905 / 3.0902, 10: 3.7190 / 3.0902} {
		if got := sure(series); !(math.Abs(got-want) < 1e-4) {
			t.Errorf("of %d series: %g, by the tables %g", series, got, want)
		}
	}
}
