package table

import "bytes"

// runFrom returns the first end to try of a run that begins at an offset.
func (w *walk) runFrom(n *node, at int) (end int, ok bool) {
	least, most := at+n.min, len(w.text)
	if n.max >= 0 {
		most = min(most, at+n.max)
	}
	if least > most {
		return 0, false
	}
	end = most
	if n.lazy {
		end = least
	}
	if set := n.set; set != nil {
		most := end
		for end = at; end < most && set[w.text[end]]; {
			end++
		}
		w.left -= (end - at) / stepBytes
	}
	switch {
	case end < least:
		return 0, false
	case n.sure:
		return end, true
	case n.lazy:
		return w.runTo(n, end, most)
	}
	return w.runTo(n, end, least)
}

// runTo returns the next end of a run at which what follows may match: from an end on up to a bound
// if the run is lazy, down to it if not. The run is known to reach the first end. It notes the turn
// to the ends behind.
func (w *walk) runTo(n *node, from, bound int) (end int, ok bool) {
	if n.lazy {
		end = w.runUp(n, from, bound)
	} else {
		end = w.runDown(n, from, bound)
	}
	switch {
	case end < 0:
		w.left -= max(bound-from, from-bound) / stepBytes
		return 0, false
	case n.lazy && end < bound && (n.set == nil || n.set[w.text[end]]):
		w.turns = append(w.turns, turn{n.id, end + 1, bound})
	case !n.lazy && end > bound:
		w.turns = append(w.turns, turn{n.id, end - 1, bound})
	}
	w.left -= max(end-from, from-end) / stepBytes
	return end, true
}

// runUp returns the first end from an end on up to a bound at which what follows a run may match,
// or -1.
func (w *walk) runUp(n *node, end, bound int) int {
	if n.set == nil && n.text != nil {
		i := bytes.Index(w.text[end:min(len(w.text), bound+len(n.text))], n.text)
		if i < 0 {
			return -1
		}
		return end + i
	}
	for ahead, set := n.next.ahead, n.set; end < bound; end++ {
		if ahead.allows(w.text, end) {
			return end
		}
		if set != nil && !set[w.text[end]] {
			return -1
		}
	}
	if w.allows(n.next, bound) {
		return bound
	}
	return -1
}

// runDown returns the first end from an end on down to a bound at which what follows a run may
// match, or -1.
func (w *walk) runDown(n *node, end, bound int) int {
	for ; end >= bound; end-- {
		if w.allows(n.next, end) {
			return end
		}
	}
	return -1
}
