package allocator

// freeBlock removes from pool p the smallest cached block that can hold size bytes. It returns the
// block's index, or 0 if no cached block fits (PyTorch's get_free_block).
func (a *Allocator) freeBlock(p int32, size int64) int32 {
	if a.collects() {
		a.gcCalls[p&1]++
	}
	free := &a.pools[p].free
	at, ok := free.ceil(size)
	if !ok {
		return 0
	}
	i := free.key(at).block()
	if a.blocks[i].segment != 0 {
		if at, ok = a.fitExpandable(free, at); !ok {
			return 0
		}
		i = free.key(at).block()
	}
	found := a.blocks[i].size
	if size < a.limits.maxSplit && found >= a.limits.maxSplit {
		return 0 // an oversize block does not serve a smaller request
	}
	if size >= a.limits.maxSplit && found >= size+a.limits.slack {
		return 0 // the request would waste too much of this oversize block
	}
	free.removeAt(at)
	return i
}

// fitExpandable chooses a block when the best fit, at position at, lies in an expandable segment.
// It goes on to the next larger block as long as that block has less growable room. If expandable
// segments were switched off, it chooses the first block that does not lie in an expandable
// segment, and returns false if there is no such block.
func (a *Allocator) fitExpandable(free *freeSet, at cursor) (cursor, bool) {
	if !a.config.ExpandableSegments {
		ok := true
		for ok && a.blocks[free.key(at).block()].segment != 0 {
			at, ok = free.next(at)
		}
		return at, ok
	}
	i := free.key(at).block()
	for a.blocks[i].segment != 0 {
		next, ok := free.next(at)
		if !ok {
			break
		}
		n := free.key(next).block()
		if a.growable(n) >= a.growable(i) {
			break
		}
		at, i = next, n
	}
	return at, true
}

// growable returns the size of a block together with the unmapped block after it.
func (a *Allocator) growable(i int32) int64 {
	b := &a.blocks[i]
	if b.next != 0 && !a.blocks[b.next].is(mapped) {
		return b.size + a.blocks[b.next].size
	}
	return b.size
}
