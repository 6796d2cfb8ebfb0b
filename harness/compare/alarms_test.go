package compare_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

const metricsOfRun = 12

var alarmRuns = flag.Int("alarms.runs", 1000, "pairs of like runs of each kind in TestFalseAlarms")

// simulate returns a run with twelve metrics, which are worse by the given share. The metrics have
// four kinds of noise: memory in blocks of 2 MiB, which gives many equal values; scattered bytes;
// recoveries; and a throughput with rare slow files. The values differ far more between files than
// between runs.
func simulate(r *rand.Rand, files int, worse float64) *compare.Baseline {
	m := check.Measurements{Metrics: make([]check.Metric, metricsOfRun)}
	for i := range files {
		m.Files = append(m.Files, check.MeasuredFile{Path: fmt.Sprintf("%d.wav", i), Index: i + 1})
	}
	for k := range m.Metrics {
		metric := &m.Metrics[k]
		metric.Name, metric.Unit = fmt.Sprintf("metric %d", k), check.Bytes
		for i := range files {
			size := 1 + float64((i*7+k)%10)/10
			v := 0.0
			switch k % 4 {
			case 0:
				v = 2 * mib * math.Round(500*size*(1+worse)+2*r.NormFloat64())
			case 1:
				v = 1000 * mib * size * (1 + worse + 0.01*r.NormFloat64())
			case 2:
				metric.Unit, metric.HigherIsBetter = check.Ratio, true
				v = (1 - worse) * (1 - 0.01*r.ExpFloat64())
			case 3:
				metric.Unit, metric.HigherIsBetter = check.TimesRealTime, true
				v = 30 * size * (1 - worse) * math.Exp(-0.02*r.ExpFloat64())
			}
			metric.Values = append(metric.Values, v)
		}
	}
	return compare.New(m, compare.RunInfo{})
}

// verdicts compares many pairs of runs. It returns the number of pairs in which a metric fails, and
// of those in which all metrics pass.
func verdicts(t *testing.T, runs, files int, worse float64, paired bool,
	policy check.RegressionPolicy,
) (failed, passed int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	const workers = 4
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), uint64(files)))
			for range runs / workers {
				base, now := simulate(r, files, 0), simulate(r, files, worse)
				if !paired {
					for i := range now.Files {
						now.Files[i].Path = fmt.Sprintf("other %d.wav", i)
					}
				}
				fail, pass := false, true
				for _, c := range compare.Compare(base, now, policy).Changes {
					fail, pass = fail || c.Verdict == check.Fail, pass && c.Verdict == check.Pass
				}
				mu.Lock()
				if fail {
					failed++
				}
				if pass {
					passed++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed, passed
}

// TestFalseAlarms compares pairs of equal runs with twelve metrics, with a policy under which the
// smallest difference may fail. The rate of failures must stay below the policy's probability of a
// false alarm, plus four standard deviations. A binomial number exceeds that bound less than once
// in 10,000 times.
func TestFalseAlarms(t *testing.T) {
	for _, c := range []struct {
		files  int
		paired bool
		alarms float64
	}{{20, true, 0.001}, {20, true, 0.05}, {12, true, 0.05}, {12, false, 0.05}} {
		runs := *alarmRuns
		if testing.Short() {
			runs /= 10
		}
		policy := check.RegressionPolicy{FalseAlarms: check.Share(c.alarms)} // every difference counts
		failed, _ := verdicts(t, runs, c.files, 0, c.paired, policy)
		mean := c.alarms * float64(runs)
		if most := mean + 4*math.Sqrt(mean*(1-c.alarms)); float64(failed) > most {
			t.Errorf("%d files, paired %v: %d of %d like runs fail, want at most %.0f", c.files, c.paired,
				failed, runs, most)
		}
		t.Logf("%d files, paired %v: %d of %d like runs fail; promised %.0f", c.files, c.paired, failed,
			runs, mean)
	}
}

// TestPower: with the default policy, runs that are 10 % worse fail, with noise of 1 to 3 %. Equal
// runs pass if the limit is wide enough for the noise.
func TestPower(t *testing.T) {
	if failed, _ := verdicts(t, 100, 20, 0.10, true, defaults()); failed < 100 {
		t.Errorf("%d of 100 runs that are 10 %% worse fail", failed)
	}
	wide := defaults()
	wide.MinEffect, wide.MinSlowdown = 0.05, 0.05
	if failed, passed := verdicts(t, 100, 60, 0, true, wide); failed > 0 || passed < 100 {
		t.Errorf("of 100 like runs %d fail and %d pass", failed, passed)
	}
}
