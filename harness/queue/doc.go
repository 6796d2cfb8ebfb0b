// Package queue holds the files of a run with the state of each (waiting, begun, ended with a
// status) and chooses the files that the next process gets.
//
//   - batch.go: a [Batch] holds the files of a run, or of one worker, and the state of each file.
//   - names.go finds the file of the batch that a pipeline means by a name in its output.
//   - feeder.go: a [Feeder] chooses the files of the next process: new files, files to be retried,
//     files whose results were lost.
//   - queue.go: a [Queue] distributes the files of one batch to several workers.
//   - pace.go estimates the time left.
//
// What always holds:
//
//   - The index of a file is its position in the batch and never changes. This package counts
//     indices from 0; the log counts them from 1.
//   - A process gets its files in the order of the batch.
//   - At any time a file belongs to one worker, or waits in the queue. After each process a worker
//     returns to the queue the files that the process did not begin.
//   - The worker on which a file failed also retries that file.
//   - If the harness is killed during a file, the result of that file is lost. The resumed run does
//     that file again, even if its time to soak is over.
//
// The package writes no files and starts no processes. Its callers tell it when a file begins and
// how it ends.
package queue
