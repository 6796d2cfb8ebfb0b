package calibrate

import (
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/harness/shape"
)

// A unit is what the check judges as one: a run on one device, process by process.
type unit []*source

// unitOf is the unit of a metric of a run, nil where no process has enough files; the longest one has so many.
func unitOf(run *compare.Baseline, m *check.Metric, warmUp, least int) (u unit, longest int) {
	byProcess := map[int]*shape.Series{}
	var order []int
	for i, v := range m.Values {
		f := run.Files[i]
		if math.IsNaN(v) {
			continue
		}
		s := byProcess[f.Process]
		if s == nil {
			s = &shape.Series{Resolution: m.Resolution, Grain: check.Grain(m.Unit)}
			byProcess[f.Process], order = s, append(order, f.Process)
		}
		s.Values, s.Audio = append(s.Values, v), append(s.Audio, f.AudioSeconds)
	}
	for _, process := range order {
		s := byProcess[process]
		skip := min(warmUp, len(s.Values))
		s.Values, s.Audio = s.Values[skip:], s.Audio[skip:]
		if slices.ContainsFunc(s.Audio, func(a float64) bool { return !(a > 0) }) {
			s.Audio = nil
		}
		if longest = max(longest, len(s.Values)); len(s.Values) >= least {
			u = append(u, newSource(*s))
		}
	}
	return u, longest
}

// results are those of the unit as it was.
func (u unit) results() []shape.Result {
	var all []shape.Result
	for _, s := range u {
		all = append(all, s.result)
	}
	return all
}

// quiet says that none of the processes has noise.
func (u unit) quiet() bool {
	return !slices.ContainsFunc(u, func(s *source) bool { return !s.quiet })
}

// verdict is that of a run: the worst of its processes.
func verdict(results []shape.Result, limit float64) check.Verdict {
	worst := check.Pass
	for i := range results {
		switch check.GrowthVerdict(&results[i], limit) {
		case check.Fail:
			return check.Fail
		case check.Undecided:
			worst = check.Undecided
		}
	}
	return worst
}
