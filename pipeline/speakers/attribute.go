package speakers

import (
	"maps"
	"slices"
)

// An Attribution counts how many words of a transcript have the right speaker.
type Attribution struct {
	Words int `json:"words"` // words said while somebody speaks in the reference
	Right int `json:"right"` // words with the right speaker
	// Outside counts words at times at which nobody speaks in the reference. They are neither right
	// nor wrong.
	Outside int `json:"outside"`
}

// Accuracy returns the part of the words that have the right speaker, from 0 to 1. Without words it
// returns 1. It resembles 1 minus the word diarization error rate (L. El Shafey, H. Soltau and I.
// Shafran, "Joint speech recognition and speaker diarization via sequence transduction",
// Interspeech 2019). But that rate compares the words with the words of a reference, and Accuracy
// compares only the times.
func (a Attribution) Accuracy() float64 {
	if a.Words == 0 {
		return 1
	}
	return float64(a.Right) / float64(a.Words)
}

// Add adds the counts of another audio.
func (a *Attribution) Add(other Attribution) {
	a.Words += other.Words
	a.Right += other.Right
	a.Outside += other.Outside
}

// Attribute counts the words whose speaker is right according to the turns of a reference. The
// right speaker of a word is the one who speaks longest in the reference during the word. The words
// and the reference may use different names: Attribute maps each name in the words to one name in
// the reference, such that as many words as possible are right. A word without a speaker is wrong.
func Attribute(words []Word, reference []Turn) Attribution {
	index := newIndex(reference)
	var a Attribution
	counts := map[string]map[string]float64{} // by speaker of the reference, then of the words
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
