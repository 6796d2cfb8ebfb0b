package wording_test

import (
	"testing"

	"vramsoak/harness/check"
	"vramsoak/reports/wording"
)

// TestTitle: only growth is titled as growth. Other findings of the same check keep their words.
func TestTitle(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	for _, c := range []struct {
		f    check.Finding
		want string
	}{
		{
			check.Finding{
				Check: check.Leak, Subject: "idle level (device 1)", Measured: number(4 << 20),
				Unit: check.BytesPerFile, File: 21, Stage: "Diarization", Device: "device 1",
				Message: "grows by 4.00 MiB a file (95 %: within 27 B), and goes on",
			},
			"leak 4.00 MiB/file on device 1 in Diarization since file 21",
		},
		{
			check.Finding{
				Check: "shared-memory", Subject: "left in /dev/shm", Measured: number(2 << 20),
				Unit: check.Bytes, Message: "1 file with 2.00 MiB stayed in /dev/shm; unlink it",
			},
			"left in /dev/shm: 1 file with 2.00 MiB stayed in /dev/shm",
		},
		{
			check.Finding{
				Check: check.Fragmentation, Subject: "reserve never used", Measured: number(0.637),
				Unit: check.Ratio, File: 2, Stage: "Transcription",
				Message: "63.7 % of it was never in use: reserved up to 1.56 GiB at X, file 2 (2.wav)",
			},
			"reserve never used: 63.7 % of it was never in use: reserved up to 1.56 GiB at X, file 2",
		},
	} {
		c.f.Verdict, c.f.Gates = check.Fail, true
		if got := wording.Title(c.f); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestPassedChecks: the line of what passed has no part of an interval.
func TestPassedChecks(t *testing.T) {
	rep := &check.Report{Findings: []check.Finding{
		{
			Check: "host-memory", Subject: "host memory", Verdict: check.Pass,
			Message: "grows by 4.85 KiB a file (95 %: 4.80 KiB to 4.90 KiB), which is allowed",
		},
		{
			Check: check.Leak, Subject: "idle level", Verdict: check.Pass,
			Message: "no growth above 381 KiB a file: -8.24 KiB a file (95 %: -396 KiB to 381 KiB)",
		},
		{Check: check.OutOfMemory, Subject: "allocations", Verdict: check.Fail, Message: "fatal"},
	}}
	want := "leak (no growth above 381 KiB a file), host-memory (grows by 4.85 KiB a file)"
	if got := wording.PassedChecks(rep); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
