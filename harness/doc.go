// Package harness runs a GPU pipeline over a batch of files and writes what happens to soak.log.
//
//	outcome, err := harness.Run(ctx, harness.Config{
//		Command: []string{"python", "transcribe.py", "--batch", "{list}"},
//		Files:   []queue.Input{{Path: "audio/0001.wav", AudioSeconds: 14.2}},
//		Feed:    harness.FeedList,
//		Timeout: time.Minute,
//		Dir:     "runs/2026-11-20T02-00-00Z",
//	})
//
// The harness knows no engine: the pipeline is any command, supervised and measured from outside.
// No shell is involved. The log holds the pipeline's own bytes untouched. Between its lines the
// harness writes its own: which file was worked on when and how it ended, device and resident
// memory, how processes ended. The log is written as things happen, so it can be read whatever ends
// the run, and a run can go on where its log ends ([Config].Resume). The harness judges nothing;
// harness/check does that, from the log alone. [RunAll] works on several GPUs at once, with a log
// for each.
//
// A pipeline that takes many files in one process prints which one it works on:
//
//	[pipeline] file-start path=audio/0001.wav
//	[pipeline] file-end path=audio/0001.wav status=ok
//
// Without these lines, a new file begins when the checkpoint that began the last file comes again.
// A process works on one file at a time.
//
// This package holds the run together. Its parts are packages of their own, and each lists what
// always holds for it:
//
//   - harness/supervise starts child processes, waits for them and kills them.
//   - harness/output reads what they print and finds out which file they work on.
//   - harness/sample looks at their memory and at the devices from outside.
//   - harness/queue holds the files and chooses those of the next process.
//   - harness/journal writes soak.log, and reads it back when a run is resumed.
//
// Imports go in one direction: harness to output and sample; output to journal; journal to queue;
// output and sample to supervise.
package harness
