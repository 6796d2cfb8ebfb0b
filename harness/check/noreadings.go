package check

import (
	"fmt"
	"slices"
	"strings"
)

// memoryChecks are those that judge readings of memory.
var memoryChecks = []string{Recovery, Leak, Fragmentation, DarkGrowth, Peak}

// noReadings adds a finding for a log without a memory reading. Such a log is judged by its files
// and its failed allocations, and does not pass if a memory check gates. noReadings returns the
// gating checks that could not be made.
func (j *Judge) noReadings() []string {
	if j.tl.Checkpoints > 0 {
		return nil
	}
	var gating []string
	for _, check := range memoryChecks {
		if check == Peak && j.deciding.by != nil {
			continue // by the harness's samples, or by an out-of-memory message
		}
		if slices.Contains(j.policy.Gate, check) {
			gating = append(gating, check)
		}
	}
	f := Finding{Check: Recovery, Verdict: Undecided, Subject: "memory readings"}
	what := memoryChecks
	if len(gating) > 0 {
		f.Check, what = gating[0], gating
	}
	failed := func(f Finding) bool { return f.Verdict == Fail }
	if len(gating) == 0 || slices.ContainsFunc(j.findings, failed) {
		f.Verdict = Skipped // it would decide nothing
	}
	f.Message = fmt.Sprintf("the log has no memory reading: %s are not judged; "+
		"print checkpoints before and after what is freed, see docs/reference/log-lines.md", strings.Join(what, ", "))
	j.add(f)
	return gating
}
