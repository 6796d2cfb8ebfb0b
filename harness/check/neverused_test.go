package check_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestShareHoldsForAllDigits: a verdict on rounded values is the verdict on the exact values, or
// undecided. If the log prints no peak, the process may have used more between two checkpoints;
// then no such peak may contradict the verdict.
func TestShareHoldsForAllDigits(t *testing.T) {
	const gib = float64(record.GiB)
	policy := check.DefaultPolicy()
	policy.Fragmentation.MaxShare = 0.2
	verdict := func(allocated, reserved, peak int64, exact, peaked bool) check.Verdict {
		line := fmt.Sprintf("[GPU Memory] A: Allocated: %.2fGB | Reserved: %.2fGB",
			float64(allocated)/gib, float64(reserved)/gib)
		if peaked {
			line += fmt.Sprintf(" | Peak: %.2fGB", float64(peak)/gib)
		}
		if exact {
			line += fmt.Sprintf(" | allocated=%d reserved=%d", allocated, reserved)
			if peaked {
				line += fmt.Sprintf(" peak=%d", peak)
			}
		}
		tl, err := parser.Build(parser.Read(strings.NewReader(line+"\n"), "run.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range check.Of(tl, policy).Findings {
			if f.Subject == check.NeverUsed {
				return f.Verdict
			}
		}
		t.Fatalf("%s: no finding", line)
		return ""
	}
	random := rand.New(rand.NewPCG(1, 2))
	count := map[check.Verdict]int{}
	for range 400 {
		reserved := record.GiB/2 + random.Int64N(record.GiB)
		peak := int64(float64(reserved) * (0.7 + 0.3*random.Float64())) // on both sides of the limit
		allocated := int64(float64(peak) * (0.9 + 0.1*random.Float64()))
		// The share, computed by hand, is (reserved - peak) / reserved.
		want := check.Pass
		if float64(reserved-peak) > 0.2*float64(reserved) {
			want = check.Fail
		}
		if got := verdict(allocated, reserved, peak, true, true); got != want {
			t.Fatalf("exact, %d of %d at the peak: got %s, want %s", peak, reserved, got, want)
		}
		for _, c := range []struct{ exact, peaked bool }{{false, true}, {true, false}, {false, false}} {
			got := verdict(allocated, reserved, peak, c.exact, c.peaked)
			if count[got]++; got != want && got != check.Undecided {
				t.Fatalf("%d, %d of %d at the peak, %+v: got %s, want %s", allocated, peak, reserved, c, got,
					want)
			}
			if !c.peaked && got == check.Fail {
				t.Fatalf("%d of %d without a peak: got %s, want pass or undecided", allocated, reserved, got)
			}
		}
	}
	for _, v := range []check.Verdict{check.Pass, check.Fail, check.Undecided} {
		if count[v] < 40 {
			t.Errorf("only %d cases are %s, want at least 40 to prove the claim", count[v], v)
		}
	}
}
