package allocator

import "slices"

// RecordStream says that a live block is used on another stream too, so that Free must wait for
// that stream: torch.Tensor.record_stream (DeviceCachingAllocator::recordStream).
func (a *Allocator) RecordStream(h Block, s Stream) {
	if !a.live(h) {
		return
	}
	b := &a.blocks[h]
	if a.pools[b.pool].stream == s {
		return // the stream that it was allocated on needs no waiting
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

// insertEvents records an event on each stream that uses a block, which is cached when all are done
// (insert_events).
func (a *Allocator) insertEvents(i int32) {
	b := &a.blocks[i]
	streams := a.uses[b.uses]
	if len(streams) > 1 { // in the order of the set that PyTorch keeps them in
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

// processEvents caches the blocks whose events are done. Each stream's are looked at in turn, the
// oldest first (process_events).
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
			a.pending.erase(k) // what comes next may be here now
		}
	}
}

// synchronizeEvents waits for all events and caches their blocks (synchronize_and_free_events).
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
