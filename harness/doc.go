// Package harness runs a GPU pipeline over a batch of files and writes what happens to soak.log.
//
//	outcome, err := harness.Run(ctx, harness.Config{
//		Command: []string{"python", "transcribe.py", "--batch", "{list}"},
//		Files:   []harness.Input{{Path: "audio/0001.wav", AudioSeconds: 14.2}},
//		Feed:    harness.FeedList,
//		Timeout: time.Minute,
//		Dir:     "runs/2026-11-20T02-00-00Z",
//	})
//
// It knows no engine: the pipeline is any command, supervised and measured from outside. No shell is involved. The log
// holds the pipeline's own bytes untouched and, between its lines, the harness's: which file was worked on when and how
// it ended, device and resident memory, how processes ended. It is append-only and written as things happen, so that it
// can be read whatever ends the run, and so that the run can go on where it ends ([Config].Resume). Nothing is judged here;
// harness/check does that, from the log alone. [RunAll] works on several GPUs at once, with a log for each.
//
// A pipeline that takes many files in one process says which one it works on by lines of its own:
//
//	[pipeline] file-start path=audio/0001.wav
//	[pipeline] file-end path=audio/0001.wav status=ok
//
// Without them a new file begins where the file's first checkpoint recurs. A process works on one file at a time.
package harness
