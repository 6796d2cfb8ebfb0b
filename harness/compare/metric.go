package compare

import (
	"fmt"
	"math"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// A test judges one metric. It computes on a scale of its own, here called the inside scale, on
// which a higher value is always worse and times are logarithms. Logarithms fit times because a
// slower machine takes longer by the same factor for short and long files.
type test struct {
	*Change
	policy check.RegressionPolicy
	// base and new hold the values of the compared files, in Unit. If Paired is set, both hold the
	// same files in the same order.
	base, new []float64
	files     []pair
	// baseDigits and newDigits are the resolutions of the two runs: the largest rounding errors of
	// their printed values, in Unit.
	baseDigits, newDigits float64
	logarithm             bool
	// seen, best and worst say how much worse the new values are than those of the base: seen by the
	// printed values, best if the digits that printing lost favour the new run as much as possible,
	// and worst if they favour the base. margin is how much worse is allowed. All four are on the
	// inside scale.
	best, seen, worst shift
	margin            float64
	tests             int // number of tests that P is corrected for
}

// sample collects the values of both runs. It pairs each file with the same file of the base if it
// can do so for at least half of the files of the smaller run. Otherwise it takes all values of
// both runs, unpaired.
func (t *test) sample(base, now *check.Metric, p *pairing) {
	allBase, allNew := make([]float64, 0, len(base.Values)), make([]float64, 0, len(now.Values))
	for i, v := range now.All() {
		p.values[i] = v
		allNew = append(allNew, v)
	}
	for i, b := range base.All() {
		allBase = append(allBase, b)
		other := p.inNew[i]
		if other < 0 || math.IsNaN(p.values[other]) {
			continue
		}
		t.base, t.new = append(t.base, b), append(t.new, p.values[other])
		t.files = append(t.files, pair{i, other})
	}
	for i := range now.All() {
		p.values[i] = math.NaN()
	}
	t.Paired = 2*len(t.base) >= min(len(allBase), len(allNew))
	if !t.Paired {
		t.base, t.new = allBase, allNew
	}
	t.Files = min(len(t.base), len(t.new))
	t.baseDigits, t.newDigits = base.Resolution, now.Resolution
	if t.Files == 0 {
		return
	}
	t.Base, t.New = shape.Median(t.base), shape.Median(t.new)
	t.Limit = float64(t.policy.MinEffect) * math.Abs(t.Base)
	switch t.Unit {
	case check.Bytes:
		t.Limit = max(t.Limit, float64(t.policy.MinBytes.Bytes))
	case check.Count:
		t.Limit = max(t.Limit, 1)
	case check.Seconds, check.TimesRealTime:
		t.Limit = float64(t.policy.MinSlowdown) * math.Abs(t.Base)
		t.logarithm = positive(t.base, t.baseDigits) && positive(t.new, t.newDigits)
	}
}

func positive(values []float64, digits float64) bool {
	for _, v := range values {
		if v-digits <= 0 {
			return false
		}
	}
	return true
}

// run tests whether the metric got worse by more than the limit, and sets the difference, the
// interval and P.
func (t *test) run() {
	t.setMargin(float64(t.policy.MinSlowdown))
	t.seen = t.shift(0)
	t.best, t.worst = t.seen, t.seen
	if t.baseDigits+t.newDigits > 0 {
		t.best, t.worst = t.shift(-1), t.shift(1)
	}
	t.Difference = t.outside(t.seen.estimate)
	if t.Base != 0 {
		t.Relative = t.Difference / math.Abs(t.Base)
	}
	if !math.IsInf(t.best.low, 0) {
		a, b := t.outside(t.best.low), t.outside(t.worst.high)
		t.Interval = &Interval{min(a, b), max(a, b)}
	}
	first, second := t.inside(t.base, t.baseDigits), t.inside(t.new, -t.newDigits)
	for i := range second {
		second[i] -= t.margin
	}
	if t.Paired {
		t.P = new(signedRank(less(second, first)))
	} else {
		t.P = new(rankSum(first, second))
	}
}

// setMargin sets how much worse is allowed: the limit, or for times the slowdown, as a part of the
// base.
func (t *test) setMargin(slowdown float64) {
	t.margin = t.Limit
	if t.logarithm {
		if t.margin = math.Log1p(slowdown); t.HigherIsBetter {
			t.margin = -math.Log1p(-slowdown)
		}
	}
}

// shift returns how much worse the new values are than those of the base, on the inside scale. With
// a direction of 0 it uses the printed values. With 1, it assumes that the digits that printing
// lost make the new run as bad as possible; with -1, as good as possible.
func (t *test) shift(direction float64) shift {
	first, second := t.inside(t.base, -direction*t.baseDigits), t.inside(t.new, direction*t.newDigits)
	if t.Paired {
		return pairedShift(less(second, first))
	}
	return unpairedShift(first, second)
}

func less(second, first []float64) []float64 {
	d := make([]float64, len(second))
	for i := range d {
		d[i] = second[i] - first[i]
	}
	return d
}

// inside returns the values on the inside scale, after making each value worse by the amount worse.
func (t *test) inside(values []float64, worse float64) []float64 {
	sign := 1.0
	if t.HigherIsBetter {
		sign = -1
	}
	turned := make([]float64, len(values))
	for i, v := range values {
		v += sign * worse
		if t.logarithm {
			v = math.Log(v)
		}
		turned[i] = sign * v
	}
	return turned
}

// outside returns a shift on the inside scale as a difference in Unit. For times, a shift is a
// factor; the result is then the difference that this factor makes to the base's median.
func (t *test) outside(shift float64) float64 {
	if t.HigherIsBetter {
		shift = 0 - shift
	}
	if t.logarithm {
		return t.Base * math.Expm1(shift)
	}
	return shift
}

// exact reports whether the metric is compared byte by byte. Times never are, because no machine
// takes exactly the same time twice.
func (t *test) exact() bool {
	return t.policy.Exact && (t.Unit == check.Bytes || t.Unit == check.Ratio)
}

// decide sets the verdict and the message of a metric from the results of run.
func (t *test) decide() {
	if t.P == nil {
		return
	}
	switch {
	case *t.P <= float64(t.policy.FalseAlarms) && t.best.low > t.margin:
		t.Verdict = check.Fail
		t.Message = fmt.Sprintf("%s; at most %s is allowed", t.moved(), t.difference(t.Limit))
	case t.worst.high < 0:
		t.Verdict = check.Pass
		t.Message = "better: " + t.moved()
	case t.unchanged():
		t.Verdict = check.Pass
		t.Message = t.moved()
	case t.worst.high <= t.margin:
		t.Verdict = check.Pass
		t.Message = "no worse than is allowed: " + t.moved()
	default:
		t.Verdict = check.Undecided
		t.Message = t.undecided()
	}
}

func (c *Change) skip(why string) { c.Verdict, c.Message = check.Skipped, why }

func (c *Change) skipUnmatched(m match) {
	switch {
	case m.new == nil:
		c.Only = OnlyBase
		c.skip("only the base has it")
	case m.base == nil:
		c.Only = OnlyNew
		c.skip("the base does not have it")
	default:
		c.skip(fmt.Sprintf("the base has it in %s, the new run in %s", m.base.Unit, m.new.Unit))
	}
}
