package harness

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vramsoak/fixtures/soaklog"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// TestProgress: the progress never decreases and counts every file. A slow Config.Progress does not
// delay the run.
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
	if last.Done != 5 || last.Files != 5 || last.Failed != 1 || last.Current != "" ||
		!last.HasLeft || last.Left != 0 {
		t.Errorf("last progress %+v", last)
	}
	if got := last.Reading.Bytes(record.Allocated); got != record.GiB/2 {
		t.Errorf("allocated %d", got)
	}
	if got := last.Reading.Bytes(record.Reserved); got != 2*record.GiB {
		t.Errorf("reserved %d", got)
	}
	if calls.Load() == 0 || o.Counts[record.StatusFailed]+o.Counts[record.StatusCrashed] != 1 {
		t.Errorf("%d calls, outcome %+v", calls.Load(), o)
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		device func([]int) ([]meter.Use, error)
		want   string // fields of every sample
	}{
		{"no device", nil, " rss="},
		{"process", func([]int) ([]meter.Use, error) {
			return []meter.Use{
				{Device: 0, Total: 100, Source: "process", DeviceUsed: 3, Others: 3},
				{Device: 1, Used: 7, Total: 100, Source: "process", DeviceUsed: 12, Others: 4},
			}, nil
		}, " device=1 used=7 total=100 source=process device_used=12 others=4 rss="},
		{"device", func([]int) ([]meter.Use, error) {
			return []meter.Use{{Device: 0, Used: 0, Total: 100, Source: "device", DeviceUsed: 9}},
				nil
		}, " device=0 used=0 total=100 source=device rss="},
		{
			"broken", func([]int) ([]meter.Use, error) { return nil, errors.New("GPU is lost") },
			" rss=",
		},
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
				if _, fields, _ := strings.Cut(rest, " "); !strings.HasPrefix(" "+fields,
					test.want) {
					t.Errorf("found %q, expected %q", line, test.want)
				}
			}
			if samples < 2 {
				t.Errorf("%d samples", samples)
			}
		})
	}
}

// TestDriverThatDoesNotAnswer: a driver that does not answer delays samples and nothing else.
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
	soaklog.Expect(t, log,
		"run 2 process\nstart 1 f1\nend 1 f1 ok\nexit 0\nstart 2 f2\nend 2 f2 ok\nexit 0\ndone 2 done")
}
