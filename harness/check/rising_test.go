package check_test

import (
	"flag"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

var cacheRuns = flag.Int("caches.runs", 25, "runs of each kind in TestCaches")

// A ledgerRun is a run of files whose levels grow, or not, in a ledger that includes a cache.
type ledgerRun struct {
	rand *rand.Rand
	tl   *timeline.Timeline
	line int
	now  float64 // seconds since the run began
	next float64 // time of the next sample
	// pool holds the number of blocks of each size, as a power of two.
	pool [64]int
}

// held returns the bytes of the pool's blocks.
func (r *ledgerRun) held() float64 {
	sum := 0.0
	for k, n := range r.pool {
		sum += float64(n) * math.Exp2(float64(k))
	}
	return sum
}

// burst takes blocks for all the sizes at once, and gives them back to the pool. The pool rounds
// each size up to a power of 2^step, as PyTorch's allocator of pinned memory (step 1) and CUB's
// caching allocator in CTranslate2 (about step 2) do.
func (r *ledgerRun) burst(step int, sizes ...float64) {
	var in [64]int
	for _, size := range sizes {
		k := bits.Len64(uint64(size))
		in[(k+step-1)/step*step]++
	}
	for k, n := range in {
		r.pool[k] = max(r.pool[k], n)
	}
}

// sizes returns n sizes with this median. Their logarithms have the standard deviation sd.
func (r *ledgerRun) sizes(n int, median, sd float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = median * math.Exp(sd*r.rand.NormFloat64())
	}
	return all
}

func (r *ledgerRun) header() record.Header {
	r.line++
	return record.Header{
		Pos:  record.Position{Path: "soak.log", Line: r.line},
		Time: time.Unix(0, int64(r.now*1e9)),
	}
}

// file adds a file with a checkpoint that gives the pinned memory.
func (r *ledgerRun) file(pinned float64) {
	c := record.Checkpoint{Header: r.header(), Name: "After File"}
	c.Set(record.Pinned, record.Exact(int64(pinned)))
	r.tl.Checkpoints++
	r.tl.Files = append(r.tl.Files, &timeline.File{
		Index: len(r.tl.Files) + 1, Status: record.StatusOK, Supervised: true, Pos: c.Pos,
		EndPos: c.Pos, Checkpoints: []record.Checkpoint{c},
	})
}

// A span is a time in which device used is constant.
type span struct{ seconds, used float64 }

// sampledFile adds a file without checkpoints, and the driver's samples of it. The driver counts
// memory in pages of 2 MiB.
func (r *ledgerRun) sampledFile(spans ...span) {
	start := r.header().Pos
	for _, s := range spans {
		for end := r.now + s.seconds; ; r.next = r.now + 0.1 + 0.003*r.rand.NormFloat64() {
			if r.next > end {
				r.now = end
				break
			}
			r.now = r.next
			sample := record.Sample{Header: r.header(), PID: 1, Source: record.SourceProcess}
			sample.Set(record.Used, record.Exact(int64(s.used/(2*mib))*2*mib))
			sample.Set(record.Total, record.Exact(80<<30))
			r.tl.Samples = append(r.tl.Samples, sample)
		}
	}
	r.tl.Files = append(r.tl.Files, &timeline.File{
		Index: len(r.tl.Files) + 1, Status: record.StatusOK, Supervised: true, Pos: start,
		EndPos: r.header().Pos,
	})
}

// idleFile adds a file that takes 400 MiB, with an idle time at both ends. It leaves this much
// behind.
func (r *ledgerRun) idleFile(idle, leaves float64) {
	level := 700*mib + leaves*float64(len(r.tl.Files))
	work := 0.4 + 1.5*r.rand.ExpFloat64()
	r.sampledFile(
		span{idle / 2, level}, span{work / 2, level + 200*mib}, span{work / 2, level + 400*mib},
		span{idle / 2, level + leaves},
	)
}

// A cacheKind is a kind of run. If it leaks, its files keep more and more.
type cacheKind struct {
	name  string
	check string
	leaks bool
	file  func(r *ledgerRun)
}

var cacheKinds = []cacheKind{
	{"pinned: one buffer of 8 MB, sd 0.5", check.PinnedGrowth, false, func(r *ledgerRun) {
		for range 20 {
			r.burst(1, r.sizes(1, 8e6, 0.5)...)
		}
		r.file(r.held())
	}},
	{"pinned: 4 buffers of 4 MB, sd 1", check.PinnedGrowth, false, func(r *ledgerRun) {
		for range 20 {
			r.burst(1, r.sizes(4, 4e6, 1)...)
		}
		r.file(r.held())
	}},
	{"pinned: up to 8 buffers of 2 MB, sd 1, once", check.PinnedGrowth, false, func(r *ledgerRun) {
		r.burst(1, r.sizes(1+r.rand.IntN(8), 2e6, 1)...)
		r.file(r.held())
	}},
	{"pinned: about 16 images of 1 MB, sd 1, once", check.PinnedGrowth, false, func(r *ledgerRun) {
		r.burst(1, r.sizes(max(1, int(16+4*r.rand.NormFloat64())), 1e6, 1)...)
		r.file(r.held())
	}},
	{"pinned: keeps 4 MiB a file", check.PinnedGrowth, true, func(r *ledgerRun) {
		r.burst(1, r.sizes(1, 8e6, 0.5)...)
		r.file(r.held() + 4*mib*float64(len(r.tl.Files)))
	}},
	{"device: idle for 20 ms", check.DeviceGrowth, false, func(r *ledgerRun) { r.idleFile(0.02, 0) }},
	{"device: idle for 60 ms", check.DeviceGrowth, false, func(r *ledgerRun) { r.idleFile(0.06, 0) }},
	{"device: idle for 200 ms", check.DeviceGrowth, false, func(r *ledgerRun) { r.idleFile(0.2, 0) }},
	{"device: a cache of sizes", check.DeviceGrowth, false, func(r *ledgerRun) {
		seconds, before := 0.4+1.5*r.rand.ExpFloat64(), 700*mib+r.held()
		r.burst(2, r.sizes(6, seconds*4e6, 0.5)...)
		r.sampledFile(span{0.05, before}, span{seconds, 700*mib + r.held()})
	}},
	{"device: keeps 2 MiB a file, idle for 200 ms", check.DeviceGrowth, true, func(r *ledgerRun) {
		r.idleFile(0.2, 2*mib)
	}},
}

// TestCaches: a cache that fills does not fail, and a leak beside it is found. With -v it prints
// how often each kind fails, is undecided, and passes. A check that gates may fail in 0.1 % of the
// clean runs, the other one in 0.5 %. A leak must be found in 9 of 10 runs of 50 files.
func TestCaches(t *testing.T) {
	t.Parallel()
	for _, kind := range cacheKinds {
		t.Run(kind.name, func(t *testing.T) {
			for _, files := range []int{12, 50} {
				tryCache(t, kind, files)
			}
		})
	}
}

// tryCache judges runs of one kind, each of this many files.
func tryCache(t *testing.T, kind cacheKind, files int) {
	count := map[check.Verdict]int{}
	for seed := range *cacheRuns {
		r := ledgerRun{
			rand: rand.New(rand.NewPCG(uint64(seed), uint64(files))),
			tl:   &timeline.Timeline{Runs: make([]timeline.Run, 1)},
		}
		r.next = 0.1 * r.rand.Float64()
		for range files {
			kind.file(&r)
		}
		for _, f := range check.Of(r.tl, check.DefaultPolicy()).Findings {
			if f.Check == kind.check {
				count[f.Verdict]++
			}
		}
	}
	share := func(v check.Verdict) float64 { return 100 * float64(count[v]) / float64(*cacheRuns) }
	t.Logf("%d files: fail %.2f %%, undecided %.2f %%, pass %.2f %%", files,
		share(check.Fail), share(check.Undecided), share(check.Pass))
	oneIn := 200
	if slices.Contains(check.DefaultPolicy().Gate, kind.check) {
		oneIn = 1000
	}
	if n := count[check.Fail]; kind.leaks && files == 50 && 10*n < 9**cacheRuns ||
		!kind.leaks && oneIn*n > *cacheRuns {
		t.Errorf("%d of %d runs of %d files fail", n, *cacheRuns, files)
	}
	if sum := share(check.Fail) + share(check.Undecided) + share(check.Pass); sum < 99.9 {
		t.Errorf("only %.1f %% of the runs of %d files have a verdict", sum, files)
	}
}
