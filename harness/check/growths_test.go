package check

import (
	"math"
	"testing"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

// TestGrowths: the report has each series that was judged, with its verdict and its level. Only
// descriptors leak here: one a file.
func TestGrowths(t *testing.T) {
	t.Parallel()
	tl := resourceRun{files: 60, held: func(of record.Resource, files int, _ bool) int64 {
		wobble := int64(files * 7919 % 13)
		switch of {
		case record.HostMemory:
			return 1<<30 + wobble<<12
		case record.FileDescriptors:
			return 20 + int64(files) + wobble/10
		}
		return 7
	}}.timeline()
	policy := DefaultPolicy()
	r := Of(tl, policy)
	if r.Series != 2 {
		t.Errorf("%d series share the level, want 2: host memory and descriptors vary", r.Series)
	}
	byCheck := map[string]Growth{}
	for _, g := range r.Growths {
		byCheck[g.Check] = g
	}
	leak := byCheck[DescriptorGrowth]
	if leak.Verdict != Fail || leak.Sure > 1e-6 || math.Abs(leak.Slope-1) > 0.05 || !leak.Gates {
		t.Errorf("descriptors: %+v", leak)
	}
	if leak.Ledger != "file descriptors" || leak.Unit != Count || leak.Limit != 0.1 ||
		leak.Files < 50 || leak.Shape != shape.Flat || leak.Error <= 0 {
		t.Errorf("descriptors: %+v", leak)
	}
	host := byCheck[HostGrowth]
	if host.Verdict != Pass || host.Sure != 1 || host.Ledger != "host memory" {
		t.Errorf("host memory: %+v", host)
	}
	if g := byCheck[ThreadGrowth]; g.Verdict != Pass || g.Gates || g.Slope != 0 {
		t.Errorf("threads: %+v", g)
	}
}

// TestSettledGrowths: the growths of a finding that was explained in another way do not fail.
func TestSettledGrowths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		finding Verdict
		want    [2]Verdict
	}{
		{Fail, [2]Verdict{Pass, Fail}},
		{Undecided, [2]Verdict{Pass, Undecided}},
		{Skipped, [2]Verdict{Skipped, Skipped}},
	} {
		j := Judge{judged: []Growth{{Verdict: Fail}, {Verdict: Pass}, {Verdict: Fail}}}
		j.settle(&worstProcess{finding: Finding{Verdict: c.finding}, growths: [2]int{1, 3}})
		got := [2]Verdict{j.judged[1].Verdict, j.judged[2].Verdict}
		if got != c.want || j.judged[0].Verdict != Fail {
			t.Errorf("%s: %s, want %s", c.finding, got, c.want)
		}
	}
}
