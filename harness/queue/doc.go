// Package queue holds the files of a run, knows how far each is, and chooses the files that the
// next process gets.
//
//   - batch.go: a [Batch] is the files of one run, or of one worker of it, and the status of each.
//   - names.go finds the file that a pipeline means by a name.
//   - feeder.go: a [Feeder] chooses the files of the next process: new files, files to be retried,
//     files whose results were lost.
//   - queue.go: a [Queue] deals the files of one batch out to several workers.
//   - pace.go estimates the time left.
//
// What always holds:
//
//   - A file's index is its place in the batch and never changes. It counts from 0 here and from 1
//     in the log.
//   - Files are given out in the order of the batch.
//   - At any time a file belongs to one worker, or waits in the queue. A worker returns what it was
//     given and did not begin.
//   - A file that failed is retried by the worker that it failed on.
//   - A file that was begun and whose result was lost, because the harness was killed, is done
//     again, even if the time to soak is over.
//
// The package writes nothing and knows no processes. Its callers tell it what happened to a file.
package queue
