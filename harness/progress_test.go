package harness

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

func TestTimeLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		pace pace
		want time.Duration
		ok   bool
	}{
		{"nothing is done", pace{left: 60}, 0, false},
		{"by number", pace{done: 20, left: 40, spent: time.Minute}, 2 * time.Minute, true},
		{"part of it has passed", pace{done: 20, left: 40, spent: time.Minute, since: 30 * time.Second}, 90 * time.Second, true},
		{"overdue", pace{done: 20, left: 1, spent: time.Minute, since: time.Hour}, 0, true},
		// 10 s of audio took 5 s, 100 s are left.
		{"by length", pace{done: 1, left: 1, doneAudio: 10, leftAudio: 100, audioKnown: true, spent: 5 * time.Second}, 50 * time.Second, true},
		{"by length, nothing is done", pace{left: 1, leftAudio: 100, audioKnown: true}, 0, false},
		{"some lengths are unknown", pace{done: 1, left: 2, doneAudio: 10, leftAudio: 100, spent: 5 * time.Second}, 10 * time.Second, true},
		{"all done", pace{done: 60, spent: time.Minute}, 0, true},
	}
	for _, test := range tests {
		if got, ok := test.pace.remaining(); got != test.want || ok != test.ok {
			t.Errorf("%s: found %v, %v, expected %v, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestPaceOfABatch(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	b := newBatch([]Input{{"a", 10}, {"b", 20}, {"c", 30}})
	b.begin(0)
	b.end(0, parser.StatusOK)
	got := b.pace(start, start.Add(5*time.Second), start.Add(6*time.Second))
	want := pace{
		done: 1, left: 2, doneAudio: 10, leftAudio: 50, audioKnown: true, spent: 5 * time.Second, since: time.Second,
	}
	if got != want {
		t.Errorf("found %+v, expected %+v", got, want)
	}
}

// Progress tells of every file in the end, never of less than before, and a slow watcher holds nothing up.
func TestProgress(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedList, 5, "LINES=both", "FAULT=fail:2")
	var calls, overlap atomic.Int32
	var last Progress
	cfg.Progress = func(p Progress) {
		if overlap.Add(1) > 1 {
			t.Error("two calls at once")
		}
		if p.Done < last.Done || p.Elapsed < last.Elapsed {
			t.Errorf("%+v follows %+v", p, last)
		}
		last = p
		calls.Add(1)
		time.Sleep(20 * time.Millisecond)
		overlap.Add(-1)
	}
	o, _, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if last.Done != 5 || last.Files != 5 || last.Failed != 1 || last.Current != "" || !last.HasLeft || last.Left != 0 {
		t.Errorf("last progress %+v", last)
	}
	if got := last.Reading.Bytes(parser.Allocated); got != parser.GiB/2 {
		t.Errorf("allocated %d", got)
	}
	if got := last.Reading.Bytes(parser.Reserved); got != 2*parser.GiB {
		t.Errorf("reserved %d", got)
	}
	if calls.Load() == 0 || o.Counts[parser.StatusFailed]+o.Counts[parser.StatusCrashed] != 1 {
		t.Errorf("%d calls, outcome %+v", calls.Load(), o)
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		device func([]int) ([]meter.Use, error)
		want   string // what every sample says, in their order
	}{
		{"no device", nil, " rss="},
		{"process", func([]int) ([]meter.Use, error) {
			return []meter.Use{
				{Device: 0, Total: 100, Source: "process", DeviceUsed: 3, Others: 3},
				{Device: 1, Used: 7, Total: 100, Source: "process", DeviceUsed: 12, Others: 4},
			}, nil
		}, " device=1 used=7 total=100 source=process device_used=12 others=4 rss="},
		{"device", func([]int) ([]meter.Use, error) {
			return []meter.Use{{Device: 0, Used: 0, Total: 100, Source: "device", DeviceUsed: 9}}, nil
		}, " device=0 used=0 total=100 source=device rss="},
		{"broken", func([]int) ([]meter.Use, error) { return nil, errors.New("GPU is lost") }, " rss="},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, FeedList, 1, "LINES=both", "FAULT=hang:1")
			cfg.Device, cfg.Timeout = test.device, hung
			_, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			samples := 0
			for line := range strings.Lines(string(log)) {
				rest, ok := strings.CutPrefix(line, "[vramsoak] sample time=")
				if !ok {
					continue
				}
				samples++
				_, rest, _ = strings.Cut(rest, " pid=")
				if _, fields, _ := strings.Cut(rest, " "); !strings.HasPrefix(" "+fields, test.want) {
					t.Errorf("found %q, expected %q", line, test.want)
				}
			}
			if samples < 2 {
				t.Errorf("%d samples", samples)
			}
		})
	}
}

// A driver that does not answer holds up no more than its samples.
func TestDriverThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedProcess, 2, "LINES=both")
	answer := make(chan struct{})
	t.Cleanup(func() { close(answer) })
	cfg.Device = func([]int) ([]meter.Use, error) { <-answer; return nil, nil }
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, log, "run 2 process\nstart 1 f1\nend 1 f1 ok\nexit 0\nstart 2 f2\nend 2 f2 ok\nexit 0\ndone 2 done")
}
