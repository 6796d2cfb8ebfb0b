package trace_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

var recorded = flag.String("oracle.recorded", "", "folder of traces (*.trace) of programs that ran")

// TestRecorded: on traces recorded from real programs, the model prints the same as PyTorch's own
// allocator (the oracle). The test uses several settings, a large card and cards that are too
// small.
func TestRecorded(t *testing.T) {
	if oracle == "" || *recorded == "" {
		t.Skip("not run: make oracle runs it")
	}
	files, err := filepath.Glob(filepath.Join(*recorded, "*.trace"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no traces: %v", *recorded, err)
	}
	for _, file := range files {
		large := trace.Settings{Capacity: 1 << 40, Segments: true}
		totals, stats, err := differOnFile(large, file)
		if err != nil {
			t.Errorf("%s: %v\n%s", at(file, err), err, reproduce(large, file))
			continue
		}
		ops := readOps(t, file)
		tried, events, ooms := 1, totals.Events, totals.OutOfMemory
		for _, conf := range []string{
			"", "expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:8",
			"max_split_size_mb:128,garbage_collection_threshold:0.6",
			"expandable_segments:True,max_split_size_mb:32",
		} {
			for _, share := range []float64{0.97, 0.7} {
				s := trace.Settings{
					Conf: conf, Capacity: int64(share * float64(stats.Reserved.Peak)),
					Segments: true, Placement: allocator.Placement(tried % 3),
				}
				path := filepath.Join(t.TempDir(), "recorded.trace")
				writeTrace(t, path, onlyLive(s, ops))
				totals, _, err := differOnFile(s, path)
				if err != nil {
					t.Errorf("%s: %v\n%s", at(file, err), err, reproduce(s, path))
				}
				tried, events, ooms = tried+1, events+totals.Events, ooms+totals.OutOfMemory
			}
		}
		fmt.Printf("%s: %d settings, %d events, %d out of memory\n", filepath.Base(file), tried,
			events, ooms)
	}
}

// onlyLive yields the operations of a recorded trace, without the RecordStream operations of blocks
// whose allocation fails with the settings s. In the recording it did not fail.
func onlyLive(s trace.Settings, ops []trace.Op) func(yield func(trace.Op) bool) {
	return func(yield func(trace.Op) bool) {
		blocks := newOutcomes(s)
		for _, op := range ops {
			if op.Kind == trace.RecordStream && !blocks.live(op.ID) {
				continue
			}
			if !yield(op) || !blocks.do(op) {
				return
			}
		}
	}
}
