// Package journal writes soak.log, the record of a run, and reads it back when the run is resumed.
//
//   - journal.go writes: the pipeline's lines and, between them, the harness's.
//   - lock.go opens the log for one harness alone, and gets what was written onto the disk.
//   - torn.go finds where a log ends that a kill or a power failure cut short.
//   - replay.go brings a batch of files to where the log left it.
//   - rescue.go notices that the log was removed, replaced or cut during the run, and saves it.
//
// What always holds:
//
//   - The log is append-only. Only the torn end of a run that was killed is ever cut off.
//   - The pipeline's bytes stay as they are. Two things are added: a newline after a process's last
//     line if it lacks one, and a quote line before a line of the pipeline that could be taken for
//     one of the harness.
//   - A line of the harness never interrupts a line of the pipeline.
//   - What was added since the last flush is written in one write, in order.
//   - The end of a file is on the disk before the run goes on. A power failure loses at most the
//     file that was worked on.
//   - One harness writes a log at a time.
//   - Clock times appear in the log only. Nothing is decided by them, since a clock may jump.
package journal
