package trace

import (
	"math/bits"
	"math/rand/v2"

	"vramsoak/pipeline/allocator"
)

// A live table finds live blocks by their IDs. It is a hash table and not a slice, because an ID
// may be any number, such as an address. It uses open addressing, so that an operation does not
// allocate Go memory.
type live struct {
	slots []slot // the number of slots is a power of two
	// mask and factor are random, so that nobody can write a trace in which all IDs have the same
	// hash.
	mask, factor uint64
	shift        int // turns a hash into the index of a slot
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

// home returns the first slot to search for an ID: its hash. It multiplies to 128 bits and folds
// the two halves, as the hash function wyhash does.
func (l *live) home(id uint64) int {
	hi, lo := bits.Mul64(id^l.mask, l.factor)
	return int((hi ^ lo) >> l.shift)
}

// find returns the slot of an ID. If the table lacks the ID, it returns the free slot in which the
// ID belongs.
func (l *live) find(id uint64) (i int, found bool) {
	mask := len(l.slots) - 1
	for i = l.home(id); l.slots[i].taken; i = (i + 1) & mask {
		if l.slots[i].id == id {
			return i, true
		}
	}
	return i, false
}

// get returns the block of a live ID. For an allocation of 0 bytes it returns the zero block.
func (l *live) get(id uint64) (block allocator.Block, found bool) {
	i, found := l.find(id)
	return l.slots[i].block, found
}

// put adds a block under a new ID.
func (l *live) put(id uint64, block allocator.Block) {
	if 2*l.count >= len(l.slots) {
		l.resize(2 * len(l.slots))
	}
	i, _ := l.find(id)
	l.slots[i] = slot{id, block, true}
	l.count++
}

// take removes an ID and returns its block. IDs in later slots move closer to their home slots.
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
