// Package pool judges the growth of many processes that do the same work, such as the shards of a
// batch. Each process gives a slope with a standard error (package shape). Their mean is known
// better than any of them: a leak that hides in the noise of each shard shows in the mean of 64.
//
//	r := pool.Of(slopes, limit, level)
//	if r.Verdict == check.Fail { fmt.Println(r.Mean.Estimate, "bytes a file in the mean") }
//
// The model is that of a meta-analysis with random effects. The slope of a shard is the mean of all
// shards, plus a deviation of the shard with the standard deviation tau, plus its own error. Five
// steps judge it:
//
//  1. Tau is estimated by the method of Paule and Mandel (Consensus values and weighting factors,
//     Journal of Research of the NBS 87, 1982). Each shard has the weight 1/(error² + tau²). Its
//     error includes what the rounding of printed digits may hide.
//  2. The standard error of the mean is that of Hartung and Knapp (Statistics in Medicine 20, 2001)
//     and of Sidik and Jonkman (2002): it follows from how far the slopes lie apart. A safeguard
//     keeps it from being too small by chance (mean.go).
//  3. The mean is certain to be above 0 if it is so many standard errors above 0 that noise alone
//     reaches that with a probability of at most the level. The tails are those of a t
//     distribution, because few shards say little about how far slopes lie apart.
//  4. A warm-up that no model of package shape fits well tilts all slopes alike, so it does not
//     average out. So the first halves of all series are compared with their second halves. If
//     growth slows down, only the second halves count (halves.go).
//  5. Shards and nodes that grow faster than the others are named (differ.go).
//
// The rounding of printed digits does not average out either. A mean is certain, and passes, only
// for every value that the digits allow.
//
// docs/explanation/false-alarms.md has tables of false alarms and of the leaks that are found.
package pool

import (
	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// A Slope is the growth of one series: of one ledger in one process of a shard.
type Slope struct {
	Shard int
	Node  string // where the shard ran, or "" if unknown
	Name  string // of the series in its shard, as in [check.Growth.Subject]
	// The following fields are those of [check.Growth]. Error, Rounding, Early and Late have the unit
	// of Estimate: growth per file.
	Estimate, Error, Rounding, Early, Late, Sure float64
	Files, Leaps                                 int
	Leapt                                        float64
}

// SlopeOf returns the slope of a series that was judged in a shard on a node.
func SlopeOf(shard int, node string, g *check.Growth) Slope {
	return Slope{
		Shard: shard, Node: node, Name: g.Subject, Estimate: g.Slope, Error: g.Error,
		Rounding: g.Rounding, Early: g.Early, Late: g.Late, Sure: g.Sure, Files: g.Files,
		Leaps: g.Leaps, Leapt: g.Leapt,
	}
}

// A Result is what many slopes say together.
type Result struct {
	// Slopes counts the slopes that were pooled. Slopes without a standard error are left out: those
	// that cannot be told from an effect of the audio's length.
	Slopes int
	// Mean is the mean growth per file. Its bounds contain the true mean in 95 % of cases, and allow
	// for the rounding of the printed digits. High is a one-sided bound unless the mean is certain to
	// be above 0, as in [shape.Result.Slope].
	Mean shape.Interval
	// Error is the standard error of the mean, Tau the standard deviation of the shards around it
	// beyond their own errors, and Rounding how much growth per file the digits may hide or feign.
	Error, Tau, Rounding float64
	// Sure is the smallest level at which the mean is certain to be above 0, and growth goes on in the
	// second halves. It is 1 if growth slows down.
	Sure float64
	// Slows is set if the first halves grow faster than the second halves.
	Slows bool
	// Leaps is the most growth per file that steps up in some series may amount to.
	Leaps float64
	// Shards and Nodes grow faster than the others by more than the limit. The fastest comes first. At
	// most [MostNamed] are listed; Differing counts all shards that differ.
	Shards, Nodes []Difference
	Differing     int
	// Verdict is Fail if the mean is certain to be above 0, and its estimate less Rounding exceeds
	// the limit. It is Pass if the upper bound of the mean, that of 95 % of the shards, and Leaps are
	// within the limit, and no shard or node differs. It is Undecided otherwise.
	Verdict check.Verdict
}

// A Difference is a shard, or a node, that grows faster than the others.
type Difference struct {
	Shard  int    // 0 for a node
	Node   string // "" if unknown
	Name   string // as in [Slope]; "" for a node
	Slopes int    // number of slopes of the node; 1 for a shard
	// Mean is the growth per file. In that of a node the fastest slope counts as the second fastest.
	// By is how much more that is than the mean of the others, and Error the standard error of By.
	Mean, By, Error float64
	// Sure is the smallest level at which the difference is certain, for all shards together.
	Sure float64
}

// MostNamed is the largest number of shards, and of nodes, that a result names.
const MostNamed = 16

// A run has one level of false alarms: 0.001. In a run of several shards, the series that are
// judged by themselves get ofSeries of it, and the pools the rest.
const ofSeries = 0.5

// The level of a pool is shared by its three questions: whether the mean grows, whether any shard
// differs, and whether any node does.
const (
	ofMean   = 0.6
	ofShards = 0.2
	ofNodes  = 0.2
)

// Levels divides the level of a run, such as 0.001, among its tests, so that the sum over all of
// them is at most the level (Bonferroni). The parameter series is the number of series in all
// shards that may fail the run: the sum of [check.Report.Series]. A growth fails by itself only if
// its Sure is at most single. The parameter pools is the number of calls of [Of] that may fail the
// run; pooled is the level of each of them. Without pools, a run has the verdicts that package
// check gives.
func Levels(level float64, series, pools int) (single, pooled float64) {
	if pools == 0 {
		return level / float64(max(1, series)), 0
	}
	return ofSeries * level / float64(max(1, series)), (1 - ofSeries) * level / float64(pools)
}

// Of judges the growth of processes that do the same work. Each of them may grow by limit per file.
// The parameter level is the probability with which noise alone may make the mean grow, or make a
// shard or a node differ. The verdict on fewer than two slopes is Undecided.
func Of(slopes []Slope, limit, level float64) Result {
	p := newPooled(slopes)
	r := Result{Slopes: len(p.slopes), Verdict: check.Undecided, Sure: 1}
	if r.Slopes < leastSlopes {
		return r
	}
	m := p.mean()
	r.Tau, r.Error, r.Rounding = m.tau, m.error, m.rounding
	r.Mean = shape.Interval{
		Estimate: m.estimate,
		Low:      m.estimate - m.quantile(bothSides)*m.error - m.rounding,
		High:     m.estimate + m.quantile(oneSide)*m.error + m.rounding,
	}
	r.Sure = min(1, m.above(m.rounding)/ofMean)
	fast := m.estimate - m.rounding
	if h := p.halves(m); h.slows {
		r.Slows = true
		r.Sure = max(r.Sure, min(1, h.late.above(m.rounding)/ofMean))
		fast = min(fast, h.late.estimate-m.rounding)
	}
	certain := r.Sure <= level
	if certain {
		r.Mean.High = m.estimate + m.quantile(bothSides)*m.error + m.rounding
	}
	r.Leaps = leaps(p.slopes)
	p.differing(&r, limit, level)
	spread := m.estimate + oneSideNormal*p.leastTau() + m.rounding
	switch {
	case certain && fast > limit:
		r.Verdict = check.Fail
	case r.Mean.High <= limit && spread <= limit && r.Leaps <= limit && r.Differing == 0 &&
		len(r.Nodes) == 0:
		r.Verdict = check.Pass
	}
	return r
}
