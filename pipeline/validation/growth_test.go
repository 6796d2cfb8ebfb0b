package validation

import (
	"testing"

	"vramsoak/harness/shape"
)

// TestGrowthBound has bounds computed by hand for 100 further files. A growth of 1 KiB per file
// adds 100 KiB. Steps of 1 MiB in all may come twice more. The height of the last value above the
// values before may come again with each file.
func TestGrowthBound(t *testing.T) {
	for _, c := range []struct {
		r    shape.Result
		want float64
	}{
		{shape.Result{Shape: shape.Flat, Slope: shape.Interval{Low: -4096, High: 1024}}, 100 << 10},
		{shape.Result{Shape: shape.Flat, Slope: shape.Interval{Low: -4096, High: -1024}}, 0},
		{
			shape.Result{Shape: shape.Steps, Slope: shape.Interval{High: 1024}, Size: 1 << 20},
			2 << 20,
		},
		{
			shape.Result{Shape: shape.Sawtooth, Slope: shape.Interval{High: 1024}, Size: 1 << 30},
			100 << 10,
		},
		{
			shape.Result{Shape: shape.Flat, Slope: shape.Interval{High: 1024}, Ends: 1 << 20},
			100 << 20,
		},
	} {
		if got := growthBound(&c.r, 100); got != c.want {
			t.Errorf("%s: got %g, want %g", c.r.Shape, got, c.want)
		}
	}
}
