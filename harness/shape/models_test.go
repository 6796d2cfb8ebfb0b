package shape

import (
	"math"
	"slices"
	"testing"
)

// TestColumns compares the columns of the shapes over the files 1000 to 1005 with columns that were
// worked out by hand.
func TestColumns(t *testing.T) {
	x := made(6, func(i int) float64 { return float64(1000 + i) })
	b := newFitter(x, x, &audio{}, 1, 1)
	blocks := &fitter{x: []float64{1.5, 5.5, 9.5}, width: 4} // files 0 to 3, 4 to 7, 8 to 11
	for _, c := range []struct {
		name      string
		got, want []float64
	}{
		{"step", b.step(1003), []float64{0, 0, 0, 1, 1, 1}},
		{"step in a block: 2 of 4 files", blocks.step(6), []float64{0, 0.5, 1}},
		{"up to", b.upTo(1003), []float64{0, 1, 2, 3, 3, 3}},
		{"from", b.from(1003), []float64{0, 0, 0, 0, 1, 2}},
		{"decay by half", b.decay(1 / math.Ln2), []float64{0, 0.5, 0.75, 0.875, 0.9375, 0.96875}},
		{"sawtooth", b.sawtooth(3, 1), []float64{2, 0, 1, 2, 0, 1}},
	} {
		equal := func(a, b float64) bool { return near(a, b, 1e-12) }
		if !slices.EqualFunc(c.got, c.want, equal) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
