package parser

import "math"

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

// SegmentSums are a map's sums, in bytes.
type SegmentSums struct {
	Reserved, Allocated, Pending int64
	// Free is what is cached: of it, Releasable is what the driver can have back (the segments with nothing in use, the free
	// pieces of expandable ones); the rest is pinned by what is in use in the same segment.
	Free, Releasable int64
	// LargestFree is the largest free block that a request of more than 1 MiB can have.
	LargestFree int64
	Segments    int
	Blocks      int
}

// Pinned is what is free in segments that cannot be given back.
func (s *SegmentSums) Pinned() int64 { return s.Free - s.Releasable }

// Sums adds the map up.
func (m *SegmentMap) Sums() SegmentSums {
	sums := SegmentSums{Segments: len(m.Segments)}
	for i := range m.Segments {
		seg := &m.Segments[i]
		sums.Reserved += seg.Size
		sums.Blocks += len(seg.Blocks)
		whole := seg.Whole()
		for _, b := range seg.Blocks {
			switch b.State {
			case BlockAllocated:
				sums.Allocated += b.Size
			case BlockPending:
				sums.Pending += b.Size
			default:
				sums.Free += b.Size
				if whole || seg.Expandable {
					sums.Releasable += b.Size
				}
				if !seg.Small {
					sums.LargestFree = max(sums.LargestFree, b.Size)
				}
			}
		}
	}
	return sums
}

// Whole says that nothing of the segment is in use, so that the driver can have it back.
func (s *Segment) Whole() bool {
	for _, b := range s.Blocks {
		if b.State != BlockFree {
			return false
		}
	}
	return true
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
