package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/reports/export"
	"vramsoak/reports/export/openmetrics"
	"vramsoak/reports/export/perfetto"
)

// TestMemory: an export keeps no checkpoints. 100,000 of them leave less than 10 MiB behind; the
// records alone would take more than 22.
func TestMemory(t *testing.T) { // not parallel: it measures the heap
	const files, checkpoints = 2000, 50
	var line bytes.Buffer
	next := 0
	read := readerFunc(func(p []byte) (int, error) { // makes the log while it is read
		for line.Len() == 0 {
			if next == files {
				return 0, io.EOF
			}
			fmt.Fprintf(&line, "[pipeline] file-start path=%d.wav\n", next)
			for k := range checkpoints {
				fmt.Fprintf(&line, "2026-11-20T%02d:%02d:%02d.%03dZ [GPU Memory] Step %d: "+
					"Allocated: %d.00GB | Reserved: 8.00GB\n", next/3600, next/60%60, next%60, k*10, k%4,
					1+(next*k)%7)
			}
			next++
		}
		return line.Read(p)
	})
	for _, c := range []struct {
		name string
		out  interface {
			Add(e export.Event)
			Close() error
		}
	}{
		{"perfetto", perfetto.NewWriter(io.Discard)}, {"openmetrics", openmetrics.NewWriter(io.Discard)},
	} {
		next = 0
		before := live()
		x := export.New(c.out.Add)
		b := &parser.Builder{}
		b.Done = x.Add
		if err := b.Read(read, "run.log"); err != nil {
			t.Fatal(err)
		}
		if grown := live() - before; grown > 10*record.MiB {
			t.Errorf("%s: the heap grew by %s, want less than 10 MiB", c.name,
				record.FormatBytes(grown))
		}
		tl := b.Timeline()
		if err := errors.Join(x.Finish(tl), c.out.Close()); err != nil {
			t.Error(err)
		}
		if len(tl.Files) != files || tl.Checkpoints != files*checkpoints {
			t.Errorf("%d files, %d checkpoints", len(tl.Files), tl.Checkpoints)
		}
	}
}

// live returns the size of the heap without garbage.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
