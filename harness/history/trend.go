package history

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// minGrowth is the smallest change in growth that is reported, in bytes a file. It is a quarter of
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
	// Young is set while the new level has so few runs that only the size of the step distinguishes it
	// from noise.
	Young bool

	level int // index of the new level among those of the series
	seen  int // see [changepoint.Change]
}

// A Withdrawn is a change that was reported after an earlier run, and that the runs after it took
// back. The Change is as it was last reported, but Runs counts the runs up to Until.
type Withdrawn struct {
	Change
	// Until is the run after which the change is no longer reported: an index in History.Runs.
	Until int
	// Now is the median of the runs since the change, up to Until.
	Now float64
	// Back is the number of newest runs that were at the old level again, if that is the reason.
	Back int
	// Small is set if the reason is that the levels differ by less than half of what matters. If Back
	// is 0 and Small is not set, the difference is not larger than the scatter of the runs explains.
	Small bool
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
		if check.IsPeak(s.Metric) {
			statistic = Worst
		}
		if s.Statistic == statistic || s.Statistic == GrowthRate {
			out = append(out, s)
		}
	}
	return out
}

// Changes returns the changes of some series, and the changes that were reported after an earlier
// run and are not reported any more. Both are sorted by series and then by time. Changes leaves out
// what is smaller than the limits that the policy sets for a comparison of two runs. The policy's
// FalseAlarms limits the probability that a change is ever reported in a suite without changes.
// Each series gets an equal part of this probability (Bonferroni). So the limit holds for all
// series together, even if they depend on each other.
func (h *History) Changes(series []*Series, policy check.RegressionPolicy) ([]Change, []Withdrawn) {
	alarms := float64(policy.FalseAlarms) / float64(len(series))
	found, withdrawn := make([][]Change, len(series)), make([][]Withdrawn, len(series))
	var work sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, s := range series {
		work.Go(func() {
			slots <- struct{}{}
			j := newJudge(s, policy, alarms)
			for n := range s.Values {
				j.add(n + 1)
			}
			found[i], withdrawn[i] = j.changes(), j.taken()
			<-slots
		})
	}
	work.Wait()
	return slices.Concat(found...), slices.Concat(withdrawn...)
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
	noise := shape.NormalMAD * shape.Median(distances)
	return int(min(11*noise*noise/((a-b)*(a-b)), float64(min(len(before), len(after)))))
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
	case check.Count:
		least = max(least, 1)
	case check.Seconds, check.TimesRealTime:
		least = float64(policy.MinSlowdown) * math.Abs(before)
	}
	return max(least, 2*s.Resolution, math.SmallestNonzeroFloat64)
}
