package shape

import (
	"math/rand/v2"
	"testing"
)

// TestNoiseIsFlat counts series of white noise that are called a step, a sawtooth or a warm-up, and
// those in which a rise begins behind the first value. Something always fits noise better than a
// level does. What a shape must gain for each place that was searched for keeps most of it flat.
//
// Both counts are below 2 %. For 30 values a step must gain 4 ln 30 = 13.6 in twice the log
// likelihood. Noise does so at a given place in one of 4,400 series, and there are 25 places. A
// sawtooth has 50 periods and offsets, and must rise. Of 1,000 other series 8 were not flat, and a
// rise began in 2.
func TestNoiseIsFlat(t *testing.T) {
	const n, series, share = 30, 300, 0.02
	shaped, rises := 0, 0
	for seed := range uint64(series) {
		values := autoregressive(rand.New(rand.NewPCG(seed, 7)), n, 0)
		if r := Of(Series{Values: values}); r.Shape != Flat {
			shaped++
		}
		if Began(values) > 0 {
			rises++
		}
	}
	most := mostByChance(series, share)
	t.Logf("%d of %d series are not flat, a rise begins in %d", shaped, series, rises)
	if shaped > most {
		t.Errorf("%d of %d series are not flat, at most %d are as many as %g %%", shaped, series, most,
			100*share)
	}
	if rises > most {
		t.Errorf("a rise begins in %d of %d series, at most %d are as many as %g %%", rises, series, most,
			100*share)
	}
}

// TestCriticalBreak counts series of autocorrelated noise in which growth looks certain once a
// break was searched for: on top of a step, of two or of a warm-up, or from one value on. They are
// at most 0.1 %, as in TestCritical. With the threshold for a line, which searches for nothing, 2 %
// are.
func TestCriticalBreak(t *testing.T) {
	const n, series, share = 30, 600, 0.001
	x := made(n, func(i int) float64 { return float64(i) })
	alarms := 0
	for seed := range uint64(series) {
		values := autoregressive(rand.New(rand.NewPCG(seed, 8)), n, 0.6)
		b := newBench(values, x, &audio{}, 0, 0)
		b.steps()
		b.warmUps()
		b.lateGrowth()
		for i := range b.all {
			if m := &b.all[i]; m.growing && m.slope() > b.needed(m)*b.se(m) {
				alarms++
				break
			}
		}
	}
	t.Logf("growth looks certain in %d of %d series", alarms, series)
	if most := mostByChance(series, share); alarms > most {
		t.Errorf("growth looks certain in %d of %d series, at most %d are as many as %g %%", alarms,
			series, most, 100*share)
	}
}

// TestGrowthThatEnded judges series that grow for 35 files, give back half of that and stay there
// for 15 files, in noise of an eighth of the rise. A shape that grows fits most of them best, but
// the second half does not go on growing. Less than 2 % are called growth; of 1,000 other series
// none is.
func TestGrowthThatEnded(t *testing.T) {
	const n, end, series, share = 50, 35, 60, 0.02
	grows := 0
	for seed := range uint64(series) {
		noise := autoregressive(rand.New(rand.NewPCG(seed, 9)), n, 0)
		r := Of(Series{Values: made(n, func(i int) float64 {
			if i > end {
				return 4 + noise[i]
			}
			return 8*float64(i)/end + noise[i]
		})})
		if r.Growing {
			grows++
		}
	}
	t.Logf("%d of %d series grow", grows, series)
	if most := mostByChance(series, share); grows > most {
		t.Errorf("%d of %d series grow, at most %d are as many as %g %%", grows, series, most, 100*share)
	}
}
