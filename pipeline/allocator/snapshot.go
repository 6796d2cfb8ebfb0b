package allocator

import (
	"cmp"
	"slices"
)

// A Segment is memory that the allocator holds from the driver. An expandable segment gives one
// Segment for each range of mapped addresses without gaps.
type Segment struct {
	Address   uint64
	Size      int64 // bytes
	Allocated int64 // bytes in live blocks
	// Active counts the bytes in live blocks, and in freed blocks that other streams still use.
	Active     int64
	Stream     Stream
	Large      bool // its free blocks are in a large pool
	Expandable bool
	Blocks     []SegmentBlock // sorted by address, without gaps
}

// A SegmentBlock is a block of a segment.
type SegmentBlock struct {
	Size      int64
	Requested int64 // for a free block, the request of its last caller
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

// String returns the state's name in a PyTorch snapshot.
func (s BlockState) String() string {
	return [...]string{"inactive", "allocated", "active_pending_free"}[s]
}

// Snapshot returns all segments sorted by address: torch.cuda.memory_snapshot.
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

// A SegmentEvent says that the allocator took memory from the driver or gave it back, or that an
// allocation failed.
type SegmentEvent struct {
	Kind    SegmentEventKind
	Address uint64 // for OOM, the bytes that the device had free, as PyTorch records it
	Size    int64  // bytes; for OOM, of the requested block
	Stream  Stream
}

// A SegmentEventKind says what happened in a SegmentEvent.
type SegmentEventKind int

// The kinds of events, named as in PyTorch's TraceEntry.
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

// OnSegment sets the function that is called at each SegmentEvent. If f is nil, no function is
// called. f runs inside the call that causes the event, so it must not call the allocator.
func (a *Allocator) OnSegment(f func(SegmentEvent)) { a.onSegment = f }

func (a *Allocator) event(k SegmentEventKind, addr uint64, size int64, p int32) {
	if a.onSegment != nil {
		a.onSegment(SegmentEvent{k, addr, size, a.pools[p].stream})
	}
}
