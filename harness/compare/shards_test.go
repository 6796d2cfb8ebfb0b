package compare

import (
	"strings"
	"testing"

	"vramsoak/harness/check"
)

// TestOtherShards: two runs with different numbers of shards are compared file by file, but not in
// growth. A remark says so. Runs with equally many shards have no such remark.
func TestOtherShards(t *testing.T) {
	t.Parallel()
	run := func(shards int) *Baseline {
		b := &Baseline{Run: RunInfo{Shards: shards}}
		m := check.Metric{Name: check.IdleLevel, Unit: check.Bytes}
		for i := range 40 {
			b.Files = append(b.Files, check.MeasuredFile{
				Path: string(rune('a'+i)) + ".wav", Index: i + 1, Process: i * max(1, shards) / 40,
			})
			m.Values = append(m.Values, float64(1<<30+i%3))
		}
		b.Metrics = []check.Metric{m}
		return b
	}
	for _, tt := range []struct {
		base, now int
		growth    check.Verdict
		remark    string
	}{
		{0, 2, check.Skipped, "2 shards, the base no shards: each shard begins with a new process"},
		{2, 1, check.Skipped, "1 shard, the base 2 shards: "},
		{2, 2, check.Pass, ""},
		{0, 0, check.Pass, ""},
	} {
		c := Runs(run(tt.base), run(tt.now), check.DefaultPolicy())
		if len(c.Changes) != 2 || c.Changes[0].Verdict != check.Pass ||
			c.Changes[1].Verdict != tt.growth {
			t.Errorf("%d and %d shards: the changes are %+v", tt.base, tt.now, c.Changes)
		}
		if got := strings.Join(c.Remarks, "\n"); (tt.remark == "") != (got == "") ||
			!strings.Contains(got, tt.remark) {
			t.Errorf("%d and %d shards: the remarks are %q, want %q", tt.base, tt.now, got, tt.remark)
		}
	}
}
