// Package calibrate tells what a policy does on a suite's own runs: how often it would fire though nothing is wrong, how
// small a leak or a regression it would catch, and which limits would keep a stated rate of false alarms.
//
//	report, err := calibrate.Of(runs, policy, calibrate.Options{FalseAlarms: 0.001, Power: 0.9, Tries: 4000, Seed: 1})
//
// Growth over files is judged on tries: what a clean run does (shape.Of says what), with its own noise dealt anew. A try is
// judged by the rule of the check itself, [check.GrowthVerdict], so that what is counted is what a soak would have said.
// Comparisons are judged by [compare.Compare]: each clean run against each other one, and shuffles, of which it is known that
// they differ by chance only.
package calibrate
