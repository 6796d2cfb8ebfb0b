package harness

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"vramsoak/parser/record"
)

// TestMemoryOverManyFiles: the harness's memory does not grow with the number of lines that the
// pipeline prints. Over 2,000 files it grows by at most half a KiB per file. make bench-harness
// measures a real run.
func TestMemoryOverManyFiles(t *testing.T) { // not parallel: it measures the heap
	script, err := filepath.Abs("../fixtures/pipelines/chatty.awk")
	if err != nil {
		t.Fatal(err)
	}
	const files, window = 3000, 600
	cfg := Config{
		Command: []string{"awk", "-v", "lines=50", "-f", script}, Feed: FeedStdin,
		Files: inputs(files), Dir: t.TempDir(), Version: "test",
	}
	// Buffers come and go during the run, so the smallest of several measurements counts. There are
	// two series of measurements: among the first files and among the last files.
	type look struct {
		seen, last int // number of measurements, and of files done at the last one
		least      int64
	}
	var early, late look
	cfg.Progress = func(p Progress) {
		in := &early
		switch {
		case p.Done > files-window:
			in = &late
		case p.Done < window/2 || p.Done > window*3/2:
			return
		}
		if in.seen == 8 {
			return
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if heap := int64(m.HeapAlloc); in.seen == 0 || heap < in.least {
			in.least = heap
		}
		in.seen, in.last = in.seen+1, p.Done
	}
	o, err := Run(t.Context(), cfg)
	if err != nil || o.Counts[record.StatusOK] != files {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if info, err := os.Stat(cfg.logPath()); err != nil || info.Size() < 10*record.MiB {
		t.Errorf("log %+v, %v", info, err)
	}
	between := int64(late.last - early.last)
	if early.seen < 2 || late.seen < 2 {
		t.Skipf(
			"the heap was seen %d times in the first files and %d times in the last: too busy a machine",
			early.seen, late.seen)
	}
	grown := late.least - early.least
	t.Logf("%s in %d files", record.FormatBytes(grown), between)
	if grown > between*512 {
		t.Errorf("the heap grew by %s in %d files", record.FormatBytes(grown), between)
	}
}
