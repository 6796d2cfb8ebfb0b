package check

import (
	"math"
	"slices"
)

// runLevel is the probability with which a clean run may fail because noise looks like growth,
// over all its ledgers, devices, ranks and processes.
const runLevel = 0.001

// countSeries sets j.series, the number of series that may fail the run: a ledger of one process,
// on one device of one rank. Each of them gets an equal part of runLevel, so that their sum stays
// below it (Bonferroni), also if they depend on each other. Four kinds of series do not count:
//
//   - those of checks that do not gate, because they do not fail the run;
//   - those with too few files to be judged;
//   - those that never change: a constant cannot look like growth. Most runs have many of them,
//     such as the number of file descriptors, and would otherwise find smaller leaks less often;
//   - those of drift and throughput, which the default policy only shows. A policy that gates on
//     them has more false alarms.
func (j *Judge) countSeries() {
	j.series = 0
	gates := func(check string) bool { return slices.Contains(j.policy.Gate, check) }
	add := func(of *Ledger, c *column) {
		if !gates(of.Check) {
			return
		}
		all := j.processes(c)
		for i := range all {
			p := &all[i]
			skip := min(j.policy.Leak.WarmUp, len(p.values))
			if varies(p.values[skip:]) && len(p.values)-skip >= j.policy.Leak.MinFiles {
				j.series++
			}
		}
	}
	if gates(Leak) || gates(Fragmentation) {
		for _, l := range j.lanes { // of lines that belong to no file
			j.series += len(l.readings)
		}
	}
	for i := range Ledgers {
		of := &Ledgers[i]
		switch {
		case !of.Machine:
			for _, l := range slices.Concat(j.lanes, j.sampled) {
				add(of, j.levelsOf(l, of))
			}
		case j.held != nil:
			add(of, j.held.column(of.resource))
		}
	}
}

// level returns the probability of a false alarm for a series of a check.
func (j *Judge) level(check string) float64 {
	if !slices.Contains(j.policy.Gate, check) {
		return j.runLevel()
	}
	return j.runLevel() / float64(max(1, j.series))
}

// varies reports whether the values that are known differ.
func varies(values []float64) bool {
	first := math.NaN()
	for _, v := range values {
		switch {
		case math.IsNaN(v):
		case math.IsNaN(first):
			first = v
		case v != first:
			return true
		}
	}
	return false
}
