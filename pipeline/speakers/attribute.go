package speakers

import (
	"maps"
	"slices"
)

// An Attribution counts words by whether they have the right speaker.
type Attribution struct {
	Words int `json:"words"` // that were said while somebody speaks in the reference
	Right int `json:"right"` // of those, with the right speaker
	// Words that were said while nobody speaks there, which are neither right nor wrong.
	Outside int `json:"outside"`
}

// Accuracy is the share of words that have the right speaker, 1 where there are none. It is like 1
// less the word diarization error rate (L. El Shafey, H. Soltau and I. Shafran, "Joint speech
// recognition and speaker diarization via sequence transduction", Interspeech 2019), but by time:
// what was said is not compared with a reference's words.
func (a Attribution) Accuracy() float64 {
	if a.Words == 0 {
		return 1
	}
	return float64(a.Right) / float64(a.Words)
}

// Add adds the words of another audio.
func (a *Attribution) Add(other Attribution) {
	a.Words += other.Words
	a.Right += other.Right
	a.Outside += other.Outside
}

// Attribute compares the speakers of words with the turns of a reference. A word's right speaker is
// the one who speaks longest while it is said. What the words call a speaker and what the reference
// does are mapped one to one, so that the most words are right; a word without a speaker is wrong.
func Attribute(words []Word, reference []Turn) Attribution {
	index := newIndex(reference)
	var a Attribution
	counts := map[string]map[string]float64{} // of the reference, then of the words
	names := map[string]int{}
	for _, w := range words {
		speaker, ok := index.speaker(w.Start, w.End)
		if !ok {
			a.Outside++
			continue
		}
		a.Words++
		if w.Speaker == "" {
			continue
		}
		if counts[speaker] == nil {
			counts[speaker] = map[string]float64{}
		}
		counts[speaker][w.Speaker]++
		names[w.Speaker] = 0
	}
	for i, name := range slices.Sorted(maps.Keys(names)) {
		names[name] = i
	}
	var weights [][]float64
	for _, speaker := range slices.Sorted(maps.Keys(counts)) {
		row := make([]float64, len(names))
		for name, n := range counts[speaker] {
			row[names[name]] = n
		}
		weights = append(weights, row)
	}
	for row, column := range match(weights) {
		if column >= 0 {
			a.Right += int(weights[row][column])
		}
	}
	return a
}
