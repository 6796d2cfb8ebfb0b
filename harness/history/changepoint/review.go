package changepoint

import (
	"cmp"
	"math"
	"slices"
)

// takeBack removes the newest change if the values have returned to the old level at once, as
// after a single wild night, and reports whether it did. At least half of the values since the
// change must lie at the old level, and clearly not at the new one. A later return is a change of
// its own.
func (d *Detector) takeBack() bool {
	last := len(d.Changes) - 1
	if last < 0 || len(d.values)-d.Changes[last].At > 2*maxYoung {
		return false
	}
	c := d.Changes[last]
	bounds, level := d.bounds(c.At-memory, c.At-1, c.At)
	means, e := robust(d.values, bounds, d.resolution)
	sum := 0.0
	since := len(d.values) - c.At
	for n := 1; n < since; n++ {
		sum += d.values[len(d.values)-n]
		if 2*n < since {
			continue
		}
		away := sum/float64(n) - means[level]
		if c.Step < 0 {
			away = -away
		}
		// Two deviations are the range of the old level. Three exclude a level halfway to the new
		// one.
		deviation := math.Sqrt(e.meanVariance(n))
		if away <= 2*deviation && away <= math.Abs(c.Step)/2-3*deviation {
			d.remove(last, n)
			return true
		}
	}
	return false
}

// confirmed is the largest p value of a change in hindsight, if the one that [Detector.nightly]
// asks for is small. It is ten times as large as that at the default level, so chance hardly ever
// takes back a real change. At larger levels, [Detector.confirmed] is larger too.
const confirmed = 0.0001

// confirmed returns the largest p value of a change in hindsight.
func (d *Detector) confirmed() float64 { return max(confirmed, 10*nightlyAt(MinRuns, d.level)) }

// review removes the changes that are not credible, now that the values after them are known:
// first the least credible one, until each of the others differs from the level before it. It
// looks at the changes near the end of the series and, if newest is set, at the newest one in any
// case.
func (d *Detector) review(newest bool) {
	for {
		worst, at := d.confirmed(), -1
		for i, c := range d.Changes {
			if c.At < len(d.values)-2*reach && (!newest || i < len(d.Changes)-1) {
				continue
			}
			if p := d.hindsight(i); p > worst && d.mayBeScatter(i) {
				worst, at = p, i
			}
		}
		if at < 0 {
			return
		}
		d.remove(at, 0)
	}
}

// hindsight returns the p value of the change i, from all values of the levels before and after
// it. It takes the variance as known. The search has allowed for the error of its estimate
// already, and that error alone must not take back a change.
func (d *Detector) hindsight(i int) float64 {
	from, at, to := d.before(i), d.Changes[i].At, d.end(i)
	bounds, level := d.bounds(min(from, at-reach), at, min(len(d.values), max(to, at+reach)))
	means, e := robust(d.values, bounds, d.resolution)
	e.free = math.Inf(1)
	return e.p(means[level]-means[level-1], at-from, to-at)
}

// These decide whether scatter may explain a change, whatever its p value is; see
// [Detector.mayBeScatter]. They were chosen so that TestGateOfDrift passes and that correlated
// noise gives hardly more false alarms (TestFalseAlarms).
const (
	minOverlap = 0.25 // the smallest share of the newest values in the old range; without a change 0.9
	minDrift   = 21   // the smallest number of values that show a drift
	driftTau   = 0.6  // Kendall's rank correlation of these values with the nights, at least
)

// mayBeScatter reports whether scatter may explain the change i. It may not if fewer than
// minOverlap of the newest values lie in the range of the level before the change, and one of two
// is true:
//
//   - The values drift away. Along a slow drift each night resembles the night before it, and such
//     scatter would explain any difference. One change along the drift must stay.
//   - At least half of the values before the change are equal. The bound for noise of rare jumps
//     needs many values, and a few nights that were back would take back the change.
func (d *Detector) mayBeScatter(i int) bool {
	before, newest := d.around(i)
	end := before[(9*len(before)-1)/10]
	within := 0
	for _, v := range newest {
		if v <= end {
			within++
		}
	}
	if float64(within) >= minOverlap*float64(len(newest)) {
		return true
	}
	quiet, middle := 0, before[len(before)/2]
	for _, v := range before {
		if v == middle {
			quiet++
		}
	}
	return 2*quiet < len(before) && (!d.drifts(i) || d.stays(i, i-1) || d.stays(i, i+1))
}

// around returns the values of the level before the change i, sorted, and the newest values since
// the change. If the change goes down, all are negated.
func (d *Detector) around(i int) (before, newest []float64) {
	at := d.Changes[i].At
	before = slices.Clone(d.values[max(d.before(i), at-reach):at])
	newest = slices.Clone(d.values[max(at, len(d.values)-reach):])
	if d.Changes[i].Step < 0 {
		for k := range before {
			before[k] = -before[k]
		}
		for k := range newest {
			newest[k] = -newest[k]
		}
	}
	slices.Sort(before)
	return before, newest
}

// drifts reports whether the newest values since the change i drift away from the level before
// it: whether most later ones are farther away than most earlier ones (Kendall 1938, "A new
// measure of rank correlation", Biometrika 30).
func (d *Detector) drifts(i int) bool {
	_, newest := d.around(i)
	farther := 0
	for k, v := range newest {
		for _, earlier := range newest[:k] {
			farther += cmp.Compare(v, earlier)
		}
	}
	n := float64(len(newest))
	return len(newest) >= minDrift && float64(farther) >= driftTau*n*(n-1)/2
}

// stays reports whether there is a change k in the direction of the change i from which the
// values drift too.
func (d *Detector) stays(i, k int) bool {
	return k >= 0 && k < len(d.Changes) && (d.Changes[k].Step < 0) == (d.Changes[i].Step < 0) &&
		d.drifts(k)
}

// remove takes back the change i. The parameter back is the number of newest values at the old
// level.
func (d *Detector) remove(i, back int) {
	d.Gone = append(d.Gone, Gone{Change: d.Changes[i], Until: len(d.values), Back: back})
	d.Changes = slices.Delete(d.Changes, i, i+1)
	d.done = slices.Delete(d.done, i, i+1)
	if i < len(d.done) {
		d.done[i] = d.pieceOf(d.before(i), d.Changes[i].At)
	} else {
		d.now = newRunning(d.values[d.start():])
	}
}
