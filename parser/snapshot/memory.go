package snapshot

import (
	"cmp"
	"math/bits"
	"slices"

	"vramsoak/parser"
)

// A memory is what an allocator holds at one moment of a trace. It is found from the end: the file has the segments and
// blocks as they are when the trace ends; undoing all events gives those at its beginning, and doing them again those at
// any moment between.
type memory struct {
	spans                                  []*span // by address
	reserved, allocated, active, requested int64   // bytes
	// unexplained counts the events that do not fit: a block that is freed in no segment, handed out twice.
	unexplained int
	divisions   [16]int64 // see Settings
	// pools are the private pools of the segments that events allocated, by the event. Only the segments in the file tell.
	pools map[int][2]int64
}

// A span is a segment.
type span struct {
	address           uint64
	size              int64
	small, expandable bool
	stream            uint64
	pool              [2]int64 // see Segment
	held              []*held  // by address
}

func (s *span) end() uint64 { return s.address + uint64(s.size) }

// A held is a block that is handed out, or given back and still in use by another stream.
type held struct {
	address         uint64
	size, requested int64
	pending         bool
	stack           *Stack
	// event is the one that handed it out, -1 where that was before the trace.
	event int
}

const (
	blockGrain = 512     // kMinBlockSize of CUDACachingAllocator.cpp: sizes are multiples of it
	smallSize  = 1 << 20 // kSmallSize: larger requests are served from the large pool
	smallPages = 2 << 20 // kSmallBuffer: the size of the small pool's segments
)

// last is the memory when the trace ends.
func (d *Device) last() *memory {
	m := &memory{pools: map[int][2]int64{}}
	if d.Settings != nil {
		m.divisions = d.Settings.RoundupPower2Divisions
	}
	for _, seg := range d.Segments {
		s := &span{address: seg.Address, size: seg.Size, small: seg.Small, expandable: seg.Expandable, stream: seg.Stream, pool: seg.Pool}
		m.reserved += seg.Size
		for _, b := range seg.Blocks {
			if b.State != parser.BlockFree {
				m.add(s, len(s.held), &held{
					address: b.Address, size: b.Size, requested: b.Requested, pending: b.State == parser.BlockPending, stack: b.Stack, event: -1,
				})
			}
		}
		m.spans = append(m.spans, s)
	}
	return m
}

// first is the memory when the trace begins.
func (d *Device) first() *memory {
	m := d.last()
	for i, e := range slices.Backward(d.Events) {
		switch e.Action {
		case Alloc:
			m.remove(e.Address)
		case FreeRequested:
			m.wait(e.Address, false)
		case FreeCompleted: // who had allocated it is not told
			m.insert(e, nil, -1)
			m.wait(e.Address, true)
		case SegmentAlloc, SegmentMap:
			if n := m.at(e.Address); n < len(m.spans) && m.spans[n].pool != [2]int64{} {
				m.pools[i] = m.spans[n].pool
			}
			m.unmap(e)
		case SegmentFree, SegmentUnmap:
			m.reserve(e, i)
		}
	}
	m.unexplained = 0 // what does not fit is counted when the events are done
	m.close()
	return m
}

// close gives what is not more than 1 MiB between two blocks of the large pool to the first of them, whose it must be, see
// [memory.blockSize]. When its free was undone the second was not there yet.
func (m *memory) close() {
	for _, s := range m.spans {
		if s.small || s.expandable {
			continue
		}
		for i, h := range s.held {
			until := s.end()
			if i+1 < len(s.held) {
				until = s.held[i+1].address
			}
			if rest := int64(until-h.address) - h.size; rest <= smallSize {
				h.size, m.active = h.size+rest, m.active+rest
				if !h.pending {
					m.allocated += rest
				}
			}
		}
	}
}

// do changes the memory as an event did.
func (m *memory) do(e Event, index int) {
	switch e.Action {
	case Alloc:
		m.insert(e, e.Stack, index)
	case FreeRequested:
		m.wait(e.Address, true)
	case FreeCompleted:
		m.wait(e.Address, true)
		m.remove(e.Address)
	case SegmentAlloc, SegmentMap:
		m.reserve(e, index)
	case SegmentFree, SegmentUnmap:
		m.unmap(e)
	}
}

// at is the index of the first span that ends after an address.
func (m *memory) at(address uint64) int {
	i, _ := slices.BinarySearchFunc(m.spans, address, func(s *span, a uint64) int {
		if s.end() <= a {
			return -1
		}
		return 1
	})
	return i
}

// find is the block at an address: its span, and where it is or would be among what the span holds.
func (m *memory) find(address uint64) (s *span, i int, there bool) {
	n := m.at(address)
	if n == len(m.spans) || m.spans[n].address > address {
		return nil, 0, false
	}
	s = m.spans[n]
	i, there = slices.BinarySearchFunc(s.held, address, func(h *held, a uint64) int { return cmp.Compare(h.address, a) })
	return s, i, there
}

func (m *memory) insert(e Event, stack *Stack, index int) {
	s, i, there := m.find(e.Address)
	if s == nil || there {
		m.unexplained++
		return
	}
	room := int64(s.end() - e.Address)
	if i < len(s.held) {
		room = int64(s.held[i].address - e.Address)
	}
	size := m.blockSize(s, e.Size, room)
	if size > room || i > 0 && s.held[i-1].address+uint64(s.held[i-1].size) > e.Address {
		m.unexplained++
		return
	}
	m.add(s, i, &held{address: e.Address, size: size, requested: min(e.Size, size), stack: stack, event: index})
}

// blockSize is the size of the block that a request was given, where there is so much room until the next block or the
// segment's end. The large pool leaves what is not more than 1 MiB with the block (should_split of
// CUDACachingAllocator.cpp): as no block there is smaller, it cannot be anybody else's.
func (m *memory) blockSize(s *span, requested, room int64) int64 {
	size := m.round(requested)
	if !s.small && !s.expandable && room > size && room-size <= smallSize {
		return room
	}
	return size
}

// round is a request's size as the allocator rounds it (round_size and roundup_power2_next_division of
// CUDACachingAllocator.cpp): to 512 bytes, or to a part of the power of two below it.
func (m *memory) round(size int64) int64 {
	size = max(size, blockGrain)
	power := bits.Len64(uint64(size)) - 1
	divisions := m.divisions[max(0, min(power-20, len(m.divisions)-1))]
	grain := int64(blockGrain)
	if divisions > 1 && (size-1)/blockGrain >= divisions { // more than 512 bytes a division
		grain = max(1, int64(1)<<power/divisions)
	}
	return (size + grain - 1) / grain * grain
}

func (m *memory) add(s *span, i int, h *held) {
	s.held = slices.Insert(s.held, i, h)
	m.active, m.requested = m.active+h.size, m.requested+h.requested
	if !h.pending {
		m.allocated += h.size
	}
}

func (m *memory) remove(address uint64) {
	s, i, there := m.find(address)
	if !there {
		m.unexplained++
		return
	}
	h := s.held[i]
	s.held = slices.Delete(s.held, i, i+1)
	m.active, m.requested = m.active-h.size, m.requested-h.requested
	if !h.pending {
		m.allocated -= h.size
	}
}

// wait says whether a block is given back and waits for other streams.
func (m *memory) wait(address uint64, pending bool) {
	s, i, there := m.find(address)
	if !there {
		m.unexplained++
		return
	}
	h := s.held[i]
	switch {
	case pending && !h.pending:
		m.allocated -= h.size
	case !pending && h.pending:
		m.allocated += h.size
	}
	h.pending = pending
}

// reserve adds a segment, or a part to an expandable one.
func (m *memory) reserve(e Event, index int) {
	i := m.at(e.Address)
	if e.Size == 0 || i < len(m.spans) && m.spans[i].address < e.Address+uint64(e.Size) {
		m.unexplained++
		return
	}
	expandable := e.Action == SegmentMap || e.Action == SegmentUnmap
	s := &span{
		address: e.Address, size: e.Size, stream: e.Stream, expandable: expandable, small: e.Size == smallPages, pool: m.pools[index],
	}
	m.reserved += e.Size
	if !expandable {
		m.spans = slices.Insert(m.spans, i, s)
		return
	}
	if i < len(m.spans) && m.spans[i].expandable && m.spans[i].address == s.end() {
		next := m.spans[i]
		s.size, s.held, s.small, s.pool = s.size+next.size, next.held, next.small, next.pool
		m.spans = slices.Delete(m.spans, i, i+1)
	}
	if i > 0 && m.spans[i-1].expandable && m.spans[i-1].end() == s.address {
		before := m.spans[i-1]
		before.size, before.held = before.size+s.size, append(before.held, s.held...)
		return
	}
	m.spans = slices.Insert(m.spans, i, s)
}

// unmap takes a segment away, or a part of an expandable one. What it held goes too, which no event that fits does.
func (m *memory) unmap(e Event) {
	i := m.at(e.Address)
	end := e.Address + uint64(e.Size)
	if i == len(m.spans) || m.spans[i].address > e.Address || m.spans[i].end() < end || e.Size == 0 ||
		!m.spans[i].expandable && (m.spans[i].address != e.Address || m.spans[i].end() != end) {
		m.unexplained++
		return
	}
	s := m.spans[i]
	from, _ := slices.BinarySearchFunc(s.held, e.Address, func(h *held, a uint64) int { return cmp.Compare(h.address, a) })
	to, _ := slices.BinarySearchFunc(s.held, end, func(h *held, a uint64) int { return cmp.Compare(h.address, a) })
	for to > from {
		m.unexplained++
		m.remove(s.held[from].address)
		to--
	}
	m.reserved -= e.Size
	head, tail := *s, *s
	head.size, head.held = int64(e.Address-s.address), slices.Clone(s.held[:from])
	tail.address, tail.size, tail.held = end, int64(s.end()-end), slices.Clone(s.held[from:])
	var rest []*span
	for _, part := range []*span{&head, &tail} {
		if part.size > 0 {
			rest = append(rest, part)
		}
	}
	m.spans = slices.Replace(m.spans, i, i+1, rest...)
}

// A demand is a request that free memory is to serve: only blocks of its size and stream can, and none of private pools. An event
// does not tell whether the request was one of a private pool itself, as seldom ones are, while a CUDA graph is captured.
type demand struct {
	small  bool
	stream uint64
}

// free is the memory that nobody uses: all of it, and of what can serve a demand, the sum and the largest block.
func (m *memory) free(d demand) (all, usable, largest int64) {
	for _, s := range m.spans {
		at := s.address
		gap := func(until uint64) {
			n := int64(until - at)
			all += n
			if s.small == d.small && s.stream == d.stream && s.pool == ([2]int64{}) {
				usable, largest = usable+n, max(largest, n)
			}
		}
		for _, h := range s.held {
			gap(h.address)
			at = h.address + uint64(h.size)
		}
		gap(s.end())
	}
	return all, usable, largest
}
