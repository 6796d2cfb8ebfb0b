package shape

import (
	"math/rand/v2"
	"testing"
)

// TestNoiseIsFlat counts the series of white noise that are called a step, a sawtooth or a warm-up,
// and those in which a rise begins after the first value. Some shape always fits noise better than
// a level does. Each searched parameter therefore costs evidence, which keeps most noise flat.
//
// Both counts must be below 2 %. A step in 30 values must raise twice the log likelihood by
// 4 ln 30 = 13.6. At a given position noise does so in one of 4,400 series, and a step has 25
// possible positions. A sawtooth has about 50 possible pairs of period and offset, and counts only
// if it rises. In another run with 1,000 series, 8 were not flat, and a rise began in 2.
func TestNoiseIsFlat(t *testing.T) {
	const n, series, rate = 30, 300, 0.02
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
	most := mostByChance(series, rate)
	t.Logf("%d of %d series are not flat, a rise begins in %d", shaped, series, rises)
	if shaped > most {
		t.Errorf("%d of %d series are not flat, at most %d are as many as %g %%", shaped, series, most,
			100*rate)
	}
	if rises > most {
		t.Errorf("a rise begins in %d of %d series, at most %d are as many as %g %%", rises, series, most,
			100*rate)
	}
}

// TestCriticalBreak counts the series of autocorrelated noise in which growth looks certain after a
// break was searched. The growth is added to one step, two steps or a warm-up, or begins at a later
// value. At most 0.1 % of the series may look so, as in TestCritical. The threshold of a line, for
// which nothing is searched, would let 2 % look so.
func TestCriticalBreak(t *testing.T) {
	const n, series, rate = 30, 600, 0.001
	x := made(n, func(i int) float64 { return float64(i) })
	alarms := 0
	for seed := range uint64(series) {
		values := autoregressive(rand.New(rand.NewPCG(seed, 8)), n, 0.6)
		b := newFitter(values, x, &audio{}, 0, 0)
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
	if most := mostByChance(series, rate); alarms > most {
		t.Errorf("growth looks certain in %d of %d series, at most %d are as many as %g %%", alarms,
			series, most, 100*rate)
	}
}

// TestGrowthThatEnded judges series that grow for 35 files, fall by half of the rise, and stay at
// that level for 15 files. The noise is an eighth of the rise. A growing shape fits most of these
// series best, but the second half does not continue to grow. Less than 2 % may be called growth.
// Of 1,000 other series none was.
func TestGrowthThatEnded(t *testing.T) {
	const n, end, series, rate = 50, 35, 60, 0.02
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
	if most := mostByChance(series, rate); grows > most {
		t.Errorf("%d of %d series grow, at most %d are as many as %g %%", grows, series, most, 100*rate)
	}
}
