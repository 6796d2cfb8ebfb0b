package record

import (
	"iter"
	"math"
	"slices"
)

// A SegmentMap is what an allocator holds from the driver, segment by segment, at one time:
//
//	[pipeline] segments at="out of memory" device=0 total=104857600 requested=31457280 unit=512 map=7f0000000000L:A5000F5000;+0S:A1F7ff.
//
// The segments of PyTorch's caching allocator are what it got by one cudaMalloc each; see torch.cuda.memory_snapshot.
type SegmentMap struct {
	Header
	Lane Lane
	// Name says when: "file end", "out of memory".
	Name string
	// Requested is what was asked for where an allocation failed, in bytes; 0 where none did.
	Requested int64
	// Total is that of the device, Used what the driver says is in use on it, with what other processes hold, and Allowed what
	// the process may take of it (torch.cuda.set_per_process_memory_fraction); in bytes, each 0 where the line does not give it.
	Total, Used, Allowed int64
	Segments             []Segment
}

// A Segment is memory that the allocator got from the driver in one piece, or in an expandable segment, what of it is mapped.
// Its blocks follow one another without gaps; Size is the sum of theirs.
type Segment struct {
	Address uint64
	Size    int64 // bytes
	Small   bool  // of the pool for requests of 1 MiB and less
	// Expandable says that it can grow and shrink in place (expandable_segments:True): it may be given back in part.
	Expandable bool
	Stream     uint64 // the CUDA stream that it is of, 0 for the default one
	Blocks     []Block
}

// A Block is a piece of a segment, in bytes.
type Block struct {
	Size  int64
	State BlockState
}

// A BlockState is what a block is used for.
type BlockState uint8

// The states of blocks; in PyTorch's words active_allocated, active_pending_free and inactive.
const (
	BlockFree      BlockState = iota // cached: free for the allocator's next request
	BlockAllocated                   // handed out
	BlockPending                     // freed, but a stream may still be using it
)

// String is "free", "allocated" or "pending".
func (s BlockState) String() string { return [...]string{"free", "allocated", "pending"}[s] }

// A Piece is a block in its place.
type Piece struct {
	Block
	Offset int64 // in the segment, bytes
	// Releasable is how much of a free block the driver can have back, in bytes: all of it where nothing of the segment is in
	// use, the whole pages in it where the segment is expandable.
	Releasable int64
}

// The pages by which expandable segments grow and shrink: kLargeBuffer and kSmallBuffer in c10/cuda/CUDACachingAllocator.cpp.
const (
	largePage = 20 * MiB
	smallPage = 2 * MiB
)

// Pieces are the segment's blocks.
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

// Whole says that nothing of the segment is in use, so that the driver can have it back.
func (s *Segment) IsFree() bool {
	return !slices.ContainsFunc(s.Blocks, func(b Block) bool { return b.State != BlockFree })
}

// SegmentSums are a map's sums, in bytes.
type SegmentSums struct {
	Reserved, Allocated, Pending int64
	// Free is what is cached; of it the driver can have Releasable back, see [Piece]. The rest is pinned by what is in use in
	// the same segment.
	Free, Releasable int64
	// LargestFree is the largest free block that a request of more than 1 MiB can have.
	LargestFree int64
	Segments    int
	Blocks      int
}

// Pinned is what is free and cannot be given back.
func (s *SegmentSums) Pinned() int64 { return s.Free - s.Releasable }

// Sums adds the map up.
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

// Unreserved is what the process could still get from the driver, in bytes, and whether the map tells: as far as it knows what
// others hold.
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
