package harness

import (
	"strings"
	"sync/atomic"
	"testing"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/sample"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// TestOveruseOfADevice: the device fills up during the second file. The harness ends the process,
// and a new process does the remaining files.
func TestOveruseOfADevice(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedList, 3, "LINES=both", "FAULT=hang:2")
	cfg.MaxDeviceUsed = sample.Limit{Share: 0.9}
	var told atomic.Bool
	begun := logSays(cfg.logPath(), "file-start path=f2")
	cfg.Device = func([]int) ([]meter.Use, error) {
		use := meter.Use{
			Used: 4 * record.GiB, DeviceUsed: 5 * record.GiB, Total: 24 * record.GiB,
			Source: record.SourceProcess,
		}
		if begun() && told.CompareAndSwap(false, true) {
			use.Used, use.DeviceUsed = 20*record.GiB, 22*record.GiB
		}
		return []meter.Use{use}, nil
	}
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonDone || o.Counts[record.StatusFailed] != 1 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	soaklog.Expect(t, log, `
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

// TestOveruseByACheckpoint: if the harness sees no device, the readings of the pipeline's
// checkpoints count: 1 of 24 GiB allocated, 2 reserved. The file has failed, although the pipeline
// finishes it when it is asked to end.
func TestOveruseByACheckpoint(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 2, "LINES=both", "FAULT=polite:1")
	cfg.MaxDeviceUsed, cfg.OnCrash = sample.Limit{Bytes: 2*record.GiB - 1}, CrashStop
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonStopped || !strings.Contains(o.Diagnostic,
		"by the pipeline's own word") {
		t.Errorf("outcome %+v, %v", o, err)
	}
	events := soaklog.Events(t, log)
	if len(events) < 4 || !strings.HasPrefix(events[2],
		"end 1 f1 failed 2.00 GiB of 24.0 GiB of device 0 were in use") ||
		!strings.HasSuffix(events[3], " overuse") {
		t.Errorf("events %q", events)
	}
}

// TestOveruseByAGrowingProcess: a process takes more and more of the machine's memory and ignores
// SIGTERM. The harness ends it all the same.
func TestOveruseByAGrowingProcess(t *testing.T) {
	t.Parallel()
	cfg := child(t, "grow", FeedProcess, "{}")
	cfg.Files, cfg.MaxDeviceUsed = inputs(2), sample.Limit{Bytes: 200 * record.MiB}
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonDone || o.Counts[record.StatusFailed] != 1 ||
		o.Counts[record.StatusOK] != 1 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	events := soaklog.Events(t, log)
	if len(events) != 8 || !strings.Contains(events[2],
		"the machine's memory were in use by the pipeline, more than the 200 MiB") ||
		events[3] != "exit -1 SIGKILL overuse" || events[5] != "end 2 f2 ok" {
		t.Errorf("events %q", events)
	}
}

// TestOveruseBeforeAnyFile: overuse before the first file stops the run.
func TestOveruseBeforeAnyFile(t *testing.T) {
	t.Parallel()
	for _, feed := range []Feed{FeedStdin, FeedNone} {
		cfg := batchOf(t, feed, map[Feed]int{FeedStdin: 2}[feed], "FAULT=hang:0")
		cfg.MaxDeviceUsed = sample.Limit{Bytes: 1}
		o, log, err := runOf(t.Context(), t, cfg)
		if err != nil || o.Reason != ReasonStopped || !strings.Contains(o.Diagnostic,
			"more than the 1 B that the run allows") {
			t.Errorf("%s: outcome %+v, %v", feed, o, err)
		}
		if events := soaklog.Events(t, log); len(events) != 3 ||
			!strings.HasSuffix(events[1], "overuse") {
			t.Errorf("%s: events %q", feed, events)
		}
	}
}
