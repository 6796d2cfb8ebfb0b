package allocator_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"vramsoak/pipeline/allocator"
)

// A step of a replayed trace allocates size bytes and keeps the block in a slot, or frees the
// slot's block if size is 0.
type step struct {
	slot int32
	size int64
}

// randomTrace returns a trace of allocations and frees. Sizes are from 1 B to 64 MiB, with as many
// between 1 and 2 KiB as between 1 and 2 MiB, as in a program with many layers. Ten times, the
// bytes held grow to liveBytes and shrink to half of it. Blocks are freed in random order. At the
// end all blocks are freed, so that the trace can be replayed again. slots is the number of slots
// that the steps use.
func randomTrace(events int, liveBytes int64) (steps []step, slots int) {
	r := rand.New(rand.NewPCG(1, 2))
	var live []step
	var held int64
	var unused []int32
	free := func(i int) {
		s := live[i]
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
		held -= s.size
		unused = append(unused, s.slot)
		steps = append(steps, step{slot: s.slot})
	}
	for len(steps)+len(live) < events {
		tide := liveBytes / 2
		if len(steps)*20/events%2 == 0 {
			tide = liveBytes
		}
		if len(live) > 0 && (held > tide || r.IntN(8) < 3) {
			free(r.IntN(len(live)))
			continue
		}
		s := step{slot: int32(slots), size: int64(math.Exp2(26 * r.Float64()))}
		if n := len(unused); n > 0 {
			s.slot, unused = unused[n-1], unused[:n-1]
		} else {
			slots++
		}
		live = append(live, s)
		held += s.size
		steps = append(steps, s)
	}
	for len(live) > 0 {
		free(len(live) - 1)
	}
	return steps, slots
}

func replay(b *testing.B, a *allocator.Allocator, steps []step, handles []allocator.Block) {
	for _, s := range steps {
		if s.size == 0 {
			a.Free(handles[s.slot])
			continue
		}
		h, err := a.Malloc(s.size, 0)
		if err != nil {
			b.Fatal(err)
		}
		handles[s.slot] = h
	}
}

// BenchmarkReplay replays a random trace of 100,000 allocations and frees many times on one
// allocator. It shows what an allocation or a free costs once the cache is warm.
func BenchmarkReplay(b *testing.B) {
	steps, slots := randomTrace(100_000, 4000<<20)
	handles := make([]allocator.Block, slots)
	a := allocator.New(allocator.NewDevice(allocator.DeviceConfig{Total: 80 << 30}),
		allocator.Config{})
	replay(b, a, steps, handles)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		replay(b, a, steps, handles)
		n += len(steps)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkReplayMemory measures the Go memory that the model of an allocator takes with a million
// live blocks of random sizes.
func BenchmarkReplayMemory(b *testing.B) {
	const blocks = 1_000_000
	r := rand.New(rand.NewPCG(3, 4))
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		a := allocator.New(allocator.NewDevice(allocator.DeviceConfig{Total: 1 << 50}),
			allocator.Config{})
		for range blocks {
			if _, err := a.Malloc(1+r.Int64N(1<<20), 0); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heap()-before)/blocks, "B/live-block")
		runtime.KeepAlive(a)
	}
	b.ReportMetric(0, "ns/op")
}

// TestNoAllocations: once the cache is warm, Malloc and Free do not allocate Go memory, on one
// stream or several, with or without calls of RecordStream.
func TestNoAllocations(t *testing.T) {
	steps, slots := randomTrace(5_000, 400<<20)
	for _, conf := range []string{
		"", "expandable_segments:True",
		"max_split_size_mb:40,roundup_power2_divisions:8",
	} {
		c, err := allocator.ParseConfig(conf)
		if err != nil {
			t.Fatal(err)
		}
		a := allocator.New(allocator.NewDevice(allocator.DeviceConfig{Total: 8 << 30}), c)
		handles := make([]allocator.Block, slots)
		run := func() {
			for i, s := range steps {
				if s.size == 0 {
					for n := range i % 4 {
						a.RecordStream(handles[s.slot], allocator.Stream(5*n))
					}
					a.Free(handles[s.slot])
				} else if handles[s.slot], err = a.Malloc(s.size,
					allocator.Stream(i%3)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 3 {
			run()
		}
		if n := testing.AllocsPerRun(3, run); n > 0 {
			t.Errorf("%q: %v allocations for %d events, expected none", conf, n, len(steps))
		}
	}
}
