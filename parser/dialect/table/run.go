package table

import "bytes"

// sureRun returns the offset at which the run n ends, if it begins at the offset `at` and is sure. ok
// is false if the run has too few bytes.
func (w *walk) sureRun(n *node, at int) (end int, ok bool) {
	text := w.text
	if n.max >= 0 {
		text = text[:min(len(text), at+n.max)]
	}
	for end = at; end < len(text) && n.set[text[end]]; {
		end++
	}
	w.left -= (end - at) / stepBytes
	return end, end >= at+n.min
}

// runFrom returns the first offset at which to end the run n, if it begins at the offset `at`. ok
// is false if the run cannot begin there.
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

// runTo returns the first end of the run n at which the next node may match. It tries the ends from
// `from` up to bound if the run is lazy, else down to bound. All bytes of the run before `from`
// must be of its set. runTo adds a turn for the ends that are left. ok is false if no end fits.
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

// runUp returns the first of the offsets from end up to bound at which the node behind the run n
// may match. It returns -1 if there is none, or if a byte before it is not of the run's set.
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

// runDown returns the last of the offsets from bound up to end at which the node behind the run n
// may match, or -1 if there is none.
func (w *walk) runDown(n *node, end, bound int) int {
	for ; end >= bound; end-- {
		if w.allows(n.next, end) {
			return end
		}
	}
	return -1
}
