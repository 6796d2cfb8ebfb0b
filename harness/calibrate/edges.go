package calibrate

import (
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

type metricKey struct {
	name, unit   string
	rank, device int
	better       bool // higher is better
}

// edges are the limits between the verdicts on a metric of two runs. Limits are bytes, and shares of the base for times; of
// ratios they are a difference.
type edges struct {
	metricKey
	verdict check.Verdict // by the policy
	loose   bool          // where it is undecided that counts for nothing
	base    float64
	// The metric fails by every limit below; below 0 where no limit fails, -Inf where no shift would.
	fires  float64
	passes float64 // it passes by this limit and those above; Inf where so few files never pass
}

func (e edges) failed() bool    { return e.verdict == check.Fail }
func (e edges) undecided() bool { return e.verdict == check.Undecided }

// mustPass says that the run is not decided where the metric is not.
func (e edges) mustPass() bool { return !e.loose && !math.IsInf(e.passes, 1) }

// timed says that the unit is one of times, whose limits are shares.
func (k metricKey) timed() bool { return k.unit == check.Seconds || k.unit == check.TimesRealTime }

// limit is what the limits of a policy are for the metric.
func (e edges) limit(minEffect, minBytes, minSlowdown float64) float64 {
	switch {
	case e.timed():
		return minSlowdown
	case e.unit == check.Bytes:
		return max(minEffect*math.Abs(e.base), minBytes)
	}
	return minEffect * math.Abs(e.base)
}

// amount is a limit in the metric's unit.
func (e edges) amount(limit float64) float64 {
	if e.timed() {
		return limit * math.Abs(e.base)
	}
	return limit
}

// caughtAt is the least shift that fails by a limit. Of times, what counts is the sum of the logarithms.
func (e edges) caughtAt(limit float64) float64 {
	switch {
	case math.IsInf(e.fires, -1):
		return math.Inf(1)
	case e.timed():
		return e.share(e.log(limit) - e.log(e.fires))
	}
	return limit - e.fires
}

// log is by how much the logarithm of a time is worse, of a share by which it is worse; share is the inverse.
func (k metricKey) log(share float64) float64 {
	if k.better {
		return -math.Log1p(-share)
	}
	return math.Log1p(share)
}

func (k metricKey) share(log float64) float64 {
	if k.better {
		return -math.Expm1(-log)
	}
	return math.Expm1(log)
}

// edgesOf compares two runs by the policy, and finds the edges of the metrics whose verdict is asked for.
func edgesOf(base, now *compare.Baseline, whole *check.Policy,
	asked func(check.Verdict) bool) []edges {
	var all []edges
	policy := whole.Regression
	c := compare.Compare(base, now, policy)
	ranks := c // where the policy compares byte by byte, the comparison by ranks is another
	if policy.Exact {
		policy.Exact = false
		ranks = nil
	}
	for i := range c.Changes {
		if v := c.Changes[i].Verdict; v == check.Skipped || !asked(v) {
			continue
		}
		if ranks == nil {
			ranks = compare.Compare(base, now, policy)
		}
		change := &ranks.Changes[i]
		key := metricKey{change.Name, change.Unit, change.Rank, change.Device, change.HigherIsBetter}
		if key.timed() && change.Base == 0 { // nothing is a share of it
			continue
		}
		tests := 0
		for k := range ranks.Changes {
			if ranks.Changes[k].P != nil {
				tests++
			}
		}
		e := edges{metricKey: key, verdict: c.Changes[i].Verdict, base: change.Base, fires: math.Inf(-1),
			passes: math.Inf(1)}
		// Where times are not decided, it is throughput that is not: see compare.Comparison.Findings.
		e.loose = e.timed() && !slices.Contains(whole.Gate, check.Throughput)
		if change.Interval != nil {
			if e.passes = change.Interval.High; e.better {
				e.passes = -change.Interval.Low
			}
			if e.timed() {
				e.passes /= math.Abs(e.base)
			}
			p := probe{metricKey: key, base: only(base, key), now: only(now, key)}
			// By Holm, a metric that is worse alone is tested at this level.
			p.policy.FalseAlarms = policy.FalseAlarms / check.Share(tests)
			e.fires = p.fires(math.Max(math.Abs(change.Interval.Low),
				math.Abs(change.Interval.High)) / scaleOf(e))
		}
		all = append(all, e)
	}
	return all
}

// scaleOf is what an amount of the metric is divided by to be a shift.
func scaleOf(e edges) float64 {
	if e.timed() {
		return math.Abs(e.base)
	}
	return 1
}

// only is a run with one metric.
func only(b *compare.Baseline, key metricKey) *compare.Baseline {
	one := &compare.Baseline{Measurements: check.Measurements{Files: b.Files}}
	for _, m := range b.Metrics {
		if m.Name == key.name && m.Rank == key.rank && m.Device == key.device {
			one.Metrics = []check.Metric{m}
			break
		}
	}
	return one
}

// A probe shifts one metric of the new run until it fails. Its policy has limits of 0: a metric fails by a limit where it
// fails by 0 when it is shifted as much to the better.
type probe struct {
	metricKey
	base, now *compare.Baseline
	policy    check.RegressionPolicy
}

// fires finds the limit below which the metric fails. width is by how much it differs, roughly.
func (p *probe) fires(width float64) float64 {
	largest, least := float64(1<<50), 1.0 // bytes
	switch {
	case p.timed():
		largest, least = 20, 1e-6
	case p.unit == check.Ratio:
		largest, least = 10, 1e-6
	}
	if !p.failsAt(largest) {
		return math.Inf(-1)
	}
	high := min(largest, 2*max(width, least))
	for !p.failsAt(high) {
		high = min(largest, 2*high)
	}
	low := -high
	for p.failsAt(low) && low > -largest {
		low *= 2
	}
	for precision := max(least, (high-low)/512); high-low > precision; {
		if middle := (low + high) / 2; p.failsAt(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	if p.timed() {
		return p.share(-high)
	}
	return -high
}

// failsAt says whether the metric fails when it is so much worse.
func (p *probe) failsAt(shift float64) bool {
	sign := 1.0
	if p.better {
		sign = -1
	}
	m := p.now.Metrics[0]
	m.Values = slices.Clone(m.Values)
	for i := range m.Values {
		if p.timed() {
			m.Values[i] *= math.Exp(sign * shift)
		} else {
			m.Values[i] += sign * shift
		}
	}
	now := *p.now
	now.Metrics = []check.Metric{m}
	return compare.Compare(p.base, &now, p.policy).Changes[0].Verdict == check.Fail
}
