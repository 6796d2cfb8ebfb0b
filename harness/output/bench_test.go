package output

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
)

// chunk is how many bytes the harness reads from a pipe at once.
const chunk = 64 << 10

// BenchmarkTake passes to a stream the output of a pipeline that prints much: one line in fifty is
// a checkpoint.
func BenchmarkTake(b *testing.B) {
	log, err := journal.Open(os.DevNull, journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var text bytes.Buffer
	for text.Len() < chunk {
		text.WriteString(
			strings.Repeat(
				"2026-11-20 02:00:03,123 INFO decoding segment 12 of 60, temperature 0.0, no fallback\n", 49))
		text.WriteString("[GPU Memory] After Work: Allocated: 7.23GB (30.1%) | Reserved: 7.50GB (31.3%) | Free: 16.77GB | Total: 24.00GB\n")
	}
	stream := NewStream(Options{
		Journal: log, Batch: queue.NewBatch(make([]queue.Input, 60)),
		Logger: slog.New(slog.DiscardHandler),
	})
	stream.NextProcess(nil, time.Now())
	b.SetBytes(chunk)
	for b.Loop() {
		stream.Take(text.Bytes()[:chunk])
		if err := log.Flush(); err != nil {
			b.Fatal(err)
		}
	}
}
