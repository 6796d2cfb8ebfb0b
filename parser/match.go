package parser

import (
	"bytes"
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

// A matcher finds the needles of a set of dialects, all in one pass, so that one more dialect costs the others nothing.
//
// It is the Teddy algorithm of Hyperscan (and of Rust's aho-corasick): each needle is told by four bytes of it, its print,
// chosen to be rare in logs. The needles are dealt to eight buckets, and for each of the four places a table says which
// buckets have a print with that byte there. Where the four tables agree on a bucket, its needles are compared.
type matcher struct {
	buckets [8][]needle
	// masks[i][b] are the buckets that have a print with byte b at place i.
	masks  [printLen][256]uint8
	tables teddyTables
}

// teddyTables are masks by nibbles, so that sixteen entries will do: tables[i][0] by the low one of the byte at place i,
// tables[i][1] by the high one. Each is there twice, for the two halves of a vector.
type teddyTables [printLen][2][32]uint8

const (
	printLen  = 4
	needleMax = 64 // longest needle, in bytes
)

type needle struct {
	text []byte
	at   int // of the print in the text
	d    []*dialect
}

func (n *needle) print() []byte { return n.text[n.at : n.at+printLen] }

func newMatcher(set []*dialect) *matcher {
	m := &matcher{}
	var needles []needle
	at := map[string]int{}
	for _, d := range set {
		for _, text := range d.needles {
			i, known := at[text]
			if !known {
				i = len(needles)
				at[text] = i
				needles = append(needles, needle{text: []byte(text), at: rarest(text)})
			}
			needles[i].d = append(needles[i].d, d)
		}
	}
	// Similar prints share a bucket, so that its tables have few bytes at each place. The longer of two needles that begin
	// alike comes first.
	slices.SortStableFunc(needles, func(a, b needle) int {
		return cmp.Or(bytes.Compare(a.print(), b.print()), len(b.text)-len(a.text))
	})
	for i, n := range needles {
		k := i * len(m.buckets) / len(needles)
		m.buckets[k] = append(m.buckets[k], n)
		for j, c := range n.print() {
			m.masks[j][c] |= 1 << k
			for _, half := range []int{0, 16} {
				m.tables[j][0][half+int(c&15)] |= 1 << k
				m.tables[j][1][half+int(c>>4)] |= 1 << k
			}
		}
	}
	return m
}

// next is the first place from an offset on where the print of a needle stands that is there as a whole, and the buckets
// in which to look for it; set is 0 where there is none.
func (m *matcher) next(text []byte, from int) (at int, set uint8) {
	at = from
	for hasTeddy {
		var skipped int
		skipped, set = teddy(text[min(at, len(text)):], &m.tables)
		if at += skipped; set == 0 {
			break
		}
		if m.any(text, at, set) {
			return at, set
		}
		at++
	}
	for ; at+printLen <= len(text); at++ {
		set = m.masks[0][text[at]] & m.masks[1][text[at+1]] & m.masks[2][text[at+2]] & m.masks[3][text[at+3]]
		if set != 0 && m.any(text, at, set) {
			return at, set
		}
	}
	return len(text), 0
}

// any says whether a needle of some buckets stands in the text with its print at an offset.
func (m *matcher) any(text []byte, at int, set uint8) bool {
	for range m.needles(text, at, set) {
		return true
	}
	return false
}

// needles ranges over those needles of some buckets that stand in the text with their print at an offset, and where they
// begin.
func (m *matcher) needles(text []byte, at int, set uint8) iter.Seq2[*needle, int] {
	return func(yield func(*needle, int) bool) {
		for ; set != 0; set &= set - 1 {
			bucket := m.buckets[bits.TrailingZeros8(set)]
			for i := range bucket {
				n := &bucket[i]
				if start := at - n.at; start >= 0 && bytes.HasPrefix(text[start:], n.text) && !yield(n, start) {
					return
				}
			}
		}
	}
}

// rarest is the offset of the four bytes of a needle that are the rarest in logs.
func rarest(text string) int {
	best, at := -1, 0
	for i := 0; i+printLen <= len(text); i++ {
		sum := 0
		for _, c := range []byte(text[i : i+printLen]) {
			sum += rarity(c)
		}
		if sum > best {
			best, at = sum, i
		}
	}
	return at
}

// rarity is how seldom a byte is in logs, roughly, in bits: letters after their frequency in English text, digits and
// the punctuation of logs as in the logs of fixtures/logs.
func rarity(c byte) int {
	switch {
	case c == ' ' || c == '0' || c == 'e' || c == '.':
		return 3
	case bytes.IndexByte([]byte("atoinsr123-_/:,\"="), c) >= 0:
		return 4
	case c >= 'a' && c <= 'z' || c >= '4' && c <= '9':
		return 5
	case c >= 'A' && c <= 'Z' || c == '(' || c == ')' || c == '|':
		return 7
	}
	return 8
}
