package allocator

// An expandable segment is a range of addresses, larger than the device's memory. Pages of memory
// are mapped into it as they are needed (PyTorch's ExpandableSegment).
type expandable struct {
	addr uint64
	size int64 // bytes of addresses
	page int64 // bytes mapped at once: 2 MiB in a small pool, 20 MiB in a large pool
}

// allocExpandable makes a free block of at least size bytes by mapping pages, removes the block
// from the cache and returns its index. It returns 0 if the device has no memory for the pages
// (PyTorch's try_allocate_expandable_block).
func (a *Allocator) allocExpandable(p int32, size int64) (int32, error) {
	i, err := a.expandableBlock(p, size)
	if i == 0 || err != nil {
		return 0, err
	}
	if b := &a.blocks[i]; !b.is(mapped) && !a.mapBlock(i, min(b.size, size)) {
		return 0, nil
	}
	// The block is free, and unmapped addresses follow it. Each round maps some of these addresses
	// and merges them with the block before them.
	for a.blocks[i].size < size {
		next := a.blocks[i].next
		if !a.mapBlock(next, min(size-a.blocks[i].size, a.blocks[next].size)) {
			return 0, nil
		}
		i = next
	}
	a.removeFree(i)
	return i, nil
}

// expandableBlock finds the lowest address at which free and unmapped blocks together have size
// bytes. If there is no such address, it makes a new segment. It returns the index of the first of
// these blocks, or 0 on a device without memory (PyTorch's find_expandable_block).
func (a *Allocator) expandableBlock(p int32, size int64) (int32, error) {
	for i := range a.pools[p].unmapped.from(0) {
		b := &a.blocks[i]
		if b.room < size {
			continue
		}
		if b.prev != 0 && a.blocks[b.prev].idle() {
			i = b.prev
		}
		var room int64
		for n := i; room < size && n != 0 && a.blocks[n].idle(); n = a.blocks[n].next {
			room += a.blocks[n].size
		}
		if room >= size {
			return i, nil
		}
		b.room = room
	}
	e := expandable{page: largeBuffer}
	if a.pools[p].small {
		e.page = smallBuffer
	}
	// PyTorch reserves an eighth more addresses than the device has memory, so that it can unmap pages
	// in the middle and map them at the end.
	e.size = (a.device.Total() + a.device.Total()/8 + e.page - 1) / e.page * e.page
	if e.size <= 0 {
		return 0, nil // a device without memory
	}
	var ok bool
	if e.addr, ok = a.device.reserve(uint64(e.size)); !ok {
		return 0, &DriverError{"cuMemAddressReserve", "out of memory: no addresses are left"}
	}
	i := a.newBlock(p, e.addr, e.size)
	b := &a.blocks[i]
	b.flags &^= mapped
	b.segment = a.addSegment(e)
	a.insertUnmapped(i)
	return i, nil
}

// madeRoom resets the room of unmapped blocks near block i, which became free. These are the block
// after i, and all blocks before i back to the nearest block in use.
func (a *Allocator) madeRoom(i int32) {
	b := &a.blocks[i]
	if n := b.next; n != 0 && !a.blocks[n].is(mapped) {
		a.blocks[n].room = unlimited
	}
	for i = b.prev; i != 0 && a.blocks[i].idle(); i = b.prev {
		if b = &a.blocks[i]; !b.is(mapped) {
			b.room = unlimited
		}
	}
}

// addSegment adds an expandable segment and returns its index. It reuses an unused entry of
// Allocator.segments if there is one.
func (a *Allocator) addSegment(e expandable) int32 {
	for i := 1; i < len(a.segments); i++ {
		if a.segments[i].size == 0 {
			a.segments[i] = e
			return int32(i)
		}
	}
	a.segments = append(a.segments, e)
	return int32(len(a.segments) - 1)
}

// mapBlock maps pages of at least size bytes at the beginning of the unmapped block i, and puts the
// mapped part into the cache. It returns false if the device has no memory for them (PyTorch's
// map_block).
func (a *Allocator) mapBlock(i int32, size int64) bool {
	b := &a.blocks[i]
	page := a.segments[b.segment].page
	size = (size + page - 1) / page * page
	if !a.device.take(size) {
		return false
	}
	addr := b.addr
	a.removeUnmapped(i)
	b.flags |= mapped
	if size < b.size {
		n := a.newBlock(b.pool, b.addr+uint64(size), b.size-size)
		b = &a.blocks[i]
		c := &a.blocks[n]
		c.flags &^= mapped
		c.segment = b.segment
		a.splice(n, i, b.next)
		a.insertUnmapped(n)
		b.size = size
	}
	a.merge(i, b.prev)
	a.merge(i, b.next)
	a.insertFree(i)
	a.madeRoom(i)
	a.total += size
	a.stats.Reserved.add(size)
	a.stats.DeviceMallocs++
	a.event(SegmentMap, addr, size, b.pool)
	return true
}

// unmapBlock gives the memory of whole pages within the free block i back to the device. If the
// segment then has no memory left, its addresses are freed too (PyTorch's unmap_block).
func (a *Allocator) unmapBlock(i int32) {
	b := &a.blocks[i]
	e := a.segments[b.segment]
	page := uint64(e.page)
	begin := e.addr + (b.addr-e.addr+page-1)/page*page
	end := e.addr + (b.addr+uint64(b.size)-e.addr)/page*page
	if begin >= end {
		return
	}
	size := int64(end - begin)
	a.device.synchronize()
	a.device.give(size)
	a.removeFree(i)
	if before := int64(begin - b.addr); before > 0 {
		n := a.newBlock(b.pool, b.addr, before)
		b = &a.blocks[i]
		a.blocks[n].segment = b.segment
		a.splice(n, b.prev, i)
		a.insertFree(n)
	}
	if after := int64(b.addr + uint64(b.size) - end); after > 0 {
		n := a.newBlock(b.pool, end, after)
		b = &a.blocks[i]
		a.blocks[n].segment = b.segment
		a.splice(n, i, b.next)
		a.insertFree(n)
	}
	b.addr, b.size = begin, size
	b.flags &^= mapped
	a.merge(i, b.prev)
	a.merge(i, b.next)
	a.insertUnmapped(i)
	a.total -= size
	a.stats.Reserved.add(-size)
	a.stats.DeviceFrees++
	a.event(SegmentUnmap, begin, size, b.pool)

	if !b.isSplit() { // release_expandable_segment
		a.removeUnmapped(i)
		a.segments[b.segment] = expandable{}
		a.device.unreserve(e.addr, uint64(e.size))
		a.deleteBlock(i)
	}
}

// splice links block i between two neighbours, either of which may be 0 (PyTorch's Block::splice).
func (a *Allocator) splice(i, before, after int32) {
	b := &a.blocks[i]
	b.prev, b.next = before, after
	if before != 0 {
		a.blocks[before].next = i
	}
	if after != 0 {
		a.blocks[after].prev = i
	}
}

func (a *Allocator) insertUnmapped(i int32) {
	b := &a.blocks[i]
	b.room = unlimited
	a.pools[b.pool].unmapped.insert(newKey(0, b.addr, i))
}

func (a *Allocator) removeUnmapped(i int32) {
	b := &a.blocks[i]
	a.pools[b.pool].unmapped.remove(newKey(0, b.addr, i))
}
