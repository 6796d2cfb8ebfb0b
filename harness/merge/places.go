package merge

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// places is a set of places in a batch, from 1. A place that is not in the set takes no memory, so
// that a log which claims a huge batch does no harm.
type places struct {
	parts map[int]*[partWords]uint64
	count int
}

const (
	partWords = 512
	partBits  = 64 * partWords
)

// add adds a place, and reports whether the set had it before.
func (p *places) add(place int) (again bool) {
	n := place / partBits
	part := p.parts[n]
	if part == nil {
		if p.parts == nil {
			p.parts = map[int]*[partWords]uint64{}
		}
		part = &[partWords]uint64{}
		p.parts[n] = part
	}
	word, bit := &part[place%partBits/64], uint64(1)<<(place%64)
	again = *word&bit != 0
	if !again {
		*word |= bit
		p.count++
	}
	return again
}

// missing returns the places from 1 to `of` that are not in the set.
func (p *places) missing(of int) ranges {
	var r ranges
	for from := 1; from <= of; {
		part := p.parts[from/partBits]
		if part == nil { // none of this part is in the set
			to := min(of, from/partBits*partBits+partBits-1)
			r.addRange(from, to)
			from = to + 1
			continue
		}
		word := ^part[from%partBits/64] >> (from % 64)
		if word == 0 {
			from += 64 - from%64
			continue
		}
		if from += bits.TrailingZeros64(word); from <= of {
			r.add(from)
		}
		from++
	}
	return r
}

// listed returns the places in the set.
func (p *places) listed() ranges {
	var r ranges
	for _, n := range slices.Sorted(maps.Keys(p.parts)) {
		for i, word := range p.parts[n] {
			for ; word != 0; word &= word - 1 {
				r.add(n*partBits + 64*i + bits.TrailingZeros64(word))
			}
		}
	}
	return r
}

// rangesMost is how many ranges are listed. More of them are only counted.
const rangesMost = 12

// ranges lists numbers in ascending order.
type ranges struct {
	list  [][2]int
	count int
	more  int // numbers that are not listed
}

func (r *ranges) add(n int) { r.addRange(n, n) }

func (r *ranges) addRange(from, to int) {
	r.count += to - from + 1
	last := len(r.list) - 1
	switch {
	case last >= 0 && r.more == 0 && r.list[last][1] == from-1:
		r.list[last][1] = to
	case len(r.list) < rangesMost:
		r.list = append(r.list, [2]int{from, to})
	default:
		r.more += to - from + 1
	}
}

// String returns the numbers as a message lists them: "3, 7 and 12-40".
func (r *ranges) String() string {
	words := make([]string, 0, len(r.list)+1)
	for _, n := range r.list {
		switch n[1] - n[0] {
		case 0:
			words = append(words, fmt.Sprint(n[0]))
		case 1:
			words = append(words, fmt.Sprint(n[0]), fmt.Sprint(n[1]))
		default:
			words = append(words, fmt.Sprintf("%d-%d", n[0], n[1]))
		}
	}
	if r.more > 0 {
		words = append(words, fmt.Sprintf("%d more", r.more))
	}
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// named returns the numbers with their noun: "shard 3" or "shards 3 and 7".
func (r *ranges) named(noun string) string {
	if r.count != 1 {
		noun += "s"
	}
	return noun + " " + r.String()
}
