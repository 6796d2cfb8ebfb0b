package snapshot

import "fmt"

// MaxSize is the largest pickle that is read, in bytes. PyTorch writes about 300 to 1,000 bytes for
// an event with a stack.
const MaxSize = 2 << 30

// MaxRatio is the most bytes to which each byte of a compressed pickle may unpack. The first 512
// KiB of output do not count. gzip -9 compresses the recordings in fixtures/logs to between an
// 8th and a 36th of their size. A file that was made to exhaust memory may be compressed to a
// 1000th of its size.
const (
	MaxRatio  = 100
	ratioFree = 512 << 10
)

// MemoryPerByte limits the memory for reading a pickle: bytes of memory for each byte of the
// pickle that was read so far. The first 4 MiB of memory do not count. The memory is that of the
// pickle, the machine's values and the snapshot; garbage that Go has not collected yet comes on
// top. For the recordings in fixtures/logs, reading takes 4 to 11 bytes of memory for each byte.
// A hostile pickle may take more, because an instruction of one byte can make a whole container.
// Such a pickle is refused.
const (
	MemoryPerByte = 14
	memoryFree    = 4 << 20
)

// The machine's stack and its memo may each hold at most depthFree values, plus depthPerByte
// values for each byte of the pickle that was read so far. PyTorch's pickles need at most a tenth
// of a value for each byte: PyTorch pushes the items of a list, of 16 bytes and more, and then
// appends them all at once.
const (
	depthPerByte = 1. / 4
	depthFree    = 64 << 10
)

// checkInterval is the number of instructions between two checks of the memory. The memory cannot
// grow much in between, because one instruction adds a few values, or at most doubles a list.
const checkInterval = 64

// Sizes in memory, in bytes. A list that grows item by item has room for up to twice its items.
const (
	valueSize      = 8
	containerSize  = 32
	madeSize       = 64 // a frame, block or event that the decoder makes from a dict
	segmentSize    = 2 * 160
	annotationSize = 2*48 - madeSize
	pointerSize    = 8
	stringSize     = 2 * 32 // a string in a map of strings, which holds each text once
	noteSize       = 16     // each instruction that pushes a string
)

// memory returns the bytes that the machine and the decoder hold. The decoder makes a frame, block
// or event of each dict; memory counts this value as soon as the dict exists. So the reader can
// refuse a file that needs too much memory before it decodes the file.
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

// allocate notes that the decoder makes n values of `size` bytes each. It returns an error if all
// values together take too much memory.
func (m *machine) allocate(n, size int) error {
	m.made += int64(n) * int64(size)
	return m.checkMemory()
}
