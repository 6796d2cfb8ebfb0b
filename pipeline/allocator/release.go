package allocator

// collects says whether garbage collection is on: it needs a memory fraction to be a threshold of.
func (a *Allocator) collects() bool { return a.fraction && a.config.GarbageCollectionThreshold > 0 }

// collectGarbage gives back whole cached segments that were not used for long, until what is held
// is under the threshold (garbage_collect_cached_blocks).
func (a *Allocator) collectGarbage() {
	threshold := int64(a.config.GarbageCollectionThreshold * float64(a.allowed))
	if a.total <= threshold {
		return
	}
	target := a.total - threshold
	age := func(i int32) float64 {
		return float64(uint64(int32(a.gcCalls[1] - a.blocks[i].gcBase)))
	}

	var sum float64
	left := a.scratch[:0]
	for _, s := range a.inOrder {
		for i := range a.pools[s+1].free.from(minLargeAlloc) {
			if !a.blocks[i].isSplit() {
				sum += age(i)
				left = append(left, i)
			}
		}
	}
	a.scratch = left
	for reclaimed, again := int64(0), true; reclaimed < target && again && len(left) > 0; {
		// Those of at least the average age, all of them: it should not be needed soon again.
		limit := sum / float64(len(left))
		again = false
		kept := left[:0]
		for _, i := range left {
			if age(i) < limit {
				kept = append(kept, i)
				continue
			}
			again = true
			reclaimed += a.blocks[i].size
			sum -= age(i)
			a.releaseBlock(i)
		}
		left = kept
	}
}

// releaseAvailable gives back one cached oversize block that is large enough, or as many as are
// together, the largest first; only with max_split_size (release_available_cached_blocks).
func (a *Allocator) releaseAvailable(p int32, size int64) (bool, error) {
	if a.limits.maxSplit == unlimited {
		return false, nil
	}
	size = max(size, a.limits.maxSplit)
	free := &a.pools[p].free
	at, ok := free.ceil(size)
	if ok {
		if i := free.key(at).block(); a.blocks[i].segment == 0 {
			return true, a.releaseOversize(i)
		}
	} else {
		at = free.end()
	}
	// The list is made before: releasing changes the cache.
	list := a.scratch[:0]
	var released int64
	for at, ok = free.prev(at); ok && released < size &&
		free.key(at).size() >= a.limits.maxSplit; at, ok = free.prev(at) {
		if i := free.key(at).block(); a.blocks[i].segment == 0 {
			list = append(list, i)
			released += a.blocks[i].size
		}
	}
	a.scratch = list
	for _, i := range list {
		if err := a.releaseOversize(i); err != nil {
			return false, err
		}
	}
	return released >= size, nil
}

// releaseOversize is releaseBlock for a block that may be a part of a segment: one that was split
// before max_split_size was set. PyTorch frees its address all the same, which the driver refuses,
// or, for the first part, does to all of it.
func (a *Allocator) releaseOversize(i int32) error {
	if b := &a.blocks[i]; b.isSplit() {
		a.stats.DeviceFrees++
		a.event(SegmentFree, b.addr, b.size, b.pool)
		return &DriverError{"cudaFree", "invalid argument: a part of a segment, split before " +
			"max_split_size_mb was set"}
	}
	a.releaseBlock(i)
	return nil
}

// EmptyCache gives back all cached memory that is not part of a segment in use:
// torch.cuda.empty_cache.
func (a *Allocator) EmptyCache() { a.releaseCached() }

// releaseCached waits for all streams and gives back all free segments and, of expandable ones, all
// free pages (release_cached_blocks).
func (a *Allocator) releaseCached() {
	a.synchronizeEvents()
	a.releaseClass(1)
	a.releaseClass(0)
}

// releaseClass does so for the large (1) or the small (0) pools of all streams (release_blocks).
func (a *Allocator) releaseClass(class int32) {
	// What is smaller is part of a segment, and holds no page of an expandable one.
	least := [2]int64{smallBuffer, minLargeAlloc}[class]
	// The list is made before: releasing changes the cache.
	list := a.scratch[:0]
	for _, s := range a.inOrder {
		for i := range a.pools[s+class].free.from(least) {
			if b := &a.blocks[i]; b.segment != 0 || !b.isSplit() {
				list = append(list, i)
			}
		}
	}
	a.scratch = list
	expandable := list[:0]
	for _, i := range list {
		if a.blocks[i].segment == 0 {
			a.releaseBlock(i)
		} else {
			expandable = append(expandable, i)
		}
	}
	for _, i := range expandable {
		a.unmapBlock(i)
	}
}

// releaseBlock gives a free, whole segment back to the driver (release_block).
func (a *Allocator) releaseBlock(i int32) {
	b := &a.blocks[i]
	a.stats.DeviceFrees++
	a.event(SegmentFree, b.addr, b.size, b.pool)
	a.device.free(b.addr, b.size)
	a.total -= b.size
	a.stats.Segments.add(-1)
	a.stats.Reserved.add(-b.size)
	if b.size >= a.limits.maxSplit {
		a.stats.OversizeSegments.add(-1)
	}
	a.removeFree(i)
	a.deleteBlock(i)
}
