package history

import "math"

// A hinge is a fit of values that are level up to a knot, and lie on a straight line from there on.
type hinge struct {
	knot         int // the index of the last value of the level; 0 if the values may rise at once
	early, late  int // the bounds of the knot, with a confidence of 95 %
	level, slope float64
	// low and high are the bounds of the slope, with a confidence of 95 %, whatever the knot is.
	low, high float64
	squares   float64 // the sum of the squared residuals
	spreadX   float64 // the sum of the squared distances of the x values from their mean
	grain     float64 // the smallest difference that means anything
}

// likelihood95 is the quantile at 95 % of the chi-squared distribution with one degree of freedom.
// A knot is within its bounds if twice the logarithm of the likelihood ratio is below it (Wilks).
const likelihood95 = 3.841

// leastRise is the smallest number of values on the straight line.
const leastRise = 3

// fitHinge fits a hinge by least squares. If the values may rise from the first one on, the knot is
// the first value: the values then do not show where the rise began.
func fitHinge(values []float64, grain float64) hinge {
	n := len(values)
	fits := make([]hinge, 0, n)
	best := 0
	for k := 0; k == 0 || k < n-leastRise; k++ {
		h := hinge{knot: k, grain: grain}
		h.fit(values)
		if fits = append(fits, h); h.squares < fits[best].squares {
			best = k
		}
	}
	within := func(k int) bool {
		return float64(n)*math.Log(fits[k].spread(n)/fits[best].spread(n)) <= likelihood95
	}
	early, late := best, best
	for k := range fits {
		if within(k) {
			early, late = min(early, k), max(late, k)
		}
	}
	h := fits[best]
	if early == 0 {
		h = fits[0]
	}
	h.early, h.late = early, late
	h.low, h.high = h.slope, h.slope
	for k := early; k <= late; k++ {
		reach := fits[k].reach(n, fits[best].spread(n))
		h.low, h.high = min(h.low, fits[k].slope-reach), max(h.high, fits[k].slope+reach)
	}
	return h
}

// reach returns how far the slope may be from the fitted slope if the knot is that of h. The
// parameter best is the spread of the best fit. A slope that differs by d adds spreadX d^2 to the
// squared residuals. Its likelihood ratio to the best fit has the limit of [likelihood95], with
// n-3 degrees of freedom in place of n, because n values fit three parameters too closely.
func (h *hinge) reach(n int, best float64) float64 {
	more := best*math.Exp(likelihood95/float64(max(1, n-3))) - h.spread(n)
	return math.Sqrt(max(0, more) * float64(n) / h.spreadX)
}

// fit sets the level, the slope and the squares for the knot.
func (h *hinge) fit(values []float64) {
	n := float64(len(values))
	var y, x, xx, xy float64
	for i, v := range values {
		at := float64(max(0, i-h.knot))
		y, x, xx, xy = y+(v-values[0]), x+at, xx+at*at, xy+at*(v-values[0])
	}
	if d := n*xx - x*x; d > 0 {
		h.slope, h.spreadX = (n*xy-x*y)/d, d/n
	}
	h.level = values[0] + (y-h.slope*x)/n
	for i, v := range values {
		h.squares += (v - h.at(i)) * (v - h.at(i))
	}
}

// at returns the fitted value with this index.
func (h *hinge) at(i int) float64 { return h.level + h.slope*float64(max(0, i-h.knot)) }

// spread returns the mean square of the residuals of n values, which is at least that of the grain.
func (h *hinge) spread(n int) float64 { return h.squares/float64(n) + h.grain*h.grain }

// explains reports whether the hinge explains the values better than levels that change at the
// given indexes, by Schwarz's criterion (BIC). A hinge has three parameters. Steps have a level
// each, one more level before the first, and a position each.
func (h *hinge) explains(values []float64, steps []int) bool {
	n := len(values)
	squares := 0.0
	for i := 0; i <= len(steps); i++ {
		from, to := 0, n
		if i > 0 {
			from = steps[i-1]
		}
		if i < len(steps) {
			to = steps[i]
		}
		if from < 0 || to <= from {
			return false
		}
		sum := 0.0
		for _, v := range values[from:to] {
			sum += v - values[from]
		}
		mean := values[from] + sum/float64(to-from)
		for _, v := range values[from:to] {
			squares += (v - mean) * (v - mean)
		}
	}
	levels := hinge{squares: squares, grain: h.grain}
	more := float64(3 - (2*len(steps) + 1)) // parameters
	return float64(n)*math.Log(h.spread(n)/levels.spread(n))+more*math.Log(float64(n)) < 0
}

// drift returns the hinge as the drift of a series whose values times sign were fitted.
func (h *hinge) drift(s *Series, sign float64) Drift {
	first := func(knot int) int { // the index of the first worse value
		if knot == 0 {
			return 0
		}
		return knot + 1
	}
	from := first(h.knot)
	d := Drift{
		Series: s, From: s.Runs[from], Good: -1, Early: s.Runs[first(h.early)],
		Late: s.Runs[first(h.late)], First: sign * h.level, Runs: len(s.Values) - from,
	}
	if from > 0 {
		d.Good = s.Runs[from-1]
	}
	for i := range s.Values {
		d.Fitted = append(d.Fitted, sign*h.at(i))
	}
	d.Last = d.Fitted[len(d.Fitted)-1]
	return d
}
