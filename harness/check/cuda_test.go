package check

import (
	"slices"
	"strings"
	"testing"

	"vramsoak/parser"
)

// TestCUDA judges the runs that were recorded on GPUs. What is wrong with them was planted.
func TestCUDA(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		log     string
		policy  string
		verdict Verdict
		check   string // the check that decides
		message string // a part of its message
	}{
		{log: "h100/python-clean", verdict: Pass},
		{"h100/python-leak", "", Fail, Leak, "grows by 4.00 MiB a file"},
		{"h100/python-oom", "", Fail, OutOfMemory, "file 3 (audio-0003.wav) failed, in Transcription"},
		{log: "h100/pinned-steady", verdict: Pass},
		{
			"h100/pinned-leak", "gate: [pinned-memory]", Fail, PinnedGrowth,
			"pinned memory and host memory grow together from the first file on, in Load: " +
				"pinned memory grows by 4.00 MiB a file",
		},
		{log: "h100/device-steady", policy: "gate: [device-used]", verdict: Pass},
		{"h100/device-leak", "", Fail, DeviceGrowth, "grows by 4.00 MiB a file"},
		{log: "h200/loaders-clean", policy: "gate: [threads, processes]", verdict: Pass},
		{"h200/loaders-host", "", Fail, HostGrowth, "grows by 2.03 MiB a file (95 %: 1.91 MiB " +
			"to 2.14 MiB), and goes on; at most 1.00 MiB a file is allowed; it is taken between After " +
			"Load and Before Cache Cleanup"},
		{"h200/loaders-fd", "", Fail, DescriptorGrowth, "grows by 1.004 a file"},
		{"h200/loaders-thread", "gate: [threads]", Fail, ThreadGrowth, "grows by 0.199 a file"},
		{"h200/loaders-shm", "", Fail, SharedGrowth, "40 files with 40.0 MiB stayed in /dev/shm"},
		{
			"h200/loaders-workers", "", Fail, SharedGrowth,
			"shared memory, file descriptors, threads and processes grow together from the first file " +
				"on: shared memory grows by 4.06 MiB a file",
		},
		{
			"h200/jax-default-leak", "", Undecided, DeviceGrowth,
			"JAX took 105 GiB at once and hands it out itself, so the driver does not see a leak; soak " +
				"with XLA_PYTHON_CLIENT_ALLOCATOR=platform in the environment",
		},
		{"h200/jax-growing-leak", "", Undecided, DeviceGrowth, "growth of up to 14.4 MiB a file"},
		{"h200/jax-platform-leak", "", Fail, DeviceGrowth, "grows by 4.00 MiB a file"},
		{log: "h200/jax-platform-clean", policy: "gate: [device-used]", verdict: Pass},
		{log: "h200/batch-8", verdict: Pass},
		{
			"h200/batch-8-features", "", Fail, Leak,
			"grows by 5.09 MiB a file (95 %: 4.89 MiB to 5.30 MiB), from 4.81 GiB to 5.28 GiB, and goes " +
				"on, and follows the length of the audio (3.96 KiB a second); at most 256 KiB a file is " +
				"allowed; it is allocated between Before Enrollment and " +
				"After Enrollment; more files until out of memory (each may need 917 MiB at its peak)",
		},
		{
			"h200/batch-32-waves", "", Fail, OutOfMemory,
			"asked for 450 MiB, 317 MiB were left of the 16.0 GiB that the program allows its allocator",
		},
		{
			"h200/batch-32-waves", "", Fail, Peak,
			"14.1 GiB allocated, of the 16.0 GiB that the program allows its allocator (88.0 %)",
		},
	} {
		t.Run(c.log+"/"+c.check, func(t *testing.T) {
			t.Parallel()
			policy, err := ParsePolicy([]byte(c.policy), "p.yaml")
			if err != nil {
				t.Fatal(err)
			}
			log, err := parser.Open("../../fixtures/" + c.log + ".log.gz")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = log.Close() }()
			tl, err := parser.Build(parser.Read(log, c.log))
			if err != nil {
				t.Fatal(err)
			}
			rep := Of(tl, policy)
			if rep.Verdict != c.verdict {
				t.Errorf("the verdict is %s, want %s", rep.Verdict, c.verdict)
			}
			if c.check == "" {
				return
			}
			if !slices.ContainsFunc(rep.Findings, func(f Finding) bool {
				return f.Check == c.check && f.Verdict == c.verdict && strings.Contains(f.Message, c.message)
			}) {
				t.Errorf("no finding of %s says %q", c.check, c.message)
				for _, f := range rep.Findings {
					t.Logf("%s %s %s: %s", f.Verdict, f.Check, f.Subject, f.Message)
				}
			}
		})
	}
}
