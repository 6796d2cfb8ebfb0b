package calibrate

import (
	"math"
	"math/rand/v2"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

// sameFiles reports whether two runs have the same files and the same metrics, in the same order.
func sameFiles(a, b *compare.Baseline) bool {
	return slices.EqualFunc(a.Files, b.Files, func(a, b check.MeasuredFile) bool {
		return a.Path == b.Path && a.AudioSeconds == b.AudioSeconds
	}) && slices.EqualFunc(a.Metrics, b.Metrics, func(a, b check.Metric) bool {
		return a.Name == b.Name && a.Unit == b.Unit && a.Rank == b.Rank && a.Device == b.Device
	})
}

// exchanged returns copies of two runs of the same files that have exchanged some measurements. It
// first removes the usual difference between the runs from the second run. Then it exchanges random
// blocks of consecutive files. The copies therefore differ only by chance.
func exchanged(r *rand.Rand, a, b *compare.Baseline) (first, second *compare.Baseline) {
	block := int(math.Ceil(math.Cbrt(float64(len(a.Files)))))
	swap := make([]bool, len(a.Files))
	now := false
	for i := range swap {
		if i%block == 0 {
			now = r.IntN(2) == 0
		}
		swap[i] = now
	}
	first, second = &compare.Baseline{}, &compare.Baseline{}
	first.Files, second.Files = a.Files, b.Files
	for k := range a.Metrics {
		x, y := a.Metrics[k], b.Metrics[k]
		// After the exchange, either run may hold values with the rounding of the other, so both get the
		// coarser resolution.
		x.Resolution = max(x.Resolution, y.Resolution)
		y.Resolution = x.Resolution
		x.Values, y.Values = slices.Clone(x.Values), levelled(x, y)
		for i := range swap {
			if swap[i] {
				x.Values[i], y.Values[i] = y.Values[i], x.Values[i]
			}
		}
		first.Metrics, second.Metrics = append(first.Metrics, x), append(second.Metrics, y)
	}
	return first, second
}

// levelled returns the values of y without the usual difference between y and x. That difference is
// an amount or, for times, a factor.
func levelled(x, y check.Metric) check.Values {
	timed := metricKey{unit: x.Unit}.timed()
	var differences []float64
	for i := range x.Values {
		d := y.Values[i] - x.Values[i]
		if timed {
			d = math.Log(y.Values[i] / x.Values[i])
		}
		if !math.IsNaN(d) && !math.IsInf(d, 0) {
			differences = append(differences, d)
		}
	}
	all := slices.Clone(y.Values)
	if differences == nil {
		return all
	}
	usual := quantile(differences, 0.5)
	for i := range all {
		if timed {
			all[i] *= math.Exp(-usual)
		} else {
			all[i] -= usual
		}
	}
	return all
}

// halves returns two runs with half of a run's files each, chosen at random: of every two
// consecutive files, each half gets one. The files lose their names, so that a comparison pairs
// them in order.
func halves(r *rand.Rand, run *compare.Baseline) (first, second *compare.Baseline) {
	n := len(run.Files) / 2
	first, second = &compare.Baseline{}, &compare.Baseline{}
	first.Files, second.Files = make([]check.MeasuredFile, n), make([]check.MeasuredFile, n)
	for _, m := range run.Metrics {
		x, y := m, m
		x.Values, y.Values = make(check.Values, n), make(check.Values, n)
		first.Metrics, second.Metrics = append(first.Metrics, x), append(second.Metrics, y)
	}
	for i := range n {
		one := r.IntN(2)
		for k, m := range run.Metrics {
			first.Metrics[k].Values[i], second.Metrics[k].Values[i] = m.Values[2*i+one], m.Values[2*i+1-one]
		}
	}
	return first, second
}
