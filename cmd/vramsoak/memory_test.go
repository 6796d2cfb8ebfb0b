package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"vramsoak/parser/record"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/memory"
	"vramsoak/reports/plots/overfiles"
)

// TestMemoryOfReports: the memory for judging and plotting a long log grows with its files, not
// with its checkpoints. 400,000 checkpoints leave less than 24 MiB behind; the records alone would
// take more than 90. make bench-harness measures a real run.
func TestMemoryOfReports(t *testing.T) { // not parallel: it measures the heap
	const files, checkpoints = 4000, 100
	path := filepath.Join(t.TempDir(), "soak.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f) // Flush returns its errors
	for i := range files {
		_, _ = fmt.Fprintf(w, "[vramsoak] file-start index=%d path=%d.wav\n", i+1, i)
		for k := range checkpoints {
			level := 1 + (i*k)%7 // GiB
			_, _ = fmt.Fprintf(w, "[GPU Memory] Step %d: Allocated: %d.00GB | Reserved: 8.00GB | "+
				"Total: 24.00GB | allocated=%d device=0\n",
				k%4, level, int64(level)*record.GiB)
		}
		_, _ = fmt.Fprintf(w, "[vramsoak] file-end index=%d path=%d.wav status=ok seconds=1.000\n",
			i+1, i)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	sketch := memory.NewSketch(plots.Options{})
	tl, report, err := readOptions{trends: true}.judge([]string{path}, sketch)
	if err != nil {
		t.Fatal(err)
	}
	pictures := []picture{
		{"over-files", "file by file", overfiles.New(report)},
		{"memory", "over time", sketch.Chart(tl, report)},
	}
	if grown := live() - before; grown > 24*record.MiB {
		t.Errorf("the heap grew by %s, want less than 24 MiB", record.FormatBytes(grown))
	}
	if tl.Checkpoints != files*checkpoints || len(tl.Files) != files || len(tl.Bad) > 0 {
		t.Errorf("%d checkpoints, %d files, bad: %v", tl.Checkpoints, len(tl.Files),
			tl.Bad[:min(1, len(tl.Bad))])
	}
	runtime.KeepAlive(sketch)
	runtime.KeepAlive(report)
	if drawn, err := writePlots(t.TempDir(), pictures); err != nil || len(drawn) != 2 {
		t.Fatalf("drew %q: %v", drawn, err)
	}
}
