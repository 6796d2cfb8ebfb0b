package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/live"
	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/reports/text"
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
	got := strings.Join(text.Fold(certainText(r, f, true), 70, "  "), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := earlyEnd(r).Found; got != "grows by 4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB), and "+
		"goes on" {
		t.Errorf("in the log: %q", got)
	}
}

// TestMovements: the ledgers whose growth may fail the run, with the one first that grows most
// beside its limit. Growth within its limit, waived growth, and growth on which the policy does not
// gate are left out.
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
	waived := trend("reserved", check.Fragmentation, check.Bytes, 5, 7, 1, check.Fail)
	r := &check.Report{Trends: []check.Trend{
		waived,
		trend("pinned memory", check.PinnedGrowth, check.Bytes, 1<<10, 1<<11, 1<<20, check.Pass),
		trend("threads", check.ThreadGrowth, check.Count, 0.9, 1, 0.1, check.Fail),
		trend("host memory", check.HostGrowth, check.Bytes, 1<<19, 1<<20, 1<<20, check.Undecided),
		trend("idle level", check.Leak, check.Bytes, 1<<20, 4<<20, 256<<10, check.Fail), // 16 times
		trend("flat", check.Fragmentation, check.Bytes, -5, 7, 1<<20, check.Pass),
		trend("file descriptors", check.DescriptorGrowth, check.Count, 0.4, 0.5, 0.1, check.Fail),
		trend("stages", check.Drift, check.Bytes, 1, 2, 1, check.Fail), // not a ledger
	}}
	r.Policy.Gate = []string{
		check.HostGrowth, check.Leak, check.Fragmentation, check.PinnedGrowth, check.DescriptorGrowth,
		check.Drift,
	}
	for _, t := range r.Trends {
		f := t.Finding
		f.Gates = slices.Contains(r.Policy.Gate, f.Check) && f.Subject != waived.Finding.Subject
		r.Findings = append(r.Findings, f)
	}
	want := []movement{
		{"idle level", "4.00 MiB/file", true},
		{"file descriptors", "0.5/file", true},
		{"host memory", "1.00 MiB/file", false},
	}
	if diff := cmp.Diff(want, movements(r), cmp.AllowUnexported(movement{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
