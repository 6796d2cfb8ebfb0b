package table

import (
	"bytes"

	"vramsoak/parser/lex"
)

// A machine matches a pattern on a line of ASCII with the same result as package regexp: it finds
// the leftmost match, and prefers the first alternative.
//
// A machine is a graph of nodes, one for each part of the pattern. A walk follows the graph along
// the text. At a choice between two parts, the next bytes of the text mostly allow only one. If
// they allow both, the walk tries the first, and comes back to the second if the first does not
// lead to a match. The graph has no cycles: only sets of bytes may be repeated without a limit, as
// in \d+, and such a run is one node.
type machine struct {
	nodes    []*node
	start    *node
	anchored bool   // each match begins where the line begins
	prefix   []byte // each match begins with this text
	body     *node  // where a match goes on behind the prefix
	// run is the node at which some patterns can begin, such as \w+ before a colon: it always ends
	// where the bytes of its set end. If no match begins at the first byte of such a run in the text,
	// none begins at its other bytes. run is nil for other patterns. others are the bytes with which a
	// match can begin without run.
	run    *node
	others *lookahead
}

type node struct {
	id       int // its place in nodes
	op       op
	lazy     bool // of a run: it takes as few bytes as possible
	sure     bool // of a run: the next node cannot begin inside the run, so the run has only one end
	atEnd    bool // a match may go on with this node at the end of the text
	next     *node
	alt      *node      // of a choice
	ahead    *lookahead // the bytes with which a match may go on at this node
	set      *byteSet   // of a run; nil for any bytes
	min, max int        // of a run; max < 0 is no bound
	text     []byte     // of opText; of a run, the text that follows it
	slot     int        // of opSlot; of a run, the slot of the group that consists of the run, or 0
}

type op uint8

const (
	opMatch op = iota
	opText
	opRun // of bytes of a set
	opChoice
	opSlot // a group begins or ends
	opBegin
	opEnd
	opWord
	opNoWord
)

// A walk is a search for a match of a machine in a text. left is how many more steps it may take.
type walk struct {
	*machine
	text  []byte
	left  int
	slots []int  // two for each group: where it begins and ends in the match, or -1 if it is not in it
	turns []turn // the points to return to, beginning with the last
}

// A turn is a point to which a walk returns if the way that it took has no match. There it goes the
// other way of a choice, ends a run at another offset, or restores the value of a slot.
type turn struct {
	node  int // its id, since a pointer would cost the garbage collector time; or the slot
	at    int // the offset, the next end of the run to try, or the value of the slot
	bound int // the last end of the run to try; or toNode or toSlot
}

const (
	toNode = -1 - iota
	toSlot
)

// noSlots holds the slots of a walk that has not entered any group: -1 for each. It is never
// written to.
var noSlots = func() (slots [2 * groupsMax]int) {
	for i := range slots {
		slots[i] = -1
	}
	return slots
}()

// find sets w.slots to the leftmost match that begins at or after an offset. found is false if
// there is none. done is false if the walk took too many steps; the result is then unknown.
func (w *walk) find(from int) (found, done bool) {
	for at := w.begin(from, from); at >= 0; at = w.begin(at+1, from) {
		copy(w.slots, noSlots[:])
		if end := w.match(w.body, at+len(w.prefix)); end >= 0 {
			w.slots[0], w.slots[1] = at, end
			return true, true
		}
		if w.left < 0 {
			return false, false
		}
	}
	return false, true
}

// begin returns the first offset at or after `at` where a match may begin, or -1. The offsets from
// `from` up to at-1 were tried already.
func (w *walk) begin(at, from int) int {
	switch {
	case at > len(w.text) || w.anchored && at > 0:
		return -1
	case w.anchored:
		return at
	case w.prefix != nil:
		i := bytes.Index(w.text[at:], w.prefix)
		if i < 0 {
			return -1
		}
		return at + i
	}
	if w.run != nil {
		return w.beginRun(at, from)
	}
	for ; at < len(w.text); at++ {
		if w.start.ahead.allows(w.text, at) {
			return at
		}
	}
	if w.start.atEnd {
		return at
	}
	return -1
}

// beginRun is begin for a pattern that can begin with machine.run.
func (w *walk) beginRun(at, from int) int {
	run, others, text := w.run.set, w.others, w.text
	within := at > from && run[text[at-1]] // the run was tried
	for ; at < len(text); at++ {
		c := text[at]
		if others.allows(text, at) {
			return at
		}
		if run[c] && !within {
			end := at + 1
			for end < len(text) && run[text[end]] {
				end++
			}
			if w.allows(w.run.next, end) {
				return at
			}
		}
		within = run[c]
	}
	if w.start.atEnd {
		return len(text)
	}
	return -1
}

// match continues a match from the node n at the offset `at`. It returns the offset where the match
// ends, or -1 if there is none.
func (w *walk) match(n *node, at int) (end int) {
	w.turns = w.turns[:0]
	for n != nil {
		fits := true
		switch n.op {
		case opMatch:
			return at
		case opText:
			end = at + len(n.text)
			fits = end <= len(w.text) && string(w.text[at:end]) == string(n.text)
			at = end
		case opSlot:
			w.set(n.slot, at)
		case opChoice:
			other := w.allows(n.alt, at)
			if !w.allows(n.next, at) {
				if n, fits = n.alt, other; fits {
					continue
				}
			} else if other {
				w.turns = append(w.turns, turn{n.alt.id, at, toNode})
			}
		case opRun:
			begin := at
			if n.sure {
				at, fits = w.sureRun(n, at)
			} else {
				at, fits = w.runFrom(n, at)
			}
			if n.slot > 0 && fits {
				w.set(n.slot, begin)
				w.set(n.slot+1, at)
			}
		case opBegin:
			fits = at == 0
		case opEnd:
			fits = at == len(w.text)
		case opWord, opNoWord:
			before := at > 0 && lex.IsWordByte(w.text[at-1])
			after := at < len(w.text) && lex.IsWordByte(w.text[at])
			fits = (before != after) == (n.op == opWord)
		}
		if n = n.next; !fits {
			n, at = w.turn()
		}
	}
	return -1
}

// set sets a slot. If the walk may still return to an earlier turn, set adds a turn that restores
// the old value.
func (w *walk) set(slot, at int) {
	if len(w.turns) > 0 {
		w.turns = append(w.turns, turn{slot, w.slots[slot], toSlot})
	}
	w.slots[slot] = at
}

// turn goes back to the last turn. It returns the node and the offset at which the walk continues,
// or a nil node if no turn or no step is left.
func (w *walk) turn() (n *node, at int) {
	for w.left--; w.left >= 0 && len(w.turns) > 0; {
		t := w.turns[len(w.turns)-1]
		w.turns = w.turns[:len(w.turns)-1]
		switch t.bound {
		case toSlot:
			w.slots[t.node] = t.at
			continue
		case toNode:
			return w.nodes[t.node], t.at
		}
		n := w.nodes[t.node]
		if end, ok := w.runTo(n, t.at, t.bound); ok {
			return n.next, end
		}
	}
	return nil, 0
}

// allows reports whether a match may continue with the node n at the offset `at`, as far as the
// next bytes show.
func (w *walk) allows(n *node, at int) bool {
	if at == len(w.text) {
		return n.atEnd
	}
	return n.ahead.allows(w.text, at)
}
