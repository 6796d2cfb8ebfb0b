package history

import (
	"math"
	"math/rand/v2"
	"testing"

	"vramsoak/harness/check"
)

// TestFitHinge: the fit of values without noise has the knot, the level and the slope with which
// they were made. Two values of each stretch fix the line, so the bounds are the knot itself.
func TestFitHinge(t *testing.T) {
	for _, knot := range []int{0, 3, 8} {
		var values []float64
		for i := range 14 {
			values = append(values, 600+12*float64(max(0, i-knot)))
		}
		h := fitHinge(values, 0.001)
		if h.knot != knot || h.early != knot || h.late != knot || math.Abs(h.level-600) > 1e-6 ||
			math.Abs(h.slope-12) > 1e-6 {
			t.Errorf("knot %d: got %+v", knot, h)
		}
	}
}

// TestHingeBounds: of 400 series with noise, the bounds contain the true knot and the true slope
// in about 95 %. If the bounds include the first value, the fit uses it.
func TestHingeBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const tries, knot, slope = 400, 6, 12.0
	inside, sloped := 0, 0
	for range tries {
		var values []float64
		for i := range 20 {
			values = append(values, 600+slope*float64(max(0, i-knot))+12*r.NormFloat64())
		}
		h := fitHinge(values, 0.001)
		if h.early <= knot && knot <= h.late {
			inside++
		}
		if h.low <= slope && slope <= h.high {
			sloped++
		}
	}
	for what, n := range map[string]int{"knot": inside, "slope": sloped} {
		share := float64(n) / tries
		if share < 0.9 || share > 0.99 {
			t.Errorf("%.1f %% of the bounds contain the %s", 100*share, what)
		}
	}
}

// TestDriftInsteadOfSteps: 12 MiB a night since night 5 are one drift with its start, and no steps,
// also when the detector finds steps. The gate fails as often as it does without drifts.
func TestDriftInsteadOfSteps(t *testing.T) {
	const mib = 1 << 20
	policy := check.DefaultPolicy().Regression
	for _, nights := range []int{10, 14, 20, 30, 60} {
		r := rand.New(rand.NewPCG(3, uint64(nights)))
		h := of(nights, func(i int) float64 {
			return (6000 + 12*float64(max(0, i-3)) + r.NormFloat64()) * mib
		})
		series := h.Judged()
		changes, _ := h.Changes(series, policy)
		drifts := h.Drifts(series, changes, policy)
		if left := Unexplained(changes, drifts); len(drifts) != 1 || len(left) > 0 {
			t.Errorf("%d nights: %d drifts, %d of %d steps left", nights, len(drifts), len(left),
				len(changes))
			continue
		}
		d := drifts[0]
		if d.Good != d.From-1 || d.Early > 4 || d.Late < 4 || d.Slope.Low > 12.01*mib ||
			d.Slope.High < 11.99*mib || len(d.Steps) != len(changes) {
			t.Errorf("%d nights: since run %d (%d to %d), good %d, %+v, %d steps", nights, d.From,
				d.Early, d.Late, d.Good, d.Slope, len(d.Steps))
		}
		o := h.Gate(policy)
		if lasting := len(o.New) > 0; lasting != (len(changes) > 0) ||
			(o.Verdict == check.Fail) != lasting {
			t.Errorf("%d nights: %d steps, and the gate says %s", nights, len(changes), o.Verdict)
		}
		if steps, slow := o.Reported(); len(changes) > 0 && (len(steps) > 0 || len(slow) != 1) {
			t.Errorf("%d nights: %d steps and %d drifts are told", nights, len(steps), len(slow))
		}
	}
}

// TestDriftIsOneFit: the rate of a drift, its runs and its two values agree. One night that stands
// out does not move the beginning.
func TestDriftIsOneFit(t *testing.T) {
	const mib = 1 << 20
	policy := check.DefaultPolicy().Regression
	for _, outlier := range []int{-1, 5, 9, 16} {
		r := rand.New(rand.NewPCG(3, 20))
		h := of(20, func(i int) float64 {
			high := 0.0
			if i == outlier {
				high = 400
			}
			return (6000 + 12*float64(max(0, i-7)) + r.NormFloat64() + high) * mib
		})
		drifts := h.Drifts(h.Judged(), nil, policy)
		if len(drifts) != 1 {
			t.Errorf("outlier %d: %d drifts", outlier, len(drifts))
			continue
		}
		d := drifts[0]
		if rise := d.Slope.Estimate * float64(d.Runs); math.Abs(rise-(d.Last-d.First)) > 1 {
			t.Errorf("outlier %d: %d runs of %.2f MiB, but from %.1f to %.1f MiB", outlier, d.Runs,
				d.Slope.Estimate/mib, d.First/mib, d.Last/mib)
		}
		if d.From != 8 || d.Slope.Low > 12*mib || d.Slope.High < 12*mib ||
			d.Slope.High-d.Slope.Low > mib {
			t.Errorf("outlier %d: since run %d, %+v", outlier, d.From, d.Slope)
		}
	}
}

// TestStepsStaySteps: levels that changed at once are no drift, one or several.
func TestStepsStaySteps(t *testing.T) {
	const mib = 1 << 20
	policy := check.DefaultPolicy().Regression
	for name, level := range map[string]func(i int) float64{
		"one step":    func(i int) float64 { return 100 * float64(min(1, i/20)) },
		"two steps":   func(i int) float64 { return 100 * float64(min(2, i/20)) },
		"three steps": func(i int) float64 { return 100 * float64(i/15) },
		"a step that was mended": func(i int) float64 {
			return 100 * float64(min(1, i/20)) * float64(1-min(1, i/40))
		},
	} {
		r := rand.New(rand.NewPCG(3, 7))
		h := of(60, func(i int) float64 { return (6000 + level(i) + r.NormFloat64()) * mib })
		series := h.Judged()
		changes, _ := h.Changes(series, policy)
		if left := Unexplained(changes, h.Drifts(series, changes, policy)); len(changes) == 0 ||
			len(left) != len(changes) {
			t.Errorf("%s: %d of %d steps are told as a drift", name, len(changes)-len(left),
				len(changes))
		}
	}
}

// of returns a history with the peak of each night.
func of(nights int, peak func(i int) float64) *History {
	h := &History{Series: []Series{{
		SeriesKey: SeriesKey{Metric: check.Peak, Statistic: Worst}, Unit: check.Bytes,
	}}}
	for i := range nights {
		h.Runs = append(h.Runs, Entry{ID: int64(i + 1)})
		h.Series[0].Runs = append(h.Series[0].Runs, i)
		h.Series[0].Values = append(h.Series[0].Values, peak(i))
	}
	return h
}
