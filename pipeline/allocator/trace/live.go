package trace

import (
	"math/bits"
	"math/rand/v2"

	"vramsoak/pipeline/allocator"
)

// A live table knows the blocks that live by their IDs. An ID may be any number, also the address
// that a block once had, so it is a hash table: open addressing, so that an event allocates
// nothing.
type live struct {
	slots []slot // a power of two
	// The keys of the hash are others in each process, so that no trace can have IDs that all fall
	// together.
	mask, factor uint64
	shift        int // of a hash, that leaves the index of a slot
	count        int
}

type slot struct {
	id    uint64
	block allocator.Block
	taken bool
}

func newLive() *live {
	const first = 1 << 10 // slots
	l := &live{mask: rand.Uint64(), factor: rand.Uint64() | 1}
	l.resize(first)
	return l
}

func (l *live) resize(slots int) {
	old := l.slots
	l.slots, l.shift, l.count = make([]slot, slots), 65-bits.Len(uint(slots)), 0
	for _, s := range old {
		if s.taken {
			l.put(s.id, s.block)
		}
	}
}

// home is where an ID is looked for first: both halves of a product of 128 bits, one of whose
// factors has the ID, as wyhash mixes.
func (l *live) home(id uint64) int {
	hi, lo := bits.Mul64(id^l.mask, l.factor)
	return int((hi ^ lo) >> l.shift)
}

// find is the index of an ID's slot, or of the free one where it would be.
func (l *live) find(id uint64) (i int, found bool) {
	mask := len(l.slots) - 1
	for i = l.home(id); l.slots[i].taken; i = (i + 1) & mask {
		if l.slots[i].id == id {
			return i, true
		}
	}
	return i, false
}

// get is the block of an ID, which may be none: that of an allocation of 0 bytes.
func (l *live) get(id uint64) (block allocator.Block, found bool) {
	i, found := l.find(id)
	return l.slots[i].block, found
}

// put adds a block under an ID that is not there.
func (l *live) put(id uint64, block allocator.Block) {
	if 2*l.count >= len(l.slots) {
		l.resize(2 * len(l.slots))
	}
	i, _ := l.find(id)
	l.slots[i] = slot{id, block, true}
	l.count++
}

// take removes the block of an ID. Those that were put farther than their home because of it move
// up.
func (l *live) take(id uint64) (block allocator.Block, found bool) {
	i, found := l.find(id)
	if !found {
		return 0, false
	}
	l.count--
	block = l.slots[i].block
	mask := len(l.slots) - 1
	for j := (i + 1) & mask; l.slots[j].taken; j = (j + 1) & mask {
		if home := l.home(l.slots[j].id); (j-home)&mask >= (j-i)&mask {
			l.slots[i] = l.slots[j]
			i = j
		}
	}
	l.slots[i] = slot{}
	return block, true
}
