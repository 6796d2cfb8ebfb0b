// Package timeline puts the records of logs together: which file was worked on when, which checkpoints
// enclose a stage or a cleanup, what the harness saw meanwhile. It judges nothing; harness/check does.
//
// A [Builder] takes records one by one, in constant memory but for what a [Timeline] keeps of each file.
package timeline
