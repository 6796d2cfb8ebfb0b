package harness

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"vramsoak/parser"
)

// The harness's memory does not grow with the files, nor with what the pipeline prints: of 2,400 files less than half a KiB
// each is left. A real run's is measured by make bench-harness.
func TestMemoryOverManyFiles(t *testing.T) { // not parallel: it measures the heap
	script, err := filepath.Abs("../fixtures/pipelines/chatty.awk")
	if err != nil {
		t.Fatal(err)
	}
	const files, early, late = 3000, 500, 2900
	cfg := Config{
		Command: []string{"awk", "-v", "lines=50", "-f", script}, Feed: FeedStdin, Files: inputs(files), Dir: t.TempDir(), Version: "test",
	}
	at := map[int]int{} // how many files were done when the heap was measured
	live := map[int]int64{}
	cfg.Progress = func(p Progress) {
		for _, mark := range []int{early, late} {
			if _, measured := live[mark]; p.Done >= mark && !measured {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				at[mark], live[mark] = p.Done, int64(m.HeapAlloc)
			}
		}
	}
	o, err := Run(t.Context(), cfg)
	if err != nil || o.Counts[parser.StatusOK] != files {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if info, err := os.Stat(cfg.logPath()); err != nil || info.Size() < 10*parser.MiB {
		t.Errorf("log %+v, %v", info, err)
	}
	between := int64(at[late] - at[early])
	if between < files/2 {
		t.Skipf("measured after %d and after %d files: too busy a machine", at[early], at[late])
	}
	grown := live[late] - live[early]
	t.Logf("%s in %d files", parser.FormatBytes(grown), between)
	if grown > between*512 {
		t.Errorf("the heap grew by %s in %d files", parser.FormatBytes(grown), between)
	}
}
