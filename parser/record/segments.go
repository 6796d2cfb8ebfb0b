package record

import (
	"iter"
	"maps"
	"math"
	"slices"
)

// A SegmentMap lists the segments that an allocator holds from the driver at one time, and the
// blocks inside each segment:
//
//	[pipeline] segments at="out of memory" device=0 total=104857600
//	    requested=31457280 unit=512 map=7f0000000000L:A5000F5000;+0S:A1F7ff.
//
// PyTorch's caching allocator gets each segment by one cudaMalloc; see
// torch.cuda.memory_snapshot.
type SegmentMap struct {
	Header
	Lane Lane
	// Name says when the map was taken: "file end", "out of memory".
	Name string
	// Requested is the size of the request that failed, in bytes, or 0 if no request failed.
	Requested int64
	// The following sizes are in bytes, and 0 if the line does not give them. Total is the memory
	// of the device. Used is all memory in use on the device, by any process, as the driver
	// counts it. Allowed is the most memory that the process may take
	// (torch.cuda.set_per_process_memory_fraction).
	Total, Used, Allowed int64
	Segments             []Segment
}

// A Segment is memory that the allocator got from the driver in one piece, or one mapped part of an
// expandable segment. Its blocks follow each other without gaps, and their sizes add up to Size.
type Segment struct {
	Address uint64
	Size    int64 // bytes
	Small   bool  // in the pool for requests of 1 MiB and less
	// Expandable is set if the segment can grow and shrink in place (expandable_segments:True).
	// The allocator can then give a part of the segment back to the driver.
	Expandable bool
	Stream     uint64 // the CUDA stream that uses the segment; 0 for the default stream
	Blocks     []Block
}

// A Block is a piece of a segment, in bytes.
type Block struct {
	Size  int64
	State BlockState
}

// A BlockState says whether a block is in use.
type BlockState uint8

// The states of blocks. PyTorch calls them inactive, active_allocated and active_pending_free.
const (
	BlockFree      BlockState = iota // cached: free for the allocator's next request
	BlockAllocated                   // the allocator gave the block to the program
	BlockPending                     // the program freed the block, but a CUDA stream may still use it
)

// String returns "free", "allocated" or "pending".
func (s BlockState) String() string { return [...]string{"free", "allocated", "pending"}[s] }

// A Piece is a block with its offset in the segment.
type Piece struct {
	Block
	Offset int64 // bytes
	// Releasable is the number of bytes of this block that can go back to the driver. It is 0 if
	// the block is in use. If all blocks of the segment are free, it is the size of the block. If
	// another block of the segment is in use, only an expandable segment can release anything:
	// the whole pages inside the free block.
	Releasable int64
}

// Expandable segments grow and shrink by pages of these sizes, in the large and the small pool.
// PyTorch calls them kLargeBuffer and kSmallBuffer (c10/cuda/CUDACachingAllocator.cpp).
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

// IsFree reports whether all blocks of the segment are free. The segment can then go back to the
// driver.
func (s *Segment) IsFree() bool {
	return !slices.ContainsFunc(s.Blocks, func(b Block) bool { return b.State != BlockFree })
}

// SegmentSums holds the sums over all segments of a map: sizes in bytes, and the numbers of
// segments and blocks.
type SegmentSums struct {
	Reserved, Allocated, Pending int64
	// Free is the cached memory. Releasable is the part of Free that can go back to the driver,
	// see [Piece]. Blocks in use pin the rest of Free: it stays with the allocator until they are
	// freed.
	Free, Releasable int64
	// LargestFree is the size of the largest free block in the pool for requests of more than 1 MiB.
	// In the map of a request that failed, it leaves out the blocks of streams that had room for the
	// request, because a stream cannot use the blocks of another: Unusable is the size of the largest
	// of them, and UnusableStream its stream.
	LargestFree, Unusable int64
	UnusableStream        uint64
	Segments              int
	Blocks                int
}

// Pinned returns the free memory that cannot go back to the driver.
func (s *SegmentSums) Pinned() int64 { return s.Free - s.Releasable }

// Sums returns the sums over all segments of the map.
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
	if m.Requested > SmallRequest && sums.LargestFree >= m.Requested {
		m.leaveOutUnusable(&sums)
	}
	return sums
}

// SmallRequest is the size in bytes of the largest request that the small pool serves (kSmallSize
// in c10/cuda/CUDACachingAllocator.cpp).
const SmallRequest = 1 << 20

// leaveOutUnusable leaves the blocks of other streams out of LargestFree. The map does not name the
// request's stream. It is not a stream with room for the request: there the request would have
// succeeded. If each stream has room, all blocks count.
func (m *SegmentMap) leaveOutUnusable(sums *SegmentSums) {
	largest := map[uint64]int64{} // by stream
	for i := range m.Segments {
		for _, b := range m.Segments[i].Blocks {
			if s := &m.Segments[i]; !s.Small && b.State == BlockFree {
				largest[s.Stream] = max(largest[s.Stream], b.Size)
			} else if _, known := largest[s.Stream]; !known {
				largest[s.Stream] = 0
			}
		}
	}
	usable := int64(-1)
	for _, size := range largest {
		if size < m.Requested {
			usable = max(usable, size)
		}
	}
	if usable < 0 {
		return
	}
	for _, stream := range slices.Sorted(maps.Keys(largest)) {
		if size := largest[stream]; size > sums.Unusable {
			sums.Unusable, sums.UnusableStream = size, stream
		}
	}
	sums.LargestFree = usable
}

// Unreserved returns how many more bytes the process can get from the driver. The parameter
// reserved is the number of bytes that the process holds already. ok is false if the map gives
// neither Total nor Allowed. If the map lacks Used, the memory of other processes is not
// subtracted.
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
