package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/live"
	"vramsoak/harness/runfolder"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
	"vramsoak/reports/wording"
)

const failFastUsage = "end the run when growth is certain, after the files that are then in work"

// judgeWhileRunning judges the run while it goes on. It tells the user of growth as soon as that is
// certain and, with --fail-fast, ends the run then. The caller calls stop when the run has ended.
func (o soakOptions) judgeWhileRunning(
	cfg *harness.Config, policy check.Policy, d *display,
) (stop func()) {
	dir, end := cfg.Dir, make(chan harness.EarlyEnd, 1)
	cfg.FailFast, cfg.EndEarly = o.failFast, end
	ended := false
	w := live.Start(live.Options{
		Logs:   func() []string { return runfolder.Logs(dir) },
		Policy: policy, Dialects: cfg.Dialects, Resumed: cfg.Resume,
		Look: func(r live.Result) {
			d.setMoving(movements(r.Report))
			debug.FreeOSMemory() // leave the memory to the pipeline
			for _, f := range r.Certain {
				_, _ = sink.Fprintf(text.NewFolder(d.out, textOptions(d.out)), "%s\n",
					sink.Safe(certainText(r, f, o.failFast)))
			}
			if o.failFast && len(r.Certain) > 0 && !ended {
				ended = true
				end <- earlyEnd(r)
			}
		},
		Failed: func(err error) { cfg.Logger.Warn(err.Error()) },
	})
	show := cfg.Progress
	cfg.Progress = func(p harness.Progress) {
		show(p)
		w.Ended(p.Done)
	}
	return w.Close
}

// earlyEnd returns what the log gets when the first certain finding ends the run.
func earlyEnd(r live.Result) harness.EarlyEnd {
	f := r.Certain[0]
	return harness.EarlyEnd{Lines: r.Lines, EarlyEnd: record.EarlyEnd{
		Look: r.Look, Files: r.Files, Check: f.Check, Subject: f.Subject,
		Found: wording.FirstClause(f.Message),
	}}
}

// certainText returns what the user is told of growth that is certain, in the words of the final
// report.
func certainText(r live.Result, f check.Finding, failFast bool) string {
	said := fmt.Sprintf("vramsoak: certain after %d files: %s, %s: %s", r.Files, f.Check, f.Subject,
		f.Message)
	if f.At != nil {
		said += fmt.Sprintf(" [%s]", f.At)
	}
	if failFast {
		said += "; the run ends after the files that are in work (--fail-fast)"
	}
	return sink.Line(said)
}

// movements returns the ledgers whose growth fails the run, or may yet do so. The one that grows
// most, compared with its limit, is first. Growth within its limit is left out, as is growth that
// decides nothing.
func movements(r *check.Report) (moving []movement) {
	trends := slices.DeleteFunc(slices.Clone(r.Trends), func(t check.Trend) bool {
		f := r.Reported(t.Finding)
		decides := f.Gates && (f.Verdict == check.Fail || f.Verdict == check.Undecided)
		return check.LedgerOf(f.Check) == nil || !decides || t.Every > 0 || t.Result.Shape == "" ||
			t.Result.Slope.Low <= 0
	})
	fast := func(t check.Trend) float64 {
		if limit := t.Finding.Limit; limit != nil && *limit > 0 {
			return t.Result.Slope.Estimate / *limit
		}
		return 0
	}
	slices.SortStableFunc(trends, func(a, b check.Trend) int { return cmp.Compare(fast(b), fast(a)) })
	for _, t := range trends {
		moving = append(moving, movement{
			subject: sink.Line(t.Finding.Subject),
			rate:    check.Quantity(t.Result.Slope.Estimate, t.Unit+check.PerFile),
			certain: t.Finding.Verdict == check.Fail,
		})
	}
	return moving
}
