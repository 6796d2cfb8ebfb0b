package pool

import (
	"math"
	"testing"

	"vramsoak/harness/check"
)

// reportOf returns a shard's report with a growth for each slope.
func reportOf(checkName, ledger string, s *Slope, limit float64) *check.Report {
	return &check.Report{
		Level: 0.001, Series: 1,
		Growths: []check.Growth{
			{
				Check: checkName, Ledger: ledger, Subject: s.Name, Unit: check.Bytes, Limit: limit,
				Files: s.Files, Slope: s.Estimate, Error: s.Error, Early: s.Early, Late: s.Late, Sure: 1,
				Gates: true,
			},
			{Check: check.Drift, Slope: 1e9, Error: 1, Sure: 0},
		},
	}
}

// TestRun: each ledger is judged over all shards, and the level is shared.
func TestRun(t *testing.T) {
	t.Parallel()
	var run Run
	if j := run.Judge(); len(j.Ledgers) > 0 {
		t.Errorf("a run without shards has %+v", j)
	}
	leak, clean := slopesOf(128, 1, 102.4, 200), slopesOf(128, 2, 0, 50)
	for i := range leak {
		r := reportOf(check.Leak, "idle level", &leak[i], 64*kib)
		r.Growths = append(r.Growths, reportOf(check.HostGrowth, "host memory", &clean[i],
			1024*kib).Growths...)
		r.Growths = append(r.Growths, reportOf(check.SharedGrowth, "shared memory",
			&Slope{Files: 50}, 1024*kib).Growths...)
		r.Series = 2
		run.Add(i+1, "n1", r)
		if i == 0 {
			one := run.Judge()
			if one.Single != 0.001/2 || len(one.Ledgers) > 0 {
				t.Errorf("one shard has the verdicts of package check, not %+v", one)
			}
		}
	}
	j := run.Judge()
	if want := ofSeries * 0.001 / 256; !near(j.Single, want, 1e-15) {
		t.Errorf("the level of a series is %g, want %g", j.Single, want)
	}
	if len(j.Ledgers) != 3 {
		t.Fatalf("%d ledgers, want 3: %+v", len(j.Ledgers), j)
	}
	if l := j.Ledgers[0]; l.Name != "idle level" || l.Verdict != check.Fail || l.Slopes != 128 ||
		l.Limit != 64*kib {
		t.Errorf("the idle level leaks: %+v", l)
	}
	if l := j.Ledgers[1]; l.Name != "host memory" || l.Verdict != check.Pass {
		t.Errorf("host memory does not grow: %+v", l)
	}
	if l := j.Ledgers[2]; l.Verdict != check.Pass {
		t.Errorf("shared memory is constant: %+v", l)
	}
}

// TestRunLevel: the shards of a run with --fail-fast share the smaller level.
func TestRunLevel(t *testing.T) {
	t.Parallel()
	var run Run
	for i, s := range slopesOf(2, 1, 0, 50) {
		r := reportOf(check.Leak, "idle level", &s, 64*kib)
		r.Level = 0.001 / float64(1+i)
		run.Add(i+1, "", r)
	}
	if j := run.Judge(); !near(j.Single, ofSeries*0.0005/2, 1e-15) {
		t.Errorf("the level of a series is %g", j.Single)
	}
}

// TestPartOf: the device's memory is skipped if a part of it explains its growth.
func TestPartOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		device float64 // KiB a file
		want   check.Verdict
	}{{110, check.Skipped}, {300, check.Fail}} {
		var run Run
		part, all := slopesOf(128, 1, 102.4, 10), slopesOf(128, 2, c.device, 10)
		for i := range part {
			run.Add(i+1, "", reportOf(check.Leak, "idle level", &part[i], 64*kib))
			run.Add(i+1, "", reportOf(check.DeviceGrowth, "device used", &all[i], 64*kib))
		}
		device := run.Judge().Ledgers[1]
		if device.Verdict != c.want || (device.PartOf == "idle level") != (c.want == check.Skipped) {
			t.Errorf("device used grows by %g KiB a file: %+v", c.device, device)
		}
	}
}

// TestTenThousand: ten thousand shards are judged as few are.
func TestTenThousand(t *testing.T) {
	t.Parallel()
	r := Of(slopesOf(10_000, 1, 70, 200), 64*kib, 1e-4)
	if r.Verdict != check.Fail || math.Abs(r.Mean.Estimate/kib-70) > 8 || len(r.Shards) > 0 {
		t.Errorf("70 KiB a file in the mean: %+v", r)
	}
}

// TestConfirmed: where all shards warm up, a shard whose series looks like growth fails only if its
// second half grows too.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		early, late      float64 // of the shard that looks like growth, KiB a file
		warm             bool    // the others warm up
		alone, confirmed int
	}{
		{"warm-up", 3000, 1000, true, 1, 0},
		{"leak behind a warm-up", 5000, 4000, true, 1, 1},
		{"no warm-ups", 3000, 1000, false, 1, 1},
	} {
		var run Run
		for i, s := range slopesOf(64, 2, 0, 200) {
			if c.warm {
				s.Early += 3000 * kib
			}
			r := reportOf(check.Leak, "idle level", &s, 64*kib)
			if g := &r.Growths[0]; i == 0 {
				g.Sure, g.Slope = 1e-9, 2000*kib
				g.Early, g.Late = c.early*kib, c.late*kib
			}
			run.Add(i+1, "", r)
		}
		l := run.Judge().Ledgers[0]
		if l.Alone != c.alone || l.Confirmed != c.confirmed || l.Slows != c.warm {
			t.Errorf("%s: %d of %d confirmed, slows %t; want %d of %d", c.name, l.Confirmed, l.Alone,
				l.Slows, c.confirmed, c.alone)
		}
	}
}
