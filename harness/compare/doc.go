// Package compare decides whether one run uses more memory, or takes more time, than another.
//
//	base, err := compare.ReadBaseline(file, "baseline.json")
//	c := compare.Runs(base, compare.New(*report.Measured, run), policy)
//	report.Join(c.Findings("")...)
//
// Each metric of both runs is judged by how much worse the new run is. Each file is compared with
// the same file in the base. A metric fails if it certainly got worse by more than the policy's
// smallest effect. It passes if it certainly did not; otherwise it is undecided. The tests use
// ranks, so they assume no particular distribution of the noise.
package compare
