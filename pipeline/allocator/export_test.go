package allocator

import (
	"fmt"
	"slices"
)

// Config returns the settings in force.
func (a *Allocator) Config() Config { return a.config }

// Check recomputes the allocator's statistics, pools and free addresses from its blocks, and
// returns the first difference as an error. The allocator must be the device's only user.
func (a *Allocator) Check() error {
	c := checker{a: a, unusedBlocks: map[int32]bool{}, pendingOf: map[int32]int32{}}
	for i := a.unused; i != 0; i = a.blocks[i].next {
		if c.unusedBlocks[i] {
			return fmt.Errorf("the unused blocks go round at %d", i)
		}
		c.unusedBlocks[i] = true
	}
	for k, s := range a.pending.slots {
		if !a.pending.holds(k) {
			continue
		}
		if len(s.events) == 0 {
			return fmt.Errorf("stream %d has no events", s.stream)
		}
		for _, e := range s.events {
			c.pendingOf[e.block]++
		}
	}
	for i := int32(1); int(i) < len(a.blocks); i++ {
		if c.unusedBlocks[i] {
			continue
		}
		if err := c.block(i); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	for i := range a.pools {
		if err := c.pool(int32(i)); err != nil {
			return fmt.Errorf("pool %d: %w", i, err)
		}
	}
	return c.sums()
}

type checker struct {
	a            *Allocator
	unusedBlocks map[int32]bool
	pendingOf    map[int32]int32 // number of pending events by block

	want            Stats // the statistics that the blocks give, in Current
	free, unmapped  int   // blocks
	recorded        int   // blocks with other streams
	addresses, held uint64
}

// block checks block i against its neighbours and adds it to the sums in want.
func (c *checker) block(i int32) error {
	a, b := c.a, &c.a.blocks[i]
	switch {
	case b.size <= 0 || b.size%minBlockSize != 0:
		return fmt.Errorf("size %d", b.size)
	case b.prev != 0 && a.blocks[b.prev].next != i:
		return fmt.Errorf("its predecessor %d is followed by %d", b.prev, a.blocks[b.prev].next)
	case b.is(allocated) && (!b.is(mapped) || b.events > 0):
		return fmt.Errorf("allocated, but mapped is %v and %d events are pending",
			b.is(mapped), b.events)
	case b.events != c.pendingOf[i]:
		return fmt.Errorf("%d events, but %d are pending", b.events, c.pendingOf[i])
	case b.segment == 0 && !b.is(mapped):
		return fmt.Errorf("unmapped, but not in an expandable segment")
	}
	if b.next != 0 {
		n := &a.blocks[b.next]
		switch {
		case n.prev != i || b.addr+uint64(b.size) != n.addr || b.pool != n.pool ||
			b.segment != n.segment:
			return fmt.Errorf("is not adjacent to its successor %d", b.next)
		case b.idle() && n.idle() && b.is(mapped) == n.is(mapped):
			return fmt.Errorf("is not merged with its successor %d", b.next)
		}
	}
	s := &c.want
	if b.is(mapped) {
		s.Reserved.Current += b.size
	}
	if b.is(allocated) {
		s.Allocated.Current += b.size
	}
	if b.uses != 0 {
		c.recorded++
	}
	switch {
	case !b.is(mapped):
		c.unmapped++
	case b.idle():
		c.free++
		if b.isSplit() && b.segment == 0 {
			s.InactiveSplits.Current++
			s.InactiveSplit.Current += b.size
		}
	default:
		s.ActiveBlocks.Current++
		s.Active.Current += b.size
		s.Requested.Current += b.requested
	}
	if b.prev == 0 {
		return c.segment(i)
	}
	return nil
}

// segment checks that block i, the first one of its segment, and the blocks after it fill the whole
// segment.
func (c *checker) segment(i int32) error {
	a, head := c.a, &c.a.blocks[i]
	var size int64
	for ; i != 0; i = a.blocks[i].next {
		size += a.blocks[i].size
	}
	c.addresses += uint64(pages(size))
	if head.segment == 0 {
		c.want.Segments.Current++
		if size%grain != 0 {
			return fmt.Errorf("a segment of %d bytes", size)
		}
		return nil
	}
	if e := a.segments[head.segment]; e.addr != head.addr || e.size != size {
		return fmt.Errorf("blocks from %#x, %d bytes, of the segment %+v", head.addr, size, e)
	}
	return nil
}

// pool checks that a pool holds its free and its unmapped blocks in order, and no other blocks.
func (c *checker) pool(i int32) error {
	p := &c.a.pools[i]
	err := c.set(&p.free, func(b *block) (int64, bool) {
		c.free--
		return b.size, b.pool == i && b.idle() && b.is(mapped)
	})
	if err != nil {
		return err
	}
	return c.set(&p.unmapped, func(b *block) (int64, bool) {
		c.unmapped--
		return 0, b.pool == i && !b.is(mapped) && b.room >= c.room(b)
	})
}

// set checks the keys of a set. All its blocks must be blocks for which belongs returns true.
// belongs also returns the size that the key of a block must have.
func (c *checker) set(s *freeSet, belongs func(*block) (int64, bool)) error {
	var before key
	if len(s.last) != len(s.chunks) {
		return fmt.Errorf("%d chunks, %d last keys", len(s.chunks), len(s.last))
	}
	for n, chunk := range s.chunks {
		if chunk.n == 0 || chunk.n >= chunkSize || s.last[n] != chunk.keys[chunk.n-1] {
			return fmt.Errorf("chunk %d has %d keys, the last %v, expected %v", n, chunk.n,
				chunk.keys[chunk.n-1], s.last[n])
		}
		for _, k := range chunk.keys[:chunk.n] {
			b := &c.a.blocks[k.block()]
			if size, ok := belongs(b); !ok || k != newKey(size, b.addr, k.block()) ||
				before.less(k) == 0 {
				return fmt.Errorf("key %v after %v for the block %+v", k, before, *b)
			}
			before = k
		}
		for _, k := range chunk.keys[chunk.n:] {
			if k != highest {
				return fmt.Errorf("key %v is behind the last", k)
			}
		}
	}
	return nil
}

// room returns the bytes of an unmapped block together with the free block before it and all free
// and unmapped blocks after it.
func (c *checker) room(b *block) int64 {
	room := b.size
	if prev := &c.a.blocks[b.prev]; b.prev != 0 && prev.idle() {
		room += prev.size
	}
	for n := b.next; n != 0 && c.a.blocks[n].idle(); n = c.a.blocks[n].next {
		room += c.a.blocks[n].size
	}
	return room
}

// sums compares the allocator's statistics with the sums over its blocks.
func (c *checker) sums() error {
	a := c.a
	if c.free != 0 || c.unmapped != 0 {
		return fmt.Errorf("%d free and %d unmapped blocks are in no pool", c.free, c.unmapped)
	}
	if n := c.recorded + len(a.freeUses); n != len(a.uses)-1 {
		return fmt.Errorf("%d lists of streams are known, of %d", n, len(a.uses)-1)
	}
	for i, pair := range [][2]Stat{
		{a.stats.Allocated, c.want.Allocated},
		{a.stats.Reserved, c.want.Reserved},
		{a.stats.Active, c.want.Active},
		{a.stats.InactiveSplit, c.want.InactiveSplit},
		{a.stats.Requested, c.want.Requested},
		{a.stats.Segments, c.want.Segments},
		{a.stats.ActiveBlocks, c.want.ActiveBlocks},
		{a.stats.InactiveSplits, c.want.InactiveSplits},
	} {
		if pair[0].Current != pair[1].Current || pair[0].Peak < pair[0].Current {
			return fmt.Errorf("figure %d is %+v, the blocks have %d", i, pair[0], pair[1].Current)
		}
	}
	if a.total != c.want.Reserved.Current || a.device.used != a.total {
		return fmt.Errorf("%d bytes held, %d used on the device, %d reserved", a.total,
			a.device.used, c.want.Reserved.Current)
	}
	for i, h := range a.device.holes {
		c.held += h.size
		if h.size == 0 || i > 0 && a.device.holes[i-1].addr+a.device.holes[i-1].size >= h.addr {
			return fmt.Errorf("hole %d is %+v", i, h)
		}
	}
	if a.device.config.Placement != Up && c.held+c.addresses != highestVA-lowestVA {
		return fmt.Errorf("%d bytes of addresses in holes, %d in segments", c.held, c.addresses)
	}
	if !slices.IsSortedFunc(a.inOrder, func(i, j int32) int {
		return int(int64(a.pools[i].stream) - int64(a.pools[j].stream))
	}) {
		return fmt.Errorf("streams in the order %v", a.inOrder)
	}
	return nil
}

// Order gives tests access to a streamTable, which lists streams in the order of PyTorch's hash
// table.
type Order struct{ t streamTable }

// NewOrder returns an empty table.
func NewOrder() *Order {
	o := &Order{}
	o.t.reset()
	return o
}

// Insert adds a stream.
func (o *Order) Insert(s Stream) { o.t.emplace(s) }

// Clear removes all streams.
func (o *Order) Clear() { o.t.clear() }

// Erase removes a stream.
func (o *Order) Erase(s Stream) {
	for k := range o.t.slots {
		if o.t.holds(k) && o.t.slots[k].stream == s {
			o.t.erase(k)
			return
		}
	}
}

// Streams returns all streams in the order of the table.
func (o *Order) Streams() []Stream {
	var streams []Stream
	for k := range o.t.slots {
		if o.t.holds(k) {
			streams = append(streams, o.t.slots[k].stream)
		}
	}
	return streams
}
