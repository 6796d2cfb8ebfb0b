package check

import (
	"math"

	"vramsoak/harness/shape"
)

// GrowthVerdict returns the verdict on a series that may grow by limit from one file to the next:
//
//   - Fail if growth is certain and the estimated slope, less its rounding error, exceeds the
//     limit.
//   - Pass if the whole confidence interval of the slope is within the limit. Two exceptions do not
//     pass: two steps up, because they may be growth in leaps; and a last value that lies above the
//     others, because it may be the first leap. Both decide nothing if such leaps cannot amount to
//     the limit: see [leaps].
//   - Undecided otherwise, also for a series that is too short to have a shape.
func GrowthVerdict(r *shape.Result, limit float64) Verdict {
	switch {
	case r.Shape == "":
		return Undecided
	case r.Growing && r.Slope.Estimate-r.Rounding > limit:
		return Fail
	case r.Slope.High <= limit && !stepsUp(r, limit) && !endsHigh(r, limit):
		return Pass
	}
	return Undecided
}

// stepsUp reports whether two steps up may be growth in leaps that exceeds the limit.
func stepsUp(r *shape.Result, limit float64) bool {
	return r.Shape == shape.Steps && leaps(2, r.Size, r.Files) > limit
}

// endsHigh reports whether the last value may be the first leap of growth that exceeds the limit.
func endsHigh(r *shape.Result, limit float64) bool { return leaps(1, r.Ends, r.Files) > limit }

// leaps returns the most growth per file that may show as few leaps, 1 or 2, of together this
// size in a series of so many files. If leaps come at random, their number has a Poisson
// distribution. Its mean is at most 5.57 if 1 leap was seen, and at most 7.22 if 2 were seen,
// with the confidence of a bound of a 95 % interval (Garwood 1936).
func leaps(few int, size float64, files int) float64 {
	most := [...]float64{1: 5.572, 2: 7.225}[few]
	return most * size / float64(few) / float64(max(1, files))
}

// smallShare is the share of the run's peak below which steps and a higher last value decide
// nothing. If growth in leaps so small went on at the highest rate that two leaps leave possible,
// as many files again would add 0.36 % of the peak. The regression check ignores less than 1 %.
const smallShare = 0.001

// fewCounts is the number of descriptors, threads or processes that decide nothing if they are
// all that a run gains. A shell has a few more or less open from one moment to the next.
const fewCounts = 4

// small returns the change of the level below which it decides nothing.
func (s *series) small() float64 {
	if s.unit == Count {
		return fewCounts
	}
	return smallShare * s.peak
}

// ignoreSmall makes the shape flat if its steps, its warm-up or its teeth are smaller than the
// limit or than small. It also ignores such a last value.
func ignoreSmall(r *shape.Result, limit, small float64) {
	if r.Ends <= small {
		r.Ends = 0
	}
	if math.Abs(r.Size) >= max(limit, small) {
		return
	}
	if r.Shape != shape.Flat {
		r.From = 0
	}
	r.Shape = shape.Flat
}
