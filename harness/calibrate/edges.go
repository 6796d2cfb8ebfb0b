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

// edges holds the limits at which the verdict on one metric of two runs changes. For bytes and
// ratios, a limit is a difference; for times, it is a fraction of the base's median.
type edges struct {
	metricKey
	verdict check.Verdict // at the policy's limits
	loose   bool          // an undecided verdict on the metric does not make the run undecided
	base    float64
	// The metric fails at every limit below fires. fires is negative if the metric fails at no limit
	// of 0 or more. It is -Inf if the metric would not even fail if it were far worse.
	fires  float64
	passes float64 // the smallest limit at which the metric passes; Inf if there are too few files
}

func (e edges) failed() bool    { return e.verdict == check.Fail }
func (e edges) undecided() bool { return e.verdict == check.Undecided }

// mustPass reports whether an undecided verdict on this metric makes the run undecided, although
// the metric has enough files to pass.
func (e edges) mustPass() bool { return !e.loose && !math.IsInf(e.passes, 1) }

// timed reports whether the metric is a time or a speed. The limits of such metrics are fractions
// of the base's median.
func (k metricKey) timed() bool { return k.unit == check.Seconds || k.unit == check.TimesRealTime }

// limit returns the metric's limit under a policy with these settings. For bytes, the larger of the
// two settings counts.
func (e edges) limit(minEffect, minBytes, minSlowdown float64) float64 {
	switch {
	case e.timed():
		return minSlowdown
	case e.unit == check.Bytes:
		return max(minEffect*math.Abs(e.base), minBytes)
	}
	return minEffect * math.Abs(e.base)
}

// amount returns a limit in the metric's unit.
func (e edges) amount(limit float64) float64 {
	if e.timed() {
		return limit * math.Abs(e.base)
	}
	return limit
}

// caughtAt returns by how much more the metric would have to get worse to fail at a limit.
// Differences between times are differences of logarithms.
func (e edges) caughtAt(limit float64) float64 {
	switch {
	case math.IsInf(e.fires, -1):
		return math.Inf(1)
	case e.timed():
		return e.fractionOf(e.logOf(limit) - e.logOf(e.fires))
	}
	return limit - e.fires
}

// logOf returns the difference of logarithms that belongs to the fraction by which a time is worse.
// fractionOf does the reverse.
func (k metricKey) logOf(fraction float64) float64 {
	if k.better {
		return -math.Log1p(-fraction)
	}
	return math.Log1p(fraction)
}

func (k metricKey) fractionOf(log float64) float64 {
	if k.better {
		return -math.Expm1(-log)
	}
	return math.Expm1(log)
}

// edgesOf compares two runs under the policy whole. It returns the edges of those metrics for whose
// verdict the function asked returns true.
func edgesOf(base, now *compare.Baseline, whole *check.Policy,
	asked func(check.Verdict) bool,
) []edges {
	var all []edges
	policy := whole.Regression
	c := compare.Compare(base, now, policy)
	ranks := c // an exact policy also needs a comparison by ranks
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
		if key.timed() && change.Base == 0 { // a fraction of 0 has no meaning
			continue
		}
		tests := 0
		for k := range ranks.Changes {
			if ranks.Changes[k].P != nil {
				tests++
			}
		}
		e := edges{
			metricKey: key, verdict: c.Changes[i].Verdict, base: change.Base, fires: math.Inf(-1),
			passes: math.Inf(1),
		}
		// An undecided verdict on a time belongs to the check "throughput"; see
		// compare.Comparison.Findings.
		e.loose = e.timed() && !slices.Contains(whole.Gate, check.Throughput)
		if change.Interval != nil {
			if e.passes = change.Interval.High; e.better {
				e.passes = -change.Interval.Low
			}
			if e.timed() {
				e.passes /= math.Abs(e.base)
			}
			p := probe{metricKey: key, base: only(base, key), now: only(now, key)}
			// If only one metric got worse, Holm's method tests it at this level.
			p.policy.FalseAlarms = policy.FalseAlarms / check.Share(tests)
			e.fires = p.fires(math.Max(math.Abs(change.Interval.Low),
				math.Abs(change.Interval.High)) / scaleOf(e))
		}
		all = append(all, e)
	}
	return all
}

// scaleOf returns the number by which a difference in the metric's unit must be divided to become a
// shift as [probe.failsAt] takes it.
func scaleOf(e edges) float64 {
	if e.timed() {
		return math.Abs(e.base)
	}
	return 1
}

// only returns a copy of a run that has only the metric with this key.
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

// A probe finds out by trial at which limits one metric fails. It makes the metric of the new run
// worse or better, and compares the run with the base under a policy whose limits are 0. One search
// then answers for all limits, because a metric fails at a limit L exactly if it still fails at the
// limit 0 after it got better by L.
type probe struct {
	metricKey
	base, now *compare.Baseline
	policy    check.RegressionPolicy
}

// fires returns the limit below which the metric fails; see edges. The parameter width is a first
// estimate of the difference between the runs, as a shift as [probe.failsAt] takes it.
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
		return p.fractionOf(-high)
	}
	return -high
}

// failsAt makes each value in a copy of the new run worse by the shift. It reports whether the
// metric of this copy fails at the limit 0. The shift is an amount in the metric's unit or, for
// times, a difference of logarithms. A negative shift makes the values better.
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
