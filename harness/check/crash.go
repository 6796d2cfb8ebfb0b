package check

import (
	"fmt"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// crashed looks for logs that end in a crash. It cannot tell whether the work was done by then, so it
// never fails. A crash that another finding explains is not said again: memory ran out, or a file has
// no end.
func (j *Judge) crashed() {
	cut := map[int]bool{} // processes
	for _, f := range j.tl.Files {
		if j.tells[f.Run] && f.Status != record.StatusOK {
			cut[f.Process] = true
		}
	}
	crashes := slices.DeleteFunc(slices.Clone(j.tl.Crashes), func(c timeline.CrashEnd) bool {
		return cut[c.Process] || j.starved(c.Process) != nil
	})
	if len(crashes) == 0 {
		return
	}
	first := crashes[0]
	said := fmt.Sprintf("the log ends in a crash (%s)", first.First.Text)
	if first.Last.Text != first.First.Text {
		said += fmt.Sprintf(", with the last words %q in line %d", first.Last.Text, first.Last.Line().Line)
	}
	if n := len(crashes); n > 1 {
		said += "; in all " + processes(n) + " crashed"
	}
	j.add(Finding{
		Check: Completeness, Verdict: Undecided, Subject: "end of the log", Unit: Count,
		Measured: new(float64(len(crashes))), Limit: new(0.0), At: new(first.First.Line()),
		Message: said + ": nothing after it shows that the work went on; soak the pipeline to know how its process ends",
	})
}
