package check

import (
	"testing"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestStuck: run 1 left process 7 behind. It ended process 8, and process 7 of run 2.
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
			t.Errorf("process %d of run %d: %v, want %v", c.pid, c.run, got, c.want)
		}
	}
}
