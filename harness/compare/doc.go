// Package compare decides whether one run uses more memory, or takes more time, than another.
//
//	base, err := compare.ReadBaseline(file, "baseline.json")
//	c := compare.Runs(base, compare.New(*report.Measured, run), policy)
//	report.Join(c.Findings("")...)
//
// Compare compares each file with the same file of the base, and judges each metric by how much
// worse the new run is. A metric fails if it certainly got worse by more than the policy's smallest
// effect. It passes if it certainly did not. Otherwise it is undecided. The tests use ranks of the
// values, so they assume no particular distribution of the noise.
package compare
