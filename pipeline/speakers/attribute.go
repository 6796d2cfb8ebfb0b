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

// Accuracy returns the part of the words that have the right speaker, from 0 to 1; 1 if there are
// no words. It resembles 1 minus the word diarization error rate (L. El Shafey, H. Soltau and I.
// Shafran, "Joint speech recognition and speaker diarization via sequence transduction",
// Interspeech 2019), but it finds the right speaker by time: it does not compare the words with
// those of a reference.
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

// Attribute compares the speakers of words with the turns of a reference. The right speaker of a
// word is whoever speaks longest in the reference while the word is said. The names of speakers may
// differ: Attribute maps those of the words to those of the reference one to one, such that the
// most words are right. A word without a speaker is wrong.
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
