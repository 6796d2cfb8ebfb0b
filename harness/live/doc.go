// Package live judges a run while it goes on, so that a leak is known before the batch is done.
//
//	w := live.Start(live.Options{Logs: logs, Policy: policy, Look: func(r live.Result) { ... }})
//	w.Ended(files)  // whenever files have ended
//	w.Close()
//
// It reads the logs as any later check does, and has no other source. What it reads is judged by
// package check under the policy of the run, with two differences:
//
//   - Judging again and again would give noise as many chances to look like a leak. So there are
//     only a few looks, after 24, 32, 48, 64, 96, 128 files and so on, and they share a budget of
//     false alarms: see check.Judge.Look.
//   - A warm-up or a long sawtooth looks like a leak until its end. So growth is certain only if
//     two looks in a row find it. TestFalseAlarms counts how often clean runs are taken for leaks.
//
// Each look reads the logs from their beginning, as far as they have whole lines. Since the number
// of files grows by a third or a half from one look to the next, all looks together read at most
// four times the final log. A look takes memory for each file, and no more than the check of that
// log takes.
package live
