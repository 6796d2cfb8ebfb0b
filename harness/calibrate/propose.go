package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// propose searches for limits that reach the goals, from the policy's limits upwards. The limits
// reach the goals if no pair of runs and no shuffle fails, and if the requested fraction of pairs
// passes in all metrics.
func (g *regression) propose() {
	g.MinEffect, g.MinBytes, g.MinSlowdown = float64(g.policy.MinEffect),
		float64(g.policy.MinBytes.Bytes), float64(g.policy.MinSlowdown)
	present := g.Pairs.Count == 0 && g.Shuffled.High <= g.o.FalseAlarms
	g.Fine = present && g.suffices()
	if g.Enough = g.Fine; g.Fine {
		return
	}
	// Even if enough pairs pass in each single metric, fewer may pass in all metrics. If too few do,
	// try limits with which more pairs pass in each metric.
	for _, part := range []float64{0, 0.5, 0.75, 1} {
		g.MinEffect, g.MinBytes, g.MinSlowdown = float64(g.policy.MinEffect),
			float64(g.policy.MinBytes.Bytes), float64(g.policy.MinSlowdown)
		g.raise(g.o.Power + part*(1-g.o.Power))
		if g.Enough = g.suffices(); g.Enough {
			return
		}
	}
}

// suffices reports whether the limits in g reach the goals. It ignores pairs of runs with too few
// files to pass at any limit.
func (g *regression) suffices() bool {
	passed, all := 0, 0
	for _, metrics := range g.observed {
		decidable, pass := false, true
		for _, e := range metrics {
			limit := e.limit(g.MinEffect, g.MinBytes, g.MinSlowdown)
			if e.fires >= limit { // at equality, one more file could make the metric fail
				return false
			}
			if e.mustPass() {
				decidable, pass = true, pass && e.passes <= limit
			}
		}
		if decidable {
			all++
			if pass {
				passed++
			}
		}
	}
	for _, e := range g.shuffles {
		if e.fires >= e.limit(g.MinEffect, g.MinBytes, g.MinSlowdown) {
			return false
		}
	}
	return float64(passed) >= g.o.Power*float64(all)
}

// raise raises the limits in g so that the given fraction of pairs passes in each single metric.
// Bytes may get worse by the larger of MinEffect and MinBytes, so raise changes the one that is
// larger now.
func (g *regression) raise(fraction float64) {
	byMetric := map[metricKey][]edges{}
	var keys []metricKey
	for _, metrics := range append(slices.Clone(g.observed), g.shuffles) {
		for _, e := range metrics {
			if byMetric[e.metricKey] == nil {
				keys = append(keys, e.metricKey)
			}
			byMetric[e.metricKey] = append(byMetric[e.metricKey], e)
		}
	}
	var effect, bytes, slowdown float64
	for _, key := range keys {
		all := byMetric[key]
		// The edges are kept twice: as amounts and, in the slices ending in By, as fractions of the base.
		var fires, passes, firesBy, passesBy []float64
		for _, e := range all {
			base := math.Abs(e.base)
			fires, firesBy = append(fires, e.fires), append(firesBy, e.fires/base)
			if e.mustPass() {
				passes, passesBy = append(passes, e.passes), append(passesBy, e.passes/base)
			}
		}
		amount, relative := slices.Max(fires), slices.Max(firesBy)
		if len(passes) > 0 {
			amount, relative = max(amount, quantile(passes, fraction)),
				max(relative, quantile(passesBy, fraction))
		}
		usual := math.Abs(all[0].base)
		switch {
		case key.timed():
			slowdown = max(slowdown, amount)
		case usual > 0 && (key.unit != check.Bytes || g.MinEffect*usual > g.MinBytes):
			effect = max(effect, relative)
		case key.unit == check.Bytes:
			bytes = max(bytes, amount)
		}
	}
	raised := func(to *float64, limits []float64, needed float64) {
		if needed < *to {
			return
		}
		if limit, ok := readable(limits, needed*1.001); ok {
			*to = limit
		}
	}
	raised(&g.MinEffect, fractions, effect)
	raised(&g.MinBytes, amounts, bytes)
	raised(&g.MinSlowdown, fractions, slowdown)
}

// lines returns the line for the policy file, or none if no limit need change.
func (r *Regression) lines(policy check.RegressionPolicy) []string {
	if r.Fine {
		return nil
	}
	var parts []string
	if r.MinEffect > float64(policy.MinEffect) {
		parts = append(parts, "min_effect: "+percent(r.MinEffect))
	}
	if r.MinBytes > float64(policy.MinBytes.Bytes) {
		parts = append(parts, "min_bytes: "+amountText(r.MinBytes))
	}
	if r.MinSlowdown > float64(policy.MinSlowdown) {
		parts = append(parts, "min_slowdown: "+percent(r.MinSlowdown))
	}
	if policy.Exact && r.Pairs.Count > 0 {
		parts = append(parts, "exact: false")
	}
	if parts == nil {
		return nil
	}
	return []string{fmt.Sprintf("regression: {%s}", strings.Join(parts, ", "))}
}
