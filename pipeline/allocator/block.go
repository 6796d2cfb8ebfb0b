package allocator

import (
	"cmp"
	"slices"
)

// A block is a piece of a segment (struct Block). Blocks live in one slice and name one another by
// index, 0 being none.
type block struct {
	addr      uint64
	size      int64 // bytes, a multiple of 512
	requested int64 // bytes that the last caller asked for
	// Of an unmapped block: bytes that it has with the free block before it and the free and
	// unmapped ones after it, or more.
	room int64

	prev, next int32 // neighbours in the segment; next also links the unused entries of the slice
	pool       int32 // index in Allocator.pools
	segment    int32 // index in Allocator.segments of the expandable segment that it is part of
	uses       int32 // index in Allocator.uses: the other streams that were recorded; 0: none
	events     int32 // recorded at its free and not done yet (event_count)
	gcBase     uint32
	flags      flags
}

type flags uint8

const (
	allocated flags = 1 << iota // a caller has it
	// Memory is behind its addresses; only parts of expandable segments are ever not.
	mapped
)

func (b *block) isSplit() bool { return b.prev|b.next != 0 }

// idle says that nobody uses the block: neither a caller nor another stream.
func (b *block) idle() bool { return b.flags&allocated == 0 && b.events == 0 && b.uses == 0 }

func (b *block) is(f flags) bool { return b.flags&f != 0 }

// newBlock returns the index of a block of a pool; pointers to blocks do not outlive it.
func (a *Allocator) newBlock(pool int32, addr uint64, size int64) int32 {
	i := a.unused
	if i == 0 {
		i = int32(len(a.blocks))
		a.blocks = append(a.blocks, block{})
	} else {
		a.unused = a.blocks[i].next
	}
	a.blocks[i] = block{addr: addr, size: size, pool: pool, flags: mapped}
	return i
}

func (a *Allocator) deleteBlock(i int32) {
	a.blocks[i] = block{next: a.unused}
	a.unused = i
}

// A pool holds the free blocks of one size class on one stream (BlockPool, which is for all
// streams).
type pool struct {
	stream Stream
	small  bool
	free   freeSet
	// Parts of expandable segments without memory, by address: as if all were of one size.
	unmapped freeSet
}

// recentStreams is how many streams are found without a look into the map, if their numbers do not
// collide.
const recentStreams = 16

// poolOf returns the index of the pool that serves size bytes on a stream (get_pool).
func (a *Allocator) poolOf(size int64, s Stream) int32 {
	recent := &a.recent[s%recentStreams]
	i := *recent
	if a.pools[i].stream != s {
		var ok bool
		if i, ok = a.streams[s]; !ok {
			i = a.addStream(s)
		}
		*recent = i
	}
	if size > smallSize {
		i++
	}
	return i
}

// addStream makes the two pools of a stream, the small one first, and returns its index.
func (a *Allocator) addStream(s Stream) int32 {
	i := int32(len(a.pools))
	a.pools = append(a.pools, pool{stream: s, small: true}, pool{stream: s})
	a.streams[s] = i
	at, _ := slices.BinarySearchFunc(a.inOrder, s, func(i int32, s Stream) int {
		return cmp.Compare(a.pools[i].stream, s)
	})
	a.inOrder = slices.Insert(a.inOrder, at, i)
	return i
}

// insertFree puts a block into the cache (BlockPool::insert_into_blocks).
func (a *Allocator) insertFree(i int32) {
	b := &a.blocks[i]
	b.gcBase = a.gcCalls[b.pool&1]
	a.pools[b.pool].free.insert(newKey(b.size, b.addr, i))
}

func (a *Allocator) removeFree(i int32) {
	b := &a.blocks[i]
	a.pools[b.pool].free.remove(newKey(b.size, b.addr, i))
}

// merge makes src, a neighbour of dst, a part of it, and returns the bytes gained: 0 if src is in
// use, or if only one of the two has memory behind it (try_merge_blocks).
func (a *Allocator) merge(dst, src int32) int64 {
	if src == 0 {
		return 0
	}
	d, s := &a.blocks[dst], &a.blocks[src]
	if !s.idle() || (d.flags^s.flags)&mapped != 0 {
		return 0
	}
	if s.is(mapped) {
		a.removeFree(src)
	} else {
		a.removeUnmapped(src)
	}
	if d.prev == src {
		d.addr, d.prev = s.addr, s.prev
		if d.prev != 0 {
			a.blocks[d.prev].next = dst
		}
	} else {
		d.next = s.next
		if d.next != 0 {
			a.blocks[d.next].prev = dst
		}
	}
	gained := s.size
	d.size += gained
	a.deleteBlock(src)
	return gained
}
