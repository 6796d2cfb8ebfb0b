package journal

import (
	"path/filepath"
	"testing"
	"time"

	"vramsoak/parser/record"
)

// BenchmarkFileEnd measures how long the log delays a run for each file: the time to write the
// file's lines and to wait until they are on the disk.
func BenchmarkFileEnd(b *testing.B) {
	j, err := Open(filepath.Join(b.TempDir(), "soak.log"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	for b.Loop() {
		j.Add(record.FileStart{
			Header: record.Header{Time: now}, Index: 1, Path: "audio/0001.wav",
			AudioSeconds: 10,
		})
		j.Add(record.FileEnd{
			Header: record.Header{Time: now}, Index: 1, Path: "audio/0001.wav",
			Status: record.StatusOK, Seconds: 1,
		})
		if err := j.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
}
