package shape

import (
	"math"
	"slices"
)

// A Shape describes what a series does over the files, apart from lasting growth.
type Shape string

// These are the shapes.
const (
	Flat     Shape = "flat"
	WarmUp   Shape = "warm-up"  // changes only at the beginning
	Step     Shape = "step"     // changes once
	Steps    Shape = "steps"    // changes twice
	Sawtooth Shape = "sawtooth" // grows and is cleared, repeatedly
)

// A Series holds one reading for each file.
type Series struct {
	// Values has a finite value for each file, in the order of the files, or NaN for a missing
	// value.
	Values []float64
	// Audio is the length of each file's audio in seconds, or nil if unknown.
	Audio []float64
	// Resolution is half a unit of the last digit that the log prints, or 0 for exact values.
	Resolution float64
	// Grain is the smallest difference that means anything. For memory it is 512 bytes, because
	// allocations are rounded up to a multiple of that.
	Grain float64
	// Level is the probability with which noise alone may make the series look growing. 0 means
	// 0.001. If a run has several series, a level of 0.001 divided by their number for each keeps
	// the run's false alarms at 0.1 %.
	Level float64
}

// An Interval is an estimate with bounds that contain the true value in 95 % of cases.
type Interval struct{ Estimate, Low, High float64 }

// A Result describes a series. Its Shape is "" for a series that is too short to judge.
type Result struct {
	Shape Shape
	// Growing is set if the series grows and continues to grow. Noise alone makes a series without
	// growth look so with a probability of at most [Series.Level].
	Growing bool
	// Sure is the smallest level at which the growth is certain: Growing is set at a [Series.Level] of
	// Sure or more, and not below. It is between 0 and 0.001, or 1 if the growth is certain at no
	// level. It does not depend on the level at which the series was judged.
	Sure float64
	// Slope is the growth per file at the end of the series. Its bounds allow for the rounding of
	// the printed digits.
	Slope Interval
	// Error is the standard error of the slope, without the rounding of the printed digits. It is
	// infinite if growth cannot be told from an effect of the audio's length.
	Error float64
	// Early and Late are the slopes of the two halves of the series, with all steps and warm-ups in
	// them. They are NaN if the length of the audio explains them as well.
	Early, Late float64
	// Rounding is how much growth per file the rounding of the printed digits may hide or feign.
	Rounding float64
	// Detectable is the growth per file that the method finds in half of all series with noise like
	// this one's.
	Detectable float64
	// From is the index in the series at which something changes: the first higher value of growth
	// that began late, the first step, or the end of a warm-up.
	From int
	// Size is the sum of the steps, the rise of the warm-up, or the height of a sawtooth.
	Size float64
	// Period is the length of a sawtooth in files.
	Period int
	// FollowsAudio is set if the values depend on the length of the audio. Each second of audio
	// then adds PerSecond to a value.
	FollowsAudio bool
	PerSecond    float64
	// Ordered is set if the files are sorted by the length of their audio, more or less. The effect
	// of the length then looks like growth.
	Ordered bool
	// Phi is the autocorrelation of the noise, and Sigma its standard deviation. In a series of
	// more than 256 values, they describe the means of blocks of consecutive values.
	Phi, Sigma float64
	// Ends is how far the last values lie above the values before them, if the fit left them out as
	// outliers, or took stairs up to the end for noise. They may be outliers, or the beginning of a
	// step or of growth. Ends is 0 for a single last value if an earlier outlier was at least half
	// as high and came back: then the last one is probably another.
	Ends float64
	// Outliers are the indexes of the values that the fit left out.
	Outliers []int
	// Fitted holds the fitted value at each value of the series, and NaN for missing values.
	Fitted []float64
	// Files counts the values that are not missing.
	Files int
}

// LeastFiles is the smallest number of values for which [Of] gives a judgement.
const LeastFiles = 8

// A series of more than valuesMax values is split into at most blocksMax blocks of consecutive
// values, and the means of the blocks are fitted. The last blocksMax values are also fitted by
// themselves, because blocks hide growth that began late.
const (
	valuesMax = 256
	blocksMax = 128
)

// These are how far the bounds of an interval lie from the estimate, in standard errors. The
// standard errors already allow for an uncertain phi, so intervals from a t distribution would be
// no wider. The interval of growth has a confidence of 95 %. If a series does not grow, only its
// upper bound decides, so the bound is one-sided: at most 5 % of series exceed it, as in a test
// of equivalence (Schuirmann 1987). Of 50 values with a phi of 0, 0.3 and 0.6, the true slope
// exceeds it in 3.0, 4.4 and 4.4 %; of 100 values in 3.8, 5.0 and 4.7 % (simulation of 4,000
// series each).
const (
	normal95 = 1.96
	upper95  = 1.645
)

// judgedMax is the largest number of values that judge gets. In a longer series only every k-th
// value is used, where k is the smallest number that suffices.
const judgedMax = 8192

// Of returns the shape of a series, and whether the series grows.
func Of(s Series) Result {
	all := len(s.Values)
	s, index := present(s)
	n := len(s.Values)
	if n < LeastFiles {
		return Result{Files: n, Sure: 1}
	}
	judged, at := s, index
	if n > judgedMax {
		judged, at = every((n+judgedMax-1)/judgedMax, s, index)
	}
	r, _ := judge(judged, at)
	if n > valuesMax {
		last := s
		last.Values = s.Values[n-blocksMax:]
		if s.Audio != nil {
			last.Audio = s.Audio[n-blocksMax:]
		}
		tail, end := judge(last, index[n-blocksMax:])
		// Growth that began late ends higher than everything before it. The rise of a long sawtooth
		// does not.
		if tail.Sure < 1 && end > slices.Max(blocks(s.Values[:n-blocksMax])) {
			sure := min(r.Sure, tail.Sure)
			if tail.Growing && (!r.Growing || tail.Slope.Low > r.Slope.High) {
				r, at = tail, index[n-blocksMax:]
			}
			r.Sure = sure
		}
	}
	r.Files = n
	fitted := slices.Repeat([]float64{math.NaN()}, all)
	next, last := 0, math.NaN()
	for _, i := range index { // a value that was not judged gets the fitted value of the one before it
		if next < len(at) && at[next] == i {
			last = r.Fitted[next]
			next++
		}
		fitted[i] = last
	}
	r.Fitted = fitted
	return r
}

// present returns the series without its missing values, and the indexes of the values that are
// left. If the audio length of any of these files is unknown, present removes all lengths.
func present(s Series) (known Series, index []int) {
	n := 0
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			n++
		}
	}
	known = s
	known.Values, known.Audio = make([]float64, 0, n), nil
	index = make([]int, 0, n)
	if s.Audio != nil {
		known.Audio = make([]float64, 0, n)
	}
	for i, v := range s.Values {
		if !math.IsNaN(v) {
			known.Values, index = append(known.Values, v), append(index, i)
			if s.Audio != nil {
				known.Audio = append(known.Audio, s.Audio[i])
			}
		}
	}
	if slices.ContainsFunc(known.Audio, func(a float64) bool { return !(a > 0) }) {
		known.Audio = nil
	}
	return known, index
}

// every returns every step-th value of a series, and the indexes of these values.
func every(step int, s Series, index []int) (Series, []int) {
	some := s
	some.Values, some.Audio = nil, nil
	var at []int
	for i := 0; i < len(index); i += step {
		some.Values, at = append(some.Values, s.Values[i]), append(at, index[i])
		if s.Audio != nil {
			some.Audio = append(some.Audio, s.Audio[i])
		}
	}
	return some, at
}

// judge returns the shape of a series without missing values, and the level at its end if it grows:
// the last value of the best fit with growth. The parameter index holds the indexes that the values
// had before missing values were removed.
func judge(s Series, index []int) (r Result, end float64) {
	x := make([]float64, len(index))
	for i := range index {
		x[i] = float64(index[i])
	}
	a := newAudio(s, x)
	y, middle := centred(s.Values)
	// Floating-point arithmetic cannot resolve smaller differences than these.
	grain := max(s.Grain, 1e-15*largest(s.Values), 1e-100)
	deviation := s.Resolution / math.Sqrt(3) // the standard deviation of rounding errors
	raw := slices.Clone(y)
	// If more than half of the values print alike, noise may still be as large as a digit.
	y, outliers := a.cleaned(y, max(NormalMAD*s.Resolution, grain))
	ends := endsAbove(raw, y, outliers)
	trust := float64(len(y)-len(outliers)) / float64(len(y))
	// Values that are multiples of the grain hide noise below this. Sums of squares have still
	// fewer digits than the values.
	grain = max(grain/math.Sqrt(12), 1e-10*largest(y))
	y, x, a.seconds = blocks(y), blocks(x), blocks(a.seconds)

	b := newFitter(y, x, &a, max(deviation, grain), grain)
	b.trust, b.level = trust, s.Level
	if last := len(x) - 1; len(index) > valuesMax {
		b.width = (x[last] - x[0]) / float64(last)
	}
	m, growth, c := b.chosen(s.Resolution)
	grows := c.grows
	if m.shape == Flat && !grows {
		ends = max(ends, stairs(raw))
	}
	r = Result{
		Shape: m.shape, Growing: grows, Sure: c.sure, Ordered: a.ordered, Ends: ends,
	}
	slope, se := b.slope(growth, grows)
	early, late := b.halves()
	least, most := b.unrounded(growth, slope, s.Resolution)
	r.Rounding = max(slope-least, most-slope)
	r.Slope.Estimate, r.Error, r.Early, r.Late = slope, se, early, late
	r.Slope.Low, _ = b.unrounded(growth, slope-normal95*se, s.Resolution)
	upper := upper95
	if grows {
		upper = normal95
	}
	_, r.Slope.High = b.unrounded(growth, slope+upper*se, s.Resolution)
	r.Detectable = b.needed(growth)*b.se(growth) + r.Rounding
	if m != growth { // growth and audio cannot be told apart: all of the slope may be growth, or none
		r.Slope.Low, r.Slope.High = r.Slope.Low-max(slope, 0), r.Slope.High-min(slope, 0)
		r.Detectable += math.Abs(slope)
		r.Error = math.Inf(1)
	}
	r.Phi, r.Sigma = m.phi, m.sigma
	if len(b.fixed) > 1 {
		r.FollowsAudio, r.PerSecond = true, m.beta[1]
	}
	for _, i := range outliers {
		r.Outliers = append(r.Outliers, index[i])
	}
	r.describe(m, b, index)
	for i := range index { // values after the last block get the fit of that block
		r.Fitted = append(r.Fitted, middle+m.at(min(i/blockSize(len(index)), len(y)-1)))
	}
	if c.growing != nil {
		end = middle + c.growing.at(len(y)-1)
	}
	return r, end
}

// endsAbove returns [Result.Ends]. The parameter clean holds the values of raw without outliers.
// A single last value is probably one more outlier if an earlier one was at least half as high
// and the level came back. Several high values at the end may be growth.
func endsAbove(raw, clean []float64, outliers []int) float64 {
	last := len(raw) - 1
	ends := raw[last] - clean[last]
	if slices.Contains(outliers, last-1) {
		return ends
	}
	for _, i := range outliers {
		if i < last-1 && raw[i]-clean[i] >= ends/2 {
			return 0
		}
	}
	return ends
}

// stairsMin is the number of rises at the end of a series that are no accident.
const stairsMin = 3

// stairs returns how far the last quarter of the values rises, if it rises at least stairsMin
// times and never falls. Growth that began late looks so if only few digits are printed. The fit
// takes it for noise in which each value resembles the one before it, because nearly all are
// equal.
func stairs(values []float64) float64 {
	end := values[len(values)*3/4:]
	rises := 0
	for i := 1; i < len(end); i++ {
		if end[i] < end[i-1] {
			return 0
		}
		if end[i] > end[i-1] {
			rises++
		}
	}
	if rises < stairsMin {
		return 0
	}
	return end[len(end)-1] - end[0]
}

// centred returns the values minus their median, and the median. Smaller numbers lose fewer
// digits when they are squared.
func centred(v []float64) (less []float64, middle float64) {
	less = slices.Clone(v)
	middle = median(slices.Clone(v))
	for i := range less {
		less[i] -= middle
	}
	return less, middle
}

// largest returns the largest absolute value.
func largest(v []float64) float64 { return max(slices.Max(v), -slices.Min(v)) }

// unevenShare is how much faster or slower, as a share of its rate, growth may be at first
// without being a warm-up. A leak of what each file happens to need is never even: its sum
// wanders around a line, and for a while looks like one that is steeper or flatter. If the
// amounts vary by a factor of 2, the fit finds such a false warm-up in 11, 14 and 29 % of leaks
// over 50, 90 and 200 files (200 simulated each).
const unevenShare = 0.5

// describe sets in r where the shape changes (From), and by how much (Size). Growth with a
// warm-up that is small beside it has no such place: it grows from the first file on.
func (r *Result) describe(m *model, b *fitter, index []int) {
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
		at = m.breaks[0] + 1 // the first higher value
	}
	if r.Shape == WarmUp && r.Growing &&
		math.Abs(r.Size) < unevenShare*r.Slope.Estimate*(at-b.x[0]) {
		r.Shape, r.Size, at = Flat, 0, 0
	}
	for r.From < len(index)-1 && float64(index[r.From]) < at {
		r.From++
	}
	r.From = index[r.From]
}

// blockSize returns the number of values in each block of a series of n values. It is 1 if the
// series is not split into blocks.
func blockSize(n int) int {
	if n <= valuesMax {
		return 1
	}
	return (n + blocksMax - 1) / blocksMax
}

// blocks returns the means of the blocks of a series, or the series itself if it is not split
// into blocks.
func blocks(v []float64) []float64 {
	size := blockSize(len(v))
	if size == 1 {
		return v
	}
	means := make([]float64, 0, blocksMax)
	for len(v) >= size { // the rest is shorter than a block
		sum := 0.0
		for _, x := range v[:size] {
			sum += x
		}
		means = append(means, sum/float64(size))
		v = v[size:]
	}
	return means
}
