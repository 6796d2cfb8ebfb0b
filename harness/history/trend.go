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

// minGrowth is the smallest change in growth that is reported, in bytes a file. It is a third of
// the leak check's default limit.
const minGrowth = 64 << 10

// A Change says where the level of a series changed, and by how much.
type Change struct {
	Series *Series
	// Good is the last run of the old level, and Bad is the first run of the new one. Both are indexes
	// in History.Runs.
	Good, Bad int
	// Before and After are the medians of the two levels, in the series' unit.
	Before, After float64
	Worse         bool
	// Lasting is set if the change is for the worse and the series never returned to the old level.
	Lasting bool
	// Runs is the number of runs at the new level.
	Runs int
	// Off is by how many runs the position may be wrong. It is above 0 only if the step is not much
	// larger than the noise.
	Off int
	// Young is set if the t test of [changepoint.Recent] found the change. The new level then has too
	// few runs for the test of [changepoint.Find].
	Young bool
}

// Step returns how much worse the new level is. It is negative for an improvement.
func (c Change) Step() float64 {
	if c.Series.HigherIsBetter {
		return c.Before - c.After
	}
	return c.After - c.Before
}

// Judged returns the series in which Changes should search: one statistic of each metric, and the
// growth. The statistic of a peak is that of the worst file, because memory must be large enough
// for each file. For other metrics it is the median.
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

// Changes returns the changes of some series, sorted by series and then by time. It leaves out
// changes that are smaller than the limits that the policy sets for a comparison of two runs. The
// policy's FalseAlarms limits the probability that a change is reported in a suite without changes,
// for each of the two tests of [changepoint]. Each series gets an equal part of this probability
// (Bonferroni). So the limit holds for all series together, even if they depend on each other.
func (h *History) Changes(series []*Series, policy check.RegressionPolicy) []Change {
	const least = 1e-6 // a smaller probability would take more than a million random orders
	level := max(least, float64(policy.FalseAlarms)/float64(len(series)))
	found := make([][]Change, len(series))
	var work sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, s := range series {
		work.Go(func() {
			slots <- struct{}{}
			found[i] = s.changes(policy, level)
			<-slots
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

// off returns by how many runs the position of a change may be wrong: half the width of a 95 %
// confidence interval, which is 11 (noise / step)^2. The source is Bai 1997, "Estimation of a
// change point in multiple regression models", Rev. Econ. Stat. 79.
func off(before, after []float64) int {
	b, a := shape.Median(before), shape.Median(after)
	var distances []float64
	for _, v := range before {
		distances = append(distances, math.Abs(v-b))
	}
	for _, v := range after {
		distances = append(distances, math.Abs(v-a))
	}
	// The factor turns a median distance into the standard deviation of normal noise.
	noise := 1.4826 * shape.Median(distances)
	return int(min(11*noise*noise/((a-b)*(a-b)), float64(min(len(before), len(after)))))
}

// merge joins neighbouring levels whose difference is too small to matter, beginning with the
// smallest difference. The parameter changes holds the indexes at which levels begin. merge returns
// the bounds of the levels that are left, from 0 to the number of values.
func (s *Series) merge(policy check.RegressionPolicy, changes []int) []int {
	bounds := slices.Concat([]int{0}, changes, []int{len(s.Values)})
	for {
		closest, least := 0, 1.0
		for i := 1; i+1 < len(bounds); i++ {
			before := shape.Median(s.Values[bounds[i-1]:bounds[i]])
			after := shape.Median(s.Values[bounds[i]:bounds[i+1]])
			if size := math.Abs(after-before) / s.least(policy, before); size < least {
				closest, least = i, size
			}
		}
		if closest == 0 {
			return bounds
		}
		bounds = slices.Delete(bounds, closest, closest+1)
	}
}

// matters reports whether the change from before to after is large enough to be reported.
func (s *Series) matters(policy check.RegressionPolicy, before, after float64) bool {
	return math.Abs(after-before) >= s.least(policy, before)
}

// least returns the smallest change from the level before that matters. It is at least as large as
// any change that rounding can cause.
func (s *Series) least(policy check.RegressionPolicy, before float64) float64 {
	least := float64(policy.MinEffect) * math.Abs(before)
	switch s.Unit {
	case check.Bytes:
		least = max(least, float64(policy.MinBytes.Bytes))
	case check.BytesPerFile:
		least = max(least, minGrowth)
	case check.Seconds, check.TimesRealTime:
		least = float64(policy.MinSlowdown) * math.Abs(before)
	}
	return max(least, 2*s.Resolution, math.SmallestNonzeroFloat64)
}
