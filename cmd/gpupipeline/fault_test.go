//go:build whisper

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestFaults: each fault has its effect at the file that it names, and nowhere else.
func TestFaults(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:3]
	run := func(t *testing.T, faults ...string) (*timeline.Timeline, string, string) {
		t.Helper()
		args := []string{"--model", model, "--device", "host"}
		for _, fault := range faults {
			args = append(args, "--fault", fault)
		}
		return gpupipeline(t, append(args, files...)...)
	}
	t.Run("leak", func(t *testing.T) {
		log, _, exit := run(t, "leak:4MiB")
		if exit != "0" || statuses(log) != "ok ok ok" {
			t.Fatalf("exit %s, files %s", exit, statuses(log))
		}
		for i := 1; i < 3; i++ {
			if grown := idle(log.Files[i]) - idle(log.Files[i-1]); grown < 4<<20 ||
				grown > 4<<20+64<<10 {
				t.Errorf("file %d keeps %d bytes", i+1, grown)
			}
			for _, cleanup := range []string{"Whisper Cleanup", "Final Cleanup"} {
				if got := freed(t, log.Files[i], cleanup); got < 95 {
					t.Errorf("%s freed %.1f %%", cleanup, got)
				}
			}
		}
	})
	t.Run("keep", func(t *testing.T) {
		log, _, exit := run(t, "keep:Whisper")
		if exit != "0" || statuses(log) != "ok ok ok" {
			t.Fatalf("exit %s, files %s", exit, statuses(log))
		}
		for _, f := range log.Files {
			if got := freed(t, f, "Whisper Cleanup"); got < -0.1 || got > 0.1 {
				t.Errorf("Whisper Cleanup freed %.2f %%", got)
			}
			if got := freed(t, f, "Final Cleanup"); got < 95 {
				t.Errorf("Final Cleanup freed %.1f %%", got)
			}
		}
		if grown := idle(log.Files[2]) - idle(log.Files[1]); grown > 64<<10 {
			t.Errorf("more than one model is kept: %d bytes more at file 3", grown)
		}
	})
	t.Run("oom", func(t *testing.T) {
		log, stderr, exit := run(t, "oom:2")
		if exit != "1" || statuses(log) != "ok oom ok" || !strings.Contains(stderr,
			"out of memory. Tried to allocate") {
			t.Fatalf("exit %s, files %s, stderr %s", exit, statuses(log), stderr)
		}
		if diff := cmp.Diff(wholeFile, names(log.Files[1])); diff != "" {
			t.Error(diff)
		}
		ooms := log.Files[1].OOMs
		if len(ooms) != 1 || ooms[0].Requested.High() < 2*ooms[0].Bytes(
			record.Total)-ooms[0].Requested.Resolution*4 {
			t.Errorf("out of memory: %+v", ooms)
		}
	})
	t.Run("crash", func(t *testing.T) {
		log, _, exit := run(t, "crash:2")
		if exit != "aborted" || len(log.Files) != 2 || log.Files[0].Status != record.StatusOK {
			t.Fatalf("ended by %s, files %s", exit, statuses(log))
		}
		want := wholeFile[:4]
		if diff := cmp.Diff(want, names(log.Files[1])); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("place in the batch", func(t *testing.T) {
		args := append([]string{
			"--model", model, "--first", "20", "--fault", "oom:21", "--fault",
			"oom:1",
		}, files[:2]...)
		if log, _, exit := gpupipeline(t, args...); exit != "1" || statuses(log) != "ok oom" {
			t.Errorf("exit %s, files %s", exit, statuses(log))
		}
	})
}
