// Package calibrate measures what a policy does on a suite's own runs. It tells how often clean
// runs would fail, how small a leak or a regression would be caught, and which limits would keep a
// given rate of false alarms.
//
//	goals := calibrate.Options{FalseAlarms: 0.001, Power: 0.9, Tries: 4000, Seed: 1}
//	report, err := calibrate.Of(runs, policy, goals)
//
// Growth over files is judged on tries. A try is a simulated clean run: the fitted shape of a real
// one (see shape.Of) with its own noise in a new random order. [check.GrowthVerdict], the rule of
// the check itself, judges each try. A try therefore gets the verdict that a soak would have given.
//
// Comparisons are judged by [compare.Compare]: each clean run against each other one, and shuffles,
// which differ only by chance.
package calibrate
