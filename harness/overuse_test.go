package harness

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

func TestOveruse(t *testing.T) {
	t.Parallel()
	const gib = parser.GiB
	tests := []struct {
		name        string
		limit       Limit
		used, total int64
		want, far   bool
	}{
		{"none", Limit{}, 24 * gib, 24 * gib, false, false},
		{"at the share", Limit{Share: 0.75}, 18 * gib, 24 * gib, false, false},
		{"above the share", Limit{Share: 0.75}, 18*gib + 1, 24 * gib, true, false},
		{"half of the rest is gone", Limit{Share: 0.75}, 21 * gib, 24 * gib, true, false},
		{"more than half of the rest is gone", Limit{Share: 0.75}, 21*gib + 1, 24 * gib, true, true},
		{"a share of what is not known", Limit{Share: 0.75}, 18*gib + 1, 0, false, false},
		{"bytes of what is not known", Limit{Bytes: 18 * gib}, 18*gib + 1, 0, true, false},
		{"more bytes than there are", Limit{Bytes: 30 * gib}, 24 * gib, 24 * gib, false, false},
	}
	for _, test := range tests {
		got := test.limit.overuse(test.used, test.total, "device 0", "")
		if (got.what != "") != test.want || got.far != test.far {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	for _, bad := range []Limit{{Share: 1.1}, {Share: -1}, {Bytes: -1}, {Share: 1.1, Bytes: 1}} {
		if (Config{MaxDeviceUsed: bad}).validateOveruse() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}

// What is looked at of a sample: all that is in use of a device that the pipeline uses, and the machine's memory only where
// no device is read.
func TestOveruseOfASample(t *testing.T) {
	t.Parallel()
	sample := func(source string, used, whole int64) parser.Sample {
		s := parser.Sample{RSS: 99, Source: source, DeviceUsed: whole, Lane: parser.Lane{Device: 1}}
		if source != "" {
			s.Set(parser.Used, parser.Exact(used))
			s.Set(parser.Total, parser.Exact(100))
		}
		return s
	}
	device := func([]int) ([]meter.Use, error) { return nil, nil }
	tests := []struct {
		name    string
		device  func([]int) ([]meter.Use, error)
		samples []parser.Sample
		want    string
	}{
		{"within", device, []parser.Sample{sample(parser.SourceProcess, 50, 90)}, ""},
		{
			"others fill it", device,
			[]parser.Sample{sample(parser.SourceProcess, 50, 91)},
			"91 B of 100 B of device 1 were in use, 50 B of it by the pipeline, more than the 90% that the run allows",
		},
		{
			"the whole device", device,
			[]parser.Sample{sample(parser.SourceDevice, 91, 0)},
			"91 B of 100 B of device 1 were in use, more than the 90% that the run allows",
		},
		{"no device just now", device, []parser.Sample{sample("", 0, 0)}, ""},
		{
			"no device at all", nil,
			[]parser.Sample{sample("", 0, 0)},
			"99 B of 100 B of the machine's memory were in use by the pipeline, more than the 90% that the run allows",
		},
		{
			"the worst of two", device,
			[]parser.Sample{sample(parser.SourceDevice, 91, 0), sample(parser.SourceDevice, 99, 0)},
			"99 B of 100 B of device 1 were in use, more than the 90% that the run allows",
		},
	}
	for _, test := range tests {
		r := &run{cfg: Config{MaxDeviceUsed: Limit{Share: 0.9}, Device: test.device}, machine: 100}
		if diff := cmp.Diff(test.want, r.sampled(test.samples).what); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A device that fills up ends the process that works on the second file; the others are done by another.
func TestOveruseOfADevice(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedList, 3, "LINES=both", "FAULT=hang:2")
	cfg.MaxDeviceUsed = Limit{Share: 0.9}
	var told atomic.Bool
	begun := logSays(cfg.logPath(), "file-start path=f2")
	cfg.Device = func([]int) ([]meter.Use, error) {
		use := meter.Use{Used: 4 * parser.GiB, DeviceUsed: 5 * parser.GiB, Total: 24 * parser.GiB, Source: parser.SourceProcess}
		if begun() && told.CompareAndSwap(false, true) {
			use.Used, use.DeviceUsed = 20*parser.GiB, 22*parser.GiB
		}
		return []meter.Use{use}, nil
	}
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonDone || o.Counts[parser.StatusFailed] != 1 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	expect(t, log, `
		run 3 list
		start 1 f1
		end 1 f1 ok
		start 2 f2
		end 2 f2 failed 22.0 GiB of 24.0 GiB of device 0 were in use, 20.0 GiB of it by the pipeline, more than the 90% that the run allows
		exit -1 SIGTERM overuse
		start 3 f3
		end 3 f3 ok
		exit 0
		done 3 done`)
}

// Where no device is read, the pipeline's own word counts: 1 of 24 GiB allocated, 2 reserved. That it ends its file well
// when it is told to end does not.
func TestOveruseByACheckpoint(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 2, "LINES=both", "FAULT=polite:1")
	cfg.MaxDeviceUsed, cfg.OnCrash = Limit{Bytes: 2*parser.GiB - 1}, CrashStop
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonStopped || !strings.Contains(o.Diagnostic, "by the pipeline's own word") {
		t.Errorf("outcome %+v, %v", o, err)
	}
	events := events(t, log)
	if len(events) < 4 || !strings.HasPrefix(events[2], "end 1 f1 failed 2.00 GiB of 24.0 GiB of device 0 were in use") ||
		!strings.HasSuffix(events[3], " overuse") {
		t.Errorf("events %q", events)
	}
}

// A real process that takes more and more of the machine's memory, and does not listen.
func TestOveruseByAGrowingProcess(t *testing.T) {
	t.Parallel()
	cfg := child(t, "grow", FeedProcess, "{}")
	cfg.Files, cfg.MaxDeviceUsed = inputs(2), Limit{Bytes: 200 * parser.MiB}
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonDone || o.Counts[parser.StatusFailed] != 1 || o.Counts[parser.StatusOK] != 1 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	events := events(t, log)
	if len(events) != 8 || !strings.Contains(events[2], "the machine's memory were in use by the pipeline, more than the 200 MiB") ||
		events[3] != "exit -1 SIGKILL overuse" || events[5] != "end 2 f2 ok" {
		t.Errorf("events %q", events)
	}
}

// Overuse before a file, with files that the command knows by itself: the run does not go on.
func TestOveruseBeforeAnyFile(t *testing.T) {
	t.Parallel()
	for _, feed := range []Feed{FeedStdin, FeedNone} {
		cfg := batchOf(t, feed, map[Feed]int{FeedStdin: 2}[feed], "FAULT=hang:0")
		cfg.MaxDeviceUsed = Limit{Bytes: 1}
		o, log, err := runOf(t.Context(), t, cfg)
		if err != nil || o.Reason != ReasonStopped || !strings.Contains(o.Diagnostic, "more than the 1 B that the run allows") {
			t.Errorf("%s: outcome %+v, %v", feed, o, err)
		}
		if events := events(t, log); len(events) != 3 || !strings.HasSuffix(events[1], "overuse") {
			t.Errorf("%s: events %q", feed, events)
		}
	}
}
