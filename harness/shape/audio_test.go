package shape

import (
	"math"
	"testing"
)

func TestRate(t *testing.T) {
	seconds := []float64{60, 300, 120, 240, 90, 330, 150, 600, 30, 270}
	y := made(len(seconds), func(i int) float64 { return 1000 + 2*seconds[i] })
	if got := rate(y, seconds); got != 2 {
		t.Errorf("rate %g, each second adds 2", got)
	}
	y[4] += 1e6 // the median of the slopes does not move
	if got := rate(y, seconds); got != 2 {
		t.Errorf("with an outlier: rate %g, each second adds 2", got)
	}
	for i := range y { // growth matters least between near files
		y[i] = 2*seconds[i] + float64(i)
	}
	if got := rate(y, seconds); math.Abs(got-2) > 0.02 {
		t.Errorf("with growth: rate %g, each second adds 2", got)
	}
	// Two files of 300, 301 and 302 s show 102 per second. Such pairs do not count, because other
	// pairs differ by 300 s. Of those other pairs a third shows 600/300, a third 498/299, and a third
	// 396/298.
	lengths, levels := []float64{300, 301, 302, 600}, []float64{600, 702, 804, 1200}
	seconds = made(40, func(i int) float64 { return lengths[i%4] })
	y = made(40, func(i int) float64 { return levels[i%4] })
	if got := rate(y, seconds); got != 498.0/299 {
		t.Errorf("with hardly different files: rate %g, want %g", got, 498.0/299)
	}
	if got := rate([]float64{1, 5, 3}, []float64{60, 60, 60}); got != 0 {
		t.Errorf("all as long: rate %g", got)
	}
}

// TestCorrelation: by hand, the correlation of 1, 2, 3 with 1, 3, 2 is 1 over the root of 2 times
// 2, which is 0.5.
func TestCorrelation(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{1, 3, 2}, 0.5},
		{[]float64{1, 2, 3}, []float64{5, 7, 9}, 1},
		{[]float64{3, 2, 1}, []float64{5, 7, 9}, -1},
		{[]float64{0, 1, 0, 1}, []float64{0, 0, 1, 1}, 0},
	} {
		if got := correlation(c.a, c.b); !near(got, c.want, 1e-12) {
			t.Errorf("%v %v: %g, want %g", c.a, c.b, got, c.want)
		}
	}
	if got := correlation([]float64{0.1, 0.1, 0.1}, []float64{1, 2, 3}); !math.IsNaN(got) {
		t.Errorf("of a constant: %g", got)
	}
}

// TestAudioAllAsLong: lengths that are equal, or differ by only a millionth of a second, explain
// nothing and are ignored.
func TestAudioAllAsLong(t *testing.T) {
	x := made(20, func(i int) float64 { return float64(i) })
	for _, more := range []float64{0, 1e-6} {
		seconds := with(made(20, func(int) float64 { return 300 }), map[int]float64{19: 300 + more})
		if a := newAudio(Series{Values: x, Audio: seconds}, x); a.seconds != nil || a.ordered ||
			a.rate != 0 {
			t.Errorf("one file longer by %g s: %+v", more, a)
		}
	}
}

// TestAudioHardlyDiffers: whether small differences of length count does not depend on the number
// of files.
func TestAudioHardlyDiffers(t *testing.T) {
	for _, n := range []int{8, 60, 100_000} {
		seconds := made(n, func(i int) float64 { return 300 + 0.1*float64(2*i/n) })
		x := made(n, func(i int) float64 { return float64(i) })
		if a := newAudio(Series{Values: x, Audio: seconds}, x); a.seconds == nil || !a.ordered {
			t.Errorf("%d files, the second half longer by 0.1 s: not ordered", n)
		}
	}
}
