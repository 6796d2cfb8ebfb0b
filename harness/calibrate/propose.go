package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// propose finds limits from those of the policy on by which no pair and no shuffle fails, and so many pairs as are asked for
// pass in all of their metrics.
func (g *regression) propose() {
	g.MinEffect, g.MinBytes, g.MinSlowdown = float64(g.policy.MinEffect),
		float64(g.policy.MinBytes.Bytes), float64(g.policy.MinSlowdown)
	present := g.Pairs.Count == 0 && g.Shuffled.High <= g.o.FalseAlarms
	g.Fine = present && g.does()
	if g.Enough = g.Fine; g.Fine {
		return
	}
	// A share of the pairs that pass in each metric may not pass in all: then more must in each.
	for _, part := range []float64{0, 0.5, 0.75, 1} {
		g.MinEffect, g.MinBytes, g.MinSlowdown = float64(g.policy.MinEffect),
			float64(g.policy.MinBytes.Bytes), float64(g.policy.MinSlowdown)
		g.raise(g.o.Power + part*(1-g.o.Power))
		if g.Enough = g.does(); g.Enough {
			return
		}
	}
}

// does says whether the limits at hand do. Pairs of too few files to pass by any limit are left out.
func (g *regression) does() bool {
	passed, all := 0, 0
	for _, metrics := range g.observed {
		decidable, pass := false, true
		for _, e := range metrics {
			limit := e.limit(g.MinEffect, g.MinBytes, g.MinSlowdown)
			if e.fires >= limit { // at its edge one more file decides
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

// raise raises the limits so that in each metric a share of the pairs passes. What is in bytes may be worse by the larger of two
// amounts: the one that is the larger already is raised.
func (g *regression) raise(share float64) {
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
		// As shares of the base, and as they are.
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
			amount, relative = max(amount, quantile(passes, share)), max(relative, quantile(passesBy, share))
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
	raised(&g.MinEffect, shares, effect)
	raised(&g.MinBytes, amounts, bytes)
	raised(&g.MinSlowdown, shares, slowdown)
}

// lines are what to change in the policy.
func (r *Regression) lines(policy check.RegressionPolicy) []string {
	if r.Fine {
		return nil
	}
	var parts []string
	if r.MinEffect > float64(policy.MinEffect) {
		parts = append(parts, "min_effect: "+shareText(r.MinEffect))
	}
	if r.MinBytes > float64(policy.MinBytes.Bytes) {
		parts = append(parts, "min_bytes: "+amountText(r.MinBytes))
	}
	if r.MinSlowdown > float64(policy.MinSlowdown) {
		parts = append(parts, "min_slowdown: "+shareText(r.MinSlowdown))
	}
	if policy.Exact && r.Pairs.Count > 0 {
		parts = append(parts, "exact: false")
	}
	if parts == nil {
		return nil
	}
	return []string{fmt.Sprintf("regression: {%s}", strings.Join(parts, ", "))}
}
