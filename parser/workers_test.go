package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestWorkersShareABatch: the logs of a run's workers are one batch. Each file counts once, by
// its last attempt. Each worker's device has the number of the worker's GPU.
func TestWorkersShareABatch(t *testing.T) {
	t.Parallel()
	log := func(run string, gpu int, lines ...string) string {
		start := record.RunStart{
			Files:   3,
			Feed:    "process",
			Command: "x",
			Version: "v1",
			ID:      record.WorkerID(run, gpu),
			Workers: 2,
			GPU:     gpu,
		}
		return string(start.AppendLine(nil)) + "\n" + strings.Join(lines, "\n") + "\n"
	}
	file := func(index int, status, second string) string {
		return fmt.Sprintf("[vramsoak] file-start time=2026-11-20T02:00:%sZ index=%d path=f%d\n"+
			"[GPU Memory] After Work: Allocated: 1.00GB | allocated=1073741824 device=0\n"+
			"[vramsoak] file-end time=2026-11-20T02:00:%sZ index=%d path=f%d status=%s", second, index,
			index, second, index, index, status)
	}
	zero := log("a", 0, file(1, "ok", "01"), file(3, "crashed", "02"), file(2, "ok", "08"))
	three := log("a", 3, file(2, "failed", "05"), file(3, "ok", "03"),
		"[vramsoak] sample time=2026-11-20T02:00:04Z pid=9 device=0 used=1 total=2 source=process rss=3")
	other := log("b", 3, file(1, "ok", "01"))

	b := &parser.Builder{}
	for i, text := range []string{zero, three, other, three} {
		if err := b.Read(strings.NewReader(text), fmt.Sprintf("%d.log", i)); err != nil {
			t.Fatal(err)
		}
	}
	tl := b.Timeline()
	var runs, files []string
	for _, r := range tl.Runs {
		runs = append(runs, fmt.Sprintf("run %d of batch %d: %s", r.Number, r.Batch, r.Start.RunID()))
	}
	for _, f := range tl.LastAttempts() {
		files = append(
			files,
			fmt.Sprintf("batch %d run %d file %d %s on GPU %d", f.Batch, f.Run, f.Index, f.Status,
				f.Checkpoints[0].Lane.Device),
		)
	}
	wantRuns := []string{
		"run 0 of batch 0: a",
		"run 1 of batch 0: a",
		"run 2 of batch 2: b",
		"run 3 of batch 3: a",
	}
	if diff := cmp.Diff(wantRuns, runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	wantFiles := []string{
		"batch 0 run 0 file 1 ok on GPU 0",
		"batch 0 run 0 file 2 ok on GPU 0",
		"batch 0 run 1 file 3 ok on GPU 3",
		"batch 2 run 2 file 1 ok on GPU 3",
		"batch 3 run 3 file 2 failed on GPU 3",
		"batch 3 run 3 file 3 ok on GPU 3",
	}
	if diff := cmp.Diff(wantFiles, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if len(tl.Samples) != 2 || tl.Samples[0].Lane.Device != 3 {
		t.Errorf("got samples %+v", tl.Samples)
	}
}
