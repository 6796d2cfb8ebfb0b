// Package shape tells what a series of readings does over the files of a run: whether it is flat, warms up, steps, is cleared
// now and then, follows the length of the audio, or grows and goes on growing. It knows numbers only.
//
//	r := shape.Of(shape.Series{Values: levels, Resolution: 5.4e6, Grain: 512})
//	if r.Growing { fmt.Println(r.Slope.Estimate, "bytes a file since", r.From) }
//
// The method, step by step:
//
//  1. Outliers, bursts of up to five files, are put back to what is beside them (clean.go).
//  2. Each shape is fitted with and without growth on top of it, by generalized least squares with noise that is
//     autocorrelated by phi, which restricted maximum likelihood finds (gls.go, models.go).
//  3. The best fit that grows is compared with the best that does not by the Bayesian information criterion, a searched
//     break counting as three parameters (Hall, Osborn and Sakkas 2013).
//  4. Growth is certain where that comparison favours it, the slope is more standard errors above 0 than a table allows
//     that was found by simulation (critical.go), and the second half of the series does not contradict it.
//
// Mann and Kendall's test, which is used for this elsewhere, takes noise that resembles itself from file to file for growth (5 % of
// clean series at a nominal 0.1 %), and cannot tell a warm-up or a step from growth: it calls nine in ten of them leaks.
// docs/explanation/false-alarms.md has the tables, and make bench-verdicts prints them.
package shape
