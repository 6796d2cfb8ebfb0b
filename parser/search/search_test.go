//go:build !race

package search

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// teddies are the assembly searches that this processor supports. nil stands for the search in Go.
var teddies = map[string]func(text []byte, tables *teddyTables) (at, lines int, found bool){
	"none": nil,
	"six":  teddySix,
}

// teddySix does in Go what teddyVBMI does, with the same tables. So these tables are tested on
// processors without AVX-512, too.
func teddySix(text []byte, tables *teddyTables) (at, lines int, found bool) {
	for ; at+len(tables.six) <= len(text); at++ {
		buckets := uint8(0xff)
		for i := range tables.six {
			buckets &= tables.six[i][text[at+i]%64]
		}
		if buckets != 0 || text[at] == Escape {
			return at, lines, true
		}
		if text[at] == '\n' {
			lines++
		}
	}
	return at, lines, false
}

// useTeddy selects a search for the duration of a test.
func useTeddy(t testing.TB, name string) {
	before := teddy
	teddy = teddies[name]
	t.Cleanup(func() { teddy = before })
}

// offsetsOfFingerprints returns, for each needle of a set, the offset of its fingerprint.
func offsetsOfFingerprints(m *Set) map[string]int {
	all := map[string]int{}
	for _, p := range m.fingerprints {
		for ; p != nil; p = p.more {
			for _, n := range p.needles {
				all[string(n.text)] = n.at
			}
		}
	}
	return all
}

// TestNext: every search finds what a comparison with each needle at each offset finds.
func TestNext(t *testing.T) {
	m := New([][]string{testNeedles})
	needles, offsets := testNeedles, offsetsOfFingerprints(m)
	// stands reports whether the text has a needle whose fingerprint is at an offset.
	stands := func(text []byte, at int) bool {
		return slices.ContainsFunc(needles, func(n string) bool {
			start := at - offsets[n]
			return start >= 0 && bytes.HasPrefix(text[start:], []byte(n))
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	piece := func() string {
		n := needles[random.IntN(len(needles))]
		switch random.IntN(6) {
		case 0:
			return n
		case 1: // a part of a needle
			from := random.IntN(len(n))
			return n[from : from+random.IntN(len(n)-from)]
		case 2:
			return "\n"
		case 3:
			return string([]byte{byte(random.IntN(256))})
		case 4:
			return "of all that was said "[:random.IntN(21)]
		}
		return "\r\x1b[0m"[random.IntN(2) : 1+random.IntN(4)]
	}
	texts := make([][]byte, 500)
	for i := range texts {
		for range random.IntN(40) {
			texts[i] = append(texts[i], piece()...)
		}
	}
	standing := make([][]bool, len(texts))
	for i, text := range texts {
		for at := range text {
			standing[i] = append(standing[i], stands(text, at))
		}
	}
	for name := range teddies {
		t.Run(name, func(t *testing.T) {
			useTeddy(t, name)
			for n, text := range texts {
				for from := 0; from <= len(text); from += 1 + len(text)/50 {
					at, lines, _ := m.Next(text, from)
					wantAt, wantLines := -1, 0
					for i := from; i < len(text); i++ {
						if text[i] == Escape || standing[n][i] {
							wantAt = i
							break
						}
						wantLines += bytes.Count(text[i:i+1], []byte{'\n'})
					}
					if at != wantAt || lines != wantLines {
						t.Fatalf("%q from %d: got offset %d after %d line ends, want %d after %d", text, from, at,
							lines,
							wantAt, wantLines)
					}
				}
			}
		})
	}
}

// A foundNeedle is a needle and the offset of its first byte in a text.
type foundNeedle struct {
	at     int
	needle string
}

// found returns all needles of a set in a text.
func found(m *Set, text []byte) (all []foundNeedle) {
	for at := 0; ; at++ {
		var c Candidates
		if at, _, c = m.Next(text, at); at < 0 {
			return all
		}
		for _, h := range c.Insert(nil, text, at) {
			all = append(all, foundNeedle{h.Start, string(h.text)})
		}
	}
}

// TestNextFindsNeedles: each needle is found at every offset.
func TestNextFindsNeedles(t *testing.T) {
	m := New([][]string{testNeedles})
	for name := range teddies {
		t.Run(name, func(t *testing.T) {
			useTeddy(t, name)
			for _, n := range testNeedles {
				for before := range 70 {
					text := append(bytes.Repeat([]byte{'#'}, before), n...)
					if !slices.Contains(found(m, text), foundNeedle{before, n}) {
						t.Fatalf("%q after %d bytes: got %v", n, before, found(m, text))
					}
				}
			}
		})
	}
}

// TestFillBuckets: moving any fingerprint to another bucket would not make the sum of the buckets'
// chances smaller.
func TestFillBuckets(t *testing.T) {
	var fingerprints []*fingerprint
	for _, p := range New([][]string{testNeedles}).fingerprints {
		if p != nil {
			fingerprints = append(fingerprints, p)
		}
	}
	in := fillBuckets(fingerprints)
	chance := func(in []int) (sum float64) {
		for b := range buckets {
			var all lowBits
			for i, p := range fingerprints {
				if in[i] == b {
					all = all.or(p.lowBits())
				}
			}
			sum += all.chance()
		}
		return sum
	}
	best := chance(in)
	for i, p := range fingerprints {
		for b := range buckets {
			moved := slices.Clone(in)
			moved[i] = b
			if sum := chance(moved); sum < best-1e-8 {
				t.Errorf("fingerprint %#x in bucket %d: got chance %v, in bucket %d it is %v", p.bytes, in[i],
					best, b, sum)
			}
		}
	}
}

func BenchmarkNext(b *testing.B) {
	text := bytes.Repeat([]byte("[2026-11-20 02:00:00.291] [INFO] 0001.mp3 "+
		"[3.40 --> 462.60] when said how the about should come remember\n"), 5000)
	m := New([][]string{testNeedles})
	for name := range teddies {
		b.Run(name, func(b *testing.B) {
			useTeddy(b, name)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Next(text, 0)
			}
		})
	}
}
