package allocator

import (
	"cmp"
	"slices"
)

// A Segment is memory that the allocator holds from the driver; of an expandable segment, a range
// without a gap.
type Segment struct {
	Address    uint64
	Size       int64 // bytes
	Allocated  int64 // bytes of them in live blocks
	Active     int64 // and in those that are freed while other streams use them
	Stream     Stream
	Large      bool // of the large pool
	Expandable bool
	Blocks     []SegmentBlock // in the order of their addresses, without a gap
}

// A SegmentBlock is a piece of a segment.
type SegmentBlock struct {
	Size      int64
	Requested int64 // of a free block, what its last caller asked for
	State     BlockState
}

// A BlockState says who uses a block.
type BlockState int

// The states of a block.
const (
	Inactive    BlockState = iota // free, in the cache
	Allocated                     // a caller has it
	PendingFree                   // freed, but another stream may still use it
)

// String is the state's name in a PyTorch snapshot.
func (s BlockState) String() string {
	return [...]string{"inactive", "allocated", "active_pending_free"}[s]
}

// Snapshot returns all segments in the order of their addresses: torch.cuda.memory_snapshot
// (DeviceCachingAllocator::snapshot).
func (a *Allocator) Snapshot() []Segment {
	var segments []Segment
	for i := range a.blocks {
		head := &a.blocks[i]
		if !head.is(mapped) || head.prev != 0 && a.blocks[head.prev].is(mapped) {
			continue
		}
		p := &a.pools[head.pool]
		s := Segment{
			Address: head.addr, Stream: p.stream, Large: !p.small,
			Expandable: head.segment != 0,
		}
		for n := int32(i); n != 0 && a.blocks[n].is(mapped); n = a.blocks[n].next {
			b := &a.blocks[n]
			block := SegmentBlock{Size: b.size, Requested: b.requested}
			switch {
			case b.is(allocated):
				block.State = Allocated
				s.Allocated += b.size
				s.Active += b.size
			case !b.idle():
				block.State = PendingFree
				s.Active += b.size
			}
			s.Size += b.size
			s.Blocks = append(s.Blocks, block)
		}
		segments = append(segments, s)
	}
	slices.SortFunc(segments, func(a, b Segment) int { return cmp.Compare(a.Address, b.Address) })
	return segments
}

// A SegmentEvent is something that happened between the allocator and the driver.
type SegmentEvent struct {
	Kind    SegmentEventKind
	Address uint64 // for OOM, the bytes that the device had free, as PyTorch records it
	Size    int64  // bytes; for OOM, of the block that was asked for
	Stream  Stream
}

// A SegmentEventKind is what happened.
type SegmentEventKind int

// The kinds of events; their names are those of PyTorch's TraceEntry.
const (
	SegmentAlloc SegmentEventKind = iota // cudaMalloc
	SegmentFree                          // cudaFree
	SegmentMap                           // pages of an expandable segment
	SegmentUnmap
	OOM // an allocation failed
)

func (k SegmentEventKind) String() string {
	return [...]string{"SEGMENT_ALLOC", "SEGMENT_FREE", "SEGMENT_MAP", "SEGMENT_UNMAP", "OOM"}[k]
}

// OnSegment has a function called at each event, in the midst of the call that causes it: it must
// not call the allocator. nil ends that.
func (a *Allocator) OnSegment(f func(SegmentEvent)) { a.onSegment = f }

func (a *Allocator) event(k SegmentEventKind, addr uint64, size int64, p int32) {
	if a.onSegment != nil {
		a.onSegment(SegmentEvent{k, addr, size, a.pools[p].stream})
	}
}
