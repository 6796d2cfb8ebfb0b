package harness

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkTake passes on what a chatty pipeline prints: a checkpoint in every fifty lines.
func BenchmarkTake(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	var text bytes.Buffer
	for text.Len() < chunkSize {
		text.WriteString(strings.Repeat("2026-11-20 02:00:03,123 INFO decoding segment 12 of 60, temperature 0.0, no fallback\n", 49))
		text.WriteString("[GPU Memory] After Work: Allocated: 7.23GB (30.1%) | Reserved: 7.50GB (31.3%) | Free: 16.77GB | Total: 24.00GB\n")
	}
	r := &run{log: &journal{file: null}, batch: newBatch(inputs(60))}
	r.track = &tracker{log: r.log, batch: r.batch, logger: slog.New(slog.DiscardHandler), follow: true}
	r.track.process(r.batch.waiting(0), time.Now())
	b.SetBytes(chunkSize)
	for b.Loop() {
		r.take(text.Bytes()[:chunkSize])
		if err := r.log.flush(); err != nil {
			b.Fatal(err)
		}
	}
}
