package shape

import (
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

var criticalRuns = flag.Int("critical.runs", 3000,
	"how many series TestCritical simulates of each kind; the table was made with a million")

// TestCritical simulates series without growth, and counts the lines whose slopes are more standard
// errors above 0 than the table allows. At most 0.1 % may be so, plus what chance adds in all but
// one case of 10,000.
func TestCritical(t *testing.T) {
	for _, phi := range []float64{0, 0.6} {
		for _, n := range []int{30, 50, 120} {
			alarms := falseLines(n, phi, *criticalRuns)
			if most := mostByChance(*criticalRuns, 0.001); alarms > most {
				t.Errorf("phi %g, %d values: %d of %d lines are false alarms, at most %d are as many as 0.1 %%",
					phi, n, alarms, *criticalRuns, most)
			} else {
				t.Logf("phi %g, %d values: %d of %d lines are false alarms", phi, n, alarms, *criticalRuns)
			}
		}
	}
}

// falseLines returns how many of runs simulated series of n values, without growth, have a line
// that looks like growth.
func falseLines(n int, phi float64, runs int) int {
	x := made(n, func(i int) float64 { return float64(i) })
	var next, alarms atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1)
				if seed > int64(runs) {
					return
				}
				r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
				b := newFitter(autoregressive(r, n, phi), x, &audio{}, 0, 0)
				m, ok := b.model(model{shape: Flat, growing: true}, b.line)
				if ok && m.slope() > b.needed(&m)*b.se(&m) {
					alarms.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(alarms.Load())
}

// mostByChance returns the count that n trials with the probability p exceed in at most one case of
// 10,000.
func mostByChance(n int, p float64) int {
	term := math.Pow(1-p, float64(n))
	if term == 0 { // n is so large that the normal distribution fits; 3.72 is its quantile of 0.9999
		return int(float64(n)*p + 3.72*math.Sqrt(float64(n)*p*(1-p)))
	}
	k, sum := 0, term
	for ; sum < 0.9999; k++ {
		term *= p / (1 - p) * float64(n-k) / float64(k+1)
		sum += term
	}
	return k
}

func TestCriticalT(t *testing.T) {
	for i, n := range criticalFiles {
		for j, phi := range criticalPhi {
			if got := criticalT(int(n), phi); !near(got, critical[i][j], 1e-12) {
				t.Errorf("%g values, phi %g: %g, the table has %g", n, phi, got, critical[i][j])
			}
		}
	}
	last, most := len(criticalFiles)-1, len(criticalPhi)-1
	for _, c := range []struct {
		files     int
		phi, want float64
	}{
		{4, 0, critical[0][0]},
		{100_000, 0, critical[last][0]},
		{8, 0.95, critical[0][most]},
		// 0.225 is halfway between 0.2 and 0.25.
		{8, 0.225, (critical[0][2] + critical[0][3]) / 2},
		// 10 is ln(10/8) / ln(12/8) = 0.55034 of the way from 8 to 12.
		{10, 0, critical[0][0] + 0.55034*(critical[1][0]-critical[0][0])},
		{10, 0.225, (critical[0][2]+critical[0][3])/2*0.44966 +
			(critical[1][2]+critical[1][3])/2*0.55034},
	} {
		if got := criticalT(c.files, c.phi); !near(got, c.want, 1e-5) {
			t.Errorf("%d values, phi %g: %g, interpolated by hand it is %g", c.files, c.phi, got, c.want)
		}
	}
}
