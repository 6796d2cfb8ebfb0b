// Package timeline puts the records of logs together: which file was processed when, which
// checkpoints enclose a stage or a cleanup, and what the harness saw meanwhile. Judging is the task
// of harness/check.
//
// A [Builder] takes records one by one. Beyond what the [Timeline] keeps of each file it needs
// constant memory.
package timeline
