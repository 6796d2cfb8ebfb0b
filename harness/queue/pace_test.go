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
			Since: 2 * time.Second, InWork: 1,
		}, 118 * time.Second, true},
		// The 39 files after the one in work take 3 s each, those after four files in work 36 * 3 s.
		{
			"a file hangs",
			Pace{Done: 20, Left: 40, Spent: time.Minute, Since: time.Hour, InWork: 1},
			117 * time.Second, true,
		},
		{"four files hang", Pace{
			Done: 20, Left: 40, Spent: time.Minute, Since: time.Hour, InWork: 4,
		}, 108 * time.Second, true},
		{"overdue", Pace{
			Done: 20, Left: 1, Spent: time.Minute, Since: time.Hour, InWork: 1,
		}, 0, true},
		// 10 s of audio took 5 s, and 100 s of audio are left, so 50 s remain.
		{"by length", Pace{
			Done: 1, Left: 1, DoneAudio: 10, LeftAudio: 100, AudioKnown: true,
			Spent: 5 * time.Second, InWork: 1, InWorkAudio: 100,
		}, 50 * time.Second, true},
		// 10 min of audio took 10 min. A file of 60 min is in work, a file of 1 min waits.
		{"a long file has begun", longFile(20*time.Minute, 1, 3600), 41 * time.Minute, true},
		{"a long file is nearly done", longFile(59*time.Minute, 1, 3600), 2 * time.Minute, true},
		{"a long file is overdue", longFile(70*time.Minute, 1, 3600), time.Minute, true},
		{"the short file hangs", longFile(70*time.Minute, 1, 60), 60 * time.Minute, true},
		{"both are in work", longFile(59*time.Minute, 2, 3660), 2 * time.Minute, true},
		{"both are overdue", longFile(70*time.Minute, 2, 3660), 0, true},
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

// longFile returns a pace in which files of 60 and 1 minutes of audio are left. Those that ended
// took as long as their audio.
func longFile(since time.Duration, inWork int, audio float64) Pace {
	return Pace{
		Done: 10, Left: 2, DoneAudio: 600, LeftAudio: 3660, AudioKnown: true,
		Spent: 10 * time.Minute, Since: since, InWork: inWork, InWorkAudio: audio,
	}
}

// TestPaceOfABatch: the file in work is part of what is left. Between two files, it is the next
// one. A file that is tried again is not.
func TestPaceOfABatch(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	b := NewBatch([]Input{
		{Path: "a", AudioSeconds: 10}, {Path: "b", AudioSeconds: 20}, {Path: "c", AudioSeconds: 30},
	})
	b.Begin(0)
	b.End(0, record.StatusOK)
	want := Pace{
		Done: 1, Left: 2, DoneAudio: 10, LeftAudio: 50, AudioKnown: true, Spent: 5 * time.Second,
		Since: time.Second,
	}
	for _, test := range []struct {
		active int
		inWork int
		audio  float64
	}{{None, 1, 20}, {1, 1, 20}, {2, 1, 30}, {0, 0, 0}} {
		want.InWork, want.InWorkAudio = test.inWork, test.audio
		got := b.Pace(test.active, start, start.Add(5*time.Second), start.Add(6*time.Second))
		if got != want {
			t.Errorf("active %d: found %+v, expected %+v", test.active, got, want)
		}
	}
	b.Begin(1)
	b.Begin(2) // as of another worker
	want.InWork, want.InWorkAudio = 0, 0
	got := b.Pace(None, start, start.Add(5*time.Second), start.Add(6*time.Second))
	if got != want {
		t.Errorf("no file waits: found %+v, expected %+v", got, want)
	}
}
