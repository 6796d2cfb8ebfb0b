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

// Growth describes the verdicts of one check of growth on clean runs. Amounts are in bytes a file.
type Growth struct {
	Check   string  `json:"check"`
	Subject string  `json:"subject"`
	Limit   float64 `json:"limit"` // the policy's limit
	// Skipped says why the check could not be calibrated; the following fields are then zero. It is ""
	// if the check was calibrated.
	Skipped string `json:"skipped,omitempty"`
	// Series is the number of real series: one for each run and device. Files is the number of files
	// in their longest processes, as the median over the series.
	Series int `json:"series"`
	Files  int `json:"files"`
	// Noise is the standard deviation of the noise, in bytes, as the median over the series.
	Noise float64 `json:"noise"`
	// Failed and Unsure are the numbers of real series that failed and that were undecided.
	Failed int `json:"failed"`
	Unsure int `json:"unsure"`
	// Fired and Undecided are the rates at which tries failed and at which they were undecided.
	Fired     Rate `json:"fired"`
	Undecided Rate `json:"undecided"`
	// Catches is the smallest leak that fails with the requested power. It is nil if no leak does.
	Catches *float64 `json:"catches,omitempty"`
	// Fine is set if the policy's limit reaches the goals. Enough is the smallest limit in the list
	// [amounts] that reaches the goals, or nil if none does.
	Fine   bool     `json:"fine"`
	Enough *float64 `json:"enough,omitempty"`
	// FilesToPass is the number of files in one process with which enough clean runs pass at the
	// policy's limit. It is 0 if enough runs pass already, or if no number of files would help.
	FilesToPass int `json:"files_to_pass,omitempty"`
}

// A growth is a check of growth that is being calibrated.
type growth struct {
	Growth
	key   string // the check's key in the policy
	units []unit
	drawn *noise
	tries [][]shape.Result // for each try, the results of its processes
}

// growths returns a growth for each check of growth over files.
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
		g.Skipped = fmt.Sprintf("growth over files needs %d files in one process; the longest here "+
			"has %d", least, longest)
		return
	}
	g.drawn = newNoise(g.units)
	g.describe()
	g.simulate(o)
	g.Fired, g.Undecided = g.rates(g.Limit)
	g.Fine = g.suffices(g.Limit, o)
	for _, limit := range amounts {
		if g.suffices(limit, o) {
			g.Enough = new(limit)
			break
		}
	}
	g.Catches = g.least(o)
	if g.Undecided.Estimate() > 1-o.Power {
		g.FilesToPass = g.filesToPass(o.Power)
	}
}

// describe sets the counts, the number of files and the noise of the real series.
func (g *growth) describe() {
	g.Series = len(g.units)
	var files, noise []float64
	for _, u := range g.units {
		longest := slices.MaxFunc(u, func(a, b *source) int { return len(a.fitted) - len(b.fitted) })
		files, noise = append(files, float64(len(longest.fitted))), append(noise, longest.result.Sigma)
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

// quantile returns the smallest of the values for which at least this fraction of the values is no
// larger.
func quantile(values []float64, fraction float64) float64 {
	return stat.Quantile(fraction, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// simulate judges all tries, and keeps the results in g.tries. The tries take the units in turn.
// All tries of a unit without noise are equal, so simulate judges such a unit only once.
func (g *growth) simulate(o Options) {
	g.tries = make([][]shape.Result, o.Tries)
	judged := func(i int) int { // number of the try whose result try i gets
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

// try returns the shapes of the processes in try i, after adding a leak in bytes a file.
func (g *growth) try(i int, leak float64, o Options) []shape.Result {
	r := random(o.Seed, g.Check, i)
	var results []shape.Result
	for _, s := range g.units[i%len(g.units)] {
		result := shape.Of(g.drawn.try(s, r, leak))
		result.Fitted = nil // saves memory: thousands of results are kept
		results = append(results, result)
	}
	return results
}

// rates returns the rates at which tries fail and at which they are undecided, at a limit.
func (g *growth) rates(limit float64) (fired, undecided Rate) {
	count := map[check.Verdict]int{}
	for _, results := range g.tries {
		count[verdict(results, limit)]++
	}
	return rateOf(count[check.Fail], len(g.tries)), rateOf(count[check.Undecided], len(g.tries))
}

// suffices reports whether a limit reaches the goals: false alarms are certainly rare enough, and
// enough tries pass.
func (g *growth) suffices(limit float64, o Options) bool {
	fired, undecided := g.rates(limit)
	passed := 1 - fired.Estimate() - undecided.Estimate()
	return fired.High <= o.FalseAlarms && passed >= o.Power
}

// powerTries is the number of tries by which the power is measured. With 200 tries, a power of 90 %
// is measured with a standard error of 2 %.
const powerTries = 200

// largestLeak is the largest leak that is tried, in bytes a file.
const largestLeak = 1 << 40

// least returns the smallest leak, in bytes a file, that fails with the requested power, or nil.
// Each try has the same noise for every leak, so a larger leak never fails less often.
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

// mostFiles is the largest number of files that a report advises.
const mostFiles = 10_000

// filesToPass returns the number of files with which clean runs pass at the limit with the
// requested power, or 0. It extrapolates from the tries: with n files, the standard error of a
// slope is proportional to n to the power of -3/2, and the error from rounded digits to 1/n.
func (g *growth) filesToPass(power float64) int {
	passes := func(times float64) bool {
		count := 0
		for i, results := range g.tries {
			within := true
			for k, r := range results {
				lasting := 0.0 // the clean run's own growth
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

// lines returns the line for the policy file, or none if the check's limit need not change or no
// limit reaches the goals.
func (g *growth) lines() []string {
	if g.Fine || g.Enough == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: {max_growth: %s}", g.key, amountText(*g.Enough))}
}
