package snapshot

import "fmt"

// MaxSize is the largest pickle that is read, in bytes. PyTorch writes some 300 to 1,000 bytes for
// an event with a stack.
const MaxSize = 2 << 30

// MaxRatio bounds what a compressed pickle may unpack to, for each byte of it, beyond the first 512
// KiB: gzip -9 takes the recordings in fixtures/logs to between an 8th and a 36th, and a file made
// to exhaust memory to a 1000th.
const (
	MaxRatio  = 100
	ratioFree = 512 << 10
)

// MemoryPerByte bounds what reading holds for each byte of a pickle that has been read, beyond the
// first 4 MiB: the pickle, the values that the machine has made of it, and the snapshot. Of the
// recordings in fixtures/logs reading holds 4 to 11 bytes a byte. A pickle can ask for more, by
// instructions of one byte that make a container each, and is refused when it does. Uncollected
// garbage comes on top.
const (
	MemoryPerByte = 14
	memoryFree    = 4 << 20
)

// A pickle of so many bytes may have a quarter as many values on the stack, or in the memo, beyond
// these. PyTorch's have at most a tenth: it pushes a list's items, of 16 bytes and more, and then
// appends them at once.
const (
	depthPerByte = 1. / 4
	depthFree    = 64 << 10
)

// checkInterval is the number of instructions between two checks of the memory. An instruction adds
// a few values, or doubles a list.
const checkInterval = 64

// Sizes in memory, in bytes. Lists that grow one by one have up to twice the room.
const (
	valueSize      = 8
	containerSize  = 32
	madeSize       = 64 // a frame, a block or an event, made of a dict
	segmentSize    = 2 * 160
	annotationSize = 2*48 - madeSize
	pointerSize    = 8
	stringSize     = 2 * 32 // in a map, once for each text
	noteSize       = 16     // wherever one is
)

// memory returns the bytes that the machine and the decoder hold. What the decoder makes of a dict
// counts when the dict is made, so that a file that needs too much is refused early.
func (m *machine) memory() int64 {
	values := int64(cap(m.stack)+cap(m.memo)) + m.items
	containers := int64(len(m.containers)) * chunk
	return int64(cap(m.data)) + values*valueSize + containers*(containerSize+madeSize) + m.made
}

const adviceHostile = "it was made to exhaust memory; do not use it"

// checkMemory returns an error for a pickle that takes too much memory for its size.
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

// allocate notes that the decoder makes n things of size bytes. It returns an error if they are too
// much.
func (m *machine) allocate(n, size int) error {
	m.made += int64(n) * int64(size)
	return m.checkMemory()
}
