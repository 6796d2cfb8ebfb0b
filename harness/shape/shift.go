package shape

import (
	"math"
	"slices"
)

// A Shift is a rise of a series to a higher level that lasts until the end of the series.
type Shift struct {
	// From is the index of the first higher value.
	From int
	// Before and After are the medians of the values before From, and from From on. Outliers are left
	// out.
	Before, After float64
	// Sure is true if noise alone very rarely looks like this rise; see
	// docs/explanation/false-alarms.md.
	Sure bool
}

// shiftSide is the smallest number of values before a shift, and from it on. If fewer values
// follow, the rise may be an outlier.
const shiftSide = neighbours

// Shifted finds the step up that explains a series best, and returns it if it lasts. It lasts if,
// in each third of the values after the step, the median is nearer to the level after the step than
// to the level before it. ok is false if the series is too short or has no such step.
//
// The step is sure if it passes the test for growth: fitted with autocorrelated noise, its height
// must be as many standard errors above 0 as a slope whose break was searched. If the step is not
// sure, the series may have several steps. Shifted then also tries the best step among the values
// before it, and the best among the values after it.
func Shifted(values []float64) (s Shift, ok bool) {
	if len(values) < 2*shiftSide {
		return s, false
	}
	y, middle := centred(values)
	floor := max(1e-12, 1e-12*largest(y))
	y, outliers := cleaned(y, floor)
	trust := float64(len(y)-len(outliers)) / float64(len(y))
	at := risesAt(y)
	if at == 0 || !lasts(y, at) {
		return s, false
	}
	sure := stepIsSure(y, at, floor, trust)
	for _, part := range [][2]int{{0, at}, {at, len(y)}} {
		if sure {
			break
		}
		if k := risesAt(y[part[0]:part[1]]); k > 0 && lasts(y, part[0]+k) &&
			stepIsSure(y[part[0]:part[1]], k, floor, trust) {
			at, sure = part[0]+k, true
		}
	}
	before, after := median(slices.Clone(y[:at])), median(slices.Clone(y[at:]))
	return Shift{From: at, Before: middle + before, After: middle + after, Sure: sure}, true
}

// lasts reports whether the series rises at the index at and stays up until its end.
func lasts(y []float64, at int) bool {
	after := y[at:]
	half := (median(slices.Clone(y[:at])) + median(slices.Clone(after))) / 2
	for part := range 3 {
		third := after[part*len(after)/3 : (part+1)*len(after)/3]
		if median(slices.Clone(third)) <= half {
			return false
		}
	}
	return true
}

// stepIsSure reports whether a step at the index at is more than noise. The parameter trust is the
// fraction of the values that are not replaced outliers.
func stepIsSure(y []float64, at int, floor, trust float64) bool {
	b := numbered(y, floor)
	b.trust = trust
	m, fitted := b.model(model{shape: Step, searched: 1}, b.step(b.x[at]))
	return fitted && m.slope()/(m.error/trust) > b.needed(&m)
}

// numbered returns a fitter for the values y. It numbers their files from 0, and knows no lengths
// of audio. The parameter floor is the smallest difference that counts.
func numbered(y []float64, floor float64) *fitter {
	x := make([]float64, len(y))
	for i := range x {
		x[i] = float64(i)
	}
	return newFitter(y, x, &audio{}, floor, floor)
}

// risesAt returns the index of the step up that leaves the smallest residuals, or 0 if the series
// has no step up.
func risesAt(y []float64) (at int) {
	all, before := 0.0, 0.0
	for _, v := range y {
		all += v
	}
	n, best := len(y), 0.0
	for k, v := range y {
		if k >= shiftSide && k <= n-shiftSide {
			a, b := float64(k), float64(n-k)
			rise := (all-before)/b - before/a
			if explained := rise * rise * a * b; rise > 0 && explained > best {
				best, at = explained, k
			}
		}
		before += v
	}
	return at
}

// Began returns the index of the first higher value of a lasting rise. It fits a level that rises
// linearly from one index to another and is then level again. For a step, the two indexes are near
// each other; for a trend, the rise goes on until the end. Began returns 0 if such a rise fits no
// better than a straight line.
func Began(values []float64) int {
	each := blockSize(len(values)) // only every each-th index is tried
	y, _ := centred(values)
	if len(y) < LeastFiles {
		return 0
	}
	y, _ = cleaned(y, max(1e-12, 1e-12*largest(y)))
	y = blocks(y)
	n := len(y)
	b := numbered(y, 1e-12)
	straight, _ := b.rss(b.line)
	best, at := straight, 0
	try := func(first, last int) {
		ramp := b.column(func(x float64) float64 {
			return min(1, max(0, (x-float64(first))/float64(last-first)))
		})
		if rss, rise := b.rss(ramp); rss < best && rise > 0 {
			best, at = rss, first+1 // the first higher value
		}
	}
	for first := range n - sideMin {
		for last := first + 1; last < n; last += 1 + n/64 {
			try(first, last)
		}
		try(first, n-1)
	}
	// Both ends of the rise were searched, which costs extra parameters.
	if at <= 1 || float64(n)*math.Log(max(straight, 1e-300)/max(best,
		1e-300)) < searchCost*math.Log(float64(n)) {
		return 0
	}
	return at * each
}
