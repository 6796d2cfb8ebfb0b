package table

import (
	"regexp/syntax"
	"slices"
)

// A byteSet has the bytes that are true in it.
type byteSet [256]bool

// meets reports whether a lookahead allows one of the set's bytes as the first. A nil set has all
// bytes.
func (s *byteSet) meets(a *lookahead) bool {
	for c, bits := range a {
		if bits&1 != 0 && (s == nil || s[c]) {
			return true
		}
	}
	return false
}

// nodesMax bounds a machine: counted repeats of groups are copied.
const nodesMax = 2000

// newMachine builds the machine of a parsed pattern, nil if it has what only regexp can.
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

// behindSlots returns the first node from a node on that is no slot.
func behindSlots(n *node) *node {
	for n.op == opSlot {
		n = n.next
	}
	return n
}

// notByRun returns the bytes with which a match may go on at a node, but for those of a run that
// has only one end, wherever it begins. It sets m.run.
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

// add returns a node whose successors are there already, and works out with what it may go on.
func (m *machine) add(n node) *node {
	switch n.op {
	case opMatch:
	case opText:
		n.ahead = n.next.ahead.behindText(n.text)
	case opRun:
		after := behindSlots(n.next)
		if n.sure = !n.lazy && !n.set.meets(after.ahead); after.op == opText {
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

// emptyOps are the parts of a pattern that match no bytes. A text has no line ends, so that a line
// begins and ends with it.
var emptyOps = map[syntax.Op]op{
	syntax.OpBeginText: opBegin, syntax.OpEndText: opEnd, syntax.OpBeginLine: opBegin,
	syntax.OpEndLine: opEnd, syntax.OpWordBoundary: opWord, syntax.OpNoWordBoundary: opNoWord,
}

// build adds the nodes of a part of a pattern before the node at which its match goes on. It
// returns the first of them, nil if the part needs regexp.
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

// bounds returns how often a part is repeated; most < 0 is no bound.
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

// literal adds a text, or a run of one byte for each of its letters if their case does not count.
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

// repeat adds a part that is repeated: bytes of a set as a run, a group as copies of it.
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

// setOf returns the bytes that a part matches which is one character of a set, nil for any.
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

// foldSet returns a letter in both cases, or a character that is no letter.
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
