package reports

import (
	"bytes"
	"encoding/xml"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// TestJUnitAgreesWithVerdict demands failures or errors where the verdict is no pass, and only there.
func TestJUnitAgreesWithVerdict(t *testing.T) {
	crash := sample{files: 3, crashAt: 2}
	crashed, notGating := crash.report(), crash.report()
	notGating.Verdict = check.Pass
	for i := range notGating.Findings {
		notGating.Findings[i].Gates = notGating.Findings[i].Check != check.Completeness
	}
	retried := crash.timeline()
	again := retried.Files[0]
	again.Index, again.Path = 2, retried.Files[1].Path
	retried.Files = append(retried.Files, again)
	good := sample{files: 3}.report()
	nothing := &check.Report{Verdict: check.Undecided, Findings: []check.Finding{
		{Check: check.Peak, Verdict: check.Skipped, Subject: "high-water mark", Message: "no total", Gates: true},
	}}
	cut := sample{files: 2}.timeline()
	cut.Files[1].Status = parser.StatusUnknown

	for _, c := range []struct {
		name             string
		tl               *parser.Timeline
		rep              *check.Report
		tests            int
		failures, errors int
	}{
		{"a crash", crash.timeline(), crashed, 6 + 3, 2, 0},
		{"a crash that does not gate", crash.timeline(), notGating, 6 + 3, 0, 0},
		{"a crash, and the file done again", retried, good, 6 + 3, 0, 0},
		{"nothing judged", &parser.Timeline{}, nothing, 2, 0, 1},
		{"a run cut short", cut, crashed, 6 + 2, 2, 0},
	} {
		var out bytes.Buffer
		if err := JUnit(&out, c.tl, c.rep); err != nil {
			t.Fatal(err)
		}
		var got junitSuites
		if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Tests != c.tests || got.Failures != c.failures || got.Errors != c.errors {
			t.Errorf("%s: %d tests, %d failures, %d errors; want %d, %d, %d\n%s", c.name, got.Tests, got.Failures, got.Errors,
				c.tests, c.failures, c.errors, out.String())
		}
		if passed := got.Failures+got.Errors == 0; passed != (c.rep.Verdict == check.Pass) {
			t.Errorf("%s: the verdict is %s, and the file says %v", c.name, c.rep.Verdict, passed)
		}
	}
}
