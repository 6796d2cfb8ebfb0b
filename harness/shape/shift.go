package shape

import (
	"math"
	"slices"
)

// A Shift is a rise of a series that lasts to its end.
type Shift struct {
	// From is the index of the first value of those that are higher.
	From int
	// Before and After are the medians of the values before and behind it. Outliers are left out.
	Before, After float64
	// Sure says that noise hardly looks so: see docs/explanation/false-alarms.md.
	Sure bool
}

// shiftSide is how many values a shift has on either side: of fewer that come last it is not known
// whether they stay.
const shiftSide = besideMax

// Shifted finds the step up of a series that explains it best, and reports whether it lasts: each
// third of the values behind it is nearer to their median than to that before. ok is false for a
// series that is too short, or that has none.
//
// It is sure by the rules of growth: a step is fitted with autocorrelated noise, and lies as many of
// its standard errors above 0 as a slope needs whose break was searched for. Where that step is not
// sure because there are several, the one in the values before it may be, or the one behind.
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

// lasts reports whether the series stays up behind a place.
func lasts(y []float64, at int) bool {
	after := y[at:]
	half := (median(slices.Clone(y[:at])) + median(slices.Clone(after))) / 2
	for part := range 3 {
		if third := after[part*len(after)/3 : (part+1)*len(after)/3]; median(slices.Clone(third)) <= half {
			return false
		}
	}
	return true
}

// stepIsSure reports whether a step at a place is more than noise.
func stepIsSure(y []float64, at int, floor, trust float64) bool {
	b := numbered(y, floor)
	b.trust = trust
	m, fitted := b.model(model{shape: Step, searched: 1}, b.step(b.x[at]))
	return fitted && m.slope()/(m.error/trust) > b.needed(&m)
}

// numbered is a bench whose values are numbered from 0.
func numbered(y []float64, floor float64) *bench {
	x := make([]float64, len(y))
	for i := range x {
		x[i] = float64(i)
	}
	return newBench(y, x, &audio{}, floor, floor)
}

// risesAt is the place of the step up with the least residuals; 0 where the series has none.
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

// Began is the index at which a rise begins that lasts: the series is level, rises evenly from there on
// for a while (a step rises at once, a trend to the end), and is level again. It is 0 where that is
// no better than a line from the first value on.
func Began(values []float64) int {
	each := blockSize(len(values)) // places that are looked at
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
			best, at = rss, first+1 // the first that is higher
		}
	}
	for first := range n - sideMin {
		for last := first + 1; last < n; last += 1 + n/64 {
			try(first, last)
		}
		try(first, n-1)
	}
	// The breaks were searched for.
	if at <= 1 || float64(n)*math.Log(max(straight, 1e-300)/max(best,
		1e-300)) < searchCost*math.Log(float64(n)) {
		return 0
	}
	return at * each
}
