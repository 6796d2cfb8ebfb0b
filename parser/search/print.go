package search

import (
	"math"
	"math/bits"
)

// choosePrints gives each needle its print: the fewer there are in all, the less often the tables take other text for one.
// So the print that the most needles share comes first, and of those the rarer in logs.
func choosePrints(needles []*needle) {
	type word struct {
		text [MinNeedle]byte
		in   []int // needles
		left int   // of these, without a print yet
		bits float64
	}
	var words []*word
	byText := map[[MinNeedle]byte]*word{}
	of := make([][]*word, len(needles))
	for n := range needles {
		for i := 0; i+MinNeedle <= len(needles[n].text); i++ {
			text := [MinNeedle]byte(needles[n].text[i:])
			w := byText[text]
			if w == nil {
				w = &word{text: text, bits: rarity(text)}
				byText[text] = w
				words = append(words, w)
			}
			if len(w.in) == 0 || w.in[len(w.in)-1] != n {
				w.in = append(w.in, n)
				w.left++
				of[n] = append(of[n], w)
			}
		}
	}
	chosen := map[[MinNeedle]byte]bool{}
	for {
		var best *word
		most := 0.0
		for _, w := range words {
			if score := float64(w.left) * w.bits; score > most {
				best, most = w, score
			}
		}
		if best == nil {
			break
		}
		chosen[best.text] = true
		for _, n := range best.in {
			for _, w := range of[n] {
				w.left--
			}
			of[n] = nil
		}
	}
	// A needle that has several is told by the first, so that it is known soon where it begins.
	for _, n := range needles {
		for !chosen[[MinNeedle]byte(n.text[n.at:])] {
			n.at++
		}
	}
}

// rarity is how seldom a word is in logs, in bits. The letters of words follow one another, so that "ing " is far more
// frequent than its letters say.
func rarity(word [MinNeedle]byte) (bits float64) {
	chance := 1.0
	spoken := true
	for _, c := range word {
		chance *= frequency(c)
		spoken = spoken && isSpoken(c)
	}
	bits = -math.Log2(chance)
	if spoken {
		return bits / 8
	}
	return bits
}

// reachOf is a needle's reach: how far behind its beginning the print of another may stand that begins there or before it.
func reachOf(n *needle, needles []*needle) (reach int) {
	for _, o := range needles {
		for shift := 0; shift <= o.at-n.at; shift++ { // o begins so much before n, and its print stands behind that of n
			tail := o.text[shift:]
			if tail[0] != n.text[0] {
				continue
			}
			if same := min(len(tail), len(n.text)); string(tail[:same]) == string(n.text[:same]) {
				reach = max(reach, o.at-shift+1)
			}
		}
	}
	return reach
}

// A bucket is prints that share a bit in a matcher's tables.
type bucket struct {
	prints []*imprint
	// six are the low six bits that the bytes at each place may have.
	six [MinNeedle + 2]uint64
	// chance is how often a place in a log looks like one of the prints.
	chance float64
}

func newBucket(p *imprint) bucket {
	b := bucket{prints: []*imprint{p}}
	for i := range b.six {
		set := p.behind(i)
		for _, c := range set[:min(len(set), 64)] { // all, or the first of all
			b.six[i] |= 1 << (c & 63)
		}
	}
	b.estimate()
	return b
}

// behind are the bytes that may stand at a place, counted from the print's first one.
func (p *imprint) behind(place int) (set []byte) {
	for _, n := range p.needles {
		if n.at+place >= len(n.text) {
			return everyByte
		}
		set = append(set, n.text[n.at+place])
	}
	return set
}

var everyByte = func() (all []byte) {
	for c := range 256 {
		all = append(all, byte(c))
	}
	return all
}()

func (b *bucket) estimate() {
	b.chance = 1
	for _, six := range b.six {
		if six == math.MaxUint64 {
			b.chance *= anything
			continue
		}
		sum := 0.0
		for ; six != 0; six &= six - 1 {
			sum += weights[bits.TrailingZeros64(six)]
		}
		b.chance *= sum
	}
}

// with is the bucket of both buckets' prints, without these.
func (b *bucket) with(other *bucket) bucket {
	both := bucket{six: b.six}
	for i := range b.six {
		both.six[i] |= other.six[i]
	}
	both.estimate()
	return both
}

// deal merges buckets until there are eight, each time the two that together look like logs the least more often than by
// themselves.
func deal(prints []*imprint) []bucket {
	var buckets []bucket
	for _, p := range prints {
		buckets = append(buckets, newBucket(p))
	}
	// best are the best partners of each bucket among those before it; -1 where it has none any more.
	type partner struct {
		of   int
		cost float64
	}
	best := make([]partner, len(buckets))
	compare := func(a, b int) {
		both := buckets[a].with(&buckets[b])
		if cost := both.chance - buckets[a].chance - buckets[b].chance; best[a].of < 0 || cost < best[a].cost {
			best[a] = partner{b, cost}
		}
	}
	search := func(a int) {
		best[a] = partner{of: -1}
		for b := range a {
			if buckets[b].prints != nil {
				compare(a, b)
			}
		}
	}
	for a := range buckets {
		search(a)
	}
	for left := len(buckets); left > 8; left-- {
		a := -1
		for i := range best {
			if best[i].of >= 0 && (a < 0 || best[i].cost < best[a].cost) {
				a = i
			}
		}
		b := best[a].of
		both := buckets[b].with(&buckets[a])
		both.prints = append(buckets[b].prints, buckets[a].prints...)
		buckets[b], buckets[a] = both, bucket{}
		best[a].of = -1
		for i := b; i < len(buckets); i++ {
			switch {
			case buckets[i].prints == nil:
			case i == b || best[i].of == a || best[i].of == b:
				search(i)
			default:
				compare(i, b)
			}
		}
	}
	var dealt []bucket
	for _, b := range buckets {
		if b.prints != nil {
			dealt = append(dealt, b)
		}
	}
	return dealt
}

// weights are how likely a byte with these low six bits is to follow others that look like a print. The letters of words
// stand together, so that they are likelier than their share in logs says, and the others less likely. The factors are what
// leaves the fewest false prints in logs with sentences in them.
var weights = func() (w [64]float64) {
	for c := range 256 {
		if isSpoken(byte(c)) {
			w[c%64] += 4 * frequency(byte(c))
		} else {
			w[c%64] += frequency(byte(c)) / 2
		}
	}
	return w
}()

var anything = func() (sum float64) {
	for _, w := range weights {
		sum += w
	}
	return sum
}()

func isSpoken(c byte) bool { return c == ' ' || c >= 'a' && c <= 'z' }

// frequency is the share of a byte in logs.
func frequency(c byte) float64 {
	if c < 128 {
		return float64(frequencies[c]) / 100_000
	}
	return 1e-5
}

// frequencies are how often each ASCII byte is among 100,000 of the logs of fixtures/logs and of those of fixtures.WriteLog,
// 1 at least.
var frequencies = [128]uint16{
	115, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1472, 1, 1, 66, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 23, 1, 1, 1, 1,
	16068, 288, 433, 330, 3, 430, 11, 327, 369, 367, 135, 133, 1466, 3195, 2839, 945,
	3943, 2235, 2564, 1256, 1110, 1160, 1098, 855, 860, 914, 1715, 28, 73, 942, 127, 14,
	14, 272, 499, 201, 136, 217, 365, 130, 97, 512, 5, 103, 107, 537, 409, 459,
	398, 14, 139, 272, 406, 164, 73, 37, 34, 16, 13, 783, 93, 764, 146, 1594,
	39, 2968, 708, 1526, 1440, 4920, 903, 909, 945, 3078, 66, 425, 1905, 1695, 2598, 3105,
	1560, 78, 2757, 3492, 3205, 1273, 446, 512, 212, 520, 138, 18, 413, 17, 48, 1,
}
