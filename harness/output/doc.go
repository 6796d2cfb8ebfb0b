// Package output reads the output of the processes of a run, writes it to the log, and finds out
// from it which file the pipeline works on.
//
//   - output.go writes each line of the pipeline to the log. Before and after a line that begins or
//     ends a file, it writes the harness's lines about that file.
//   - lines.go cuts the output into lines.
//   - tracker.go parses each line and keeps the state of the process: the active file, and the
//     failed allocations in it.
//   - files.go decides which file of the batch a record of the pipeline begins or ends, and writes
//     the file-start and file-end lines to the log.
//   - tail.go keeps the last lines of a process; cause.go finds the line among them that says why
//     the process ended.
//
// What always holds:
//
//   - Every byte of the output reaches the log, in order, however long its line is.
//   - The harness's file-start line comes before the pipeline's first line about that file, and its
//     file-end line after the pipeline's last line about it.
//   - A process works on one file at a time.
//   - Only lines that may hold a record are parsed. Most lines of most pipelines hold none.
package output
