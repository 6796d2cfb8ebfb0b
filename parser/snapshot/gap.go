package snapshot

import "github.com/tidwall/btree"

// A demand is a class of requests: small or large, for one stream, from one pool. Only free memory
// of the same class can serve a request of this class. During the capture of a CUDA graph, a
// request may be for a private pool. Files of older versions of PyTorch do not show this. It is
// rare, so their requests count as requests for the common pool.
type demand struct {
	small  bool
	stream uint64
	pool   [2]int64
}

func demandOf(e Event) demand {
	d := demand{small: e.Size <= smallSize, stream: e.Stream}
	if e.Pool != nil {
		d.pool = *e.Pool
	}
	return d
}

// gaps holds the sizes of the free parts of segments, for each demand that they can serve. Each
// event updates it. Without it, each failed allocation would need a search of all blocks for the
// largest free part.
type gaps map[demand]*gapSizes

// gapSizes are the sizes of the free parts that can serve one demand.
type gapSizes struct {
	count btree.Map[int64, int] // gaps by their size, in bytes
	sum   int64                 // bytes
}

// add adds the free part between two addresses of the span s, and remove removes it. If the two
// addresses are equal, they do nothing.
func (g gaps) add(s *span, from, until uint64)    { g.change(s, from, until, 1) }
func (g gaps) remove(s *span, from, until uint64) { g.change(s, from, until, -1) }

func (g gaps) change(s *span, from, until uint64, by int) {
	sizes, asked := g[demand{s.small, s.stream, s.pool}]
	if !asked || from == until {
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

// watchGaps makes m keep the sizes of its free parts from now on, for the demands of all requests
// that failed in the trace.
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

// free returns three numbers of bytes: all memory that is reserved and not in use, the part of
// this memory that can serve the demand, and the largest block in this part.
func (m *memory) free(d demand) (all, usable, largest int64) {
	sizes := m.gaps[d]
	largest, _, _ = sizes.count.Max()
	return m.reserved - m.active, sizes.sum, largest
}
