package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

// workload returns the text of a random trace of a program on a card of capacity bytes. It also
// returns the settings for its replay.
func workload(conf string, capacity int64, streams, events int) (trace.Settings, []byte) {
	s := trace.Settings{Conf: conf, Capacity: capacity, Streams: streams}
	var text []byte
	for op := range s.Random(1, events) {
		text = append(op.AppendTo(text), '\n')
	}
	return s, text
}

// newAllocator returns a new process's allocator on a new card.
func newAllocator(tb testing.TB, s trace.Settings) (*allocator.Device, *allocator.Allocator) {
	tb.Helper()
	config, err := allocator.ParseConfig(s.Conf)
	if err != nil {
		tb.Fatal(err)
	}
	device := s.Device()
	return device, allocator.New(device, config)
}

// BenchmarkReplayQuiet measures reading and replaying a trace without printing its operations.
func BenchmarkReplayQuiet(b *testing.B) {
	benchmarkReplay(b, trace.Options{Quiet: true, NoSnapshot: true})
}

// BenchmarkReplay measures reading and replaying a trace, with a line printed for each operation.
func BenchmarkReplay(b *testing.B) { benchmarkReplay(b, trace.Options{NoSnapshot: true}) }

func benchmarkReplay(b *testing.B, o trace.Options) {
	const events = 300_000
	s, text := workload("", 16<<30, 1, events)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		device, a := newAllocator(b, s)
		if _, err := trace.Replay(io.Discard, trace.Read(bytes.NewReader(text), "bench"), device, a,
			o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// workloads are the traces of TestSpeed.
var workloads = []struct {
	name, conf string
	capacity   int64
	streams    int
}{
	{"defaults", "", 80 << 30, 1},
	{"defaults, memory runs out now and then", "", 4 << 30, 1},
	{"max_split_size_mb:64", "max_split_size_mb:64", 24 << 30, 1},
	{"expandable_segments:True", "expandable_segments:True", 24 << 30, 1},
	{"four streams", "", 24 << 30, 4},
}

// BenchmarkModel measures the allocations and frees of the model alone, without reading a trace or
// printing.
func BenchmarkModel(b *testing.B) {
	const events = 2_000_000
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			s, text := workload(w.conf, w.capacity, w.streams, events)
			var ops []trace.Op
			for op, err := range trace.Read(bytes.NewReader(text), "bench") {
				if err != nil {
					b.Fatal(err)
				}
				ops = append(ops, op)
			}
			blocks := make([]allocator.Block, events+1)
			b.ReportAllocs()
			for b.Loop() {
				_, a := newAllocator(b, s)
				for i := range ops {
					switch op := &ops[i]; op.Kind {
					case trace.Malloc:
						blocks[op.ID], _ = a.Malloc(op.Size, op.Stream) // a failed allocation returns no block
					case trace.Free:
						a.Free(blocks[op.ID])
					case trace.EmptyCache:
						a.EmptyCache()
					case trace.ResetPeak, trace.Synchronize, trace.Snapshot, trace.RecordStream,
						trace.MemoryFraction, trace.Configure:
					}
				}
			}
			b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// TestSpeed prints how fast PyTorch's own allocator (the oracle) and vramsoak replay the same
// traces, in events per second of processor time. The two programs run in turns. It also prints how
// much memory the model takes. make bench-allocator runs it.
func TestSpeed(t *testing.T) {
	program := os.Getenv("VRAMSOAK")
	if oracle == "" || program == "" {
		t.Skip("make bench-allocator runs it")
	}
	const events, turns = 2_000_000, 3
	fmt.Printf("%d events each, medians of %d turns, in events a second of processor time "+
		"(reading the text included)\n", events, turns)
	fmt.Printf("%-44s %12s %12s %6s\n", "trace", "PyTorch", "vramsoak", "ratio")
	for _, w := range workloads {
		s, text := workload(w.conf, w.capacity, w.streams, events)
		path := filepath.Join(t.TempDir(), "bench.trace")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		var theirs, ours []float64
		for range turns {
			cmd := oracleCommand(s, path)
			cmd.Args = append(cmd.Args, "-q", "-s")
			theirs = append(theirs, speed(t, cmd, events))
			ours = append(ours, speed(t, exec.Command(program, "replay", path, "--capacity",
				fmt.Sprint(s.Capacity), "--conf", s.Conf,
				"--quiet", "--no-snapshot"), events))
		}
		fmt.Printf("%-44s %12.0f %12.0f %6.2f\n", w.name, median(theirs), median(ours),
			median(ours)/median(theirs))
	}
	bytesALiveBlock, perEvent := memory(t)
	fmt.Printf("memory: %.0f bytes a live block, %.6f allocations an event in the steady state\n",
		bytesALiveBlock, perEvent)
}

// speed runs a command that replays a number of events. It returns the events per second of
// processor time, because other programs on the machine hardly change this time.
func speed(t *testing.T, cmd *exec.Cmd, events int) float64 {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return float64(events) / max(spent, time.Millisecond).Seconds()
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// memory measures the memory that the model takes for a million live blocks, with the table of
// their IDs. perEvent is the number of Go allocations per pair of a free and an allocation, in a
// phase in which the number of live blocks stays the same.
func memory(t *testing.T) (bytesALiveBlock, perEvent float64) {
	t.Helper()
	const blocks, steady = 1_000_000, 4_000_000
	s := trace.Settings{Capacity: 1 << 40}
	device, a := newAllocator(t, s)
	var before, full, warm, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ops := func(yield func(trace.Op, error) bool) {
		for id := range uint64(blocks) {
			if !yield(trace.Op{Kind: trace.Malloc, ID: id, Size: int64(id%4000) * 500}, nil) {
				return
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&full)
		for i := range uint64(steady) { // a free and an allocation each; the first half warms up
			id := i * 7919 % blocks
			if i == steady/2 {
				runtime.ReadMemStats(&warm)
			}
			if !yield(trace.Op{Kind: trace.Free, ID: id}, nil) ||
				!yield(trace.Op{Kind: trace.Malloc, ID: id, Size: int64(i%4000) * 500}, nil) {
				return
			}
		}
		runtime.ReadMemStats(&after)
	}
	if _, err := trace.Replay(io.Discard, ops, device, a, trace.Options{
		Quiet:      true,
		NoSnapshot: true,
	}); err != nil {
		t.Fatal(err)
	}
	return float64(full.HeapAlloc-before.HeapAlloc) / blocks,
		float64(after.Mallocs-warm.Mallocs) / steady
}
