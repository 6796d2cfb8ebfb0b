package table

import (
	"regexp/syntax"
	"slices"
)

// A byteSet is a set of bytes: set[c] is true if c is in it.
type byteSet [256]bool

// meets reports whether the lookahead a allows one of the set's bytes as the next byte. A nil set
// has all bytes.
func (s *byteSet) meets(a *lookahead) bool {
	for c, bits := range a {
		if bits&1 != 0 && (s == nil || s[c]) {
			return true
		}
	}
	return false
}

// nodesMax is the most nodes of a machine. A pattern such as (...){1000} has many, because each
// repeat of a group has nodes of its own.
const nodesMax = 2000

// newMachine returns the machine for a parsed pattern, or nil if the pattern needs package regexp.
func newMachine(re *syntax.Regexp) *machine {
	if re.MaxCap() >= groupsMax {
		return nil
	}
	m := &machine{}
	m.start = m.build(re, m.add(node{op: opMatch, ahead: anyBytes, atEnd: true}))
	if m.start == nil {
		return nil
	}
	m.anchored, m.body = behindSlots(m.start).op == opBegin, m.start
	if n := m.start; n.op == opText {
		m.prefix, m.body = n.text, n.next
	}
	m.others = m.notByRun(m.start)
	return m
}

// behindSlots returns n, or the first node behind it that is not an opSlot.
func behindSlots(n *node) *node {
	for n.op == opSlot {
		n = n.next
	}
	return n
}

// notByRun returns m.others, see machine.run: the bytes with which a match may begin at node n,
// other than the bytes of m.run. If n can begin with such a run, notByRun sets m.run.
func (m *machine) notByRun(n *node) *lookahead {
	n = behindSlots(n)
	switch {
	case n.op == opChoice:
		all := *m.notByRun(n.next)
		all.add(m.notByRun(n.alt))
		return &all
	case n.op == opRun && n.sure && n.min == 1 && n.max < 0 && m.run == nil:
		m.run = n
		return &lookahead{}
	}
	return n.ahead
}

// add adds the node n to the machine and returns it. The nodes that follow n must have been added
// before, because add computes n.ahead, n.atEnd and n.sure from them.
func (m *machine) add(n node) *node {
	switch n.op {
	case opMatch:
	case opText:
		n.ahead = n.next.ahead.behindText(n.text)
	case opRun:
		after := behindSlots(n.next)
		if n.sure = !n.lazy && n.set != nil && !n.set.meets(after.ahead); after.op == opText {
			n.text = after.text
		}
		n.ahead = n.next.ahead.behindRun(n.set, n.min, n.max)
		n.atEnd = n.min == 0 && n.next.atEnd
	case opChoice:
		ahead := *n.next.ahead
		ahead.add(n.alt.ahead)
		n.ahead, n.atEnd = &ahead, n.next.atEnd || n.alt.atEnd
	default: // it matches no bytes
		n.ahead, n.atEnd = n.next.ahead, n.next.atEnd
	}
	n.id = len(m.nodes)
	m.nodes = append(m.nodes, &n)
	return &n
}

// emptyOps are the parts of a pattern that match a position and no bytes, such as ^ and \b. A text
// is one line, so ^ and $ match only at its two ends.
var emptyOps = map[syntax.Op]op{
	syntax.OpBeginText: opBegin, syntax.OpEndText: opEnd, syntax.OpBeginLine: opBegin,
	syntax.OpEndLine: opEnd, syntax.OpWordBoundary: opWord, syntax.OpNoWordBoundary: opNoWord,
}

// build adds the nodes for re, a part of a pattern, and returns the first of them. The node next is
// for the text behind this part. build returns nil if the part needs package regexp.
func (m *machine) build(re *syntax.Regexp, next *node) *node {
	if next == nil || len(m.nodes) > nodesMax {
		return nil
	}
	if o, ok := emptyOps[re.Op]; ok {
		return m.add(node{op: o, next: next})
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpCharClass:
		return m.repeat(re, 1, 1, false, next)
	case syntax.OpLiteral:
		return m.literal(re, next)
	case syntax.OpCapture:
		n := m.build(re.Sub[0], m.add(node{op: opSlot, slot: 2*re.Cap + 1, next: next}))
		if n == nil {
			return nil
		}
		if n.op == opRun && n.sure && n.next.op == opSlot && n.next.slot == 2*re.Cap+1 {
			n.slot, n.next = 2*re.Cap, n.next.next // the group is one run
			return n
		}
		return m.add(node{op: opSlot, slot: 2 * re.Cap, next: n})
	case syntax.OpConcat:
		for _, sub := range slices.Backward(re.Sub) {
			next = m.build(sub, next)
		}
		return next
	case syntax.OpAlternate:
		var all *node
		for i, sub := range slices.Backward(re.Sub) {
			way := m.build(sub, next)
			switch {
			case way == nil:
				return nil
			case i == len(re.Sub)-1:
				all = way
			default:
				all = m.add(node{op: opChoice, next: way, alt: all})
			}
		}
		return all
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := bounds(re)
		return m.repeat(re.Sub[0], least, most, re.Flags&syntax.NonGreedy != 0, next)
	}
	return nil
}

// bounds returns how often a part of a pattern is repeated, at least and at most. most is below 0
// if there is no upper limit.
func bounds(re *syntax.Regexp) (least, most int) {
	switch re.Op {
	case syntax.OpStar:
		return 0, -1
	case syntax.OpPlus:
		return 1, -1
	case syntax.OpQuest:
		return 0, 1
	}
	return re.Min, re.Max
}

// literal adds the node for a literal text. If upper and lower case are the same to the pattern, it
// adds an opRun of one byte for each letter.
func (m *machine) literal(re *syntax.Regexp, next *node) *node {
	if slices.ContainsFunc(re.Rune, func(r rune) bool { return r >= 0x80 }) {
		return nil
	}
	if re.Flags&syntax.FoldCase == 0 {
		return m.add(node{op: opText, text: []byte(string(re.Rune)), next: next})
	}
	for _, r := range slices.Backward(re.Rune) {
		next = m.add(node{op: opRun, set: foldSet(r), min: 1, max: 1, next: next})
	}
	return next
}

// repeat adds the nodes for a part that is repeated. A set of bytes such as \d+ is one opRun. A
// group such as (ab){1,3} is copied for each repeat.
func (m *machine) repeat(re *syntax.Regexp, least, most int, lazy bool, next *node) *node {
	if set, ok := setOf(re); ok {
		return m.add(node{op: opRun, set: set, min: least, max: most, lazy: lazy, next: next})
	}
	if most < 0 {
		return nil
	}
	behind := next
	for i := range most {
		one := m.build(re, next)
		switch {
		case one == nil:
			return nil
		case i >= most-least:
			next = one
		case lazy:
			next = m.add(node{op: opChoice, next: behind, alt: one})
		default:
			next = m.add(node{op: opChoice, next: one, alt: behind})
		}
	}
	return next
}

// setOf returns the set of bytes that a part matches, or nil for any byte. ok is false if the part
// does not match exactly one character.
func setOf(re *syntax.Regexp) (set *byteSet, ok bool) {
	switch {
	case re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL:
		return nil, true
	case re.Op == syntax.OpCharClass:
		set = &byteSet{}
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= min(re.Rune[i+1], 0x7f); r++ {
				set[r] = true
			}
		}
		return set, true
	case re.Op == syntax.OpLiteral && len(re.Rune) == 1 && re.Rune[0] < 0x80:
		if re.Flags&syntax.FoldCase != 0 {
			return foldSet(re.Rune[0]), true
		}
		return setOfBytes(byte(re.Rune[0])), true
	}
	return nil, false
}

// foldSet returns the set of a letter in upper and lower case, or of a character that is no letter.
func foldSet(r rune) *byteSet {
	if c := byte(r) | 0x20; c >= 'a' && c <= 'z' {
		return setOfBytes(c, c&^0x20)
	}
	return setOfBytes(byte(r))
}

func setOfBytes(bytes ...byte) *byteSet {
	set := &byteSet{}
	for _, c := range bytes {
		set[c] = true
	}
	return set
}
