package allocator

// collects reports whether garbage collection is on: it needs a threshold and a memory fraction.
func (a *Allocator) collects() bool { return a.fraction && a.config.GarbageCollectionThreshold > 0 }

// collectGarbage releases whole cached segments that were unused for a long time, until the
// reserved memory is below the threshold (PyTorch's garbage_collect_cached_blocks).
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
		// Release all segments of at least the average age at once, so that the next collection is not
		// needed soon.
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

// releaseAvailable releases cached oversize blocks (of max_split_size or more) from pool p: one
// block that is large enough for size bytes, or several blocks, the largest first, that are large
// enough together. It reports whether it released enough. Without max_split_size it does nothing
// (PyTorch's release_available_cached_blocks).
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
	// Make the list first: releasing changes the cache.
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

// releaseOversize releases the oversize block i to the driver. The block may be only a part of a
// segment, split off before max_split_size was set. PyTorch then calls cudaFree with the address of
// the part. The driver refuses this call or, for the first part, frees the whole segment. In both
// cases the model returns a [*DriverError].
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

// EmptyCache gives all cached memory back to the driver, except free parts of segments in use:
// torch.cuda.empty_cache.
func (a *Allocator) EmptyCache() { a.releaseCached() }

// releaseCached waits for all streams. Then it releases all free segments, and all free pages of
// expandable segments (PyTorch's release_cached_blocks).
func (a *Allocator) releaseCached() {
	a.synchronizeEvents()
	a.releaseClass(1)
	a.releaseClass(0)
}

// releaseClass releases the free memory in the large (1) or the small (0) pools of all streams
// (PyTorch's release_blocks).
func (a *Allocator) releaseClass(class int32) {
	// A smaller block cannot be released: it is only a part of a segment, or has no whole page of
	// an expandable segment.
	least := [2]int64{smallBuffer, minLargeAlloc}[class]
	// Make the list first: releasing changes the cache.
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

// releaseBlock returns the free block i, a whole segment, to the driver (PyTorch's release_block).
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
