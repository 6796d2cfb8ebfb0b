package trace_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

// benchTrace is the text of a trace with PyTorch's default settings.
func benchTrace(tb testing.TB, events int) (trace.Settings, []byte) {
	tb.Helper()
	s, _ := trace.Draw(0)
	s.Capacity = 16 << 30
	var text []byte
	for op := range s.Random(1, events) {
		text = append(op.AppendTo(text), '\n')
	}
	return s, text
}

func replayText(tb testing.TB, s trace.Settings, text []byte, o trace.Options) trace.Totals {
	tb.Helper()
	device := s.Device()
	config, err := allocator.ParseConfig(s.Conf)
	if err != nil {
		tb.Fatal(err)
	}
	totals, err := trace.Replay(io.Discard, trace.Read(bytes.NewReader(text), "bench"), device, allocator.New(device, config), o)
	if err != nil {
		tb.Fatal(err)
	}
	return totals
}

// A replay without lines, the reading of the text included.
func BenchmarkReplayQuiet(b *testing.B) {
	benchmarkReplay(b, trace.Options{Quiet: true, NoSnapshot: true})
}

// A replay with a line for each operation.
func BenchmarkReplay(b *testing.B) { benchmarkReplay(b, trace.Options{NoSnapshot: true}) }

func benchmarkReplay(b *testing.B, o trace.Options) {
	const events = 500_000
	s, text := benchTrace(b, events)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		replayText(b, s, text, o)
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(events)/float64(b.N), "allocs/event")
}
