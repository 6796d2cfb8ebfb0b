package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// growthAlarms divides the probability of a false alarm that the policy accepts. The tests of
// growth may use one growthAlarms-th of that probability, so that the comparison file by file keeps
// nearly all of it.
const growthAlarms = 10

// growths returns, for each ledger, the comparison of its growth over the files with its growth in
// the base. A saved baseline holds the level of each file, so the growth in the base can be
// computed from it.
func growths(base, now *Baseline, policy check.Policy) []Change {
	var all []growth
	tests := 0
	both := matched(base.Metrics, now.Metrics)
	lanes := lanesOf(both)
	baseOrder, newOrder := orderOf(base.Files), orderOf(now.Files)
	for _, m := range both {
		of := cmp.Or(m.new, m.base)
		limit, isLedger := policy.MaxGrowth[of.Name]
		if !isLedger {
			continue
		}
		g := growth{Change: Change{
			Name: check.GrowthOf + of.Name, Unit: of.Unit + check.PerFile, Limit: limit,
			Rank: of.Rank, Device: of.Device, lanes: lanes,
		}}
		if m.base == nil || m.new == nil {
			continue // Compare has reported that only one run has the level
		}
		g.base = trendOf(m.base, base.Files, baseOrder, policy.Leak)
		g.now = trendOf(m.new, now.Files, newOrder, policy.Leak)
		g.Files = min(g.base.files, g.now.files)
		switch {
		case base.Run.Shards != now.Run.Shards: // the worst of many processes looks worse by chance
			g.Verdict = check.Skipped
			g.Message = fmt.Sprintf("growth over files is not compared, because the base has %s and the "+
				"new run %s; vramsoak check judges it", inShards(base.Run.Shards),
				inShards(now.Run.Shards))
		case g.base.processes > 0 && g.now.processes > 0:
			tests++
		case of.Name == check.IdleLevel:
			g.Verdict = check.Skipped
			g.Message = fmt.Sprintf("growth over files needs %d files in one process; "+
				"the base has %d, the new run %d",
				policy.Leak.MinFiles, g.base.files, g.now.files)
		default:
			continue
		}
		all = append(all, g)
	}
	changes := make([]Change, len(all))
	for i := range all {
		if g := &all[i]; g.Verdict == "" {
			g.judge(float64(policy.Regression.FalseAlarms), growthAlarms*tests)
		}
		changes[i] = all[i].Change
	}
	return changes
}

// A growth is the comparison of how one ledger grows in the two runs.
type growth struct {
	Change
	base, now trend
}

// A trend describes a level over the files of one process: the process in which the level grows
// most.
type trend struct {
	shape.Result
	files     int // number of files in the longest process
	processes int // number of processes with enough files to judge
}

// An order holds, for each file, the number of its process and the file's position in that process.
type order []struct{ process, nth int32 }

// orderOf returns the order of these files. It numbers the processes of the run, and the files in
// each process, from 0.
func orderOf(files []check.MeasuredFile) order {
	all := make(order, len(files))
	for i := 1; i < len(files); i++ {
		all[i] = all[i-1]
		if all[i].nth++; files[i].Process != files[i-1].Process {
			all[i].process, all[i].nth = all[i].process+1, 0
		}
	}
	return all
}

// trendOf fits a shape to the level in each process, and returns the trend of the process in which
// the level grows most.
func trendOf(m *check.Metric, files []check.MeasuredFile, in order,
	policy check.LeakPolicy,
) trend {
	c := trend{}
	s := shape.Series{Resolution: m.Resolution, Grain: check.Grain(m.Unit)}
	process, last := int32(-1), int32(0) // of the last value
	for i, v := range m.All() {
		if in[i].process != process {
			c.add(s, policy)
			process, s.Values, s.Audio = in[i].process, nil, nil
		}
		if int(in[i].nth) >= policy.WarmUp {
			for at := last + 1; len(s.Values) > 0 && at < in[i].nth; at++ { // files without a value
				s.Values, s.Audio = append(s.Values, math.NaN()), append(s.Audio, files[i].AudioSeconds)
			}
			last = in[i].nth
			s.Values, s.Audio = append(s.Values, v), append(s.Audio, files[i].AudioSeconds)
		}
	}
	c.add(s, policy)
	return c
}

// add fits a shape to the series of one more process, and keeps the result if the level grows more
// than in the processes before.
func (c *trend) add(s shape.Series, policy check.LeakPolicy) {
	if slices.Contains(s.Audio, 0) { // use lengths only if all are known
		s.Audio = nil
	}
	known := 0
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			known++
		}
	}
	c.files = max(c.files, known)
	if known < max(policy.MinFiles, shape.LeastFiles) {
		return
	}
	r := shape.Of(s)
	more := r.Slope.Estimate > c.Slope.Estimate
	if r.Growing != c.Growing {
		more = r.Growing
	}
	if c.processes++; c.processes == 1 || more {
		c.Result = r
	}
}

// noise returns the standard error of the growth, without the error that comes from rounded digits.
func (c *trend) noise() float64 {
	width := max(c.Slope.High-c.Slope.Estimate, c.Slope.Estimate-c.Slope.Low)
	return max(0, width-c.Rounding) / normalQuantile(tail)
}

// fitted is the number of parameters that a fit estimates from a series: a level, a slope, two for
// the shape, and the autocorrelation. Each of them costs the t test of growth one degree of
// freedom.
const fitted = 5

// judge sets the verdict, the message and the numbers. Growth fails if it is certain and certainly
// exceeds the base's growth by more than the limit. The parameter alarms is the accepted
// probability of a false alarm in all tests together; tests is the number by which the probability
// is corrected.
func (g *growth) judge(alarms float64, tests int) {
	g.Base, g.New = wholeDigits(g.base.Slope.Estimate), wholeDigits(g.now.Slope.Estimate)
	g.Difference = g.New - g.Base
	if g.Base != 0 {
		g.Relative = g.Difference / math.Abs(g.Base)
	}
	noise, digits := math.Hypot(g.base.noise(), g.now.noise()), g.base.Rounding+g.now.Rounding
	width := normalQuantile(tail)*noise + digits
	g.Interval = &Interval{g.Difference - width, g.Difference + width}

	p := 1.0
	// If the level falls in the base, compare with 0, because a new run that does not grow is no worse
	// than that base.
	if above := g.New - max(0, g.Base) - digits - g.Limit; g.now.Growing && above > 0 {
		p = 0
		if noise > 0 {
			freedom := max(1, min(g.base.Files, g.now.Files)-fitted)
			p = 1 - stats.TDist{V: float64(freedom)}.CDF(above/noise)
		}
	}
	p = min(1, p*float64(tests*g.now.processes))
	g.P = &p
	grows := fmt.Sprintf("grows by %s a file, in the base by %s", bytesOf(g.New), bytesOf(g.Base))
	between := fmt.Sprintf("(95 %% interval of the difference %s to %s)",
		bytesOf(g.Interval.Low), bytesOf(g.Interval.High))
	switch {
	case p <= alarms:
		g.Verdict = check.Fail
		g.Message = fmt.Sprintf("%s: %s a file more %s; at most %s more is allowed",
			grows, bytesOf(g.Difference), between, bytesOf(g.Limit))
	case g.Interval.High < 0:
		g.Verdict = check.Pass
		g.Message = fmt.Sprintf("better: %s %s", grows, between)
	case check.GrowthVerdict(&g.now.Result, g.Limit) == check.Pass:
		g.Verdict = check.Pass
		g.Message = fmt.Sprintf("no significant growth: %s a file, in the base %s",
			bytesOf(g.New), bytesOf(g.Base))
	case g.Interval.High <= g.Limit:
		g.Verdict = check.Pass
		g.Message = fmt.Sprintf("no worse than is allowed: %s %s", grows, between)
	default:
		g.Verdict = check.Undecided
		g.Message = fmt.Sprintf("%s; %s a file more cannot be ruled out, and %s is allowed; "+
			"more files in one process, or exact bytes, would decide it",
			grows, bytesOf(g.Interval.High), bytesOf(g.Limit))
	}
}

// wholeDigits returns a value rounded to 1/1024 of a byte, because finer digits come from
// floating-point arithmetic.
func wholeDigits(v float64) float64 { return math.Round(v*1024)/1024 + 0 } // never -0

// bytesOf returns an amount of growth in words, without "/file".
func bytesOf(v float64) string {
	return check.Quantity(v, check.Bytes)
}
