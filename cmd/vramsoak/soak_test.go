package main

import (
	"testing"
	"time"

	"vramsoak/harness"
	"vramsoak/parser/record"
)

// TestDurationLine: the last line of a soak says how long it took.
func TestDurationLine(t *testing.T) {
	t.Parallel()
	counts := map[record.Status]int{record.StatusOK: 58, record.StatusFailed: 2}
	for _, c := range []struct {
		o    harness.Outcome
		want string
	}{
		{
			harness.Outcome{Files: 60, Counts: counts, Duration: 12*time.Minute + 5*time.Second},
			"took 12:05 for 60 files",
		},
		{
			harness.Outcome{Files: 100, Counts: counts, Duration: 3*time.Hour + 5*time.Second},
			"took 3:00:05 for 60 of 100 files",
		},
		{harness.Outcome{Files: 1, Duration: 340 * time.Millisecond}, "took 0.3 s for 0 of 1 file"},
	} {
		if got := durationLine(&c.o); got != c.want {
			t.Errorf("found %q, want %q", got, c.want)
		}
	}
}
