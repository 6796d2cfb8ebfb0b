package simulator

import (
	"slices"
	"strings"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
	"vramsoak/pipeline/scenario"
)

// A process runs a scenario: it has the simulated memory, the clock and the log.
type process struct {
	*plan
	scenario *scenario.Scenario
	config   allocator.Config
	device   *allocator.Device
	alloc    *allocator.Allocator
	outcome  *Outcome
	count    int // number of files of the batch
	log      logger

	capacity int64 // of the device, in bytes
	occupied int64 // by other processes, in bytes
	now      float64
	events   int64   // segments taken from the driver or given back
	driver   float64 // seconds of the driver's calls that charge did not yet add to the clock
	charged  int64   // retries when charge last moved the clock
	clears   int64
	passes   int // since clear.every last emptied the cache
	// repeats is true if the simulator may skip passes that repeat earlier ones.
	repeats bool
	slots   []held
	step    step
	pinned  map[pinnedSize]int64 // pinned host memory in bytes
	rep     repetition
	high    Level // highest memory of the current stage
	refused refusal
	// allocations is the number of tensors that the current stage has allocated in this file.
	allocations int
	working     scenario.Vars // variables of the current pass, or of a stage before its first

	trace     func(conf string, card allocator.DeviceConfig) func(trace.Op) // nil: not traced
	called    func(trace.Op)                                                // for this process
	blockless uint64                                                        // failed or empty Mallocs
}

// call adds a call of the allocator to the trace.
func (p *process) call(op trace.Op) {
	if p.called != nil {
		p.called(op)
	}
}

// vars returns the values of variables before the first file.
func (p *process) vars() scenario.Vars {
	return scenario.Vars{
		Files: p.count, Seed: p.scenario.Files.Seed, Parameters: p.scenario.Values(),
	}
}

// start begins the process: it takes the memory of the context, makes an empty allocator and sets
// the memory fraction.
func (p *process) start() error {
	overhead := min(p.capacity, p.scenario.GPU.Context+p.occupied)
	card := allocator.DeviceConfig{Total: p.capacity, Overhead: overhead}
	p.device = allocator.NewDevice(card)
	if p.trace != nil {
		_, conf := p.scenario.AllocConf()
		p.called = p.trace(conf, card)
	}
	p.alloc = allocator.New(p.device, p.config)
	p.charged, p.driver, p.pinned = 0, 0, nil
	p.alloc.OnSegment(p.onSegment)
	p.ledger.reset()
	for h := range p.holdings {
		h.blocks, h.bytes = h.blocks[:0], 0
	}
	for _, st := range p.all {
		st.limit = 0
	}
	if f := p.scenario.MemoryFraction; f > 0 && p.capacity != unlimited {
		if err := p.alloc.SetMemoryFraction(f); err != nil {
			return err
		}
		p.call(trace.Op{Kind: trace.MemoryFraction, Fraction: f})
	}
	return nil
}

// loadResident loads the weights of the resident models.
func (p *process) loadResident() error {
	for _, m := range p.models {
		if m.Resident {
			if err := p.load(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// end ends the process and adds its statistics to the outcome. start makes a new card, on which all
// memory is free.
func (p *process) end() {
	p.charge()
	p.outcome.Stats.add(p.alloc.Stats(), p.clears)
	p.clears = 0
}

func (s *Stats) add(of *allocator.Stats, clears int64) {
	s.Retries += of.Retries
	s.OOMs += of.OOMs
	s.DeviceMallocs += of.DeviceMallocs
	s.DeviceFrees += of.DeviceFrees
	s.Clears += clears
}

func (p *process) malloc(of part, bytes int64, stream int) (held, error) {
	b, err := p.alloc.Malloc(bytes, allocator.Stream(stream))
	id := uint64(b)
	if b == 0 { // the allocation failed, or has 0 bytes
		p.blockless++
		id = 1<<32 + p.blockless // an ID that no block has
	}
	p.call(trace.Op{
		Kind: trace.Malloc, ID: id, Size: bytes, Stream: allocator.Stream(stream),
		OnStream: stream != 0,
	})
	if err != nil {
		p.refuse(of)
		return held{}, err
	}
	h := held{b, p.alloc.Size(b)}
	p.ledger.take(of, h.bytes)
	return h, nil
}

func (p *process) free(of part, h held) {
	p.alloc.Free(h.block)
	if h.block != 0 {
		p.call(trace.Op{Kind: trace.Free, ID: uint64(h.block)})
	}
	p.ledger.give(of, h.bytes)
}

func (h *holding) add(m held) {
	h.blocks = append(h.blocks, m)
	h.bytes += m.bytes
}

// take allocates bytes on a stream and adds them to a holding.
func (p *process) take(h *holding, bytes int64, stream int) error {
	m, err := p.malloc(h.part, bytes, stream)
	if err == nil {
		h.add(m)
	}
	return err
}

// drop frees all memory of a holding.
func (p *process) drop(h *holding) { p.dropFrom(h, 0) }

// dropFrom frees all but the first n allocations of a holding.
func (p *process) dropFrom(h *holding, n int) { p.dropRange(h, n, len(h.blocks)) }

// dropRange frees the allocations of a holding with the indexes first to end - 1.
func (p *process) dropRange(h *holding, first, end int) {
	for _, m := range h.blocks[first:end] {
		p.free(h.part, m)
		h.bytes -= m.bytes
	}
	h.blocks = slices.Delete(h.blocks, first, end)
}

// release frees a holding at a cleanup, or at the end of a stage or file. If a fault keeps a share
// of the holding, that share stays allocated.
func (p *process) release(h *holding, file int) {
	share := 0.0
	for _, fault := range p.keeps[h.name] {
		if file >= fault.FromFile {
			share = max(share, fault.Share)
		}
	}
	if share > 0 {
		p.keep(h, share)
	}
	p.drop(h)
}

// keep moves a share of a holding to p.stuck, so that this memory stays allocated. It moves as many
// whole allocations as fit in the share, and at least one.
func (p *process) keep(h *holding, share float64) {
	limit, kept := int64(share*float64(h.bytes)), 0
	to := p.stuck[h.name]
	rest := h.blocks[:0]
	for i, m := range h.blocks {
		if m.bytes > limit && (kept > 0 || i < len(h.blocks)-1) {
			rest = append(rest, m)
			continue
		}
		kept++
		limit -= m.bytes
		p.ledger.move(h.part, to.part, m.bytes)
		to.add(m)
		h.bytes -= m.bytes
	}
	h.blocks = rest
}

// load allocates a model's weights, tensor by tensor, unless they are loaded already.
func (p *process) load(m *model) error {
	if len(m.weights.blocks) > 0 {
		return nil
	}
	for _, size := range m.sizes {
		if err := p.take(&m.weights, size, 0); err != nil {
			p.drop(&m.weights)
			return err
		}
	}
	p.now += float64(m.bytes) / (1 << 30) * p.scenario.Costs.Load
	return nil
}

// emptyCache calls the allocator's EmptyCache, as torch.cuda.empty_cache does, and moves the clock.
func (p *process) emptyCache() {
	p.alloc.EmptyCache()
	p.call(trace.Op{Kind: trace.EmptyCache})
	p.clears++
	p.now += p.scenario.Costs.Synchronize
}

// onSegment counts a call of the driver, and adds its time to the time that charge adds to the
// clock.
func (p *process) onSegment(e allocator.SegmentEvent) {
	p.events++
	switch e.Kind {
	case allocator.SegmentAlloc, allocator.SegmentMap:
		p.driver += p.scenario.Costs.MallocTime(e.Size)
	case allocator.SegmentFree, allocator.SegmentUnmap:
		p.driver += p.scenario.Costs.FreeTime(e.Size)
	case allocator.OOM: // a retry comes first, and counts there
	}
}

// charge moves the clock forward by the time of the driver calls since it was last called.
func (p *process) charge() {
	retries, cost := p.alloc.Stats().Retries, &p.scenario.Costs
	p.now += p.driver + float64(retries-p.charged)*(cost.FailedMalloc+cost.Synchronize)
	p.driver, p.charged = 0, retries
}

// level returns how much memory is in use now.
func (p *process) level() Level {
	s := p.alloc.Stats()
	return Level{s.Allocated.Current, s.Reserved.Current, p.capacity - p.device.Free()}
}

// onCard adds cache, context and other processes to a list of the uses of allocated memory. sum is
// the allocated memory, so the cache has reserved - sum bytes.
func (p *process) onCard(allocated []Part, reserved, sum int64) []Part {
	for _, beside := range []Part{
		{Cache, "", reserved - sum},
		{Context, "", p.scenario.GPU.Context},
		{Others, "", p.occupied},
	} {
		if beside.Bytes > 0 {
			allocated = append(allocated, beside)
		}
	}
	return allocated
}

// repeating reports whether equal states of the allocator lead to equal next steps, as a
// [repetition] requires. This is not so with garbage collection, because the next steps also depend
// on how long blocks have been unused.
func repeating(conf string) bool { return !strings.Contains(conf, "garbage_collection_threshold") }
