package parser

import (
	"os"
	"testing"
)

func BenchmarkBatches(b *testing.B) {
	path := os.Getenv("BENCH_LOG")
	if path == "" {
		b.Skip()
	}
	for b.Loop() {
		log, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		info, _ := log.file.Stat()
		b.SetBytes(info.Size())
		n := 0
		for batch, err := range batches(newSource(log), path, allDialects()) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(batch.entries)
		}
		b.ReportMetric(float64(n), "records")
		_ = log.Close()
	}
}
