package check

import (
	"fmt"

	"vramsoak/parser"
)

// recovery sums up the recoveries of a lane: one finding for each cleanup and stage, in the order of their first
// appearance.
func (j *judge) recovery(lane parser.Lane, all []Recovered) {
	var names []string
	of := map[string][]Recovered{}
	for _, r := range all {
		if _, known := of[r.Name]; !known {
			names = append(names, r.Name)
		}
		of[r.Name] = append(of[r.Name], r)
	}
	for _, name := range names {
		j.add(j.recoveryFinding(j.subject(name, lane), of[name]))
	}
	if len(names) == 0 {
		j.add(Finding{
			Check: Recovery, Verdict: Skipped, Subject: j.subject("cleanups", lane),
			Message: `no cleanup was logged; print a checkpoint "Before X Cleanup" and one "After X Cleanup"`,
		})
	}
}

// recoveryFinding sums up one cleanup or stage over the files.
func (j *judge) recoveryFinding(subject string, all []Recovered) Finding {
	count := map[Verdict]int{}
	decided := map[Verdict]*Recovered{} // the first that fails; else the one with the least share
	for i := range all {
		r := &all[i]
		count[r.Verdict]++
		if d := decided[r.Verdict]; d == nil || r.Verdict != Fail && !r.Nothing && (d.Nothing || r.Share < d.Share) {
			decided[r.Verdict] = r
		}
	}
	f := Finding{Check: Recovery, Subject: subject, Unit: Ratio, Limit: new(float64(j.policy.Recovery.Min))}
	for _, v := range []Verdict{Fail, Undecided, Pass, Skipped} {
		if count[v] > 0 {
			f.Verdict = v
			break
		}
	}
	r := decided[f.Verdict]
	f.File, f.At, f.Measured = r.File.Index, new(r.File.Checkpoints[r.After].Pos), new(r.Share)
	where := fileName(r.File)
	switch {
	case f.Verdict == Skipped:
		f.Measured, f.Limit, f.Unit = nil, nil, ""
		f.Message = fmt.Sprintf("freed %s in %s, not judged: %s", parser.FormatBytes(r.Freed), where, r.Reason)
	case f.Verdict == Fail && r.Freed < 0:
		f.Message = fmt.Sprintf("memory grew by %s in %s; under %s freed in %s", parser.FormatBytes(-r.Freed), where,
			percent(float64(j.policy.Recovery.Min)), ofFiles(count[Fail], len(all)))
	case f.Verdict == Fail:
		f.Message = fmt.Sprintf("freed %s of %s (%s) in %s; under %s in %s", parser.FormatBytes(r.Freed), r.Held,
			percent(r.Share), where, percent(float64(j.policy.Recovery.Min)), ofFiles(count[Fail], len(all)))
	case f.Verdict == Undecided:
		f.Message = fmt.Sprintf("the printed digits allow %s to %s of %s in %s; log exact bytes to decide it",
			percent(r.Low), percent(r.High), r.Held, where)
	case r.Nothing:
		f.Measured = nil
		f.Message = fmt.Sprintf("nothing to free: it held %s or less in %s", parser.FormatBytes(max(
			j.policy.Recovery.Floor.Bytes, r.Held.Resolution)), ofFiles(count[Pass], len(all)))
	default:
		f.Message = fmt.Sprintf("freed %s of %s or better in %s", percent(r.Share), r.Held, ofFiles(count[Pass], len(all)))
	}
	return f
}

func ofFiles(n, all int) string {
	switch {
	case all == 1:
		return "1 file"
	case n == all:
		return fmt.Sprintf("all %d files", all)
	}
	return fmt.Sprintf("%d of %d files", n, all)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
