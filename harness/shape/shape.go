package shape

import (
	"math"
	"slices"
)

// A Shape is what a series does over the files, beside growth that goes on.
type Shape string

// The shapes.
const (
	Flat     Shape = "flat"
	WarmUp   Shape = "warm-up"  // changes at first, and then no more
	Step     Shape = "step"     // changes once
	Steps    Shape = "steps"    // changes twice
	Sawtooth Shape = "sawtooth" // grows and is cleared, again and again
)

// A Series is one reading a file.
type Series struct {
	// Values has one a file, in the order in which they were worked on, finite; NaN where there is none.
	Values []float64
	// Audio is the length of each file's audio, in seconds; nil where they are not known.
	Audio []float64
	// Resolution is half the last digit that the values were printed with; 0 where they are exact.
	Resolution float64
	// Grain is the least difference that means anything: 512 bytes for allocations, which are rounded up to it.
	Grain float64
}

// An Interval is an estimate with the bounds within which the truth lies in 95 % of cases.
type Interval struct{ Estimate, Low, High float64 }

// A Result is what a series does. Its Shape is "" for a series too short to say.
type Result struct {
	Shape Shape
	// Growing says that it grows and goes on growing. Noise looks so in under 0.1 % of cases.
	Growing bool
	// Slope is the growth a file at the end of the series. What the digits hide lies within its bounds.
	Slope Interval
	// Rounding is by how much the digits alone may hide growth, a file, in either direction.
	Rounding float64
	// Detectable is the growth a file that is found in half of such series, and more growth in more of them.
	Detectable float64
	// From is the index of the first value that is higher, where growth begins late; of a step, where the first one is; of a warm-up, where it ends.
	From int
	// Size is how much the steps or the warm-up add, or what a sawtooth rises to.
	Size float64
	// Period is that of a sawtooth, in files.
	Period int
	// FollowsAudio says that the length of the audio counts, and was allowed for; a second adds PerSecond.
	FollowsAudio bool
	PerSecond    float64
	// Ordered says that the audio grows longer with the files, or shorter: what follows it looks like growth.
	Ordered bool
	// Phi is the autocorrelation of the noise, Sigma its standard deviation: in a series of more than 256 values, of the means of
	// blocks.
	Phi, Sigma float64
	// Ends is how far the last value lies above the ones before, where it was left out: a step that comes last, or an outlier.
	Ends float64
	// Outliers are the indices of values that were left out.
	Outliers []int
	// Fitted is what the shape, with growth where there is some, is at each value; NaN where there is no value.
	Fitted []float64
	// Files is the number of values that there are.
	Files int
}

// LeastFiles is how many values a series must have to be judged.
const LeastFiles = 8

// A series of more than valuesMax values is fitted as the means of blocksMax or fewer blocks, and as many of its last values by
// themselves too, because growth that began late is lost in blocks.
const (
	valuesMax = 256
	blocksMax = 128
)

// normal95 is how many standard errors hold the truth in 95 % of cases. The errors are over all autocorrelations, which adds what
// a t distribution would.
const normal95 = 1.96

// looked is how many values of a series are looked at, at most: of a longer one every second, or third.
const looked = 8192

// Of judges a series.
func Of(s Series) Result {
	all := len(s.Values)
	s, index := present(s)
	n := len(s.Values)
	if n < LeastFiles {
		return Result{Files: n}
	}
	at := index
	r := Result{}
	if n > looked {
		var some Series
		some, at = every((n+looked-1)/looked, s, index)
		r = judge(some, at)
	} else {
		r = judge(s, index)
	}
	if n > valuesMax {
		last := s
		last.Values = s.Values[n-blocksMax:]
		if s.Audio != nil {
			last.Audio = s.Audio[n-blocksMax:]
		}
		tail := judge(last, index[n-blocksMax:])
		// Growth that began late ends higher than all that came before; the rise of a long sawtooth does not.
		higher := tail.Fitted != nil &&
			tail.Fitted[blocksMax-1] > slices.Max(blocks(s.Values[:n-blocksMax]))
		if tail.Growing && higher && (!r.Growing || tail.Slope.Low > r.Slope.High) {
			r, at = tail, index[n-blocksMax:]
		}
	}
	r.Files = n
	fitted := slices.Repeat([]float64{math.NaN()}, all)
	next, last := 0, math.NaN()
	for _, i := range index { // those that were not looked at have the value of the one before
		if next < len(at) && at[next] == i {
			last = r.Fitted[next]
			next++
		}
		fitted[i] = last
	}
	r.Fitted = fitted
	return r
}

// present leaves out what is missing. index has the places of what is there. Lengths of the audio are left out where one is not
// known.
func present(s Series) (there Series, index []int) {
	n := 0
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			n++
		}
	}
	there = Series{Resolution: s.Resolution, Grain: s.Grain, Values: make([]float64, 0, n)}
	index = make([]int, 0, n)
	if s.Audio != nil {
		there.Audio = make([]float64, 0, n)
	}
	for i, v := range s.Values {
		if !math.IsNaN(v) {
			there.Values, index = append(there.Values, v), append(index, i)
			if s.Audio != nil {
				there.Audio = append(there.Audio, s.Audio[i])
			}
		}
	}
	if slices.ContainsFunc(there.Audio, func(a float64) bool { return !(a > 0) }) {
		there.Audio = nil
	}
	return there, index
}

// every thins a series out.
func every(step int, s Series, index []int) (Series, []int) {
	some := Series{Resolution: s.Resolution, Grain: s.Grain}
	var at []int
	for i := 0; i < len(index); i += step {
		some.Values, at = append(some.Values, s.Values[i]), append(at, index[i])
		if s.Audio != nil {
			some.Audio = append(some.Audio, s.Audio[i])
		}
	}
	return some, at
}

// judge judges a series without gaps, whose values have the given indices.
func judge(s Series, index []int) Result {
	x := make([]float64, len(index))
	for i := range index {
		x[i] = float64(index[i])
	}
	a := newAudio(s, x)
	y, middle := centred(s.Values)
	grain := max(s.Grain, 1e-15*largest(s.Values), 1e-100) // no arithmetic shows less
	deviation := s.Resolution / math.Sqrt(3)               // of what rounding does
	raw := y[len(y)-1]
	y, outliers := a.cleaned(y, max(deviation, grain))
	ends := raw - y[len(y)-1]
	trust := float64(len(y)-len(outliers)) / float64(len(y))
	grain = max(grain, 1e-10*largest(y)) // nor do sums of squares
	y, x, a.seconds = blocks(y), blocks(x), blocks(a.seconds)

	b := newBench(y, x, &a, max(deviation, grain), grain)
	b.trust = trust
	if last := len(x) - 1; len(index) > valuesMax {
		b.width = (x[last] - x[0]) / float64(last)
	}
	m, growth, grows := b.chosen(s.Resolution)
	r := Result{Shape: m.shape, Growing: grows, Ordered: a.ordered, Ends: ends,
		Rounding: b.rounding(growth, s.Resolution)}
	slope, se := b.slope(growth, grows)
	half := normal95*se + r.Rounding
	r.Slope = Interval{slope, slope - half, slope + half}
	r.Detectable = b.needed(growth)*b.se(growth) + r.Rounding
	if m != growth { // all, or nothing, of it is growth
		r.Slope = Interval{slope, min(slope, 0) - half, max(slope, 0) + half}
		r.Detectable += math.Abs(slope)
	}
	r.Phi, r.Sigma = m.phi, m.sigma
	if len(b.fixed) > 1 {
		r.FollowsAudio, r.PerSecond = true, m.beta[1]
	}
	for _, i := range outliers {
		r.Outliers = append(r.Outliers, index[i])
	}
	r.describe(m, b, index)
	for i := range index { // what is left over has the last block's
		r.Fitted = append(r.Fitted, middle+m.at(min(i/blockSize(len(index)), len(y)-1)))
	}
	return r
}

// centred are the values less their median: the squares of what is left lose fewer digits.
func centred(v []float64) (less []float64, middle float64) {
	less = slices.Clone(v)
	middle = median(slices.Clone(v))
	for i := range less {
		less[i] -= middle
	}
	return less, middle
}

// largest is the largest absolute value.
func largest(v []float64) float64 { return max(slices.Max(v), -slices.Min(v)) }

// describe says where the shape breaks, and by how much.
func (r *Result) describe(m *model, b *bench, index []int) {
	at := 0.0
	shape := m.beta[len(b.fixed):]
	switch {
	case m.shape == Step:
		at, r.Size = m.breaks[0], shape[0]
	case m.shape == Steps:
		at, r.Size = m.breaks[0], shape[0]+shape[1]
	case m.shape == WarmUp && m.tau > 0:
		at, r.Size = b.x[0]+math.Round(3*m.tau), shape[0]
	case m.shape == WarmUp:
		at, r.Size = m.breaks[0], shape[0]*(m.breaks[0]-b.x[0])
	case m.shape == Sawtooth:
		r.Period, r.Size = m.period, shape[0]*float64(m.period-1)
	case len(m.breaks) > 0:
		at = m.breaks[0] + 1 // the first that is higher
	}
	for r.From < len(index)-1 && float64(index[r.From]) < at {
		r.From++
	}
	r.From = index[r.From]
}

// blockSize is how many of so many values a block has: 1 where there are no blocks.
func blockSize(n int) int {
	if n <= valuesMax {
		return 1
	}
	return (n + blocksMax - 1) / blocksMax
}

// blocks are the means of the blocks of a series.
func blocks(v []float64) []float64 {
	size := blockSize(len(v))
	if size == 1 {
		return v
	}
	means := make([]float64, 0, blocksMax)
	for len(v) >= size { // what is left over is less than a block
		sum := 0.0
		for _, x := range v[:size] {
			sum += x
		}
		means = append(means, sum/float64(size))
		v = v[size:]
	}
	return means
}
