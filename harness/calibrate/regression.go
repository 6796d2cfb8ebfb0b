package calibrate

import (
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

// Regression says how comparisons between clean runs end.
type Regression struct {
	// Pairs is the rate at which pairs of clean runs failed in at least one metric. Pairs that share a
	// run are not independent. The interval therefore counts only half as many pairs as there are runs
	// (Hoeffding, Probability Inequalities for Sums of Bounded Random Variables, 1963, section 5).
	Pairs     Rate `json:"pairs"`
	Undecided int  `json:"undecided"` // number of undecided pairs
	// Shuffled is the rate at which shuffles failed. A shuffle compares two runs that exchanged some
	// of their measurements, or the two halves of one run, so the two sides differ only by chance.
	Shuffled Rate     `json:"shuffled"`
	Metrics  []Metric `json:"metrics"`
	Fine     bool     `json:"fine"` // set if the policy's limits reach the goals
	// Enough is set if limits that a report may propose reach the goals. MinEffect, MinBytes and
	// MinSlowdown are then the smallest such limits that are no lower than the policy's.
	Enough      bool    `json:"enough"`
	MinEffect   float64 `json:"min_effect"`
	MinBytes    float64 `json:"min_bytes"`
	MinSlowdown float64 `json:"min_slowdown"`
}

// Metric says how the comparisons of one metric end. Amounts are in Unit.
type Metric struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"`
	Rank      int     `json:"rank"`
	Device    int     `json:"device"`
	Base      float64 `json:"base"`  // the median of the runs' medians
	Limit     float64 `json:"limit"` // how much worse the metric may get under the policy
	Pairs     int     `json:"pairs"` // number of pairs of runs that both have the metric
	Fired     int     `json:"fired"` // number of pairs in which the metric failed
	Undecided int     `json:"undecided"`
	Shuffled  int     `json:"shuffled"` // number of shuffles in which the metric failed
	// Catches is the smallest change for the worse that fails with the requested power. It is nil if
	// the metric can never fail, because there are too few files.
	Catches *float64 `json:"catches,omitempty"`
	// Enough is the smallest limit at which no pair and no shuffle fails and enough pairs pass. If the
	// metric may stay undecided, the pairs need not pass. Enough is nil if no limit suffices.
	Enough *float64 `json:"enough,omitempty"`
}

// mostPairs is the largest number of pairs of runs that are compared. If there are more,
// comparePairs draws this many at random.
const mostPairs = 100

// A regression calibrates the check "regression", which compares two runs.
type regression struct {
	Regression
	runs     []*compare.Baseline
	whole    *check.Policy
	policy   check.RegressionPolicy // whole.Regression
	o        Options
	observed [][]edges // for each pair, the edges of its metrics
	shuffles []edges   // metrics that failed in shuffles
}

func regressionOf(runs []*compare.Baseline, policy *check.Policy, o Options) *Regression {
	g := &regression{runs: runs, whole: policy, policy: policy.Regression, o: o}
	g.comparePairs()
	g.compareShuffles()
	g.sumUp()
	g.propose()
	return &g.Regression
}

func (g *regression) comparePairs() {
	var pairs [][2]int
	for a := range g.runs {
		for b := range g.runs {
			if a != b {
				pairs = append(pairs, [2]int{a, b})
			}
		}
	}
	random(g.o.Seed, "pairs", 0).Shuffle(len(pairs),
		func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	pairs = pairs[:min(len(pairs), mostPairs)]
	g.observed = make([][]edges, len(pairs))
	each(len(pairs), func(i int) {
		base, now := g.runs[pairs[i][0]], g.runs[pairs[i][1]]
		g.observed[i] = edgesOf(base, now, g.whole, func(check.Verdict) bool { return true })
	})
	fired := 0
	for _, metrics := range g.observed {
		switch {
		case slices.ContainsFunc(metrics, edges.failed):
			fired++
		case slices.ContainsFunc(metrics, func(e edges) bool { return e.undecided() && !e.loose }):
			g.Undecided++
		}
	}
	independent := len(g.runs) / 2
	g.Pairs = rateOf(int(math.Ceil(float64(fired*independent)/float64(len(pairs)))), independent)
	g.Pairs.Count, g.Pairs.Of = fired, len(pairs)
}

func (g *regression) compareShuffles() {
	var alike [][2]int // pairs of runs over the same files
	for b := range g.runs {
		for a := range b {
			if sameFiles(g.runs[a], g.runs[b]) {
				alike = append(alike, [2]int{a, b})
			}
		}
	}
	found := make([][]edges, g.o.Tries)
	each(g.o.Tries, func(i int) {
		r := random(g.o.Seed, "shuffles", i)
		var base, now *compare.Baseline
		if i%2 == 0 && len(alike) > 0 {
			pair := alike[i/2%len(alike)]
			base, now = exchanged(r, g.runs[pair[0]], g.runs[pair[1]])
		} else {
			base, now = halves(r, g.runs[i/2%len(g.runs)])
		}
		found[i] = edgesOf(base, now, g.whole, func(v check.Verdict) bool { return v == check.Fail })
	})
	fired := 0
	for _, metrics := range found {
		if len(metrics) > 0 {
			fired++
			for _, e := range metrics {
				e.passes = math.Inf(1) // only real pairs must pass
				g.shuffles = append(g.shuffles, e)
			}
		}
	}
	g.Shuffled = rateOf(fired, g.o.Tries)
}

// sumUp sets g.Metrics to the results of each metric.
func (g *regression) sumUp() {
	at := map[metricKey]int{}
	var all [][]edges
	for _, metrics := range g.observed {
		for _, e := range metrics {
			i, known := at[e.metricKey]
			if !known {
				i = len(all)
				at[e.metricKey], all = i, append(all, nil)
			}
			all[i] = append(all[i], e)
		}
	}
	g.Metrics = make([]Metric, len(all))
	for i, pairs := range all {
		m := &g.Metrics[i]
		m.Name, m.Unit, m.Rank, m.Device, m.Pairs = pairs[0].name, pairs[0].unit, pairs[0].rank,
			pairs[0].device, len(pairs)
		bases, needed := make([]float64, len(pairs)), make([]float64, len(pairs))
		quiet := math.Inf(-1)
		for k, e := range pairs {
			bases[k], needed[k] = e.base, e.passes
			if e.loose {
				needed[k] = 0
			}
			quiet = max(quiet, e.fires)
			if e.failed() {
				m.Fired++
			}
			if e.undecided() {
				m.Undecided++
			}
		}
		for _, e := range g.shuffles {
			if e.metricKey == pairs[0].metricKey {
				quiet = max(quiet, e.fires)
				m.Shuffled++
			}
		}
		m.Base = quantile(bases, 0.5)
		usual := edges{metricKey: pairs[0].metricKey, base: m.Base}
		limit := usual.limit(float64(g.policy.MinEffect), float64(g.policy.MinBytes.Bytes),
			float64(g.policy.MinSlowdown))
		m.Limit = usual.amount(limit)
		if enough := max(0, quiet, quantile(needed, g.o.Power)); !math.IsInf(enough, 0) {
			m.Enough = new(usual.amount(enough))
		}
		for k, e := range pairs {
			needed[k] = e.caughtAt(limit)
		}
		if caught := quantile(needed, g.o.Power); !math.IsInf(caught, 0) {
			m.Catches = new(usual.amount(caught))
		}
	}
}
