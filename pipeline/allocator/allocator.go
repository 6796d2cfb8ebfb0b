package allocator

import (
	"fmt"
	"math"
)

// A Stream is a CUDA stream; 0 is the default stream. Its handle is 16 times the number.
type Stream uint32

// A Block is a handle of a live allocation. The zero Block means no block: Malloc(0) returns it,
// and Free ignores it.
type Block uint32

// An Allocator is the caching allocator of one process on one device. PyTorch calls it
// DeviceCachingAllocator.
type Allocator struct {
	device *Device
	config Config
	limits limits
	stats  Stats

	blocks []block
	unused int32 // first unused entry of blocks

	pools   []pool               // two for each stream, small and large
	streams map[Stream]int32     // index in pools of a stream's small pool
	recent  [recentStreams]int32 // the same, for streams used recently; see poolOf
	// inOrder has the values of the map streams, in the order of the streams' numbers.
	inOrder []int32
	// gcCalls counts how often freeBlock searched small and large pools while garbage collection
	// was on. This count is the clock for the age of cached blocks.
	gcCalls [2]uint32

	segments []expandable // expandable segments; index 0 is unused
	total    int64        // bytes held from the driver (total_allocated_memory)
	allowed  int64        // bytes that the memory fraction allows
	fraction bool         // a memory fraction was set

	uses     [][]Stream // other streams recorded for a block; index 0 is unused
	freeUses []int32    // unused entries of uses
	pending  streamTable
	order    streamTable // for insertEvents

	onSegment func(SegmentEvent)
	scratch   []int32
}

// New returns the allocator of a new process on a device.
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

// Malloc allocates size bytes for use on a stream. For 0 bytes it returns the zero Block, as
// PyTorch returns a null pointer. The error is an [*OutOfMemoryError], a [*SizeError] for a
// negative size, or, rarely, a [*DriverError] (PyTorch's DeviceCachingAllocator::malloc).
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

// newSegment takes memory for a block of pool p from the driver, because no cached block fits. It
// returns the index of the new free block, which may be larger than rounded bytes. If the driver
// has no memory left, newSegment releases cached memory and tries again: first a few oversize
// blocks, then the whole cache. It returns 0 if memory still does not suffice.
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

// allocBlock asks the driver for a segment that can hold rounded bytes. It returns the index of the
// segment's free block. It returns 0 if the driver has not enough memory, or if the memory fraction
// does not allow the segment (PyTorch's alloc_block).
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

// take turns the free block i, which was removed from the cache, into an allocation of rounded
// bytes and returns the allocation's index. If the block is much larger, take splits it and puts
// the rest back into the cache (PyTorch's alloc_found_block).
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

// splits reports whether a block of pool p is split when an allocation takes rounded bytes of it
// and rest bytes are left over (PyTorch's should_split).
func (a *Allocator) splits(p int32, rounded, rest int64) bool {
	if a.pools[p].small || a.config.ExpandableSegments {
		return rest >= minBlockSize
	}
	return rounded < a.limits.maxSplit && rest > smallSize
}

// Free returns a block to the cache. If RecordStream named other streams for the block, the block
// returns to the cache only when these streams are done with it. The caller must not free a handle
// twice: the second Free either does nothing, or frees a later block that has the same handle
// (PyTorch's DeviceCachingAllocator::free).
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

// cache moves an unused block into the cache and merges it with its free neighbours (PyTorch's
// free_block).
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

// live reports whether a handle names an allocation.
func (a *Allocator) live(h Block) bool {
	return int64(h) < int64(len(a.blocks)) && a.blocks[h].is(allocated)
}

// Address returns the address of a live block, or 0 if the block is not live.
func (a *Allocator) Address(h Block) uint64 {
	if !a.live(h) {
		return 0
	}
	return a.blocks[h].addr
}

// Size returns the rounded size of a live block in bytes, or 0 if the block is not live.
func (a *Allocator) Size(h Block) int64 {
	if !a.live(h) {
		return 0
	}
	return a.blocks[h].size
}

// SetMemoryFraction limits the memory taken from the driver to a fraction of the device, 0 to 1:
// torch.cuda.set_per_process_memory_fraction.
func (a *Allocator) SetMemoryFraction(f float64) error {
	if !(0 <= f && f <= 1) {
		return fmt.Errorf("invalid fraction:%g. Please set within (0, 1)", f)
	}
	a.allowed = int64(f * float64(a.device.Total()))
	a.fraction = true
	return nil
}

// Configure changes the settings of a running process, like
// torch.cuda.memory._set_allocator_settings. Settings that conf does not name return to their
// defaults, except expandable_segments and max_non_split_rounding_mb, which keep their values. The
// error is a [*ConfigError]. As in PyTorch, the settings before the mistake still take effect.
func (a *Allocator) Configure(conf string) error {
	err := a.config.parse(conf, false)
	a.limits = a.config.limits()
	return err
}

// Synchronize waits for the device (torch.cuda.synchronize). Blocks that were freed while another
// stream used them can then be reused.
func (a *Allocator) Synchronize() { a.device.synchronize() }

// LargestFree returns the size in bytes of the largest free block in the large pools of all
// streams.
func (a *Allocator) LargestFree() int64 {
	var n int64
	for _, i := range a.inOrder {
		n = max(n, a.pools[i+1].free.largest())
	}
	return n
}

func (a *Allocator) outOfMemory(size int64, p int32) error {
	rounded := a.limits.round(size) // an overflow to 2^63 gives -2^63
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
