package snapshot

import "github.com/tidwall/btree"

// A demand is a kind of request for memory. Only free memory of its size class and stream can serve
// it, and none of private pools. A request may itself be of a private pool while a CUDA graph is
// captured. That is rare, and an event does not show it.
type demand struct {
	small  bool
	stream uint64
}

func demandOf(e Event) demand { return demand{small: e.Size <= smallSize, stream: e.Stream} }

// gaps holds the free parts of segments, by the demands that they can serve. They are kept from
// event to event. Otherwise each failed allocation would search all blocks for the largest gap.
type gaps map[demand]*gapSizes

// gapSizes are the sizes of the gaps that can serve one demand.
type gapSizes struct {
	count btree.Map[int64, int] // gaps by their size, in bytes
	sum   int64                 // bytes
}

// add adds the gap between two addresses, and remove removes it. Equal addresses are no gap.
func (g gaps) add(s *span, from, until uint64)    { g.change(s, from, until, 1) }
func (g gaps) remove(s *span, from, until uint64) { g.change(s, from, until, -1) }

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

// watchGaps begins to keep the gaps that can serve the failed requests.
func (m *memory) watchGaps(events []Event) {
	m.gaps = gaps{}
	for _, e := range events {
		if e.Action == OOM && m.gaps[demandOf(e)] == nil {
			m.gaps[demandOf(e)] = &gapSizes{}
		}
	}
	for s := range m.inOrder() {
		at := s.address
		for h := range m.heldBy(s) {
			m.gaps.add(s, at, h.address)
			at = h.end()
		}
		m.gaps.add(s, at, s.end())
	}
}

// free returns the memory that is reserved and not in use, the sum of the part that can serve a
// demand, and its largest block.
func (m *memory) free(d demand) (all, usable, largest int64) {
	sizes := m.gaps[d]
	largest, _, _ = sizes.count.Max()
	return m.reserved - m.active, sizes.sum, largest
}
