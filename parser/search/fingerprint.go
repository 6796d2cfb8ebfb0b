package search

import (
	"math"
	"math/bits"
	"slices"
)

// chooseFingerprints chooses four bytes of each needle, its fingerprint. The fewer different
// fingerprints there are, the less often the search stops at text that has no needle. So
// chooseFingerprints prefers words of four bytes that many needles contain, and among these the
// words that are rare in logs.
func chooseFingerprints(needles []*needle) {
	type word struct {
		text [MinNeedle]byte
		in   []int // indices of the needles with this text
		left int   // how many of these needles have no fingerprint yet
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
	// If a needle has several chosen words, the first becomes its fingerprint, because the search
	// then finds the needle's beginning soonest.
	for _, n := range needles {
		for !chosen[[MinNeedle]byte(n.text[n.at:])] {
			n.at++
		}
	}
}

// commonWords are parts of words that nearly every sentence has. In logs with transcripts, the
// search would stop at each of them.
var commonWords = []string{
	" of ", " the", "the ", " and", "and ", " to ", " in ", " is ", "ing ", "tion", "ion ", " for",
	"for ",
}

// rarity returns how rare four bytes are in logs, in bits: -log2 of their probability. It computes
// the probability from the frequency of each byte. This is wrong for parts of words: "ing " and
// "tep:" are far more frequent than their bytes suggest. So rarity divides the result by eight if
// the four bytes are only small letters, spaces, colons and opening parentheses.
func rarity(word [MinNeedle]byte) (bits float64) {
	chance := 1.0
	spoken := true
	for _, c := range word {
		chance *= frequency(c)
		spoken = spoken && (isSpoken(c) || c == ':' || c == '(')
	}
	bits = -math.Log2(chance)
	switch {
	case slices.Contains(commonWords, string(word[:])):
		return bits / 64
	case spoken:
		return bits / 8
	}
	return bits
}

// reachOf returns the Reach of the needle n in a [Set] that consists of the given needles.
func reachOf(n *needle, needles []*needle) (reach int) {
	for _, o := range needles {
		// Suppose that o begins `shift` bytes before n in the text, and that o's fingerprint is not
		// before n's.
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

// lowBits holds one set of values for each of six bytes: the four of a fingerprint and the two that
// follow it. Bit v of a set stands for the bytes whose low six bits are v.
type lowBits [MinNeedle + 2]uint64

// lowBits returns six sets: one for each of the fingerprint's four bytes and one for each of the
// two bytes after it. A set holds the low six bits of each byte that a needle allows there.
func (p *fingerprint) lowBits() (six lowBits) {
	for i := range six {
		set := p.bytesAt(i)
		for _, c := range set[:min(len(set), 64)] { // all 256 have the same low bits as the first 64
			six[i] |= 1 << (c & 63)
		}
	}
	return six
}

// bytesAt returns the bytes that the fingerprint's needles have at an offset from the fingerprint's
// first byte. If a needle ends before this offset, bytesAt returns all 256 values, because any byte
// may follow the needle in a text.
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

// or returns, for each of the six bytes, the union of both sets.
func (six lowBits) or(other lowBits) lowBits {
	for i := range six {
		six[i] |= other[i]
	}
	return six
}

// chance returns about how likely six bytes of a log are in the six sets; see weights. Use it only
// to compare sets.
func (six lowBits) chance() float64 {
	chance := 1.0
	for _, set := range six {
		if set == math.MaxUint64 {
			chance *= anything
			continue
		}
		sum := 0.0
		for ; set != 0; set &= set - 1 {
			sum += weights[bits.TrailingZeros64(set)]
		}
		chance *= sum
	}
	return chance
}

// buckets is the number of groups into which the fingerprints are divided. Each group has one bit
// in the tables of a [Set].
const buckets = 8

// fillBuckets returns the bucket of each fingerprint. Text without a needle should pass the tables
// as rarely as possible. So fillBuckets puts each fingerprint into the bucket whose chance rises
// least. Then it takes one fingerprint at a time out of its bucket and puts it into the bucket
// whose chance now rises least, until no fingerprint moves to another bucket. It makes no move that
// saves less than 1e-9, because rounding errors could repeat such moves for ever.
func fillBuckets(fingerprints []*fingerprint) (in []int) {
	six := make([]lowBits, len(fingerprints))
	for i, p := range fingerprints {
		six[i] = p.lowBits()
		in = append(in, -1)
	}
	for moved := true; moved; {
		moved = false
		for i := range fingerprints {
			from := in[i]
			in[i] = -1
			var all [buckets]lowBits
			for k, b := range in {
				if b >= 0 {
					all[b] = all[b].or(six[k])
				}
			}
			cost := func(b int) float64 { return all[b].or(six[i]).chance() - all[b].chance() }
			to := max(from, 0)
			for b := range all {
				if cost(b) < cost(to)-1e-9 {
					to = b
				}
			}
			in[i] = to
			moved = moved || to != from
		}
	}
	return in
}

// weights holds about how likely a byte is next to bytes that look like a fingerprint: weights[v]
// is for all bytes whose low six bits are v. Letters follow each other in words, so next to a
// fingerprint they are more likely than elsewhere, and other bytes are less likely. The factors 4
// and 1/2 are measured: with them, logs with sentences gave the fewest false matches.
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

// anything is the weight of a set with all values of a byte.
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
// bytes were counted in fixtures/logs and in the output of fixtures.Log.
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
