package table

import (
	"bytes"

	"vramsoak/parser/lex"
)

// A machine matches a pattern on a line of ASCII, as regexp does: leftmost, and by the first
// alternative that fits.
//
// It walks a graph of nodes, and goes back where a choice proved wrong. Most choices are none: the
// byte that stands there allows only one way on. The graph has no cycles: what a pattern repeats
// without bound is a run of bytes of a set, and a run is one node.
type machine struct {
	nodes    []*node
	start    *node
	anchored bool   // each match begins where the line begins
	prefix   []byte // each match begins with it
	body     *node  // where a match goes on behind the prefix
	// Some patterns can begin with a run that has only one end, such as \w+ before a colon. If such
	// a match fails at the run's first byte, it fails at its other bytes too. others are the bytes
	// with which a match may begin otherwise. run is nil if the pattern does not begin so.
	run    *node
	others *lookahead
}

type node struct {
	id       int // its place in nodes
	op       op
	lazy     bool // takes as little as it can
	sure     bool // of a run: what follows cannot begin within it, so it has only one end
	atEnd    bool // it may match where the text ends
	next     *node
	alt      *node      // of a choice
	ahead    *lookahead // the bytes with which a match may go on here
	set      *byteSet   // of a run; nil for any bytes
	min, max int        // of a run; max < 0 is no bound
	text     []byte     // of opText; of a run, the text that follows it
	slot     int        // of opSlot; of a run, that of the group which is the run, or 0
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

// A walk is a search for a match. left is how many steps it may take yet.
type walk struct {
	*machine
	text  []byte
	left  int
	slots []int  // where the groups of the match begin and end; -1 if they take no part
	turns []turn // where to go on if the walk comes to nothing
}

// A turn is what to do where a walk comes to nothing: to go another way of a choice, to end a run
// elsewhere, or to give a slot its value back.
type turn struct {
	node  int // its id, since a pointer would cost the garbage collector time; or the slot
	at    int // the offset, the next end of the run to try, or the value of the slot
	bound int // the last end of the run to try; or toNode or toSlot
}

const (
	toNode = -1 - iota
	toSlot
)

// noSlots are the slots before a match. It is never written to.
var noSlots = func() (slots [2 * groupsMax]int) {
	for i := range slots {
		slots[i] = -1
	}
	return slots
}()

// find finds the leftmost match at or after an offset. done is false if that took too long.
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

// begin returns the first offset at or after `at` where a match may begin, or -1. from is the first
// offset of all that were tried.
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

// beginRun is begin for a pattern that can begin with a run.
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

// match returns the end of the match that goes on with a node at an offset, or -1.
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
			if at, fits = w.runFrom(n, at); n.slot > 0 && fits {
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

// set sets a slot. Where a turn is left, it notes the value that the slot had.
func (w *walk) set(slot, at int) {
	if len(w.turns) > 0 {
		w.turns = append(w.turns, turn{slot, w.slots[slot], toSlot})
	}
	w.slots[slot] = at
}

// turn goes back to the last turn, and returns where to go on, nil if no turn is left.
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

// allows reports whether a node may go on at an offset.
func (w *walk) allows(n *node, at int) bool {
	if at == len(w.text) {
		return n.atEnd
	}
	return n.ahead.allows(w.text, at)
}
