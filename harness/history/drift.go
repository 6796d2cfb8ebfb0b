package history

import (
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// A Drift is a slow change for the worse: from some run on, the series gets worse from run to run,
// and no run stands out as the first bad one.
type Drift struct {
	Series *Series
	// From is the index in History.Runs of the run from which on the series gets worse, and Good is
	// the run before it. Good is -1 if the series may get worse from its first run on.
	From, Good int
	// Early and Late are the bounds of From, with a confidence of 95 %.
	Early, Late int
	// Slope is how much worse a run is than the run before it, in the series' unit. It is above 0,
	// and the slope of Fitted.
	Slope shape.Interval
	// First and Last are the fitted values before the drift and of the newest run. If Good is -1,
	// First is the value of the first run.
	First, Last float64
	Runs        int       // number of runs of the drift
	Fitted      []float64 // one for each value of the series
	// Steps are the changes of the series, if it has some: the drift explains the values better.
	// Because of them, [History.Gate] fails. It ignores a drift without steps.
	Steps []Change
}

// Drifts returns the series that get worse slowly. A drift must be certain, as a leak over files
// must be, and together its runs must get worse by as much as the policy allows for a comparison of
// two runs. A series with lasting changes for the worse has a drift only if it has no others,
// and if the drift explains the values better.
func (h *History) Drifts(series []*Series, changes []Change, policy check.RegressionPolicy,
) []Drift {
	var out []Drift
	for _, s := range series {
		var own []Change
		lasting := 0
		for _, c := range changes {
			if c.Series == s {
				own = append(own, c)
				if c.Lasting {
					lasting++
				}
			}
		}
		if lasting > 0 && lasting < len(own) {
			continue
		}
		sign := 1.0
		if s.HigherIsBetter {
			sign = -1
		}
		values := make([]float64, len(s.Values))
		for i, v := range s.Values {
			values[i] = sign * v
		}
		grain := check.Grain(s.Unit)
		r := shape.Of(shape.Series{
			Values: values, Resolution: s.Resolution, Grain: grain,
			Level: float64(policy.FalseAlarms) / float64(len(series)),
		})
		if !r.Growing {
			continue
		}
		for _, i := range r.Outliers { // one bad night is no beginning of a drift
			values[i] = r.Fitted[i]
		}
		k := fitHinge(values, max(grain, s.Resolution))
		if k.slope <= 0 {
			continue
		}
		if lasting > 0 && (r.Shape != shape.Flat && r.Shape != shape.WarmUp ||
			!k.explains(values, stepsAt(s, own))) {
			continue
		}
		d := k.drift(s, sign)
		// Noise in which each run resembles the one before it has fewer independent values.
		alike := math.Sqrt((1 + r.Phi) / (1 - r.Phi))
		d.Slope = shape.Interval{
			Estimate: k.slope,
			Low:      k.slope - alike*(k.slope-k.low) - r.Rounding,
			High:     k.slope + alike*(k.high-k.slope) + r.Rounding,
		}
		if lasting > 0 {
			d.Steps = own
		}
		if math.Abs(d.Last-d.First) >= s.least(policy, d.First) {
			out = append(out, d)
		}
	}
	return out
}

// Unexplained returns the changes that no drift explains.
func Unexplained(changes []Change, drifts []Drift) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return slices.ContainsFunc(drifts, func(d Drift) bool {
			return d.Series == c.Series && len(d.Steps) > 0
		})
	})
}

// stepsAt returns the indexes in the series at which its changes begin.
func stepsAt(s *Series, changes []Change) []int {
	var at []int
	for _, c := range changes {
		at = append(at, slices.Index(s.Runs, c.Bad))
	}
	return at
}
