package snapshot

import "github.com/tidwall/btree"

// A demand is a request that free memory is to serve: only blocks of its size and stream can, and none of private pools. An event
// does not tell whether the request was one of a private pool itself, as seldom ones are, while a CUDA graph is captured.
type demand struct {
	small  bool
	stream uint64
}

func demandOf(e Event) demand { return demand{small: e.Size <= smallSize, stream: e.Stream} }

// gaps are the free parts of segments that can serve some demands. They are kept from event to event:
// to look for the largest in all that is held would take a failed allocation as long as it has blocks.
type gaps map[demand]*gapSizes

// gapSizes are the sizes of the gaps that can serve one demand.
type gapSizes struct {
	count btree.Map[int64, int] // gaps by their size, in bytes
	sum   int64                 // bytes
}

// give adds the gap from one address to another, take removes it. There is none where they are the same.
func (g gaps) give(s *span, from, until uint64) { g.change(s, from, until, 1) }
func (g gaps) take(s *span, from, until uint64) { g.change(s, from, until, -1) }

func (g gaps) change(s *span, from, until uint64, by int) {
	sizes, asked := g[demand{s.small, s.stream}]
	if !asked || from == until || s.pool != [2]int64{} {
		return
	}
	size := int64(until - from)
	sizes.sum += int64(by) * size
	n, _ := sizes.count.Get(size)
	if n += by; n == 0 {
		sizes.count.Delete(size)
	} else {
		sizes.count.Set(size, n)
	}
}

// watch begins to keep the gaps that can serve what the events asked for in vain.
func (m *memory) watch(events []Event) {
	m.gaps = gaps{}
	for _, e := range events {
		if e.Action == OOM && m.gaps[demandOf(e)] == nil {
			m.gaps[demandOf(e)] = &gapSizes{}
		}
	}
	for s := range m.inOrder() {
		at := s.address
		for h := range m.heldBy(s) {
			m.gaps.give(s, at, h.address)
			at = h.end()
		}
		m.gaps.give(s, at, s.end())
	}
}

// free is the memory that nobody uses: all of it, and of what can serve a demand, the sum and the largest block.
func (m *memory) free(d demand) (all, usable, largest int64) {
	sizes := m.gaps[d]
	largest, _, _ = sizes.count.Max()
	return m.reserved - m.active, sizes.sum, largest
}
