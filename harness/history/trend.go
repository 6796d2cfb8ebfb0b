package history

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"vramsoak/harness/check"
	"vramsoak/harness/history/changepoint"
	"vramsoak/harness/shape"
)

// MinGrowth is the least change of the growth by file that is worth naming, in bytes a file: a quarter of what the leak check
// allows by default.
const MinGrowth = 64 << 10

// A Change is a place in a series where its level changed.
type Change struct {
	Series *Series
	// Good and Bad are places in History.Runs: the last run of the old level and the first of the new one.
	Good, Bad int
	// Before and After are the medians of the two levels, in the series' unit.
	Before, After float64
	Worse         bool
	// Lasting says that it is for the worse, and that no later level is back where it was before.
	Lasting bool
	// Runs is how long the new level has lasted, or did.
	Runs int
	// Off is by how many runs the place may be off, where the step is not much larger than the noise.
	Off int
	// Young says that it was found by the t test of [changepoint.Recent]: by order alone, so few runs cannot tell.
	Young bool
}

// Step is by how much a change is for the worse; for the better it is negative.
func (c Change) Step() float64 {
	if c.Series.HigherIsBetter {
		return c.Before - c.After
	}
	return c.After - c.Before
}

// Judged are the series in which changes are looked for: of each metric the statistic that says most. A peak is what must
// fit, so the worst counts; of the others the median.
func (h *History) Judged() []*Series {
	var out []*Series
	for i := range h.Series {
		s := &h.Series[i]
		statistic := MedianOf
		if s.Metric == "peak" || s.Metric == check.PeakReserved ||
			strings.HasPrefix(s.Metric, "peak of ") {
			statistic = Worst
		}
		if s.Statistic == statistic || s.Statistic == GrowthRate {
			out = append(out, s)
		}
	}
	return out
}

// Changes finds the changes of some series, each in the order of time: those by more than the policy lets a run differ from
// an earlier one. The policy's rate of false alarms is the probability that a suite whose level never changed is said to have
// changed, by each of the two tests of [changepoint]. The series share it evenly (Bonferroni), so that it holds for all of
// them together, however they depend on each other.
func (h *History) Changes(series []*Series, policy check.RegressionPolicy) []Change {
	const least = 1e-6 // a rarer order takes a million draws to tell
	level := max(least, float64(policy.FalseAlarms)/float64(len(series)))
	found := make([][]Change, len(series))
	var work sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, s := range series {
		work.Go(func() {
			room <- struct{}{}
			found[i] = s.changes(policy, level)
			<-room
		})
	}
	work.Wait()
	return slices.Concat(found...)
}

func (s *Series) changes(policy check.RegressionPolicy, level float64) []Change {
	bounds := s.merge(policy, changepoint.Find(s.Values, level))
	last := bounds[len(bounds)-2]
	young, found := changepoint.Recent(s.Values[last:], s.Resolution, level)
	if found && s.matters(policy, shape.Median(s.Values[last:last+young]),
		shape.Median(s.Values[last+young:])) {
		bounds = slices.Insert(bounds, len(bounds)-1, last+young)
	} else {
		found = false
	}
	levels := make([]float64, len(bounds)-1)
	for i := range levels {
		levels[i] = shape.Median(s.Values[bounds[i]:bounds[i+1]])
	}
	var out []Change
	for i := 1; i < len(levels); i++ {
		at := bounds[i]
		c := Change{
			Series: s, Good: s.Runs[at-1], Bad: s.Runs[at], Before: levels[i-1], After: levels[i],
			Runs:  bounds[i+1] - at,
			Young: found && i == len(levels)-1,
		}
		c.Worse = c.Step() > 0
		c.Off = off(s.Values[bounds[i-1]:at], s.Values[at:bounds[i+1]])
		lasting := true
		for _, later := range levels[i:] {
			now := c
			now.After = later
			lasting = lasting && now.Step() > 0 && s.matters(policy, c.Before, later)
		}
		c.Lasting = c.Worse && lasting
		out = append(out, c)
	}
	return out
}

// off is half the width of a 95 % confidence interval of a change's place, 11 (noise / step)^2 (Bai 1997, "Estimation of a
// change point in multiple regression models", Rev. Econ. Stat. 79).
func off(before, after []float64) int {
	b, a := shape.Median(before), shape.Median(after)
	var distances []float64
	for _, v := range before {
		distances = append(distances, math.Abs(v-b))
	}
	for _, v := range after {
		distances = append(distances, math.Abs(v-a))
	}
	noise := 1.4826 * shape.Median(distances) // the factor makes it a normal standard deviation
	return int(min(11*noise*noise/((a-b)*(a-b)), float64(min(len(before), len(after)))))
}

// merge joins levels that differ by too little to matter, the closest first. The result begins with 0 and ends with the
// number of values.
func (s *Series) merge(policy check.RegressionPolicy, places []int) []int {
	bounds := slices.Concat([]int{0}, places, []int{len(s.Values)})
	for {
		closest, least := 0, 1.0
		for i := 1; i+1 < len(bounds); i++ {
			before := shape.Median(s.Values[bounds[i-1]:bounds[i]])
			after := shape.Median(s.Values[bounds[i]:bounds[i+1]])
			if share := math.Abs(after-before) / s.least(policy, before); share < least {
				closest, least = i, share
			}
		}
		if closest == 0 {
			return bounds
		}
		bounds = slices.Delete(bounds, closest, closest+1)
	}
}

// matters says whether a change is large enough to be named.
func (s *Series) matters(policy check.RegressionPolicy, before, after float64) bool {
	return math.Abs(after-before) >= s.least(policy, before)
}

// least is the least change that matters. What rounding alone makes does not.
func (s *Series) least(policy check.RegressionPolicy, before float64) float64 {
	least := float64(policy.MinEffect) * math.Abs(before)
	switch s.Unit {
	case check.Bytes:
		least = max(least, float64(policy.MinBytes.Bytes))
	case check.BytesPerFile:
		least = max(least, MinGrowth)
	case check.Seconds, check.TimesRealTime:
		least = float64(policy.MinSlowdown) * math.Abs(before)
	}
	return max(least, 2*s.Resolution, math.SmallestNonzeroFloat64)
}
