package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A Set finds many needles in a text in one pass.
//
// It uses the Teddy algorithm of Hyperscan and of Rust's aho-corasick. Each needle has a
// fingerprint: four of its bytes, chosen because they are rare in logs. The fingerprints are
// divided into eight buckets. Four tables, one for each byte of a fingerprint, give for each value
// of this byte the buckets that contain a matching fingerprint. Where all four tables name the same
// bucket, the text may have a fingerprint. The assembly has two more tables, for the two bytes
// behind a fingerprint, so it stops less often. Where the search stops, it looks up the four bytes
// of the text, first in a small filter and then in a hash table.
type Set struct {
	// fingerprints is a hash table with open addressing.
	fingerprints []*fingerprint
	shift        int // how many bits to shift a hash right to get its slot
	// masks[i][b] has a bit for each bucket with a fingerprint whose i-th byte is b.
	masks  [MinNeedle][256]uint8
	tables teddyTables
}

type teddyTables struct {
	// nibbles holds the masks by half bytes: nibbles[i][0] by the low four bits of the i-th byte,
	// nibbles[i][1] by the high four. Each table of 16 entries is stored twice, because a vector has
	// two halves. The first four bytes are the fingerprint, the last two follow it in the text.
	nibbles [MinNeedle + 2][2][32]uint8
	// filter has one bit for each fingerprint, at a hash of its four bytes. About one in 80 of the
	// other sequences of four bytes has the hash of a fingerprint and passes the filter.
	filter [1 << filterBits / 32]uint32
	// six holds the same buckets as nibbles, but by the low six bits of each byte: six[i][v] has a bit
	// for each bucket with a needle whose i-th byte, counted from its fingerprint, has the low bits v.
	six [MinNeedle + 2][64]uint8
	// newlines repeats the byte '\n', and escapes the byte [Escape], to fill a vector.
	newlines, escapes [64]byte
}

const filterBits = 13

// A needle has at least [MinNeedle] bytes, the length of a fingerprint, and fewer than [MaxNeedle].
const (
	MinNeedle = 4
	MaxNeedle = 128
)

// A fingerprint is four bytes, together with the needles that contain them. It holds at most 64
// needles.
type fingerprint struct {
	bytes   uint32
	all     uint64 // has a bit for each of needles
	needles []needle
	more    *fingerprint // a fingerprint with the same bytes, for needles beyond 64
	// around[i][b] has a bit for each needle that may have byte b at offsets[i] from its fingerprint.
	around [len(offsets)][256]uint64
}

// offsets are the positions, counted from a fingerprint's first byte, of the four bytes near it
// that are compared before the whole needle is compared.
var offsets = [...]int{MinNeedle + 1, MinNeedle, -1, -4}

type needle struct {
	text []byte
	at   int // offset of the fingerprint in the text
	// Owners are the numbers of the groups that contain the needle, in ascending order.
	Owners []int
	// Reach says how far to search on after this needle was found, in bytes from its beginning. Until
	// there, the search may find the fingerprint of another needle that begins at the same offset or
	// earlier.
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

// near returns a bit for each needle that the text may have around this fingerprint, at the offset
// `at`. It compares only the bytes at offsets.
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

// New returns a set of the needles of several groups. Each needle has at least [MinNeedle] and
// fewer than [MaxNeedle] bytes. Several groups may contain the same needle.
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
	for f, bucket := range fillBuckets(fingerprints) {
		m.put(fingerprints[f], 1<<bucket)
	}
	return m
}

// put writes a fingerprint into the tables, with the bit of its bucket.
func (m *Set) put(p *fingerprint, bucket uint8) {
	for i := range m.masks {
		m.masks[i][byte(p.bytes>>(8*i))] |= bucket
	}
	for i := range m.tables.nibbles {
		low, high := nibbles(p.bytesAt(i))
		for n := range m.tables.nibbles[i][0] {
			m.tables.nibbles[i][0][n] |= uint8(low>>(n%16)&1) * bucket
			m.tables.nibbles[i][1][n] |= uint8(high>>(n%16)&1) * bucket
		}
	}
	for i, set := range p.lowBits() {
		for low := range m.tables.six[i] {
			m.tables.six[i][low] |= uint8(set>>low&1) * bucket
		}
	}
}

// nibbles returns which half bytes occur in a set of bytes: bit v of low is set if the low half of
// a byte is v, and bit v of high is set if the high half of a byte is v.
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

// slot returns the hash of a fingerprint's four bytes p: the index in m.fingerprints at which to
// begin looking for it.
func (m *Set) slot(p uint32) int { return int(p * hashFactor >> m.shift) }

// after returns the slot behind slot i. Behind the last slot comes the first.
func (m *Set) after(i int) int { return (i + 1) & (len(m.fingerprints) - 1) }

// Next returns the offset of the next fingerprint of a needle, or of the next escape byte, at or
// after the offset `from`. It returns -1 if the text has neither. lines is the number of newlines
// between `from` and this offset. c holds the needles that may have their fingerprint there; at an
// escape it is empty.
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
		if text[at] == Escape {
			return at, lines, Candidates{}
		}
		if at+MinNeedle <= len(text) && m.masks[0][text[at]]&m.masks[1][text[at+1]]&
			m.masks[2][text[at+2]]&m.masks[3][text[at+3]] != 0 {
			if c = m.candidates(text, at); c.fingerprint != nil {
				return at, lines, c
			}
		}
		if text[at] == '\n' {
			lines++
		}
	}
	return -1, lines, Candidates{}
}

// Escape is the byte with which a control sequence of a terminal begins.
const Escape = 0x1b

// Candidates are the needles that may have their fingerprint at one offset of a text.
type Candidates struct {
	*fingerprint
	set uint64
}

// candidates returns the needles that may have their fingerprint at an offset of the text. It
// returns none unless the text really contains at least one of them.
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

// isIn reports whether the text contains the needle so that its fingerprint is at the offset `at`.
func (n *needle) isIn(text []byte, at int) bool {
	return at >= n.at && bytes.HasPrefix(text[at-n.at:], n.text)
}

// A Hit is a needle that begins at an offset of a text.
type Hit struct {
	Start int
	*needle
}

// Insert adds to hits each candidate that the text contains with its fingerprint at the offset
// `at`. The hits stay in the order in which the dialects try them: by their offset, then by their
// first owner.
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

// LineEnd returns the offset of the first '\n' or '\r' in the text, or the length of the text.
// escaped is set if an escape byte precedes this offset.
func LineEnd(text []byte) (end int, escaped bool) {
	if lineEnd != nil {
		end, escaped = lineEnd(text)
	}
	for ; end < len(text) && text[end] != '\n' && text[end] != '\r'; end++ {
		escaped = escaped || text[end] == Escape
	}
	return end, escaped
}
