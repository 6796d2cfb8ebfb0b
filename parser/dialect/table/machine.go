package table

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"

	"vramsoak/parser/lex"
)

// A machine matches a pattern on text of ASCII, as regexp does: leftmost, and by the first
// alternative that fits. It walks a graph of nodes and goes back where a choice proved wrong. Most
// choices are none: the byte that stands there allows only one way on.
type machine struct {
	nodes  []node
	start  int
	prefix string // each match begins with it
}

type node struct {
	op        op
	lazy      bool // takes as little as it can
	sure      bool // of a run: what follows cannot begin within it
	atEnd     bool // it may match where the text ends
	min, max  int  // of a run; max < 0 is no bound
	next, alt int
	slot      int
	text      string
	set       asciiSet // of a run
	first     asciiSet // the bytes with which a match may go on here
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
	opBeginLine
	opEndLine
	opWord
	opNoWord
)

type asciiSet [2]uint64

var anyByte = asciiSet{^uint64(0), ^uint64(0)}

func (s *asciiSet) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *asciiSet) has(c byte) bool { return s[c>>6&1]>>(c&63)&1 != 0 }
func (s asciiSet) or(o asciiSet) asciiSet {
	return asciiSet{s[0] | o[0], s[1] | o[1]}
}
func (s asciiSet) meets(o asciiSet) bool { return s[0]&o[0]|s[1]&o[1] != 0 }

// nodesMax bounds a machine: counted repeats of groups are copied.
const nodesMax = 2000

// newMachine builds the machine of a parsed pattern, nil if it has what only regexp can.
func newMachine(re *syntax.Regexp) *machine {
	if re.MaxCap() >= groupsMax {
		return nil
	}
	m := &machine{}
	end := m.add(node{op: opMatch, first: anyByte, atEnd: true})
	begin, ok := m.build(re, m.add(node{op: opSlot, slot: 1, next: end}))
	if !ok {
		return nil
	}
	m.start = m.add(node{op: opSlot, slot: 0, next: begin})
	for pc := m.start; ; pc = m.nodes[pc].next {
		if n := &m.nodes[pc]; n.op == opText {
			m.prefix = n.text
		}
		if m.nodes[pc].op != opSlot {
			break
		}
	}
	return m
}

// add adds a node whose successors are there already, and works out with what it may go on.
func (m *machine) add(n node) int {
	switch n.op {
	case opMatch:
	case opText:
		n.first.add(n.text[0])
	case opRun:
		n.first = n.set
		after := &m.nodes[n.next]
		if n.min == 0 {
			n.first, n.atEnd = n.first.or(after.first), after.atEnd
		}
		n.sure = !n.lazy && !n.set.meets(after.first)
	case opChoice:
		a, b := &m.nodes[n.next], &m.nodes[n.alt]
		n.first, n.atEnd = a.first.or(b.first), a.atEnd || b.atEnd
	default: // it matches no bytes
		n.first, n.atEnd = m.nodes[n.next].first, m.nodes[n.next].atEnd
	}
	m.nodes = append(m.nodes, n)
	return len(m.nodes) - 1
}

// build adds the nodes of a part of a pattern before the node at which its match goes on.
func (m *machine) build(re *syntax.Regexp, next int) (pc int, ok bool) {
	if len(m.nodes) > nodesMax {
		return 0, false
	}
	if set, ok := setOf(re); ok {
		return m.add(node{op: opRun, set: set, min: 1, max: 1, next: next}), true
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next, true
	case syntax.OpLiteral:
		if !isPlain(re) {
			return 0, false
		}
		return m.add(node{op: opText, text: string(re.Rune), next: next}), true
	case syntax.OpCapture:
		pc, ok = m.build(re.Sub[0], m.add(node{op: opSlot, slot: 2*re.Cap + 1, next: next}))
		return m.add(node{op: opSlot, slot: 2 * re.Cap, next: pc}), ok
	case syntax.OpConcat:
		for _, sub := range slices.Backward(re.Sub) {
			if next, ok = m.build(sub, next); !ok {
				return 0, false
			}
		}
		return next, true
	case syntax.OpAlternate:
		for i, sub := range slices.Backward(re.Sub) {
			way, ok := m.build(sub, next)
			if !ok {
				return 0, false
			}
			if i == len(re.Sub)-1 {
				pc = way
			} else {
				pc = m.add(node{op: opChoice, next: way, alt: pc})
			}
		}
		return pc, true
	case syntax.OpStar:
		return m.repeat(re, 0, -1, next)
	case syntax.OpPlus:
		return m.repeat(re, 1, -1, next)
	case syntax.OpQuest:
		return m.repeat(re, 0, 1, next)
	case syntax.OpRepeat:
		return m.repeat(re, re.Min, re.Max, next)
	}
	for o, kind := range map[syntax.Op]op{
		syntax.OpBeginText: opBegin, syntax.OpEndText: opEnd, syntax.OpBeginLine: opBeginLine,
		syntax.OpEndLine: opEndLine, syntax.OpWordBoundary: opWord, syntax.OpNoWordBoundary: opNoWord,
	} {
		if o == re.Op {
			return m.add(node{op: kind, next: next}), true
		}
	}
	return 0, false
}

// repeat adds a part that is repeated: bytes of a set as a run, a group as copies of it.
func (m *machine) repeat(re *syntax.Regexp, least, most, next int) (pc int, ok bool) {
	lazy := re.Flags&syntax.NonGreedy != 0
	set, isSet := setOf(re.Sub[0])
	if sub := re.Sub[0]; sub.Op == syntax.OpLiteral && len(sub.Rune) == 1 && isPlain(sub) {
		set.add(byte(sub.Rune[0]))
		isSet = true
	}
	if isSet {
		return m.add(node{op: opRun, set: set, min: least, max: most, lazy: lazy, next: next}), true
	}
	if most < 0 {
		return 0, false
	}
	behind := next
	for i := range most {
		if len(m.nodes) > nodesMax {
			return 0, false
		}
		one, ok := m.build(re.Sub[0], next)
		if !ok {
			return 0, false
		}
		switch {
		case i >= most-least:
			next = one
		case lazy:
			next = m.add(node{op: opChoice, next: behind, alt: one})
		default:
			next = m.add(node{op: opChoice, next: one, alt: behind})
		}
	}
	return next, true
}

// isPlain reports whether a literal is ASCII and minds the case of its letters.
func isPlain(re *syntax.Regexp) bool {
	text := string(re.Rune)
	for _, r := range re.Rune {
		if r >= 0x80 {
			return false
		}
	}
	return len(text) > 0 &&
		(re.Flags&syntax.FoldCase == 0 || strings.ToLower(text) == strings.ToUpper(text))
}

// setOf returns the bytes that a part matches which is one character of a set.
func setOf(re *syntax.Regexp) (set asciiSet, ok bool) {
	switch re.Op {
	case syntax.OpAnyChar:
		return anyByte, true
	case syntax.OpAnyCharNotNL:
		set = anyByte
		set[0] &^= 1 << '\n'
		return set, true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= min(re.Rune[i+1], 0x7f); r++ {
				set.add(byte(r))
			}
		}
		return set, true
	}
	return set, false
}

// find finds the leftmost match at or after an offset. done is false if that took too long.
func (w *walk) find(from int, slots []int) (found, done bool) {
	m, text := w.machine, w.text
	for at := from; at <= len(text); at++ {
		if w.left--; w.left < 0 {
			return false, false
		}
		if m.prefix != "" {
			i := bytes.Index(text[at:], []byte(m.prefix))
			if i < 0 {
				return false, true
			}
			at += i
		} else {
			first := &m.nodes[m.start].first
			for at < len(text) && !first.has(text[at]) {
				at++
			}
		}
		for i := range slots {
			slots[i] = -1
		}
		w.saved = 0
		if w.match(m.start, at, slots) {
			return true, true
		}
		if w.left < 0 {
			return false, false
		}
	}
	return false, true
}

// A walk is a search for a match. left is how many steps it may take yet.
type walk struct {
	*machine
	text  []byte
	left  int
	saved int // how much of room is taken
	room  [512]int
}

// match reports whether the text matches from a node and an offset on.
func (w *walk) match(pc, at int, slots []int) bool {
	for {
		if w.left--; w.left < 0 {
			return false
		}
		n := &w.nodes[pc]
		switch n.op {
		case opMatch:
			return true
		case opText:
			if len(w.text)-at < len(n.text) || string(w.text[at:at+len(n.text)]) != n.text {
				return false
			}
			at += len(n.text)
		case opSlot:
			slots[n.slot] = at
		case opChoice:
			a, b := w.allows(n.next, at), w.allows(n.alt, at)
			switch {
			case a && b:
				kept := w.save(slots)
				if w.match(n.next, at, slots) {
					return true
				}
				w.restore(slots, kept)
				w.saved = kept
				pc = n.alt
				continue
			case b:
				pc = n.alt
				continue
			case !a:
				return false
			}
		case opRun:
			least, most := at+n.min, len(w.text)
			if n.max >= 0 {
				most = min(most, at+n.max)
			}
			if least > most {
				return false
			}
			if n.lazy {
				return w.lazily(n, at, least, most, slots)
			}
			end := at
			for end < most && n.set.has(w.text[end]) {
				end++
			}
			if end < least {
				return false
			}
			if !n.sure && end > least {
				return w.greedily(n, least, end, slots)
			}
			at = end
		case opBegin:
			if at != 0 {
				return false
			}
		case opEnd:
			if at != len(w.text) {
				return false
			}
		case opBeginLine:
			if at != 0 && w.text[at-1] != '\n' {
				return false
			}
		case opEndLine:
			if at != len(w.text) && w.text[at] != '\n' {
				return false
			}
		case opWord, opNoWord:
			before := at > 0 && lex.IsWordByte(w.text[at-1])
			after := at < len(w.text) && lex.IsWordByte(w.text[at])
			if (before != after) != (n.op == opWord) {
				return false
			}
		}
		pc = n.next
	}
}

// allows reports whether the byte at an offset is one with which a node may go on.
func (w *walk) allows(pc, at int) bool {
	n := &w.nodes[pc]
	if at == len(w.text) {
		return n.atEnd
	}
	return n.first.has(w.text[at])
}

// lazily goes on behind a run, from its least end to its most.
func (w *walk) lazily(n *node, at, least, most int, slots []int) bool {
	kept := w.save(slots)
	for end := at; ; end++ {
		if end >= least && w.allows(n.next, end) {
			if w.match(n.next, end, slots) {
				return true
			}
			w.restore(slots, kept)
		}
		if w.left--; w.left < 0 || end >= most || !n.set.has(w.text[end]) {
			w.saved = kept
			return false
		}
	}
}

// greedily goes on behind a run, from its most end to its least.
func (w *walk) greedily(n *node, least, end int, slots []int) bool {
	kept := w.save(slots)
	for ; end >= least; end-- {
		if w.allows(n.next, end) {
			if w.match(n.next, end, slots) {
				return true
			}
			w.restore(slots, kept)
		}
		if w.left--; w.left < 0 {
			break
		}
	}
	w.saved = kept
	return false
}

// save keeps the groups for the case that a choice proves wrong. Choices within choices take more
// room than there is only in patterns that regexp reads as well.
func (w *walk) save(slots []int) (at int) {
	at = w.saved
	if at+len(slots) > len(w.room) {
		w.left = 0
		return at
	}
	w.saved += copy(w.room[at:], slots)
	return at
}

// restore puts back the groups that were saved last.
func (w *walk) restore(slots []int, at int) {
	copy(slots, w.room[at:])
	w.saved = min(at+len(slots), len(w.room))
}
