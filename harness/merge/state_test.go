package merge

import (
	"math"
	"testing"

	"vramsoak/harness/check"
)

// TestState: of three shards, the first leaks 1 MiB a file on top of 1 GiB, the second does not,
// and the third never started.
func TestState(t *testing.T) {
	t.Parallel()
	shards := newShards(3, 120)
	shards[0].level = func(i int) int64 { return int64(i) << 20 }
	judged := judge(t, write(t, shards[:2]))
	if len(judged.Series) == 0 || judged.Series[0].Subject != check.IdleLevel {
		t.Fatalf("the series are %+v, want the idle level first", judged.Series)
	}
	leaks, clean, missing := judged.Shards[0], judged.Shards[1], judged.Shards[2]
	if g := leaks.Growths[0]; math.Abs(g.Slope-(1<<20)) > 1 || g.Verdict != check.Fail ||
		g.Files != 40 {
		t.Errorf("shard 1 grows by %+v, want 1 MiB a file over 40 files", g)
	}
	if g := clean.Growths[0]; g.Slope != 0 || g.Verdict != check.Pass {
		t.Errorf("shard 2 grows by %+v, want no growth", g)
	}
	if len(leaks.Open) != 1 || leaks.Open[0].Check != check.Leak || clean.Open != nil {
		t.Errorf("the open findings are %+v and %+v", leaks.Open, clean.Open)
	}
	if leaks.Peak != 1<<30+39<<20 || leaks.Total != 16<<30 {
		t.Errorf("the peak of shard 1 is %d of %d", leaks.Peak, leaks.Total)
	}
	if missing.Number != 3 || missing.Verdict != "" || missing.Growths != nil {
		t.Errorf("the missing shard is %+v", missing)
	}
	if p := judged.Pooled; len(p) == 0 || p[0].Name != check.IdleLevel ||
		math.Abs(p[0].Mean.Estimate-(1<<19)) > 1 {
		t.Errorf("together the shards grow by %+v, want 0.5 MiB a file", p)
	}
	if start := judged.Start; start.Command != "work" || start.Shards != 3 {
		t.Errorf("the first line is %+v", start)
	}
}
