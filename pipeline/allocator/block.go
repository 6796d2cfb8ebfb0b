package allocator

import (
	"cmp"
	"slices"
)

// A block is a piece of a segment. Blocks live in one slice, Allocator.blocks, and refer to each
// other by index; 0 means no block. PyTorch's type is Block.
type block struct {
	addr      uint64
	size      int64 // bytes, a multiple of 512
	requested int64 // bytes that the last caller asked for
	// room is used for unmapped blocks only. It is an upper bound for the size in bytes of the
	// block, the free block before it, and the free and unmapped blocks after it together.
	room int64

	prev, next int32 // neighbours in the segment; next also links the unused entries of the slice
	pool       int32 // index in Allocator.pools
	segment    int32 // index in Allocator.segments; 0: not in an expandable segment
	uses       int32 // index in Allocator.uses of the other streams recorded for it; 0: none
	events     int32 // number of events that the freed block waits for (event_count)
	gcBase     uint32
	flags      flags
}

type flags uint8

const (
	allocated flags = 1 << iota // a caller has it
	// The block's addresses have memory. Only blocks of expandable segments can be unmapped.
	mapped
)

func (b *block) isSplit() bool { return b.prev|b.next != 0 }

// idle reports whether no caller has the block and no stream uses it.
func (b *block) idle() bool { return b.flags&allocated == 0 && b.events == 0 && b.uses == 0 }

func (b *block) is(f flags) bool { return b.flags&f != 0 }

// newBlock returns the index of a new block of a pool. It may move Allocator.blocks, so the caller
// must fetch its pointers to blocks again.
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

// A pool holds the free blocks of one stream and one size class: a small pool serves requests up to
// 1 MiB, and a large pool serves larger requests. In PyTorch, one BlockPool holds the blocks of all
// streams.
type pool struct {
	stream Stream
	small  bool
	free   freeSet
	// unmapped holds the unmapped blocks of expandable segments, in the order of their addresses.
	unmapped freeSet
}

// recentStreams is the number of streams whose pools poolOf finds without the map
// Allocator.streams.
const recentStreams = 16

// poolOf returns the index of the pool that serves size bytes on a stream (PyTorch's get_pool).
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

// addStream makes the two pools of a stream, the small one first, and returns the index of the
// small one.
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

// insertFree puts a block into the cache (PyTorch's BlockPool::insert_into_blocks).
func (a *Allocator) insertFree(i int32) {
	b := &a.blocks[i]
	b.gcBase = a.gcCalls[b.pool&1]
	a.pools[b.pool].free.insert(newKey(b.size, b.addr, i))
}

func (a *Allocator) removeFree(i int32) {
	b := &a.blocks[i]
	a.pools[b.pool].free.remove(newKey(b.size, b.addr, i))
}

// merge extends block dst by its neighbour src, deletes src, and returns the size of src. It does
// nothing and returns 0 if src is in use, or if only one of the two is mapped (PyTorch's
// try_merge_blocks).
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
