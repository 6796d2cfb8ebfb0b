package speakers

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// Align sets the speaker of each word, and cuts segments where the speaker changes. A word gets the
// speaker whose turns overlap the word longest, as in WhisperX's assign_word_speakers
// (m-bain/whisperX, whisperx/diarize.py). If no turn overlaps the word, the word gets the speaker
// of the nearest turn in time. If the turns of several speakers overlap the word equally long, it
// gets the speaker who began first. Without turns no word gets a speaker. A segment without words
// gets a speaker by its own start and end. Align does not change the given segments.
func Align(segments []Segment, turns []Turn) []Segment {
	index := newIndex(turns)
	var aligned []Segment
	for _, s := range segments {
		s.Words = slices.Clone(s.Words)
		for i := range s.Words {
			s.Words[i].Speaker = index.nearest(s.Words[i].Start, s.Words[i].End)
		}
		s.Speaker = index.nearest(s.Start, s.End)
		aligned = append(aligned, s)
	}
	return split(aligned)
}

// split cuts segments where the speaker of their words changes. The first part of a segment keeps
// the segment's start and the last part its end. The other parts last from the start of their first
// word to the end of their last word. Segments without words are not cut.
func split(segments []Segment) []Segment {
	var parts []Segment
	for _, s := range segments {
		rest := s.Words
		if len(rest) == 0 {
			parts = append(parts, s)
		}
		for len(rest) > 0 {
			n := 1
			for n < len(rest) && rest[n].Speaker == rest[0].Speaker {
				n++
			}
			part := Segment{
				Start: rest[0].Start, End: rest[n-1].End,
				Speaker: rest[0].Speaker, Text: joinWords(rest[:n]), Words: rest[:n:n],
			}
			if len(rest) == len(s.Words) {
				part.Start = s.Start
			}
			if rest = rest[n:]; len(rest) == 0 {
				part.End = max(part.Start, s.End)
			}
			parts = append(parts, part)
		}
	}
	return parts
}

func joinWords(words []Word) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.Text)
	}
	return strings.TrimSpace(b.String())
}

// An index finds the turns at a given time fast.
type index struct {
	turns []Turn // sorted by start
	last  []int  // last[i] is the index of the turn in turns[:i+1] with the latest end
}

func newIndex(turns []Turn) *index {
	x := &index{turns: slices.Clone(turns)}
	slices.SortStableFunc(x.turns, func(a, b Turn) int { return cmp.Compare(a.Start, b.Start) })
	x.last = make([]int, len(turns))
	for i := 1; i < len(turns); i++ {
		x.last[i] = x.last[i-1]
		if x.turns[i].End > x.turns[x.last[i]].End {
			x.last[i] = i
		}
	}
	return x
}

// nearest returns the speaker whose turns overlap the time from start to end longest. If no turn
// overlaps this time, it returns the speaker of the nearest turn, or "" without turns.
func (x *index) nearest(start, end float64) string {
	if speaker, ok := x.speaker(start, end); ok {
		return speaker
	}
	after := x.after(end)
	switch {
	case len(x.turns) == 0:
		return ""
	case after == 0:
		return x.turns[0].Speaker
	}
	before := x.turns[x.last[after-1]]
	if after < len(x.turns) && x.turns[after].Start-end < start-before.End {
		return x.turns[after].Speaker
	}
	return before.Speaker
}

// after returns the index of the first turn that begins at this time or later.
func (x *index) after(time float64) int {
	return sort.Search(len(x.turns), func(i int) bool { return x.turns[i].Start >= time })
}

// speaker returns the speaker whose turns overlap the time from start to end longest. ok is false
// if nobody speaks in this time.
func (x *index) speaker(start, end float64) (speaker string, ok bool) {
	type share struct {
		speaker string
		seconds float64
	}
	var shares []share // the speaker who spoke first comes last
	for i := x.after(end) - 1; i >= 0 && x.turns[x.last[i]].End > start; i-- {
		t := x.turns[i]
		overlap := min(t.End, end) - max(t.Start, start)
		// A word without length overlaps a turn if the word lies inside the turn.
		if overlap <= 0 && (start < end || t.End <= start) {
			continue
		}
		at := slices.IndexFunc(shares, func(s share) bool { return s.speaker == t.Speaker })
		if at < 0 {
			shares = append(shares, share{t.Speaker, overlap})
			continue
		}
		shares[at].seconds += overlap
	}
	best := share{seconds: -1}
	for _, s := range shares {
		if s.seconds >= best.seconds {
			best = s
		}
	}
	return best.speaker, len(shares) > 0
}
