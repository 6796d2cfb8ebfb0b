// Package shape describes what a series of readings does over the files of a run. The series may be
// flat, warm up, step, rise and be cleared repeatedly, follow the length of the audio, or grow and
// continue to grow. The package knows only numbers.
//
//	r := shape.Of(shape.Series{Values: levels, Resolution: 5.4e6, Grain: 512})
//	if r.Growing { fmt.Println(r.Slope.Estimate, "bytes a file since", r.From) }
//
// The method has four steps:
//
//  1. Outliers are replaced by the values next to them. Bursts of up to five files count as
//     outliers (clean.go).
//  2. Each shape is fitted with and without added growth, by generalized least squares. The noise
//     is autocorrelated: the noise of a value contains phi times the noise of the value before it.
//     Restricted maximum likelihood estimates phi (gls.go, models.go).
//  3. The best fit that grows is compared with the best fit that does not, by the Bayesian
//     information criterion. A break whose position was searched counts as three parameters (Hall,
//     Osborn and Sakkas 2013).
//  4. Growth is certain if three things hold. The comparison favours growth. The slope is more
//     standard errors above 0 than a table from simulations requires (critical.go). The second half
//     of the series grows too.
//
// The test of Mann and Kendall, which other tools use, is not enough. It takes autocorrelated noise
// for growth: in 5 % of clean series instead of 0.1 %. It also takes nine in ten warm-ups and steps
// for leaks. docs/explanation/false-alarms.md has the tables, and make bench-verdicts prints them.
package shape
