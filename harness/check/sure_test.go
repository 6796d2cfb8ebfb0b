package check

import (
	"math"
	"testing"
)

// TestSure compares the factor with tables of the normal distribution. Of all values, 0.1 %, 0.05 %
// and 0.01 % lie above 3.0902, 3.2905 and 3.7190 standard deviations.
func TestSure(t *testing.T) {
	for series, want := range map[int]float64{0: 1, 1: 1, 2: 3.2905 / 3.0902, 10: 3.7190 / 3.0902} {
		if got := sure(series); !(math.Abs(got-want) < 1e-4) {
			t.Errorf("%d series: got %g, want %g by the tables", series, got, want)
		}
	}
}
