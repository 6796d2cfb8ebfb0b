package check_test

import (
	"fmt"
	"testing"

	"vramsoak/harness/check"
)

// TestRevise: a finding that is revised changes the report's verdict. If another finding joins
// later, the revised finding stays as it is.
func TestRevise(t *testing.T) {
	r := &check.Report{Policy: check.DefaultPolicy()}
	r.Join(check.Finding{Check: check.Peak, Verdict: check.Pass},
		check.Finding{Check: check.Leak, Verdict: check.Undecided})
	if r.Verdict != check.Undecided {
		t.Fatalf("before the revision: got %s, want undecided", r.Verdict)
	}
	r.Revise(func(f *check.Finding) {
		if f.Check == check.Leak {
			f.Verdict = check.Pass
		}
	})
	r.Join(check.Finding{Check: check.Consistency, Verdict: check.Pass})
	if r.Verdict != check.Pass {
		t.Errorf("after the revision: got %s, want pass: %+v", r.Verdict, r.Findings)
	}
}

// TestPeakBy: the report's peak is that of the device that is fuller, whichever device comes first.
func TestPeakBy(t *testing.T) {
	for _, fuller := range []int{0, 1} {
		used := []int{2, 2}
		used[fuller] = 9
		log := ""
		for device, gib := range used {
			log += fmt.Sprintf("[GPU Memory] A: Allocated: %d.00GB | allocated=%d device=%d total=%d\n",
				gib, gib<<30, device, 10<<30)
		}
		by := check.Of(build(t, log), check.DefaultPolicy()).PeakBy
		if by == nil || by.Bytes != 9<<30 || by.Total != 10<<30 {
			t.Errorf("device %d has 9 of 10 GiB, and the peak is %+v", fuller, by)
		}
	}
}
