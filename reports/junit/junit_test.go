package junit

import (
	"bytes"
	"encoding/xml"
	"testing"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/harness/waiver"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestJUnitAgreesWithVerdict: junit.xml has failures or errors exactly if the verdict is not pass.
func TestJUnitAgreesWithVerdict(t *testing.T) {
	crash := timelines.Batch{Files: 3, CrashAt: 2}.Timeline()
	retried := timelines.Batch{Files: 3, CrashAt: 2}.Timeline()
	again := *retried.Files[0]
	again.Index, again.Path = 2, retried.Files[1].Path
	retried.Files = append(retried.Files, &again)
	cut := timelines.Batch{Files: 2}.Timeline()
	cut.Files[1].Status = record.StatusUnknown
	short := timelines.Batch{Files: 2}.Timeline()

	policy := check.DefaultPolicy()
	lenient, strict := policy, policy
	lenient.Gate = []string{check.Recovery, check.Peak, check.Consistency}
	strict.Require = []string{check.Leak}
	waiving, only := policy, policy
	for _, name := range []string{check.Completeness, check.Recovery} {
		waiving.Waive = append(waiving.Waive, check.WaivePolicy{
			Check: name, Waiver: waiver.Waiver{Reason: "known", Until: "9999-12-31"},
		})
	}
	only.Gate, only.Waive = []string{check.Completeness}, waiving.Waive[:1]

	// Thirteen findings: recovery of two cleanups and a stage, leak, fragmentation, dark memory,
	// drift, throughput, peak, out of memory, two on completeness, consistency.
	for _, c := range []struct {
		name             string
		tl               *timeline.Timeline
		policy           check.Policy
		verdict          check.Verdict
		tests            int
		failures, errors int
	}{
		{"a clean run", short, policy, check.Pass, 13 + 2, 0, 0},
		{
			"a cleanup and its stage fail", timelines.Batch{Files: 3, KeepFrom: 2}.Timeline(), policy,
			check.Fail, 13 + 3, 2, 0,
		},
		{"a crash", crash, policy, check.Fail, 13 + 3, 2, 0},
		{"a crash that does not gate", crash, lenient, check.Pass, 13 + 3, 0, 0},
		{"a crash, and the file done again", retried, policy, check.Pass, 13 + 3, 0, 0},
		{
			"too few files for a check that is required", short, strict, check.Undecided, 13 + 2, 0,
			1,
		},
		{"no gating check has data", &timeline.Timeline{}, lenient, check.Undecided, 4 + 1, 0, 1},
		{"a run cut short", cut, policy, check.Fail, 13 + 2, 2, 0},
		{"a crash that is waived", crash, waiving, check.Pass, 13 + 3, 0, 0},
		{
			"a cleanup and its stage that are waived",
			timelines.Batch{Files: 3, KeepFrom: 2}.Timeline(), waiving, check.Pass, 13 + 3, 0, 0,
		},
		{"a run cut short that is waived", cut, waiving, check.Pass, 13 + 2, 0, 0},
		{"a crash in the only check", crash, only, check.Pass, 13 + 3, 0, 0},
	} {
		rep := check.Of(c.tl, c.policy)
		if rep.Verdict != c.verdict {
			t.Errorf("%s: the verdict is %s, want %s", c.name, rep.Verdict, c.verdict)
		}
		var out bytes.Buffer
		if err := Write(&out, c.tl, rep); err != nil {
			t.Fatal(err)
		}
		var got suites
		if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Tests != c.tests || got.Failures != c.failures || got.Errors != c.errors {
			t.Errorf("%s: %d tests, %d failures, %d errors; want %d, %d, %d\n%s", c.name, got.Tests,
				got.Failures, got.Errors,
				c.tests, c.failures, c.errors, out.String())
		}
		if passed := got.Failures+got.Errors == 0; passed != (rep.Verdict == check.Pass) {
			t.Errorf("%s: the verdict is %s, but the file passes: %v", c.name, rep.Verdict, passed)
		}
	}
}
