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
// The pipeline is any command. The harness starts the command without a shell and measures it from
// outside, so the harness needs no knowledge of the pipeline's engine. soak.log holds the
// pipeline's output byte for byte. Between the pipeline's lines the harness writes lines of its
// own: when each file began and how it ended, device and resident memory, and how each process
// ended. The harness writes the log during the run, so the log can be read even if the run is
// killed, and [Config].Resume continues a run where its log ends. The harness does not judge the
// run: harness/check reads the log and returns a verdict. [RunAll] works on several GPUs at once
// and writes one log per GPU.
//
// A pipeline that works on many files in one process should print where each file begins and ends:
//
//	[pipeline] file-start path=audio/0001.wav
//	[pipeline] file-end path=audio/0001.wav status=ok
//
// Without these lines the harness infers the start of a file: if the first checkpoint of a file is
// "Pipeline Initialization", the next "Pipeline Initialization" begins the next file. A process
// works on one file at a time.
//
// This package controls the run. Each of the following packages does one part of the work and lists
// its invariants in its package comment:
//
//   - harness/supervise starts child processes, waits for them and kills them.
//   - harness/output reads the output of the processes and finds out which file they work on.
//   - harness/sample measures the memory of the processes and of the devices from outside.
//   - harness/queue holds the files and chooses the files of the next process.
//   - harness/journal writes soak.log, and reads it back when a run is resumed.
//
// Imports go in one direction: harness to output and sample; output to journal; journal to queue;
// output and sample to supervise.
package harness
