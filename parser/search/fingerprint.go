package search

import (
	"math"
	"math/bits"
)

// chooseFingerprints chooses four bytes of each needle, its fingerprint. The fewer different
// fingerprints there are, the less often the search stops at text that has no needle. So
// chooseFingerprints prefers words of four bytes that many needles contain, and among these the
// words that are rare in logs.
func chooseFingerprints(needles []*needle) {
	type word struct {
		text [MinNeedle]byte
		in   []int // needles
		left int   // those of them that have no fingerprint yet
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
	// If a needle has several chosen words, the first becomes its fingerprint, because the search then
	// finds the needle's beginning soonest.
	for _, n := range needles {
		for !chosen[[MinNeedle]byte(n.text[n.at:])] {
			n.at++
		}
	}
}

// rarity returns how rare four bytes are in logs, in bits: -log2 of their probability. It computes
// the probability from the frequency of each byte. That is wrong for letters, which follow each
// other in words: "ing " is far more frequent than its letters suggest. So rarity divides the bits
// of four letters by eight.
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

// reachOf returns the Reach of needle n among all needles.
func reachOf(n *needle, needles []*needle) (reach int) {
	for _, o := range needles {
		// Needle o begins shift bytes before n in the text, and its fingerprint is not before n's.
		for shift := 0; shift <= o.at-n.at; shift++ {
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

// A bucket is a group of fingerprints. The eight buckets each have one bit in the tables of a
// [Set].
type bucket struct {
	fingerprints []*fingerprint
	// six[i] has one bit for each value of the low six bits that byte i of the text may have.
	six [MinNeedle + 2]uint64
	// chance is the probability that six bytes of a log pass the tables of this bucket.
	chance float64
}

func newBucket(p *fingerprint) bucket {
	b := bucket{fingerprints: []*fingerprint{p}}
	for i := range b.six {
		set := p.bytesAt(i)
		for _, c := range set[:min(len(set), 64)] { // all 256 have the same low bits as the first 64
			b.six[i] |= 1 << (c & 63)
		}
	}
	b.estimate()
	return b
}

// bytesAt returns the values that the byte at an offset from the fingerprint's first byte may have.
// If one of the needles ends before this offset, the byte may have any value.
func (p *fingerprint) bytesAt(offset int) (set []byte) {
	for _, n := range p.needles {
		if n.at+offset >= len(n.text) {
			return everyByte
		}
		set = append(set, n.text[n.at+offset])
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

// with returns a bucket that has the bits of both buckets and their common chance. It has no
// fingerprints.
func (b *bucket) with(other *bucket) bucket {
	both := bucket{six: b.six}
	for i := range b.six {
		both.six[i] |= other.six[i]
	}
	both.estimate()
	return both
}

// fillBuckets divides the fingerprints into eight buckets, so that random text passes the tables as
// rarely as possible. It begins with a bucket for each fingerprint. Then it merges two buckets at a
// time: those whose merging raises the sum of all chances least.
func fillBuckets(fingerprints []*fingerprint) []bucket {
	var buckets []bucket
	for _, p := range fingerprints {
		buckets = append(buckets, newBucket(p))
	}
	// best holds, for each bucket, the best partner among the buckets before it. `of` is -1 if there
	// is no partner.
	type partner struct {
		of   int
		cost float64
	}
	best := make([]partner, len(buckets))
	compare := func(a, b int) {
		both := buckets[a].with(&buckets[b])
		if cost := both.chance - buckets[a].chance - buckets[b].chance; best[a].of < 0 ||
			cost < best[a].cost {
			best[a] = partner{b, cost}
		}
	}
	search := func(a int) {
		best[a] = partner{of: -1}
		for b := range a {
			if buckets[b].fingerprints != nil {
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
		both.fingerprints = append(buckets[b].fingerprints, buckets[a].fingerprints...)
		buckets[b], buckets[a] = both, bucket{}
		best[a].of = -1
		for i := b; i < len(buckets); i++ {
			switch {
			case buckets[i].fingerprints == nil:
			case i == b || best[i].of == a || best[i].of == b:
				search(i)
			default:
				compare(i, b)
			}
		}
	}
	var filled []bucket
	for _, b := range buckets {
		if b.fingerprints != nil {
			filled = append(filled, b)
		}
	}
	return filled
}

// weights holds how likely a byte is next to bytes that look like a fingerprint, by the low six
// bits of the byte. Letters follow each other in words, so next to a fingerprint they are more
// likely than elsewhere, and other bytes are less likely. The factors 4 and 1/2 are measured: with
// them, logs with sentences gave the fewest false matches.
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

// frequency returns how often a byte occurs in logs, as a fraction of all bytes.
func frequency(c byte) float64 {
	if c < 128 {
		return float64(frequencies[c]) / 100_000
	}
	return 1e-5
}

// frequencies holds how often each ASCII byte occurs in 100,000 bytes of logs, at least 1. The
// bytes were counted in fixtures/logs and in the output of fixtures.WriteLog.
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
