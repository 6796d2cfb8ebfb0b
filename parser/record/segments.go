package record

import (
	"iter"
	"math"
	"slices"
)

// A SegmentMap lists what an allocator holds from the driver at one time, segment by segment:
//
//	[pipeline] segments at="out of memory" device=0 total=104857600
//	    requested=31457280 unit=512 map=7f0000000000L:A5000F5000;+0S:A1F7ff.
//
// PyTorch's caching allocator gets each segment by one cudaMalloc; see torch.cuda.memory_snapshot.
type SegmentMap struct {
	Header
	Lane Lane
	// Name says when the map was taken: "file end", "out of memory".
	Name string
	// Requested is the size of the request that failed, in bytes; 0 if none did.
	Requested int64
	// Total is the memory of the device. Used is all memory in use on it, other processes included, as
	// the driver counts it. Allowed is the most that the process may take
	// (torch.cuda.set_per_process_memory_fraction). All are bytes, and 0 if the line does not give
	// them.
	Total, Used, Allowed int64
	Segments             []Segment
}

// A Segment is memory that the allocator got from the driver in one piece. Of an expandable segment
// it is a part that is mapped. Its blocks follow one another without gaps, and their sizes add up
// to Size.
type Segment struct {
	Address uint64
	Size    int64 // bytes
	Small   bool  // in the pool for requests of 1 MiB and less
	// Expandable is set if the segment can grow and shrink in place (expandable_segments:True). The
	// allocator may then give back a part of it.
	Expandable bool
	Stream     uint64 // the CUDA stream that uses it; 0 for the default stream
	Blocks     []Block
}

// A Block is a piece of a segment, in bytes.
type Block struct {
	Size  int64
	State BlockState
}

// A BlockState says whether a block is in use.
type BlockState uint8

// The states of blocks; in PyTorch's words active_allocated, active_pending_free and inactive.
const (
	BlockFree      BlockState = iota // cached: free for the allocator's next request
	BlockAllocated                   // handed out
	BlockPending                     // freed, but a stream may still be using it
)

// String returns "free", "allocated" or "pending".
func (s BlockState) String() string { return [...]string{"free", "allocated", "pending"}[s] }

// A Piece is a block with its offset in the segment.
type Piece struct {
	Block
	Offset int64 // bytes
	// Releasable is the number of bytes of a free block that can go back to the driver. It is the
	// whole block if nothing in the segment is in use. If the segment is expandable, it is the whole
	// pages within the block.
	Releasable int64
}

// The sizes of the pages by which expandable segments grow and shrink: kLargeBuffer and
// kSmallBuffer in c10/cuda/CUDACachingAllocator.cpp.
const (
	largePage = 20 * MiB
	smallPage = 2 * MiB
)

// Pieces ranges over the segment's blocks.
func (s *Segment) Pieces() iter.Seq[Piece] {
	page := largePage
	if s.Small {
		page = smallPage
	}
	whole := s.IsFree()
	return func(yield func(Piece) bool) {
		at := int64(0)
		for _, b := range s.Blocks {
			p := Piece{Block: b, Offset: at}
			at += b.Size
			switch {
			case b.State != BlockFree:
			case whole:
				p.Releasable = b.Size
			case s.Expandable:
				p.Releasable = max(0, at/page-(p.Offset+page-1)/page) * page
			}
			if !yield(p) {
				return
			}
		}
	}
}

// IsFree reports whether nothing in the segment is in use, so that it can go back to the driver.
func (s *Segment) IsFree() bool {
	return !slices.ContainsFunc(s.Blocks, func(b Block) bool { return b.State != BlockFree })
}

// SegmentSums holds the sums of a map, in bytes.
type SegmentSums struct {
	Reserved, Allocated, Pending int64
	// Free is the cached memory. Releasable is the part of it that can go back to the driver, see
	// [Piece]. Blocks in use pin the rest.
	Free, Releasable int64
	// LargestFree is the largest free block that can serve a request of more than 1 MiB.
	LargestFree int64
	Segments    int
	Blocks      int
}

// Pinned returns the free memory that cannot go back to the driver.
func (s *SegmentSums) Pinned() int64 { return s.Free - s.Releasable }

// Sums returns the sums over all segments.
func (m *SegmentMap) Sums() SegmentSums {
	sums := SegmentSums{Segments: len(m.Segments)}
	for i := range m.Segments {
		s := &m.Segments[i]
		sums.Reserved += s.Size
		sums.Blocks += len(s.Blocks)
		for p := range s.Pieces() {
			switch p.State {
			case BlockAllocated:
				sums.Allocated += p.Size
			case BlockPending:
				sums.Pending += p.Size
			default:
				sums.Free += p.Size
				sums.Releasable += p.Releasable
				if !s.Small {
					sums.LargestFree = max(sums.LargestFree, p.Size)
				}
			}
		}
	}
	return sums
}

// Unreserved returns how many more bytes the process could get from the driver. ok is false if the
// map does not say. If the map lacks Used, other processes are not counted.
func (m *SegmentMap) Unreserved(reserved int64) (bytes int64, ok bool) {
	bytes = math.MaxInt64
	if m.Total > 0 {
		bytes = m.Total - max(m.Used, reserved)
	}
	if m.Allowed > 0 {
		bytes = min(bytes, m.Allowed-reserved)
	}
	if bytes == math.MaxInt64 {
		return 0, false
	}
	return max(0, bytes), true
}
