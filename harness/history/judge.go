package history

import (
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/history/changepoint"
	"vramsoak/harness/shape"
)

// A judge follows one series run by run. After each run it knows which changes are reported. A
// reported change stays reported until the runs after it take it back. So the result depends only
// on the values, and not on how often somebody looked at it.
type judge struct {
	series   *Series
	policy   check.RegressionPolicy
	detector *changepoint.Detector
	levels   []level   // one more than the detector has changes
	newest   []float64 // the values of the newest level, sorted
	// reported holds the changes that are reported, by [changepoint.Change.Seen].
	reported  map[int]Change
	withdrawn []Withdrawn
}

// A level holds the median of the values between two indexes.
type level struct {
	from, to int
	median   float64
}

// newJudge returns a judge of a series, before its first run. The parameter alarms is the
// probability that a change is ever reported if there is none.
func newJudge(s *Series, policy check.RegressionPolicy, alarms float64) *judge {
	return &judge{
		series: s, policy: policy, detector: changepoint.NewDetector(alarms, s.Resolution),
		reported: map[int]Change{},
	}
}

// add judges the first n values, after the first n-1.
func (j *judge) add(n int) {
	gone := len(j.detector.Gone)
	j.detector.Add(j.series.Values[n-1])
	if len(j.detector.Changes) == 0 && len(j.detector.Gone) == gone {
		return
	}
	j.measure(n)
	for _, g := range j.detector.Gone[gone:] {
		j.withdraw(g.Seen, n-1, g.Back)
	}
	j.report(n)
}

// measure updates the medians of the levels after n values.
func (j *judge) measure(n int) {
	values := j.series.Values
	bounds := []int{0}
	for _, c := range j.detector.Changes {
		bounds = append(bounds, c.At)
	}
	bounds = append(bounds, n)
	old := j.levels
	j.levels = make([]level, len(bounds)-1)
	for i := range j.levels {
		l := level{from: bounds[i], to: bounds[i+1]}
		switch {
		case i == len(j.levels)-1:
			if i == len(old)-1 && old[i].from == l.from && old[i].to == n-1 {
				at, _ := slices.BinarySearch(j.newest, values[n-1])
				j.newest = slices.Insert(j.newest, at, values[n-1])
			} else {
				j.newest = slices.Sorted(slices.Values(values[l.from:n]))
			}
			size := len(j.newest)
			l.median = (j.newest[(size-1)/2] + j.newest[size/2]) / 2
		case i < len(old) && old[i].from == l.from && old[i].to == l.to:
			l.median = old[i].median
		default:
			l.median = shape.Median(values[l.from:l.to])
		}
		j.levels[i] = l
	}
}

// report decides which changes are reported after n values. A change is reported if the level
// changed enough to matter. The level before it is the one next to it, or the one after the last
// reported change: several small changes may matter together. A change that is reported stays so
// until the difference falls below half of what matters; otherwise it would come and go.
func (j *judge) report(n int) {
	first := 0 // the level after the last reported change
	for i, c := range j.detector.Changes {
		before, after := j.levels[i].median, j.levels[i+1].median
		if other := j.levels[first].median; math.Abs(after-other) > math.Abs(after-before) {
			before = other
		}
		least := j.series.least(j.policy, before)
		_, known := j.reported[c.Seen]
		if known {
			least /= 2
		}
		if math.Abs(after-before) < least {
			if known {
				j.withdraw(c.Seen, n-1, 0)
			}
			continue
		}
		change := Change{
			Series: j.series, Good: j.series.Runs[c.At-1], Bad: j.series.Runs[c.At],
			Before: before, After: after, Young: c.Young, level: i + 1, seen: c.Seen,
		}
		change.Worse = change.Step() > 0
		j.reported[c.Seen] = change
		first = i + 1
	}
}

// withdraw takes a reported change back after the value with the index last. The parameter back is
// the number of newest values at the old level.
func (j *judge) withdraw(seen, last, back int) {
	c, known := j.reported[seen]
	if !known {
		return
	}
	delete(j.reported, seen)
	w := Withdrawn{Change: c, Until: j.series.Runs[last], Back: back}
	start := slices.Index(j.series.Runs, c.Bad)
	w.Runs = last + 1 - start
	w.Now = shape.Median(j.series.Values[start : last+1])
	w.Small = !slices.ContainsFunc(j.detector.Gone,
		func(g changepoint.Gone) bool { return g.Seen == seen })
	j.withdrawn = append(j.withdrawn, w)
}

// taken returns the changes that were reported before and are not reported any more.
func (j *judge) taken() []Withdrawn {
	var out []Withdrawn
	for i, w := range j.withdrawn {
		again := func(later Withdrawn) bool { return later.seen == w.seen }
		if _, known := j.reported[w.seen]; !known && !slices.ContainsFunc(j.withdrawn[i+1:], again) {
			out = append(out, w)
		}
	}
	return out
}

// changes returns the reported changes in the order of their runs.
func (j *judge) changes() []Change {
	var out []Change
	for _, c := range j.detector.Changes {
		if change, ok := j.reported[c.Seen]; ok {
			out = append(out, change)
		}
	}
	values := j.series.Values
	for i := range out {
		c := &out[i]
		end := len(j.levels) // the level with the next reported change
		if i+1 < len(out) {
			end = out[i+1].level
		}
		own, before := j.levels[c.level], j.levels[c.level-1]
		c.After = shape.Median(values[own.from:j.levels[end-1].to])
		c.Runs = j.levels[end-1].to - own.from
		c.Off = off(values[before.from:before.to], values[own.from:own.to])
		c.Lasting = c.Worse && j.lasts(*c, end)
	}
	return out
}

// lasts reports whether no level since the change returned to the level before it. The levels up to
// the index end belong to the change itself.
func (j *judge) lasts(c Change, end int) bool {
	for i, l := range j.levels[c.level:] {
		least := j.series.least(j.policy, c.Before)
		if c.level+i < end {
			least /= 2
		}
		now := c
		now.After = l.median
		if now.Step() < least {
			return false
		}
	}
	return true
}
