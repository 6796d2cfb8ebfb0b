package snapshot

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/tidwall/btree"

	"vramsoak/parser/record"
)

// A memory is the state of an allocator at one moment of a trace. The file holds the segments and
// blocks at the end of the trace. Undoing all events gives the state at the beginning. Doing the
// events again gives the state at any later moment.
//
// A trace may have as many events as there are blocks. So the time for an event may grow only
// with the logarithm of the number of blocks. Therefore one tree holds the blocks of all
// segments. A segment can then grow and be cut without copying its blocks.
type memory struct {
	// spans do not overlap. Each block lies inside one span.
	spans                                  btree.Map[uint64, *span] // by their addresses
	blocks                                 btree.Map[uint64, *held] // by their addresses
	idle                                   int                      // spans that hold no block
	reserved, allocated, active, requested int64                    // bytes
	gaps                                   gaps
	// unexplained is the number of events that do not fit this memory, such as a free outside of
	// all segments.
	unexplained int
	divisions   [16]int64 // see Settings
	// pools[i] is the private pool of the segment that the event i allocated. It comes from the
	// segments in the file, for events that do not give their pool.
	pools map[int][2]int64
}

// A span is a segment, or a part of an expandable segment, in a memory.
type span struct {
	address           uint64
	size              int64
	small, expandable bool
	stream            uint64
	pool              [2]int64 // see Segment
}

func (s *span) end() uint64 { return s.address + uint64(s.size) }

// joins reports whether two adjacent spans are parts of one expandable segment.
func (s *span) joins(o *span) bool {
	return s.expandable && o.expandable && s.stream == o.stream && s.small == o.small &&
		s.pool == o.pool
}

// A held is a block in use. Either the program holds it, or the program freed it and another
// stream still uses it.
type held struct {
	address         uint64
	size, requested int64
	pending         bool
	stack           *Stack
	// event is the index of the event that allocated the block, or -1 if the block is older than the
	// trace.
	event int
}

func (h *held) end() uint64 { return h.address + uint64(h.size) }

const (
	blockGrain = 512 // kMinBlockSize of CUDACachingAllocator.cpp: all sizes are multiples of it
	smallSize  = record.SmallRequest
	smallPages = 2 << 20 // kSmallBuffer: the size of the small pool's segments
)

// last returns the memory at the end of the trace.
func (d *Device) last() *memory {
	m := &memory{pools: map[int][2]int64{}}
	if d.Settings != nil {
		m.divisions = d.Settings.RoundupPower2Divisions
	}
	for _, seg := range d.Segments {
		if seg.Size == 0 {
			continue
		}
		s := &span{
			address: seg.Address, size: seg.Size, small: seg.Small, expandable: seg.Expandable,
			stream: seg.Stream, pool: seg.Pool,
		}
		m.reserved += s.size
		m.idle++
		m.spans.Load(s.address, s)
		for _, b := range seg.Blocks {
			if b.State != record.BlockFree {
				m.add(s, &held{
					address: b.Address, size: b.Size, requested: b.Requested,
					pending: b.State == record.BlockPending, stack: b.Stack, event: -1,
				})
			}
		}
	}
	return m
}

// first returns the memory at the beginning of the trace.
func (d *Device) first() *memory {
	m := d.last()
	for i, e := range slices.Backward(d.Events) {
		switch e.Action {
		case Alloc:
			m.remove(e.Address)
		case FreeRequested:
			m.setPending(e.Address, false)
		case FreeCompleted: // who allocated the block is unknown
			m.insert(e, nil, -1)
			m.setPending(e.Address, true)
		case SegmentAlloc, SegmentMap:
			if s := m.at(e.Address); s != nil && s.pool != [2]int64{} {
				m.pools[i] = s.pool
			}
			m.unmap(e)
		case SegmentFree, SegmentUnmap:
			m.reserve(e, i)
		}
	}
	m.unexplained = 0 // undoing counted events that do not fit; doing them counts them again
	m.close()
	return m
}

// close extends blocks of the large pool over gaps of at most 1 MiB behind them, because the
// allocator never splits off such a gap, see [memory.blockSize]. When first undid the free of such
// a block, it could not extend the block yet, because it did not know the next block.
func (m *memory) close() {
	for s := range m.inOrder() {
		if s.small || s.expandable {
			continue
		}
		for h := range m.heldBy(s) {
			if rest := int64(m.nextBlock(s, h.end()) - h.end()); rest <= smallSize {
				h.size, m.active = h.size+rest, m.active+rest
				if !h.pending {
					m.allocated += rest
				}
			}
		}
	}
}

// do changes the memory as an event of the trace did. The parameter index is the event's index.
func (m *memory) do(e Event, index int) {
	switch e.Action {
	case Alloc:
		m.insert(e, e.Stack, index)
	case FreeRequested:
		m.setPending(e.Address, true)
	case FreeCompleted:
		m.setPending(e.Address, true)
		m.remove(e.Address)
	case SegmentAlloc, SegmentMap:
		m.reserve(e, index)
	case SegmentFree, SegmentUnmap:
		m.unmap(e)
	}
}

// inOrder ranges over the spans in the order of their addresses.
func (m *memory) inOrder() iter.Seq[*span] {
	return func(yield func(*span) bool) {
		m.spans.Scan(func(_ uint64, s *span) bool { return yield(s) })
	}
}

// heldBy ranges over the blocks in a span in the order of their addresses.
func (m *memory) heldBy(s *span) iter.Seq[*held] {
	return func(yield func(*held) bool) {
		m.blocks.Ascend(s.address, func(at uint64, h *held) bool { return at < s.end() && yield(h) })
	}
}

// at returns the span that contains an address, or nil.
func (m *memory) at(address uint64) (in *span) {
	m.spans.Descend(address, func(_ uint64, s *span) bool {
		if address < s.end() {
			in = s
		}
		return false
	})
	return in
}

// after returns the first span that begins at or after an address, or nil.
func (m *memory) after(address uint64) (next *span) {
	m.spans.Ascend(address, func(_ uint64, s *span) bool {
		next = s
		return false
	})
	return next
}

// lastEnd returns the end of the last block in the span s that begins before an address. If s has
// no such block, lastEnd returns the beginning of s.
func (m *memory) lastEnd(s *span, address uint64) uint64 {
	end := s.address
	m.blocks.Descend(address, func(at uint64, h *held) bool {
		if at == address {
			return true
		}
		if at >= s.address {
			end = h.end()
		}
		return false
	})
	return end
}

// nextBlock returns the beginning of the first block in the span s at or after an address. If s
// has no such block, nextBlock returns the end of s.
func (m *memory) nextBlock(s *span, address uint64) uint64 {
	next := s.end()
	m.blocks.Ascend(address, func(at uint64, _ *held) bool {
		next = min(next, at)
		return false
	})
	return next
}

// insert adds the block of an event: the event allocated the block, or freed it and is now undone.
// If there is no room for the block, insert counts the event as unexplained.
func (m *memory) insert(e Event, stack *Stack, index int) {
	s := m.at(e.Address)
	if s == nil {
		m.unexplained++
		return
	}
	room := int64(m.nextBlock(s, e.Address) - e.Address)
	size := m.blockSize(s, e.Size, room)
	if size > room || m.lastEnd(s, e.Address) > e.Address {
		m.unexplained++
		return
	}
	m.add(s, &held{
		address: e.Address, size: size, requested: min(e.Size, size), stack: stack,
		event: index,
	})
}

// blockSize returns the size of the block that serves a request of `requested` bytes. The
// parameter room is the number of bytes up to the next block or the end of the segment. The large
// pool never splits off a rest of 1 MiB or less (should_split of CUDACachingAllocator.cpp), so
// this rest becomes part of the block.
func (m *memory) blockSize(s *span, requested, room int64) int64 {
	size := m.round(requested)
	if !s.small && !s.expandable && room > size && room-size <= smallSize {
		return room
	}
	return size
}

// round returns the size to which the allocator rounds up a request: a multiple of 512 bytes, or of
// a fraction of the power of two below the request (round_size and roundup_power2_next_division of
// CUDACachingAllocator.cpp).
func (m *memory) round(size int64) int64 {
	size = max(size, blockGrain)
	power := bits.Len64(uint64(size)) - 1
	divisions := m.divisions[max(0, min(power-20, len(m.divisions)-1))]
	grain := int64(blockGrain)
	if divisions > 1 && (size-1)/blockGrain >= divisions { // a division is larger than 512 bytes
		grain = max(1, int64(1)<<power/divisions)
	}
	return (size + grain - 1) / grain * grain
}

// add adds the block h to the span s, which must have room for h.
func (m *memory) add(s *span, h *held) {
	from, until := m.lastEnd(s, h.address), m.nextBlock(s, h.address)
	m.gaps.remove(s, from, until)
	m.gaps.add(s, from, h.address)
	m.gaps.add(s, h.end(), until)
	if from == s.address && until == s.end() {
		m.idle--
	}
	m.blocks.Set(h.address, h)
	m.active, m.requested = m.active+h.size, m.requested+h.requested
	if !h.pending {
		m.allocated += h.size
	}
}

// remove removes the block at an address. If there is no block, it counts an unexplained event.
func (m *memory) remove(address uint64) {
	h, there := m.blocks.Delete(address)
	if !there {
		m.unexplained++
		return
	}
	s := m.at(address)
	from, until := m.lastEnd(s, address), m.nextBlock(s, address)
	m.gaps.remove(s, from, address)
	m.gaps.remove(s, h.end(), until)
	m.gaps.add(s, from, until)
	if from == s.address && until == s.end() {
		m.idle++
	}
	m.active, m.requested = m.active-h.size, m.requested-h.requested
	if !h.pending {
		m.allocated -= h.size
	}
}

// setPending sets whether the block at an address was freed while other streams still use it.
func (m *memory) setPending(address uint64, pending bool) {
	h, there := m.blocks.Get(address)
	if !there {
		m.unexplained++
		return
	}
	switch {
	case pending && !h.pending:
		m.allocated -= h.size
	case !pending && h.pending:
		m.allocated += h.size
	}
	h.pending = pending
}

// include adds a span, and exclude removes a span. They do not change the blocks and gaps in the
// span.
func (m *memory) include(s *span) {
	m.spans.Set(s.address, s)
	if m.empty(s) {
		m.idle++
	}
}

func (m *memory) exclude(s *span) {
	m.spans.Delete(s.address)
	if m.empty(s) {
		m.idle--
	}
}

func (m *memory) empty(s *span) bool { return m.nextBlock(s, s.address) == s.end() }

// reserve adds the segment of an event, or the part of an expandable segment. The event got this
// memory from the driver, or returned it and is now undone.
func (m *memory) reserve(e Event, index int) {
	s := &span{
		address: e.Address, size: e.Size, stream: e.Stream, expandable: e.Action == SegmentMap ||
			e.Action == SegmentUnmap,
		small: e.Size == smallPages, pool: m.pools[index],
	}
	if e.Pool != nil {
		s.pool = *e.Pool
	}
	next := m.after(s.address)
	if e.Size == 0 || m.at(s.address) != nil || next != nil && next.address < s.end() {
		m.unexplained++
		return
	}
	m.reserved += s.size
	if s.expandable {
		m.join(s, next, e.Pool != nil)
		return
	}
	m.gaps.add(s, s.address, s.end())
	m.include(s)
}

// join adds the part s of an expandable segment. It merges s with the parts that are mapped
// directly before and behind s. The parameter pooled is set if the pool of s is known. Otherwise s
// gets the pool of these parts.
func (m *memory) join(s, next *span, pooled bool) {
	var before *span
	if s.address > 0 {
		before = m.at(s.address - 1)
	}
	if next != nil && next.address != s.end() {
		next = nil
	}
	for _, neighbour := range []*span{next, before} {
		if neighbour != nil && neighbour.expandable && neighbour.stream == s.stream &&
			(!pooled || neighbour.pool == s.pool) {
			s.small, s.pool = neighbour.small, neighbour.pool
		}
	}
	from, until := s.address, s.end() // the free gap around the part s
	if next != nil && next.joins(s) {
		until = m.nextBlock(next, next.address)
		m.gaps.remove(next, next.address, until)
		m.exclude(next)
		s.size += next.size
	}
	if before != nil && before.joins(s) {
		from = m.lastEnd(before, before.end())
		m.gaps.remove(before, from, before.end())
		m.exclude(before)
		s.address, s.size = before.address, before.size+s.size
	}
	m.gaps.add(s, from, until)
	m.include(s)
}

// unmap removes a segment or a part of an expandable segment, and all blocks in it. Each block
// that is removed in this way counts as one unexplained event.
func (m *memory) unmap(e Event) {
	s := m.at(e.Address)
	end := e.Address + uint64(e.Size)
	if s == nil || s.end() < end || e.Size == 0 ||
		!s.expandable && (s.address != e.Address || s.end() != end) {
		m.unexplained++
		return
	}
	for at, ok := m.within(s, e.Address, end); ok; at, ok = m.within(s, e.Address, end) {
		m.unexplained++
		m.remove(at)
	}
	from, until := m.lastEnd(s, e.Address), m.nextBlock(s, end)
	m.gaps.remove(s, from, until)
	m.gaps.add(s, from, e.Address)
	m.gaps.add(s, end, until)
	m.exclude(s)
	m.reserved -= e.Size
	head, tail := *s, *s
	head.size = int64(e.Address - s.address)
	tail.address, tail.size = end, int64(s.end()-end)
	for _, part := range []*span{&head, &tail} {
		if part.size > 0 {
			m.include(part)
		}
	}
}

// within returns the address of a block in the span s that overlaps the addresses [from, until).
func (m *memory) within(s *span, from, until uint64) (address uint64, ok bool) {
	m.blocks.Descend(until-1, func(at uint64, h *held) bool {
		address, ok = at, at >= s.address && h.end() > from
		return false
	})
	return address, ok
}
