package calibrate

import (
	"math"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/harness/shape"
)

// A unit holds the processes of one run on one device. The check gives a unit one verdict.
type unit []*source

// unitOf returns the unit of a run's metric, or nil if no process has at least least files. The
// first warmUp files of a process do not count. The result longest is the number of files in the
// longest process.
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

// results returns the shapes of the unit's real series.
func (u unit) results() []shape.Result {
	var all []shape.Result
	for _, s := range u {
		all = append(all, s.result)
	}
	return all
}

// quiet reports whether no process of the unit has noise.
func (u unit) quiet() bool {
	return !slices.ContainsFunc(u, func(s *source) bool { return !s.quiet })
}

// verdict returns the verdict of a run at a limit: the worst verdict of its processes, whose shapes
// are results.
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
