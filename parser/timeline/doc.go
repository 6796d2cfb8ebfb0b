// Package timeline arranges the records of logs: which file was processed when, which checkpoints
// enclose a stage or a cleanup, and what the harness measured meanwhile. It judges nothing; package
// harness/check does.
//
// A [Builder] takes the records one by one. It needs constant memory, apart from what the
// [Timeline] keeps of each file.
package timeline
