package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/live"
	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

// TestCertainText: the message on a leak that is certain while the run goes on. It is folded to 70
// columns, and the log gets its first clause.
func TestCertainText(t *testing.T) {
	t.Parallel()
	f := check.Finding{
		Check: check.Leak, Subject: "idle level (pod\n1)",
		At:      &record.Position{Path: "soak.log", Line: 7},
		Message: "grows by 4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB), and goes on; 1,525 files fit",
	}
	r := live.Result{Look: 2, Files: 32, Certain: []check.Finding{f}}
	want := `vramsoak: certain after 32 files: leak, idle level (pod\n1): grows by
  4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB), and goes on; 1,525
  files fit [soak.log:7]; the run ends after the files that are in
  work (--fail-fast)`
	if diff := cmp.Diff(want, folded(certainText(r, f, true), 70)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := earlyEnd(r).Found; got != "grows by 4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB), and "+
		"goes on" {
		t.Errorf("in the log: %q", got)
	}
}

// TestMovements: the ledgers that certainly grow, with the one first that grows most beside its
// limit.
func TestMovements(t *testing.T) {
	t.Parallel()
	trend := func(name, of, unit string, low, slope, limit float64, v check.Verdict) check.Trend {
		return check.Trend{
			Finding: check.Finding{Check: of, Subject: name, Limit: &limit, Verdict: v}, Unit: unit,
			Result: shape.Result{
				Shape: shape.Flat, Slope: shape.Interval{Low: low, Estimate: slope, High: 2 * slope},
			},
		}
	}
	r := &check.Report{Trends: []check.Trend{
		trend("host memory", check.HostGrowth, check.Bytes, 1<<19, 1<<20, 1<<20, check.Undecided),
		trend("idle level", check.Leak, check.Bytes, 1<<20, 4<<20, 256<<10, check.Fail), // 16 times
		trend("flat", check.Fragmentation, check.Bytes, -5, 7, 1<<20, check.Pass),
		trend("file descriptors", check.DescriptorGrowth, check.Count, 0.4, 0.5, 0.1, check.Fail),
		trend("stages", check.Drift, check.Bytes, 1, 2, 1, check.Fail), // not a ledger
	}}
	want := []movement{
		{"idle level", "4.00 MiB/file", true},
		{"file descriptors", "0.5/file", true},
		{"host memory", "1.00 MiB/file", false},
	}
	if diff := cmp.Diff(want, movements(r), cmp.AllowUnexported(movement{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
