package allocator

import "math/bits"

// The constants of CUDACachingAllocator.cpp, in bytes.
const (
	minBlockSize = 512      // kMinBlockSize: all sizes are rounded to at least this
	smallSize    = 1 << 20  // kSmallSize: largest "small" allocation
	smallBuffer  = 2 << 20  // kSmallBuffer: small allocations are packed in segments of this
	largeBuffer  = 20 << 20 // kLargeBuffer: large allocations may be packed in segments of this
	// kMinLargeAlloc: requests below this, but above kSmallSize, get segments of kLargeBuffer.
	minLargeAlloc = 10 << 20
	roundLarge    = 2 << 20 // kRoundLarge: larger segments are rounded up to this

	// maxSize is more than any device has. The allocator treats larger requests as requests of
	// maxSize, so that no sum of sizes overflows.
	maxSize = 1 << 62
)

// round returns the size of the block that serves size bytes (PyTorch's round_size).
func (l *limits) round(size int64) int64 {
	if size < minBlockSize {
		return minBlockSize
	}
	if l.rounds {
		interval := bits.Len64(uint64(size)) - 1 - roundupStart
		divisions := l.divisions[min(max(interval, 0), roundupIntervals-1)]
		// With one division, PyTorch does not round up to the next power of two, but to 512 bytes.
		if divisions > 1 && size > minBlockSize*divisions {
			return roundupPower2(size, divisions)
		}
	}
	return (size + minBlockSize - 1) &^ (minBlockSize - 1)
}

// roundupPower2 cuts the range between two powers of two into divisions equal parts, and rounds
// size up to the end of its part. divisions is a power of two, and a part must have more than 512
// bytes (PyTorch's roundup_power2_next_division).
func roundupPower2(size, divisions int64) int64 {
	division := int64(1) << (bits.Len64(uint64(size)) - bits.Len64(uint64(divisions)))
	return (size + division - 1) &^ (division - 1)
}

// segmentSize returns the size of the segment that serves a rounded size (PyTorch's
// get_allocation_size).
func segmentSize(rounded int64) int64 {
	switch {
	case rounded <= smallSize:
		return smallBuffer
	case rounded < minLargeAlloc:
		return largeBuffer
	}
	return (rounded + roundLarge - 1) / roundLarge * roundLarge
}
