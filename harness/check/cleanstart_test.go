package check

import (
	"testing"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestStuck: in the log, run 1 ended process 8 and could not end process 7. Run 2 ended its own
// process 7. Only process 7 of run 1 is stuck.
func TestStuck(t *testing.T) {
	j := &Judge{tl: &timeline.Timeline{Orphans: []record.Orphan{
		{Run: 1, PID: 8, Ended: true},
		{Run: 1, PID: 7},
		{Run: 2, PID: 7, Ended: true},
	}}}
	for _, c := range []struct {
		run, pid int
		want     bool
	}{{1, 7, true}, {1, 8, false}, {1, 9, false}, {2, 7, false}, {2, 8, false}, {3, 7, false}} {
		if got := j.stuck(c.run, c.pid); got != c.want {
			t.Errorf("process %d of run %d: stuck is %v, want %v", c.pid, c.run, got, c.want)
		}
	}
}
