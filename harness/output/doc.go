// Package output reads what the processes of a run print, and passes it on to the log.
//
//   - output.go passes each line to the log, between the harness's lines on it.
//   - lines.go cuts what is printed into lines.
//   - tracker.go finds out from the lines which file the pipeline works on; files.go writes to the
//     log where files begin and end, and how.
//   - tail.go keeps the last lines of a process; cause.go finds among them why it ended.
//
// What always holds:
//
//   - Every byte reaches the log, in order, however long its line is.
//   - The harness's line on the beginning of a file comes before the pipeline's first line on that
//     file, and its line on the end after the last.
//   - A process works on one file at a time.
//   - Only lines that may hold a record are parsed. Nearly no line does.
package output
