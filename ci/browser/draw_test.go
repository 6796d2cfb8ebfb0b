package browser_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// BenchmarkDraw measures how long a browser needs from the start of the navigation to the first
// frame with all charts in it. Each file has 19 checkpoints; 5,000 files have 95,000. The page of
// 60 files is the reference of the ratio that is printed.
func BenchmarkDraw(b *testing.B) {
	var reference float64
	for _, files := range []int{60, 5000} {
		path := reported(b, noisy(b, files))
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			page := open(b, path, 1280)
			var sum float64
			for b.Loop() {
				page.reload()
				sum += page.drawn()
			}
			mean := sum / float64(b.N)
			if reference == 0 {
				reference = mean
			}
			size, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(mean, "ms-to-draw")
			b.ReportMetric(mean/reference, "x-of-60-files")
			b.ReportMetric(float64(size.Size())/1000, "kB")
		})
	}
}

// noisy returns a log in which no two readings are alike, so that it compresses badly and every
// pixel of a chart has its own range.
func noisy(t testing.TB, files int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "noisy.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	random := rand.New(rand.NewPCG(1, 1))
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	checkpoint := func(label string, least, most float64) {
		at = at.Add(time.Duration(random.IntN(1000)) * time.Millisecond)
		allocated := least + random.Float64()*(most-least)
		reserved := allocated + random.Float64()
		// Flush says if this fails.
		_, _ = fmt.Fprintf(w, "%s [GPU Memory] %s: Allocated: %.2fGB (%.1f%%) | "+
			"Reserved: %.2fGB (%.1f%%) | Free: %.2fGB | Total: 24.00GB\n",
			at.Format("2006-01-02 15:04:05.000"), label,
			allocated, allocated/24*100, reserved, reserved/24*100, 24-reserved)
	}
	for i := range files {
		_, _ = fmt.Fprintf(w, "=== File %d/%d: speech-%04d.wav ===\n", i+1, files, i+1)
		for _, stage := range []string{
			"Preprocessing", "VAD", "Transcription", "Segmentation", "Embedding", "Clustering",
			"Diarization", "Alignment", "Export",
		} {
			checkpoint("Before "+stage+" Cleanup", 3, 9)
			checkpoint("After "+stage+" Cleanup", 1, 2)
		}
		checkpoint("File End", 1, 1.3)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// reload loads the page again and waits until its charts are drawn.
func (b *tab) reload() {
	b.Helper()
	b.do(chromedp.Reload())
	b.waitUntilReady()
}

// drawn returns the milliseconds from the start of the navigation to the frame with all charts.
func (b *tab) drawn() float64 {
	b.Helper()
	b.waitFor(`performance.getEntriesByName("drawn").length > 0`)
	return eval[float64](b, `performance.getEntriesByName("drawn")[0].startTime`)
}
