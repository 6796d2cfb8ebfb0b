package harness

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"vramsoak/parser"
)

// The harness's memory does not grow with the files, nor with what the pipeline prints: what 3,000 files leave behind is less
// than a KiB each. A real run's is measured by make bench-harness.
func TestMemoryOverManyFiles(t *testing.T) { // not parallel: it measures the heap
	script, err := filepath.Abs("../fixtures/pipelines/chatty.awk")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Command: []string{"awk", "-v", "lines=50", "-f", script}, Feed: FeedStdin, Files: inputs(3000), Dir: t.TempDir(), Version: "test",
	}
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	cfg.Progress = func(Progress) {
		runtime.ReadMemStats(&during)
		most = max(most, during.HeapAlloc)
	}
	o, err := Run(t.Context(), cfg)
	if err != nil || o.Counts[parser.StatusOK] != 3000 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if info, err := os.Stat(cfg.logPath()); err != nil || info.Size() < 10*parser.MiB {
		t.Errorf("log %+v, %v", info, err)
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 24*parser.MiB {
		t.Errorf("the heap grew by %s", parser.FormatBytes(grown))
	}
}
