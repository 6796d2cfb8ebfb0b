// Package timeline arranges the records of logs: which file was processed when, which checkpoints
// enclose a stage or a cleanup, and what the harness measured meanwhile. It does not judge the
// readings; package harness/check does that.
//
// A [Builder] gets the records one by one. It needs constant memory, apart from what the
// [Timeline] keeps of each file.
package timeline
