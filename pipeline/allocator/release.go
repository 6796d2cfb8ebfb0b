package allocator

// collects says whether garbage collection is on: it needs a memory fraction to be a threshold of.
func (a *Allocator) collects() bool { return a.fraction && a.config.GarbageCollectionThreshold > 0 }

// collectGarbage gives back whole cached segments that were not used for long, until what is held is under the threshold
// (garbage_collect_cached_blocks).
func (a *Allocator) collectGarbage() {
	threshold := int64(a.config.GarbageCollectionThreshold * float64(a.allowed))
	if a.total <= threshold {
		return
	}
	target := a.total - threshold
	age := func(i int32) float64 { return float64(uint64(int32(a.gcCalls[1] - a.blocks[i].gcBase))) }

	var sum float64
	left := a.scratch[:0]
	for _, s := range a.inOrder {
		for _, e := range a.pools[s+1].free.entries {
			if !a.blocks[e.block].isSplit() {
				sum += age(e.block)
				left = append(left, e.block)
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

// releaseAvailable gives back one cached oversize block that is large enough, or as many as are together, the largest
// first; only with max_split_size (release_available_cached_blocks).
func (a *Allocator) releaseAvailable(p int32, size int64) (bool, error) {
	if a.limits.maxSplit == unlimited {
		return false, nil
	}
	size = max(size, a.limits.maxSplit)
	free := &a.pools[p].free
	at := free.ceil(size)
	if at < free.len() && a.blocks[free.entries[at].block].segment == 0 {
		return true, a.releaseOversize(free.entries[at].block)
	}
	var released int64
	for at--; at >= 0 && released < size && free.entries[at].size >= a.limits.maxSplit; at-- {
		e := free.entries[at]
		if a.blocks[e.block].segment != 0 {
			continue
		}
		if err := a.releaseOversize(e.block); err != nil {
			return false, err
		}
		released += e.size
	}
	return released >= size, nil
}

// releaseOversize is releaseBlock for a block that may be a part of a segment: one that was split before max_split_size
// was set. PyTorch frees its address all the same; the driver refuses it, or frees what others still use.
func (a *Allocator) releaseOversize(i int32) error {
	if a.blocks[i].isSplit() {
		return &DriverError{"cudaFree", "invalid argument: a part of a segment, split before max_split_size_mb was set"}
	}
	a.releaseBlock(i)
	return nil
}

// EmptyCache gives back all cached memory that is not part of a segment in use: torch.cuda.empty_cache.
func (a *Allocator) EmptyCache() { a.releaseCached() }

// releaseCached waits for all streams and gives back all free segments and, of expandable ones, all free pages
// (release_cached_blocks).
func (a *Allocator) releaseCached() {
	a.synchronizeEvents()
	a.releaseClass(1)
	a.releaseClass(0)
}

// releaseClass does so for the large (1) or the small (0) pools of all streams (release_blocks).
func (a *Allocator) releaseClass(class int32) {
	// The list is made before: releasing changes the cache.
	list := a.scratch[:0]
	for _, s := range a.inOrder {
		for _, e := range a.pools[s+class].free.entries {
			if b := &a.blocks[e.block]; b.segment != 0 || !b.isSplit() {
				list = append(list, e.block)
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
