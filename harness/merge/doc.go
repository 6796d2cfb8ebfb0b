// Package merge judges a run of many shards: the logs that the tasks of an array or a job wrote,
// each about its share of one batch.
//
//	shards, err := merge.Find(paths)      // folders of runs, or of single shards
//	run, err := merge.Open(shards, false) // reads the first lines; refuses shards of other runs
//	judged, err := run.Judge(policy, nil) // reads and judges every shard
//
// Each shard is read and judged by itself, as package check judges a log, and its report is merged
// into one report on the whole run. So the memory does not grow with the number of files, except
// for a bit for each file of the batch: whether a shard has ended it.
//
// # How findings are merged
//
// The findings of all shards on the same check and subject become one finding. The shard with the
// worst verdict decides, and among several the one that measured the worst. Three findings are not
// of any single shard: whether each shard is complete, whether each file of the batch has ended
// once, and growth over all shards together.
//
// A run of many shards is one run, so all shards share its rate of false alarms: each gets an equal
// part. A growth finding that is undecided in a shard does not make the run undecided if the shard
// has less than half as many files as one that passes: it is like a process that was cut short.
package merge
