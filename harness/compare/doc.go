// Package compare decides whether one run uses more memory, or takes more time, than another. The
// earlier run is called the base.
//
//	base, err := compare.ReadBaseline(file, "baseline.json")
//	c := compare.Runs(base, compare.New(*report.Measured, run), policy)
//	report.Join(c.Findings("")...)
//
// Compare compares each file with the same file of the base, and judges each metric by how much
// worse the new run is. A metric fails if it certainly got worse by more than the policy allows. It
// passes if it certainly did not. Otherwise it is undecided. The tests use ranks of the values, so
// they assume no particular distribution of the noise.
//
//   - baseline.go and readbaseline.go write and read the measurements of a run.
//   - compare.go compares two runs; pair.go decides which files of the two runs are the same.
//   - metric.go judges one metric; signedrank.go, ranksum.go and select.go hold its statistics.
//   - exact.go compares runs without noise byte by byte; growth.go compares growth over the files.
//   - values.go gives the values behind a comparison, file by file, for a picture.
//   - filefindings.go words the findings about files, message.go those about metrics.
package compare
