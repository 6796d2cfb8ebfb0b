// Package compare tells whether one run needs more memory, or more time, than another.
//
//	base, err := compare.ReadBaseline(file, "baseline.json")
//	c := compare.Runs(base, compare.New(*report.Measured, run), policy)
//	report.Join(c.Findings("")...)
//
// Each metric of both runs is judged by how much worse the new one is, file against the same file. A metric fails where it
// is certain that it got worse by more than the least effect that the policy minds, passes where it is certain that it did
// not, and is undecided else. The tests look at ranks, so nothing is supposed of how noise is distributed.
package compare
