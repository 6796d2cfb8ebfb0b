package queue

import (
	"testing"
	"time"

	"vramsoak/parser/record"
)

func TestTimeLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		pace Pace
		want time.Duration
		ok   bool
	}{
		{"no file done", Pace{Left: 60}, 0, false},
		{"by number", Pace{Done: 20, Left: 40, Spent: time.Minute}, 2 * time.Minute, true},
		// Each file took 3 s. The file in work has taken 2 s of its 3 s.
		{"part of it has passed", Pace{
			Done: 20, Left: 40, Spent: time.Minute,
			Since: 2 * time.Second,
		}, 118 * time.Second, true},
		// The 39 files after the one in work take 3 s each, those after four files in work 36 * 3 s.
		{
			"a file hangs",
			Pace{Done: 20, Left: 40, Spent: time.Minute, Since: time.Hour},
			117 * time.Second, true,
		},
		{"four files hang", Pace{
			Done: 20, Left: 40, Spent: time.Minute, Since: time.Hour, Workers: 4,
		}, 108 * time.Second, true},
		{"overdue", Pace{Done: 20, Left: 1, Spent: time.Minute, Since: time.Hour}, 0, true},
		// 10 s of audio took 5 s, and 100 s of audio are left, so 50 s remain.
		{"by length", Pace{
			Done: 1, Left: 1, DoneAudio: 10, LeftAudio: 100, AudioKnown: true,
			Spent: 5 * time.Second,
		}, 50 * time.Second, true},
		{"by length, no file done", Pace{Left: 1, LeftAudio: 100, AudioKnown: true}, 0, false},
		{"some lengths are unknown", Pace{
			Done: 1, Left: 2, DoneAudio: 10, LeftAudio: 100,
			Spent: 5 * time.Second,
		}, 10 * time.Second, true},
		{"all done", Pace{Done: 60, Spent: time.Minute}, 0, true},
	}
	for _, test := range tests {
		if got, ok := test.pace.Remaining(); got != test.want || ok != test.ok {
			t.Errorf("%s: found %v, %v, expected %v, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestPaceOfABatch(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	b := NewBatch([]Input{{"a", 10}, {"b", 20}, {"c", 30}})
	b.Begin(0)
	b.End(0, record.StatusOK)
	got := b.Pace(start, start.Add(5*time.Second), start.Add(6*time.Second))
	want := Pace{
		Done: 1, Left: 2, DoneAudio: 10, LeftAudio: 50, AudioKnown: true, Spent: 5 * time.Second,
		Since: time.Second,
	}
	if got != want {
		t.Errorf("found %+v, expected %+v", got, want)
	}
}
