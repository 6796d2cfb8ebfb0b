package shape

import (
	"math"
	"testing"
)

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
