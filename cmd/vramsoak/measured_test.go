package main

import (
	"strings"
	"testing"

	"vramsoak/harness/compare"
)

// TestComparableRuns: a run that is measured shard by shard is compared only with one of equally
// many shards that is measured so too. Other runs are always compared.
func TestComparableRuns(t *testing.T) {
	t.Parallel()
	small := func(shards int) compare.RunInfo { return compare.RunInfo{Shards: shards} }
	large := func(shards int) compare.RunInfo { return compare.RunInfo{Shards: shards, ByShard: true} }
	for _, tt := range []struct {
		base, now compare.RunInfo
		refused   string // what the error says of the runs; "" for no error
	}{
		{small(0), small(0), ""},
		{small(0), small(8), ""},
		{small(4), small(8), ""},
		{large(8), large(8), ""},
		{large(8), large(16), "found 8 shards and 16 shards"},
		{large(8), small(8), "found 8 shards and a run measured file by file"},
		{small(0), large(8), "found a run measured file by file and 8 shards"},
	} {
		err := comparableRuns(tt.base, tt.now)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (err == nil) != (tt.refused == "") || !strings.Contains(said, tt.refused) {
			t.Errorf("%+v and %+v: %v, want %q", tt.base, tt.now, err, tt.refused)
		}
	}
}
