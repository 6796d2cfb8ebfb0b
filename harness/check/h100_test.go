package check

import (
	"slices"
	"strings"
	"testing"

	"vramsoak/parser"
)

// TestH100 judges the runs that were recorded on an H100. The leaks in them were planted: 4 MiB a
// file.
func TestH100(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		log     string
		policy  string
		verdict Verdict
		check   string // the check that fails
		message string // a part of its message
	}{
		{log: "python-clean", verdict: Pass},
		{"python-leak", "", Fail, Leak, "grows by 4.00 MiB a file"},
		{"python-oom", "", Fail, OutOfMemory, "fatal in file 3 (audio-0003.wav), in Transcription"},
		{log: "pinned-steady", verdict: Pass},
		{
			"pinned-leak", "gate: [pinned-memory]", Fail, PinnedGrowth,
			"pinned memory and host memory grow together from the first file on, in Load: " +
				"pinned memory grows by 4.00 MiB a file",
		},
		{log: "device-steady", policy: "gate: [device-used]", verdict: Pass},
		{"device-leak", "", Fail, DeviceGrowth, "grows by 4.00 MiB a file"},
	} {
		t.Run(c.log, func(t *testing.T) {
			t.Parallel()
			policy, err := ParsePolicy([]byte(c.policy), "p.yaml")
			if err != nil {
				t.Fatal(err)
			}
			log, err := parser.Open("../../fixtures/h100/" + c.log + ".log.gz")
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
				return f.Check == c.check && f.Verdict == Fail && strings.Contains(f.Message, c.message)
			}) {
				t.Errorf("no finding of %s says %q", c.check, c.message)
				for _, f := range rep.Findings {
					t.Logf("%s %s %s: %s", f.Verdict, f.Check, f.Subject, f.Message)
				}
			}
		})
	}
}
