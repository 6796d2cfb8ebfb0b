package allocator

import "slices"

// RecordStream records that another stream also uses a live block, so that the freed block is
// reused only when that stream is done: torch.Tensor.record_stream (PyTorch's
// DeviceCachingAllocator::recordStream).
func (a *Allocator) RecordStream(h Block, s Stream) {
	if !a.live(h) {
		return
	}
	b := &a.blocks[h]
	if a.pools[b.pool].stream == s {
		return // no need to wait for the stream that allocated the block
	}
	if b.uses == 0 {
		if n := len(a.freeUses); n > 0 {
			b.uses, a.freeUses = a.freeUses[n-1], a.freeUses[:n-1]
		} else {
			b.uses = int32(len(a.uses))
			a.uses = append(a.uses, nil)
		}
	}
	if u := &a.uses[b.uses]; !slices.Contains(*u, s) {
		*u = append(*u, s)
	}
}

// insertEvents records an event on each stream that uses a freed block. When all these events are
// done, processEvents puts the block into the cache (PyTorch's insert_events).
func (a *Allocator) insertEvents(i int32) {
	b := &a.blocks[i]
	streams := a.uses[b.uses]
	if len(streams) > 1 { // in the order of PyTorch's hash set
		a.order.reset()
		for _, s := range streams {
			a.order.emplace(s)
		}
		streams = streams[:0]
		for k := range a.order.slots {
			if a.order.holds(k) {
				streams = append(streams, a.order.slots[k].stream)
			}
		}
	}
	for _, s := range streams {
		b.events++
		k := a.pending.emplace(s)
		a.pending.slots[k].events = append(a.pending.slots[k].events, event{a.device.record(), i})
	}
	a.uses[b.uses] = streams[:0]
	a.freeUses = append(a.freeUses, b.uses)
	b.uses = 0
}

// processEvents moves the blocks whose events are done into the cache. It checks each stream's
// events from the oldest on, up to the first that is not done (PyTorch's process_events).
func (a *Allocator) processEvents() {
	for k := 0; a.pending.count > 0 && k < len(a.pending.slots); {
		if !a.pending.holds(k) {
			k++
			continue
		}
		slot := &a.pending.slots[k]
		n := 0
		for n < len(slot.events) && a.device.done(slot.events[n].number) {
			a.eventDone(slot.events[n].block)
			n++
		}
		if slot.events = slices.Delete(slot.events, 0, n); len(slot.events) > 0 {
			k++
		} else {
			a.pending.erase(k) // the next stream may have moved to this slot
		}
	}
}

// synchronizeEvents waits for all events and moves their blocks into the cache (PyTorch's
// synchronize_and_free_events).
func (a *Allocator) synchronizeEvents() {
	if a.pending.count == 0 {
		return
	}
	for k := range a.pending.slots {
		if !a.pending.holds(k) {
			continue
		}
		for _, e := range a.pending.slots[k].events {
			a.device.synced = max(a.device.synced, e.number)
			a.eventDone(e.block)
		}
	}
	a.pending.clear()
}

func (a *Allocator) eventDone(i int32) {
	b := &a.blocks[i]
	if b.events--; b.events == 0 {
		a.cache(i)
	}
}
