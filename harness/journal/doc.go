// Package journal writes soak.log, the log of a run, and reads it back when the run is resumed.
//
//   - journal.go writes the pipeline's lines and, between them, the lines of the harness.
//   - lock.go locks the log for one harness, and syncs it to the disk.
//   - torn.go finds the incomplete end that a kill or a power failure left in a log.
//   - replay.go reads a log and marks in the batch which files have begun and ended.
//   - rescue.go notices when somebody removes, replaces or cuts the log during the run, and saves
//     the log.
//
// What always holds:
//
//   - The log is append-only, with one exception: a resume cuts off the incomplete end that a
//     killed harness left.
//   - The log holds the pipeline's output byte for byte. The harness adds two things: a newline
//     after the last line of a process if the newline is missing, and a quote line before a line of
//     the pipeline that looks like a line of the harness.
//   - A line of the harness never interrupts a line of the pipeline.
//   - A flush writes everything that was added since the last flush, in order, in one write.
//   - The file-end line of a file is on the disk before the run goes on. A power failure loses at
//     most the result of the current file.
//   - One harness writes a log at a time.
//   - The harness writes clock times to the log, but decides nothing by them, because the clock of
//     a machine may jump.
package journal
