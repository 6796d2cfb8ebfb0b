package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A Set finds needles in a text, all in one pass.
//
// It uses the Teddy algorithm of Hyperscan (and of Rust's aho-corasick). Each needle has a
// fingerprint: four of its bytes, chosen to be rare in logs. The fingerprints are divided into
// eight buckets. For each of the four bytes, a table says which buckets have a fingerprint with
// that byte there. Where the four tables agree on a bucket, the four bytes of the text are looked
// up: first in a small filter, then in a hash table.
type Set struct {
	// fingerprints is a hash table with open addressing.
	fingerprints []*fingerprint
	shift        int // to the right, from a hash to its slot
	// masks[i][b] has a bit for each bucket with a fingerprint whose i-th byte is b.
	masks  [MinNeedle][256]uint8
	tables teddyTables
}

type teddyTables struct {
	// nibbles has the masks by half bytes: nibbles[i][0] by the low four bits of the i-th byte,
	// nibbles[i][1] by the high four. Each table of 16 entries is there twice, for the two halves of a
	// vector. The last two of the six bytes are those behind the fingerprint.
	nibbles [MinNeedle + 2][2][32]uint8
	// filter has a bit for each fingerprint. About one in 150 of all other words passes it.
	filter [1 << filterBits / 32]uint32
	// six has the same masks by the low six bits of a byte.
	six [MinNeedle + 2][64]uint8
	// newlines and escapes are vectors of one byte.
	newlines, escapes [64]byte
}

const filterBits = 13

// A needle has at least [MinNeedle] bytes, as many as a fingerprint, and fewer than [MaxNeedle].
const (
	MinNeedle = 4
	MaxNeedle = 64
)

// A fingerprint is four bytes, and the needles that are found by them, 64 at most.
type fingerprint struct {
	bytes   uint32
	all     uint64 // has a bit for each needle
	needles []needle
	more    *fingerprint // the same bytes, for further needles
	// around[i][b] has a bit for each needle that may have byte b at offsets[i].
	around [len(offsets)][256]uint64
}

// offsets are those of the bytes around a fingerprint that are compared first, from its first byte
// on.
var offsets = [...]int{MinNeedle + 1, MinNeedle, -1, -4}

type needle struct {
	text []byte
	at   int // offset of the fingerprint in the text
	// owners are the numbers of the groups that have the needle, in ascending order.
	Owners []int
	// Reach is how many bytes behind the needle's beginning to search on: another needle that begins
	// at the same offset, or before it, may have its fingerprint there.
	Reach int
}

func (p *fingerprint) add(n *needle) {
	bit := uint64(1) << len(p.needles)
	p.needles, p.all = append(p.needles, *n), p.all|bit
	for i, place := range offsets {
		if at := n.at + place; at >= 0 && at < len(n.text) {
			p.around[i][n.text[at]] |= bit
			continue
		}
		for c := range p.around[i] {
			p.around[i][c] |= bit
		}
	}
}

// near returns the needles that the bytes around a fingerprint in the text allow, as bits.
func (p *fingerprint) near(text []byte, at int) uint64 {
	set := p.all
	if set <= 3 {
		return set // comparing two needles is faster than looking them up
	}
	for i, place := range offsets {
		if near := at + place; uint(near) < uint(len(text)) {
			if set &= p.around[i][text[near]]; set == 0 {
				break
			}
		}
	}
	return set
}

// New returns the set of the needles of several groups. A needle has [MinNeedle] bytes or more, and
// fewer than [MaxNeedle]. Several groups may have the same needle.
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
	chooseFingerprints(needles)
	size := bits.Len(uint(8 * len(needles))) // at most one slot in eight is taken
	m := &Set{fingerprints: make([]*fingerprint, 1<<size), shift: 32 - size}
	for i := range m.tables.newlines {
		m.tables.newlines[i], m.tables.escapes[i] = '\n', Escape
	}
	var fingerprints []*fingerprint
	for _, n := range needles {
		n.Reach = reachOf(n, needles)
		word := n.text[n.at : n.at+MinNeedle]
		key := binary.LittleEndian.Uint32(word)
		i := m.slot(key)
		for m.fingerprints[i] != nil && m.fingerprints[i].bytes != key {
			i = m.after(i)
		}
		if p := m.fingerprints[i]; p == nil || len(p.needles) == 64 {
			m.fingerprints[i] = &fingerprint{bytes: key, more: p}
			bit := key * hashFactor >> (32 - filterBits)
			m.tables.filter[bit/32] |= 1 << (bit % 32)
			fingerprints = append(fingerprints, m.fingerprints[i])
		}
		m.fingerprints[i].add(n)
	}
	for k, b := range fillBuckets(fingerprints) {
		for _, p := range b.fingerprints {
			for i := range MinNeedle {
				m.masks[i][byte(p.bytes>>(8*i))] |= 1 << k
			}
			for i := range m.tables.nibbles {
				low, high := nibbles(p.bytesAt(i))
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

// nibbles returns the low and the high half bytes in a set of bytes, a bit for each value.
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

// slot returns where the search for a fingerprint in the hash table begins.
func (m *Set) slot(p uint32) int { return int(p * hashFactor >> m.shift) }

// after returns the slot behind another.
func (m *Set) after(i int) int { return (i + 1) & (len(m.fingerprints) - 1) }

// Next returns the offset of the next needle's fingerprint, or of the next escape byte, at or after
// `from`, or -1. lines is the number of line ends between. c holds the needles at that offset; it
// is empty at an escape.
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
		if c = m.candidates(text, at); c.fingerprint != nil {
			return at, lines, c
		}
		if text[at] == '\n' { // it looked like a fingerprint
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
		if m.masks[0][text[at]]&m.masks[1][text[at+1]]&
			m.masks[2][text[at+2]]&m.masks[3][text[at+3]] == 0 {
			continue
		}
		if c = m.candidates(text, at); c.fingerprint != nil {
			return at, lines, c
		}
	}
	return -1, lines, Candidates{}
}

// Escape is the byte with which a control sequence of a terminal begins.
const Escape = 0x1b

// Candidates are needles that may be at an offset of a text.
type Candidates struct {
	*fingerprint
	set uint64
}

// candidates returns the needles that may have their fingerprint at an offset of the text, if one
// of them does.
func (m *Set) candidates(text []byte, at int) Candidates {
	word := binary.LittleEndian.Uint32(text[at:])
	i := m.slot(word)
	for m.fingerprints[i] != nil && m.fingerprints[i].bytes != word {
		i = m.after(i)
	}
	for p := m.fingerprints[i]; p != nil; p = p.more {
		for set := p.near(text, at); set != 0; set &= set - 1 {
			if p.needles[bits.TrailingZeros64(set)].isIn(text, at) {
				return Candidates{p, set}
			}
		}
	}
	return Candidates{}
}

// isIn reports whether the text has the needle, with its fingerprint at an offset.
func (n *needle) isIn(text []byte, at int) bool {
	return at >= n.at && bytes.HasPrefix(text[at-n.at:], n.text)
}

// A Hit is a needle that begins at an offset of a text.
type Hit struct {
	Start int
	*needle
}

// Insert adds a hit for each candidate that the text has, with its fingerprint at an offset. It
// keeps the hits in the order in which they are tried: by their offset, then by their first owner.
func (c Candidates) Insert(hits []Hit, text []byte, at int) []Hit {
	for c.fingerprint != nil {
		for ; c.set != 0; c.set &= c.set - 1 {
			if n := &c.needles[bits.TrailingZeros64(c.set)]; n.isIn(text, at) {
				hits = insertHit(hits, Hit{at - n.at, n})
			}
		}
		if c.fingerprint = c.more; c.fingerprint != nil {
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

// LineEnd returns the offset of the first '\n' or '\r', or the length of the text. escaped reports
// whether an escape is before it.
func LineEnd(text []byte) (end int, escaped bool) {
	if lineEnd != nil {
		end, escaped = lineEnd(text)
	}
	for ; end < len(text) && text[end] != '\n' && text[end] != '\r'; end++ {
		escaped = escaped || text[end] == Escape
	}
	return end, escaped
}
