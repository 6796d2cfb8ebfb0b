package allocator

import (
	"fmt"
	"math"
)

// A Stream is a CUDA stream: 0 is the default one. Its handle is 16 times the number.
type Stream uint32

// A Block names a live allocation. The zero Block is none: what Malloc(0) gives, and what Free
// leaves alone.
type Block uint32

// An Allocator is the caching allocator of one process on one device (DeviceCachingAllocator).
type Allocator struct {
	device *Device
	config Config
	limits limits
	stats  Stats

	blocks []block
	unused int32 // first unused entry of blocks

	pools   []pool               // two for each stream, small and large
	streams map[Stream]int32     // index in pools
	recent  [recentStreams]int32 // the same of those used last
	// The streams' indices in pools, in the order of the streams' numbers.
	inOrder []int32
	// Searches of the small and of the large pools, if garbage collection is on.
	gcCalls [2]uint32

	segments []expandable // expandable segments; 0 is none
	total    int64        // bytes held from the driver (total_allocated_memory)
	allowed  int64        // by the memory fraction
	fraction bool         // one was set

	uses     [][]Stream // other streams recorded for a block; 0 is none
	freeUses []int32    // unused entries of uses
	pending  streamTable
	order    streamTable // scratch

	onSegment func(SegmentEvent)
	scratch   []int32
}

// New returns the allocator of a process that begins on a device.
func New(d *Device, c Config) *Allocator {
	a := &Allocator{
		device: d, config: c, limits: c.limits(),
		blocks: make([]block, 1), segments: make([]expandable, 1), uses: make([][]Stream, 1),
		streams: map[Stream]int32{},
	}
	a.addStream(0)
	a.pending.reset()
	return a
}

// Malloc allocates size bytes for use on a stream. Malloc of 0 bytes gives no block, as PyTorch's.
// The error is an [*OutOfMemoryError], of a negative size a [*SizeError], or, seldom, a
// [*DriverError] (DeviceCachingAllocator::malloc).
func (a *Allocator) Malloc(size int64, s Stream) (Block, error) {
	if size <= 0 {
		if size == 0 {
			return 0, nil
		}
		return 0, &SizeError{size}
	}
	if a.pending.count > 0 {
		a.processEvents()
	}
	rounded := a.limits.round(min(size, maxSize))
	p := a.poolOf(rounded, s)
	i := a.freeBlock(p, rounded)
	if i == 0 {
		var err error
		if i, err = a.newSegment(p, rounded); err != nil {
			return 0, err
		}
		if i == 0 {
			return 0, a.outOfMemory(size, p)
		}
	}
	return Block(a.take(i, rounded, size)), nil
}

// newSegment gets a block for which the cache had none: from the driver, if need be after giving
// back what is cached, the least first. 0 means out of memory.
func (a *Allocator) newSegment(p int32, rounded int64) (int32, error) {
	if a.collects() {
		a.collectGarbage()
	}
	i, err := a.allocBlock(p, rounded)
	if i != 0 || err != nil {
		return i, err
	}
	released, err := a.releaseAvailable(p, rounded)
	if err != nil {
		return 0, err
	}
	if released {
		if i, err = a.allocBlock(p, rounded); i != 0 || err != nil {
			return i, err
		}
	}
	a.releaseCached()
	a.stats.Retries++
	return a.allocBlock(p, rounded)
}

// allocBlock asks the driver for a segment; 0 if it has no memory for it (alloc_block).
func (a *Allocator) allocBlock(p int32, rounded int64) (int32, error) {
	size := segmentSize(rounded)
	if a.fraction && a.total+size > a.allowed {
		return 0, nil
	}
	if a.config.ExpandableSegments {
		return a.allocExpandable(p, rounded)
	}
	addr, ok := a.device.malloc(size)
	if !ok {
		return 0, nil
	}
	a.total += size
	i := a.newBlock(p, addr, size)
	a.stats.Segments.add(1)
	a.stats.Reserved.add(size)
	if size >= a.limits.maxSplit {
		a.stats.OversizeSegments.add(1)
	}
	a.stats.DeviceMallocs++
	a.event(SegmentAlloc, addr, size, p)
	return i, nil
}

// take makes a block that is out of the cache an allocation, of which the rest goes back if it is
// worth splitting (should_split, alloc_found_block).
func (a *Allocator) take(i int32, rounded, requested int64) int32 {
	b := &a.blocks[i]
	p, wasSplit, counted := b.pool, b.isSplit(), b.segment == 0
	if rest := b.size - rounded; a.splits(p, rounded, rest) {
		n := a.newBlock(p, b.addr, rounded)
		b, c := &a.blocks[i], &a.blocks[n]
		c.segment, c.prev, c.next = b.segment, b.prev, i
		if c.prev != 0 {
			a.blocks[c.prev].next = n
		}
		b.prev = n
		b.addr += uint64(rounded)
		b.size = rest
		a.insertFree(i)
		if counted {
			if wasSplit {
				a.stats.InactiveSplit.add(-rounded)
			} else {
				a.stats.InactiveSplit.add(rest)
				a.stats.InactiveSplits.add(1)
			}
		}
		i = n
	} else if wasSplit && counted {
		a.stats.InactiveSplit.add(-b.size)
		a.stats.InactiveSplits.add(-1)
	}
	b = &a.blocks[i]
	b.flags |= allocated
	b.requested = requested
	s := &a.stats
	s.Allocated.add(b.size)
	s.ActiveBlocks.add(1)
	s.Active.add(b.size)
	s.Requested.add(requested)
	if b.size >= a.limits.maxSplit {
		s.OversizeAllocations.add(1)
	}
	return i
}

// splits says whether the rest of a block becomes a block of its own (should_split).
func (a *Allocator) splits(p int32, rounded, rest int64) bool {
	if a.pools[p].small || a.config.ExpandableSegments {
		return rest >= minBlockSize
	}
	return rounded < a.limits.maxSplit && rest > smallSize
}

// Free gives a block back to the cache; if other streams were recorded, only once they are done
// with it. Free of a handle that is not live is the caller's mistake: it does nothing, or frees
// what has the handle by now (DeviceCachingAllocator::free).
func (a *Allocator) Free(h Block) {
	if !a.live(h) {
		return
	}
	b := &a.blocks[h]
	b.flags &^= allocated
	a.stats.Allocated.add(-b.size)
	if b.size >= a.limits.maxSplit {
		a.stats.OversizeAllocations.add(-1)
	}
	if b.uses != 0 {
		a.insertEvents(int32(h))
		return
	}
	a.cache(int32(h))
}

// cache moves a block that nobody uses into the cache, merged with its free neighbours
// (free_block).
func (a *Allocator) cache(i int32) {
	b := &a.blocks[i]
	size, requested := b.size, b.requested
	var blocks, bytes int64 // change of the inactive splits
	for _, n := range [2]int32{b.prev, b.next} {
		if gained := a.merge(i, n); gained > 0 {
			blocks--
			bytes -= gained
		}
	}
	a.insertFree(i)
	s := &a.stats
	if b.segment == 0 {
		if b.isSplit() {
			blocks++
			bytes += b.size
		}
		s.InactiveSplits.add(blocks)
		s.InactiveSplit.add(bytes)
	} else {
		a.madeRoom(i)
	}
	s.ActiveBlocks.add(-1)
	s.Active.add(-size)
	s.Requested.add(-requested)
}

// live says whether a handle names an allocation.
func (a *Allocator) live(h Block) bool {
	return int64(h) < int64(len(a.blocks)) && a.blocks[h].is(allocated)
}

// Address returns where a live block begins.
func (a *Allocator) Address(h Block) uint64 {
	if !a.live(h) {
		return 0
	}
	return a.blocks[h].addr
}

// Size returns the bytes of a live block, rounded.
func (a *Allocator) Size(h Block) int64 {
	if !a.live(h) {
		return 0
	}
	return a.blocks[h].size
}

// SetMemoryFraction limits what is held from the driver to a fraction of the device, 0 to 1:
// torch.cuda.set_per_process_memory_fraction.
func (a *Allocator) SetMemoryFraction(f float64) error {
	if !(0 <= f && f <= 1) {
		return fmt.Errorf("invalid fraction:%g. Please set within (0, 1)", f)
	}
	a.allowed = int64(f * float64(a.device.Total()))
	a.fraction = true
	return nil
}

// Configure changes settings while the process runs, as torch.cuda.memory._set_allocator_settings:
// those that are not named go back to their defaults, but for expandable_segments and
// max_non_split_rounding_mb, which stay. The error is a [*ConfigError]; what stands before the
// mistake is in force then, as in PyTorch.
func (a *Allocator) Configure(conf string) error {
	err := a.config.parse(conf, false)
	a.limits = a.config.limits()
	return err
}

// Synchronize waits for the device: events that are pending are done after it.
func (a *Allocator) Synchronize() { a.device.synchronize() }

// LargestFree returns the size of the largest free block in the cache that a large allocation could
// be taken from, in bytes, of all streams.
func (a *Allocator) LargestFree() int64 {
	var n int64
	for _, i := range a.inOrder {
		n = max(n, a.pools[i+1].free.largest())
	}
	return n
}

func (a *Allocator) outOfMemory(size int64, p int32) error {
	rounded := a.limits.round(size) // which may be 2^63, as -2^63 here
	requested := int64(math.MaxInt64)
	if rounded > 0 && rounded <= math.MaxInt64-roundLarge {
		requested = segmentSize(rounded)
	}
	a.stats.OOMs++
	free := a.device.Free()
	a.event(OOM, uint64(free), rounded, p)
	return &OutOfMemoryError{
		Size: size, Requested: requested, Stream: a.pools[p].stream,
		Fraction: a.fraction, Allowed: a.allowed, DeviceTotal: a.device.Total(), DeviceFree: free,
		Allocated: a.stats.Allocated.Current, Reserved: a.stats.Reserved.Current,
		LargestFree: a.pools[p].free.largest(),
	}
}
