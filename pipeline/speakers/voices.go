package speakers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Voices recognizes speakers across audio files by the embeddings of their voices. A diarization
// numbers the speakers of each audio anew; Voices gives a person the same name in all audio.
type Voices struct {
	threshold float64
	dim       int
	known     []voice
}

// A voice is a known speaker. sum is the sum of the speaker's embeddings, each scaled to length 1.
// The sum has the same direction as the mean of the embeddings.
type voice struct {
	name string
	sum  []float64
}

// NewVoices returns an empty set of voices. Two embeddings can be of the same voice only if their
// cosine similarity is at least the threshold, between -1 and 1. The documentation of an embedding
// model says which threshold suits it; 0.5 is usual.
func NewVoices(threshold float64) *Voices { return &Voices{threshold: threshold} }

// add adds a sum of embeddings to the voice that has the name, or makes a new voice with the name.
func (v *Voices) add(name string, sum []float64) {
	at := slices.IndexFunc(v.known, func(k voice) bool { return k.name == name })
	if at < 0 {
		v.known = append(v.known, voice{name, sum})
		return
	}
	for i, x := range sum {
		v.known[at].sum[i] += x
	}
}

// Name returns the names of the speakers of one audio. embeddings has the embeddings of each
// speaker's turns. The keys of both maps are the diarization's labels for the speakers. As many
// speakers as possible get the name of a known voice that is similar; if there are several ways,
// the most similar pairs count. Two speakers of an audio never get the same name. A speaker who
// resembles no known voice gets a new name: SPEAKER_00, SPEAKER_01 and so on. Name adds the
// embeddings to the voices.
func (v *Voices) Name(embeddings map[string][][]float32) (map[string]string, error) {
	labels := slices.Sorted(maps.Keys(embeddings))
	sums := make([][]float64, len(labels))
	for i, label := range labels {
		sum, err := v.direction(embeddings[label])
		if err != nil {
			return nil, fmt.Errorf("voice of %s: %w", label, err)
		}
		if i > 0 && len(sum) != len(sums[0]) {
			return nil, fmt.Errorf("voice of %s: expected embeddings of %d numbers, found %d",
				label, len(sums[0]), len(sum))
		}
		sums[i] = sum
	}
	weights := make([][]float64, len(labels))
	for i := range labels {
		weights[i] = make([]float64, len(v.known))
		for k := range v.known {
			if s := cosine(sums[i], v.known[k].sum); s >= v.threshold {
				// match leaves out pairs with weight 0. The constant 2 is large compared to the similarities,
				// so that match makes as many pairs as possible.
				weights[i][k] = 2 + s
			}
		}
	}
	names := map[string]string{}
	for i, k := range match(weights) {
		if k >= 0 {
			names[labels[i]] = v.known[k].name
		}
	}
	for i, label := range labels {
		if names[label] == "" {
			names[label] = fmt.Sprintf("SPEAKER_%02d", len(v.known))
		}
		v.dim = len(sums[i])
		v.add(names[label], sums[i])
	}
	return names, nil
}

// direction returns the sum of embeddings, each scaled to length 1. The error says what is wrong
// with an embedding.
func (v *Voices) direction(embeddings [][]float32) ([]float64, error) {
	if len(embeddings) == 0 {
		return nil, fmt.Errorf("expected an embedding, found none")
	}
	sum := make([]float64, len(embeddings[0]))
	for _, e := range embeddings {
		if len(e) != len(sum) || v.dim > 0 && len(e) != v.dim {
			return nil, fmt.Errorf("expected embeddings of %d numbers, found %d",
				cmp.Or(v.dim, len(sum)), len(e))
		}
		length := 0.0
		for _, x := range e {
			length += float64(x) * float64(x)
		}
		length = math.Sqrt(length)
		if !(length > 0) || math.IsInf(length, 0) {
			return nil, fmt.Errorf("expected an embedding of some length, found %g", length)
		}
		for i, x := range e {
			sum[i] += float64(x) / length
		}
	}
	return sum, nil
}

// cosine returns the cosine of the angle between a and b, or 0 if one of them is zero.
func cosine(a, b []float64) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += a[i] * b[i]
		aa += a[i] * a[i]
		bb += b[i] * b[i]
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// Rename returns the turns with the names of their speakers instead of the labels. A speaker
// without a name keeps the label.
func Rename(turns []Turn, names map[string]string) []Turn {
	renamed := slices.Clone(turns)
	for i := range renamed {
		if name, ok := names[renamed[i].Speaker]; ok {
			renamed[i].Speaker = name
		}
	}
	return renamed
}
