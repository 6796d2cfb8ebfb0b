package harness

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramsoak/parser"
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

// BenchmarkFileEnd is what a file costs the log: its lines, and the wait until the disk has them.
func BenchmarkFileEnd(b *testing.B) {
	j, err := openJournal(filepath.Join(b.TempDir(), LogName))
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	for b.Loop() {
		j.own(parser.FileStart{Header: parser.Header{Time: now}, Index: 1, Path: "audio/0001.wav", AudioSeconds: 10})
		j.own(parser.FileEnd{Header: parser.Header{Time: now}, Index: 1, Path: "audio/0001.wav", Status: parser.StatusOK, Seconds: 1})
		if err := j.flush(); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		b.Fatal(err)
	}
}
