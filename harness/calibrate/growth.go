package calibrate

import (
	"fmt"
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/harness/shape"

	"gonum.org/v1/gonum/stat"
)

// Growth is what a check of growth over files does on clean runs. Amounts are bytes a file.
type Growth struct {
	Check   string  `json:"check"`
	Subject string  `json:"subject"`
	Limit   float64 `json:"limit"` // of the policy
	// Skipped says why there is nothing to try; the rest is zero then.
	Skipped string `json:"skipped,omitempty"`
	// Series is how many there are, one a run and device; Files how many files the longest process of a usual one has.
	Series int `json:"series"`
	Files  int `json:"files"`
	// Noise is its standard deviation in a usual series, in bytes.
	Noise float64 `json:"noise"`
	// Failed and Unsure are how many of the series failed and could not be decided as they were.
	Failed int `json:"failed"`
	Unsure int `json:"unsure"`
	// Fired and Undecided are how often tries failed and could not be decided.
	Fired     Rate `json:"fired"`
	Undecided Rate `json:"undecided"`
	// Catches is the least leak that fails with the power that was asked for; nil where none does.
	Catches *float64 `json:"catches,omitempty"`
	// Fine says that the limit of the policy does. Enough is the least readable one that does; nil where none does.
	Fine   bool     `json:"fine"`
	Enough *float64 `json:"enough,omitempty"`
	// FilesToPass is how many files in one process clean runs would need to pass by the limit of the policy; 0 where they
	// do, and where no number of files would help.
	FilesToPass int `json:"files_to_pass,omitempty"`
}

// A growth is a check that is being calibrated.
type growth struct {
	Growth
	key   string // of the policy
	units []unit
	dealt *noise
	tries [][]shape.Result // of each, a result for each process
}

// growths are the checks of growth over files.
func growths(p check.Policy) []*growth {
	all := make([]*growth, len(check.Ledgers))
	for i := range check.Ledgers {
		l := &check.Ledgers[i]
		all[i] = &growth{
			Growth: Growth{Check: l.Check, Subject: l.Name, Limit: p.MaxGrowth[l.Name]}, key: l.Key,
		}
	}
	return all
}

func (g *growth) calibrate(runs []*compare.Baseline, policy check.Policy, o Options) {
	least := max(policy.Leak.MinFiles, shape.LeastFiles)
	longest := 0
	for _, run := range runs {
		for i := range run.Metrics {
			if m := &run.Metrics[i]; m.Name == g.Subject && m.Unit == check.Bytes {
				u, files := unitOf(run, m, policy.Leak.WarmUp, least)
				longest = max(longest, files)
				if u != nil {
					g.units = append(g.units, u)
				}
			}
		}
	}
	switch {
	case longest == 0:
		g.Skipped = "no run has it"
		return
	case g.units == nil:
		g.Skipped = fmt.Sprintf("growth over files needs at least %d files in one process, the longest "+
			"one here has %d", least, longest)
		return
	}
	g.dealt = newNoise(g.units)
	g.describe()
	g.deal(o)
	g.Fired, g.Undecided = g.rates(g.Limit)
	g.Fine = g.does(g.Limit, o)
	for _, limit := range amounts {
		if g.does(limit, o) {
			g.Enough = new(limit)
			break
		}
	}
	g.Catches = g.least(o)
	if g.Undecided.Share() > 1-o.Power {
		g.FilesToPass = g.filesToPass(o.Power)
	}
}

// describe says what there is to try on.
func (g *growth) describe() {
	g.Series = len(g.units)
	var files, noise []float64
	for _, u := range g.units {
		longest := slices.MaxFunc(u, func(a, b *source) int { return len(a.course) - len(b.course) })
		files, noise = append(files, float64(len(longest.course))), append(noise, longest.result.Sigma)
		if longest.quiet {
			noise[len(noise)-1] = 0
		}
		switch verdict(u.results(), g.Limit) {
		case check.Fail:
			g.Failed++
		case check.Undecided:
			g.Unsure++
		}
	}
	g.Files, g.Noise = int(quantile(files, 0.5)), quantile(noise, 0.5)
}

// quantile returns the least value that at least this share of the values does not exceed.
func quantile(values []float64, share float64) float64 {
	return stat.Quantile(share, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// deal judges the tries, the units in turn. Where a unit has no noise, all of its tries are the same.
func (g *growth) deal(o Options) {
	g.tries = make([][]shape.Result, o.Tries)
	judged := func(i int) int { // the try that is judged in the place of this one
		if u := i % len(g.units); g.units[u].quiet() {
			return u
		}
		return i
	}
	each(o.Tries, func(i int) {
		if judged(i) == i {
			g.tries[i] = g.try(i, 0, o)
		}
	})
	for i := range g.tries {
		g.tries[i] = g.tries[judged(i)]
	}
}

// try judges one try, with a leak of so many bytes a file on top.
func (g *growth) try(i int, leak float64, o Options) []shape.Result {
	r := random(o.Seed, g.Check, i)
	var results []shape.Result
	for _, s := range g.units[i%len(g.units)] {
		result := shape.Of(g.dealt.try(s, r, leak))
		result.Fitted = nil // thousands of them are kept
		results = append(results, result)
	}
	return results
}

// rates are how many of the tries fail and cannot be decided at a limit.
func (g *growth) rates(limit float64) (fired, undecided Rate) {
	count := map[check.Verdict]int{}
	for _, results := range g.tries {
		count[verdict(results, limit)]++
	}
	return rateOf(count[check.Fail], len(g.tries)), rateOf(count[check.Undecided], len(g.tries))
}

// does says whether a limit does: alarms are certain to be rare enough, and enough clean runs pass.
func (g *growth) does(limit float64, o Options) bool {
	fired, undecided := g.rates(limit)
	passed := 1 - fired.Share() - undecided.Share()
	return fired.High <= o.FalseAlarms && passed >= o.Power
}

// powerTries is how many tries tell how often a leak is found: within 2 % where it is 90 %.
const powerTries = 200

// largestLeak is the largest one that is tried, bytes a file.
const largestLeak = 1 << 40

// least is the least leak that fails with the power that is asked for. The more a run leaks, the more tries fail: each is dealt
// the same noise whatever it leaks.
func (g *growth) least(o Options) *float64 {
	n := min(o.Tries, powerTries)
	found := func(leak float64) bool {
		fired := make([]bool, n)
		each(n, func(i int) { fired[i] = verdict(g.try(i, leak, o), g.Limit) == check.Fail })
		count := 0
		for _, f := range fired {
			if f {
				count++
			}
		}
		return float64(count) >= o.Power*float64(n)
	}
	high := 2*g.Limit + 1024
	low := 0.0
	for !found(high) {
		if low, high = high, 2*high; high > largestLeak {
			return nil
		}
	}
	for high-low > high/64 {
		if middle := (low + high) / 2; found(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return &high
}

// mostFiles is how many files are worth advising.
const mostFiles = 10_000

// filesToPass is how many files clean runs would need to pass by the limit with the power that is asked for. The standard error
// of a slope falls with the power 3/2 of the number of files, what digits hide with the number.
func (g *growth) filesToPass(power float64) int {
	passes := func(times float64) bool {
		count := 0
		for i, results := range g.tries {
			within := true
			for k, r := range results {
				lasting := 0.0 // growth that the clean run has
				if s := g.units[i%len(g.units)][k]; s.result.Growing {
					lasting = s.result.Slope.Estimate
				}
				noise := r.Slope.High - r.Rounding - lasting
				within = within && lasting+noise/math.Pow(times, 1.5)+r.Rounding/times <= g.Limit
			}
			if within {
				count++
			}
		}
		return float64(count) >= power*float64(len(g.tries))
	}
	for n := float64(g.Files + 1); n <= mostFiles; n = math.Ceil(n * 1.02) {
		if passes(n / float64(g.Files)) {
			return int(n)
		}
	}
	return 0
}

// lines are what to change in the policy.
func (g *growth) lines() []string {
	if g.Fine || g.Enough == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: {max_growth: %s}", g.key, amountText(*g.Enough))}
}
