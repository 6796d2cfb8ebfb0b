package calibrate

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

// schema names the version of a Report in JSON.
const schema = "vramsoak.calibration/1"

// Options are the goals of a calibration.
type Options struct {
	FalseAlarms float64 // the fraction of clean runs that may fail
	Power       float64 // the fraction of leaks to find, and of clean runs that must pass
	Tries       int     // number of tries for each check
	Seed        uint64
	All         bool // also use runs that failed
}

// A Report says which verdicts a policy gives to clean runs.
type Report struct {
	Schema      string   `json:"schema"`
	Runs        []string `json:"runs"`     // as the user named them
	LeftOut     []string `json:"left_out"` // runs that failed
	FalseAlarms float64  `json:"false_alarms"`
	Power       float64  `json:"power"`
	Tries       int      `json:"tries"`
	Seed        uint64   `json:"seed"`
	// Growth holds an entry for each gating check of growth: leak, fragmentation, dark-memory.
	Growth []Growth `json:"growth"`
	// Regression says how comparisons of two clean runs end. It is nil if the check "regression" does
	// not gate.
	Regression *Regression `json:"regression,omitempty"`
	// Policy holds lines for a policy file with limits that reach the goals. It is empty if the
	// present limits reach the goals, or if no limit does.
	Policy []string `json:"policy"`
}

// LeastRuns is the smallest number of clean runs with which a calibration is possible. One run
// cannot show how runs differ.
const LeastRuns = 2

// Of returns the calibration of a policy on a suite's runs. The runs must be in the order of their
// start.
func Of(runs []*compare.Baseline, policy check.Policy, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Report{
		Schema: schema, FalseAlarms: o.FalseAlarms, Power: o.Power, Tries: o.Tries, Seed: o.Seed,
		Runs: []string{}, LeftOut: []string{}, Growth: []Growth{}, Policy: []string{},
	}
	var clean []*compare.Baseline
	for _, b := range runs {
		dense := *b
		dense.Metrics = make([]check.Metric, len(b.Metrics))
		for i, m := range b.Metrics { // ReadBaseline checks this, but a run from a history is unchecked
			if !m.Fits(len(b.Files)) {
				return nil, fmt.Errorf("%s: expected a value for each of its %d files in the metric %q, "+
					"found %d; the stored run is damaged: leave it out", b.Run.Log, len(b.Files), m.Name,
					len(m.Values))
			}
			dense.Metrics[i] = m.Dense(len(b.Files))
		}
		if b.Run.Verdict == check.Fail && !o.All {
			r.LeftOut = append(r.LeftOut, b.Run.Log)
			continue
		}
		clean, r.Runs = append(clean, &dense), append(r.Runs, b.Run.Log)
	}
	if len(clean) < LeastRuns {
		return nil, fmt.Errorf("expected at least %d runs that did not fail, found %d%s", LeastRuns,
			len(clean), leftOut(r.LeftOut))
	}
	for _, g := range growths(policy) {
		if slices.Contains(policy.Gate, g.Check) {
			g.calibrate(clean, policy, o)
			r.Growth = append(r.Growth, g.Growth)
			r.Policy = append(r.Policy, g.lines()...)
		}
	}
	if slices.Contains(policy.Gate, check.Regression) {
		r.Regression = regressionOf(clean, &policy, o)
		r.Policy = append(r.Policy, r.Regression.lines(policy.Regression)...)
	}
	return r, nil
}

func leftOut(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d failed and may have leaked, the first is %s; if they did not leak, use "+
		"them too with --all", len(names), names[0])
}

// random returns the random numbers of one try. They depend only on the seed, on what the numbers
// are for (the parameter what), and on the number of the try. So the order in which tries run does
// not matter.
func random(seed uint64, what string, try int) *rand.Rand {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, what) // writing to a hash never fails
	return rand.New(rand.NewPCG(seed^hash.Sum64(), uint64(try)))
}

// each calls do for every number from 0 to n-1, on all processors, and returns when all calls have
// returned.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
