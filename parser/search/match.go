package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A Set finds the needles of a set of dialects, all in one pass, so that one more dialect costs the others nothing.
//
// It is the Teddy algorithm of Hyperscan (and of Rust's aho-corasick): each needle is told by four bytes of it, its print,
// chosen to be rare in logs. The prints are dealt to eight buckets, and for each of the four places a table says which
// buckets have a print with that byte there. Where the four tables agree on a bucket, the print is looked up: in a small
// filter first, then in a table.
type Set struct {
	// prints is a hash table, by open addressing.
	prints []*imprint
	shift  int // of a print's hash to the right, to its place
	// masks[i][b] are the buckets that have a print with byte b at place i.
	masks  [MinNeedle][256]uint8
	tables teddyTables
}

type teddyTables struct {
	// nibbles are masks by nibbles, so that sixteen entries will do: nibbles[i][0] by the low one of the byte at place i,
	// nibbles[i][1] by the high one. Each is there twice, for the two halves of a vector. The places are those of the print
	// and two behind it.
	nibbles [MinNeedle + 2][2][32]uint8
	// filter has a bit for each print, and so for one in a hundred and fifty of all others.
	filter [1 << filterBits / 32]uint32
	// six are the same masks as nibbles, by a byte's low six bits.
	six [MinNeedle + 2][64]uint8
	// newlines and escapes are full of the one byte.
	newlines, escapes [64]byte
}

const filterBits = 13

const (
	MinNeedle = 4
	MaxNeedle = 64 // longest needle, in bytes
)

// An imprint is four bytes by which needles are told, sixty-four at most.
type imprint struct {
	bytes   uint32
	all     uint64 // a bit for each needle
	needles []needle
	more    *imprint // of the same bytes
	// around[i][b] are those needles, one bit each, that may have byte b at the i-th of the places around the print.
	around [len(places)][256]uint64
}

// places are where around a print it is looked whether a needle may stand there, from the print's first byte on.
var places = [...]int{MinNeedle + 1, MinNeedle, -1, -4}

type needle struct {
	text []byte
	at   int // of the print in the text
	// owners are the numbers of the groups that have the needle, in ascending order.
	Owners []int
	// reach is how far behind its beginning the print of another may stand that begins there or before it.
	Reach int
}

func (p *imprint) add(n *needle) {
	bit := uint64(1) << len(p.needles)
	p.needles, p.all = append(p.needles, *n), p.all|bit
	for i, place := range places {
		if at := n.at + place; at >= 0 && at < len(n.text) {
			p.around[i][n.text[at]] |= bit
			continue
		}
		for c := range p.around[i] {
			p.around[i][c] |= bit
		}
	}
}

// near are the needles that may stand in the text with the print at an offset, by what is around it, one bit each.
func (p *imprint) near(text []byte, at int) uint64 {
	set := p.all
	if set <= 3 {
		return set // two needles are compared sooner than looked up
	}
	for i, place := range places {
		if near := at + place; uint(near) < uint(len(text)) {
			if set &= p.around[i][text[near]]; set == 0 {
				break
			}
		}
	}
	return set
}

// New returns the matcher of the needles of several groups. Each needle has at least four
// bytes, and fewer than 64.
func New(groups [][]string) *Set {
	byText := map[string]*needle{}
	var needles []*needle
	for group, texts := range groups {
		for _, text := range texts {
			if byText[text] == nil {
				byText[text] = &needle{text: []byte(text)}
				needles = append(needles, byText[text])
			}
			byText[text].Owners = append(byText[text].Owners, group)
		}
	}
	choosePrints(needles)
	size := bits.Len(uint(8 * len(needles))) // at most an eighth of the places are taken
	m := &Set{prints: make([]*imprint, 1<<size), shift: 32 - size}
	for i := range m.tables.newlines {
		m.tables.newlines[i], m.tables.escapes[i] = '\n', Escape
	}
	var imprints []*imprint
	for _, n := range needles {
		n.Reach = reachOf(n, needles)
		word := n.text[n.at : n.at+MinNeedle]
		key := binary.LittleEndian.Uint32(word)
		i := m.place(key)
		for m.prints[i] != nil && m.prints[i].bytes != key {
			i = m.after(i)
		}
		if p := m.prints[i]; p == nil || len(p.needles) == 64 {
			m.prints[i] = &imprint{bytes: key, more: p}
			bit := key * hashFactor >> (32 - filterBits)
			m.tables.filter[bit/32] |= 1 << (bit % 32)
			imprints = append(imprints, m.prints[i])
		}
		m.prints[i].add(n)
	}
	for k, b := range deal(imprints) {
		for _, p := range b.prints {
			for i := range MinNeedle {
				m.masks[i][byte(p.bytes>>(8*i))] |= 1 << k
			}
			for i := range m.tables.nibbles {
				low, high := nibbles(p.behind(i))
				for n := range m.tables.nibbles[i][0] {
					m.tables.nibbles[i][0][n] |= uint8(low>>(n%16)&1) << k
					m.tables.nibbles[i][1][n] |= uint8(high>>(n%16)&1) << k
				}
			}
		}
		for i := range m.tables.six {
			for low := range uint8(64) {
				m.tables.six[i][low] |= uint8(b.six[i]>>low&1) << k
			}
		}
	}
	return m
}

// nibbles are the low and the high ones of bytes, one bit each.
func nibbles(set []byte) (low, high uint16) {
	if len(set) == 256 {
		return 0xffff, 0xffff
	}
	for _, c := range set {
		low, high = low|1<<(c&15), high|1<<(c>>4)
	}
	return low, high
}

// hashFactor is 2^32 over the golden ratio (Knuth, The Art of Computer Programming 3, 6.4).
const hashFactor = 0x9e3779b1

// place is where in the table a print stands, or behind which.
func (m *Set) place(p uint32) int { return int(p * hashFactor >> m.shift) }

// after is the place behind another.
func (m *Set) after(i int) int { return (i + 1) & (len(m.prints) - 1) }

// Next is the first place from an offset on where the print of a needle stands that is there as a whole, or an escape, -1
// where there is none. lines is the number of line ends before it, from that offset on; c are the needles, none at an
// escape.
func (m *Set) Next(text []byte, from int) (at, lines int, c Candidates) {
	at = from
	for search := teddy; search != nil; {
		skipped, ends, stopped := search(text[min(at, len(text)):], &m.tables)
		at, lines = at+skipped, lines+ends
		if !stopped {
			break
		}
		if text[at] == Escape {
			return at, lines, Candidates{}
		}
		if c = m.needles(text, at); c.imprint != nil {
			return at, lines, c
		}
		if text[at] == '\n' { // which looked like a print
			lines++
		}
		at++
	}
	for ; at < len(text); at++ {
		switch text[at] {
		case Escape:
			return at, lines, Candidates{}
		case '\n':
			lines++
		}
		if at+MinNeedle > len(text) {
			continue
		}
		if m.masks[0][text[at]]&m.masks[1][text[at+1]]&m.masks[2][text[at+2]]&m.masks[3][text[at+3]] == 0 {
			continue
		}
		if c = m.needles(text, at); c.imprint != nil {
			return at, lines, c
		}
	}
	return -1, lines, Candidates{}
}

// Escape begins a terminal's control sequence.
const Escape = 0x1b

// Candidates are needles of an imprint, one bit each. More may be in the imprint's more.
type Candidates struct {
	*imprint
	set uint64
}

// needles are those that may stand in the text with their print at an offset, the first of which does; the zero value where
// none stands there.
func (m *Set) needles(text []byte, at int) Candidates {
	word := binary.LittleEndian.Uint32(text[at:])
	i := m.place(word)
	for m.prints[i] != nil && m.prints[i].bytes != word {
		i = m.after(i)
	}
	for p := m.prints[i]; p != nil; p = p.more {
		for set := p.near(text, at); set != 0; set &= set - 1 {
			if p.needles[bits.TrailingZeros64(set)].standsIn(text, at) {
				return Candidates{p, set}
			}
		}
	}
	return Candidates{}
}

// standsIn says whether the needle stands in the text with its print at an offset.
func (n *needle) standsIn(text []byte, at int) bool {
	return at >= n.at && bytes.HasPrefix(text[at-n.at:], n.text)
}

// A Hit is a needle that begins at an offset of a text.
type Hit struct {
	Start int
	*needle
}

// Insert adds the candidates that are in the text with their print at an offset. It keeps the hits in
// the order in which they are tried: by their offset, then by their first owner.
func (c Candidates) Insert(hits []Hit, text []byte, at int) []Hit {
	for c.imprint != nil {
		for ; c.set != 0; c.set &= c.set - 1 {
			if n := &c.needles[bits.TrailingZeros64(c.set)]; n.standsIn(text, at) {
				hits = insertHit(hits, Hit{at - n.at, n})
			}
		}
		if c.imprint = c.more; c.imprint != nil {
			c.set = c.near(text, at)
		}
	}
	return hits
}

func insertHit(hits []Hit, h Hit) []Hit {
	hits = append(hits, h)
	for i := len(hits) - 1; i > 0; i-- {
		before := hits[i-1]
		if before.Start < h.Start || before.Start == h.Start && before.Owners[0] <= h.Owners[0] {
			break
		}
		hits[i], hits[i-1] = hits[i-1], h
	}
	return hits
}

// noLineBreak is lineBreak where the processor has nothing for it.
func noLineBreak([]byte) (at int, escaped bool) { return 0, false }
