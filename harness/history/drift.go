package history

import (
	"math"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// A Drift is a slow change for the worse: the series gets worse from run to run, and no run stands
// out as the first bad one. It is for people to look at: [History.Gate] ignores it.
type Drift struct {
	Series *Series
	// From is the index in History.Runs of the run from which on the series gets worse.
	From int
	// Slope is how much worse a run is than the run before it, in the series' unit. It is above 0.
	Slope shape.Interval
	// First and Last are the fitted values of the first and the newest run of the drift.
	First, Last float64
	Runs        int // number of runs of the drift
}

// Drifts returns the series that get worse slowly, without those that have one of the given changes
// for the worse that last. A drift must be certain, as a leak over files must be, and together its
// runs must get worse by as much as the policy allows for a comparison of two runs.
func (h *History) Drifts(series []*Series, changes []Change, policy check.RegressionPolicy,
) []Drift {
	changed := map[*Series]bool{}
	for _, c := range changes {
		changed[c.Series] = changed[c.Series] || c.Lasting
	}
	var out []Drift
	for _, s := range series {
		if changed[s] {
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
		r := shape.Of(shape.Series{
			Values: values, Resolution: s.Resolution, Grain: check.Grain(s.Unit),
			Level: float64(policy.FalseAlarms) / float64(len(series)),
		})
		if !r.Growing {
			continue
		}
		d := Drift{
			Series: s, From: s.Runs[r.From], Slope: r.Slope, First: sign * r.Fitted[r.From],
			Last: sign * r.Fitted[len(values)-1], Runs: len(values) - r.From,
		}
		if math.Abs(d.Last-d.First) >= s.least(policy, d.First) {
			out = append(out, d)
		}
	}
	return out
}
