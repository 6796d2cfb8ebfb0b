package validation

import (
	"testing"

	"vramsoak/harness/shape"
)

// TestGrowthBound has values by hand for 100 further files: a growth of 1 KiB a file adds 100 KiB,
// steps of 1 MiB in all may come twice, and what the last value is above those before it may come
// again with each file.
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
