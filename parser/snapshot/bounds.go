package snapshot

import "fmt"

// MaxSize is the largest pickle that is read, in bytes. PyTorch writes about 300 to 1,000 bytes for
// an event with a stack.
const MaxSize = 2 << 30

// MaxRatio is the most bytes to which each byte of a compressed pickle may unpack. The first 512
// KiB of output are free. gzip -9 compresses the recordings in fixtures/logs to between an 8th and
// a 36th. A file made to exhaust memory is compressed to a 1000th.
const (
	MaxRatio  = 100
	ratioFree = 512 << 10
)

// MemoryPerByte limits the memory for reading a pickle: bytes of memory for each byte of the pickle
// that was read so far. The first 4 MiB of memory are free. The memory is that of the pickle, the
// machine's values and the snapshot; uncollected garbage comes on top. For the recordings in
// fixtures/logs, reading takes 4 to 11 bytes of memory for each byte. A hostile pickle may take
// more, because an instruction of one byte can make a whole container. Such a pickle is refused.
const (
	MemoryPerByte = 14
	memoryFree    = 4 << 20
)

// The values on the stack, and those in the memo, may each be at most depthFree plus a quarter of
// the pickle's bytes read so far. PyTorch's pickles have at most a tenth: PyTorch pushes a list's
// items, of 16 bytes and more, and then appends them all at once.
const (
	depthPerByte = 1. / 4
	depthFree    = 64 << 10
)

// checkInterval is the number of instructions between two checks of the memory. Between two checks
// the memory cannot grow much: an instruction adds a few values, or doubles a list.
const checkInterval = 64

// Sizes in memory, in bytes. A list that grows item by item has room for up to twice its items.
const (
	valueSize      = 8
	containerSize  = 32
	madeSize       = 64 // a frame, block or event that the decoder makes from a dict
	segmentSize    = 2 * 160
	annotationSize = 2*48 - madeSize
	pointerSize    = 8
	stringSize     = 2 * 32 // a string in a map; each text is there once
	noteSize       = 16     // wherever one is
)

// memory returns the bytes that the machine and the decoder hold. The frame, block or event that
// the decoder will make of a dict is counted as soon as the dict exists. So a file that needs too
// much memory is refused early.
func (m *machine) memory() int64 {
	values := int64(cap(m.stack)+cap(m.memo)) + m.items
	containers := int64(len(m.containers)) * chunk
	return int64(cap(m.data)) + values*valueSize + containers*(containerSize+madeSize) + m.made
}

const adviceHostile = "it was made to exhaust memory; do not use it"

// checkMemory returns an error if the pickle takes too much memory for its size.
func (m *machine) checkMemory() error {
	if deepest := depthFree + int(depthPerByte*float64(m.pos)); len(m.stack) > deepest ||
		len(m.memo) > deepest {
		return m.bad(fmt.Sprintf("at most %d values on the stack and in the memo by here", deepest),
			fmt.Sprintf("%d and %d", len(m.stack), len(m.memo)), adviceHostile)
	}
	if m.memory() <= memoryFree+MemoryPerByte*int64(m.pos) {
		return nil
	}
	return m.bad(fmt.Sprintf("a snapshot, which takes at most %d times its size in memory",
		MemoryPerByte),
		fmt.Sprintf("%d MiB taken by the first %d KiB", m.memory()>>20, m.pos>>10), adviceHostile)
}

// allocate notes that the decoder makes n things of `size` bytes each. It returns an error if they
// take too much memory.
func (m *machine) allocate(n, size int) error {
	m.made += int64(n) * int64(size)
	return m.checkMemory()
}
