package shape

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSure: growth is certain at a level if, and only if, the level is at least Sure. And Sure does
// not depend on the level at which it was found.
func TestSure(t *testing.T) {
	t.Parallel()
	levels := []float64{0, 1e-3, 1e-5, 1e-14}
	seen := map[string]int{}
	for _, n := range []int{12, 50, 130, 300} {
		for seed := range uint64(24) {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			noise := autoregressive(r, n, []float64{0, 0.5}[seed%2])
			// Slopes of up to 40 standard errors, for the whole series or from its last 100 files on.
			slope := 40 * r.Float64() * math.Sqrt(12/math.Pow(float64(n), 3))
			from := 0
			if n > 200 && seed%4 < 2 {
				from, slope = n-100, 40*r.Float64()*math.Sqrt(12.0/1e6)
			}
			s := Series{Resolution: []float64{0, 0.5}[seed/2%2], Values: made(n, func(i int) float64 {
				return 100 + noise[i] + slope*float64(max(0, i-from))
			})}
			if s.Resolution > 0 {
				for i, v := range s.Values {
					s.Values[i] = math.Round(v)
				}
			}
			sure := Of(s).Sure
			switch {
			case sure == 1:
				seen["never"]++
			case sure > 1e-14:
				seen["at some"]++
			default:
				seen["at all"]++
			}
			if sure > usualLevel && sure != 1 || sure < 0 {
				t.Fatalf("%d files, seed %d: Sure is %g", n, seed, sure)
			}
			at := append([]float64{sure * (1 + 1e-9), sure * (1 - 1e-9)}, levels...)
			for _, level := range at {
				s.Level = level
				got := Of(s)
				want := sure <= usualLevel && (level == 0 || sure <= level)
				if got.Growing != want {
					t.Errorf("%d files, seed %d: growing %t at level %g, Sure is %g", n, seed, got.Growing, level,
						sure)
				}
				if got.Sure != sure {
					t.Errorf("%d files, seed %d: Sure is %g at level %g, and %g at level 0.001", n, seed,
						got.Sure, level, sure)
				}
			}
		}
	}
	t.Log(seen)
	for _, kind := range []string{"never", "at some", "at all"} {
		if seen[kind] < 8 {
			t.Errorf("only %d series are certain %s levels", seen[kind], kind)
		}
	}
}

// TestLevelOfFactor: the function level is the inverse of rarer.
func TestLevelOfFactor(t *testing.T) {
	t.Parallel()
	for _, files := range []int{8, 50, 51, 128} {
		for _, want := range []float64{1e-3, 1e-4, 1e-6, 1e-9, 1e-12} {
			if got := level(files, rarer(files, want)); !near(got, want, 1e-6*want) {
				t.Errorf("%d files: level %g of the factor for %g", files, got, want)
			}
		}
		if got := level(files, 0.5); got != usualLevel {
			t.Errorf("%d files: level %g of a factor below 1, want %g", files, got, usualLevel)
		}
		if got := level(files, math.Inf(1)); got != 0 {
			t.Errorf("%d files: level %g of an infinite factor, want 0", files, got)
		}
	}
}

// TestHalves: the slopes of the halves are those by which the series was made.
func TestHalves(t *testing.T) {
	t.Parallel()
	r := Of(Series{Values: made(50, func(i int) float64 {
		return float64(2*min(i, 25) - 3*max(0, i-25))
	})})
	if !near(r.Early, 2, 1e-9) || !near(r.Late, -3, 1e-9) {
		t.Errorf("slopes %g and %g, want 2 and -3", r.Early, r.Late)
	}
	short := Of(Series{Values: []float64{1, 2, 3}})
	if short.Sure != 1 {
		t.Errorf("a series that is too short is certain at the level %g, want 1", short.Sure)
	}
}
