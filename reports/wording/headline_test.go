package wording

import (
	"testing"

	"vramsoak/harness/check"
)

// TestHeadlineWithoutCheckpoints: a log without checkpoints may have a reading in an out-of-memory
// message. The headline then does not claim that the log has no readings.
func TestHeadlineWithoutCheckpoints(t *testing.T) {
	t.Parallel()
	rep := check.Report{Files: 2, Verdict: check.Undecided}
	if got, want := Extent(&rep), "2 files, 0 checkpoints (no memory reading)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	rep.HighWater.Allocated = 3 << 30
	if got, want := Extent(&rep), "2 files, 0 checkpoints, peak 3.00 GiB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
