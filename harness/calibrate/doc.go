// Package calibrate measures how a policy judges a suite's own clean runs. It reports how often
// clean runs would fail, how small a leak or a regression would still fail, and which limits would
// keep the requested rate of false alarms.
//
//	goals := calibrate.Options{FalseAlarms: 0.001, Power: 0.9, Tries: 4000, Seed: 1}
//	report, err := calibrate.Of(runs, policy, goals)
//
// Growth over files is judged on tries. A try is a simulated clean run: the shape that shape.Of
// fits to a real run, plus the noise of real runs in a new random order. [check.GrowthVerdict], the
// rule of the check itself, judges each try, so a try gets the verdict that a soak would have
// given.
//
// Comparisons are judged by [compare.Compare]. It compares each clean run with each other clean
// run. It also compares shuffles. A shuffle is two runs that exchanged some of their measurements,
// or the two halves of one run, so that the two sides differ only by chance.
package calibrate
