package check_test

import (
	"testing"

	"vramsoak/harness/check"
)

// What is revised decides the verdict anew, and what is joined later does not bring back what was
// revised.
func TestRevise(t *testing.T) {
	r := &check.Report{Policy: check.DefaultPolicy()}
	r.Join(check.Finding{Check: check.Peak, Verdict: check.Pass}, check.Finding{Check: check.Leak, Verdict: check.Undecided})
	if r.Verdict != check.Undecided {
		t.Fatalf("before: %s", r.Verdict)
	}
	r.Revise(func(f *check.Finding) {
		if f.Check == check.Leak {
			f.Verdict = check.Pass
		}
	})
	r.Join(check.Finding{Check: check.Consistency, Verdict: check.Pass})
	if r.Verdict != check.Pass {
		t.Errorf("after: %s, %+v", r.Verdict, r.Findings)
	}
}
