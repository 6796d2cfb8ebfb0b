package speakers

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Errors has the errors of a diarization, in seconds of speech. A second in which two people speak
// counts as two.
type Errors struct {
	Reference  float64 `json:"reference"`   // speech in the reference
	Missed     float64 `json:"missed"`      // speech in the reference but not in the diarization
	FalseAlarm float64 `json:"false_alarm"` // speech in the diarization but not in the reference
	Confusion  float64 `json:"confusion"`   // speech given to the wrong speaker
	// Mapping gives, for a speaker of the diarization, the matching speaker of the reference.
	Mapping map[string]string `json:"mapping,omitempty"`
}

// Rate returns the diarization error rate: the sum of missed, false alarm and confused speech,
// divided by the speech of the reference. If the reference is silent, Rate returns 0 for a silent
// diarization and 1 for any other.
func (e Errors) Rate() float64 {
	wrong := e.Missed + e.FalseAlarm + e.Confusion
	switch {
	case e.Reference > 0:
		return wrong / e.Reference
	case wrong > 0:
		return 1
	}
	return 0
}

// Add adds the errors of another audio. Rate then returns the error rate of all audio together, and
// long files count for more than short ones. A mapping belongs to one audio, so the sum has no
// mapping.
func (e *Errors) Add(other Errors) {
	e.Reference += other.Reference
	e.Missed += other.Missed
	e.FalseAlarm += other.FalseAlarm
	e.Confusion += other.Confusion
	e.Mapping = nil
}

// Compare finds the errors of a diarization as defined by NIST's Rich Transcription evaluations
// (the RT-09 evaluation plan of 2009, md-eval.pl). pyannote.metrics' DiarizationErrorRate does the
// same. Compare maps the speakers of the diarization one to one to speakers of the reference, such
// that confusion is as small as possible. At a moment with r speakers in the reference and h in the
// diarization, max(0, r-h) speakers are missed and max(0, h-r) are false alarm. The other min(r, h)
// speakers are confused unless the mapping maps them to each other.
//
// Compare ignores the time within collar seconds of the start or the end of a turn of the
// reference. NIST's evaluations use 0.25. pyannote's collar counts the seconds on both sides
// together, so it is twice this collar. Compare ignores turns without length.
func Compare(reference, hypothesis []Turn, collar float64) Errors {
	ref, hyp := newTrack(reference), newTrack(hypothesis)
	times := slices.Concat(ref.times, hyp.times)
	var skipped *track
	if collar > 0 {
		skipped = newTrack(collars(ref.turns, collar))
		times = append(times, skipped.times...)
	}
	slices.Sort(times)
	times = slices.Compact(times)

	var e Errors
	var both float64 // seconds with speech in the reference and in the diarization
	together := make([][]float64, len(ref.names))
	for r := range together {
		together[r] = make([]float64, len(hyp.names))
	}
	for i := 1; i < len(times); i++ {
		at, seconds := times[i-1], times[i]-times[i-1]
		nRef, nHyp := ref.enter(at), hyp.enter(at)
		if skipped != nil && skipped.enter(at) > 0 {
			continue
		}
		e.Reference += seconds * float64(nRef)
		e.Missed += seconds * float64(max(0, nRef-nHyp))
		e.FalseAlarm += seconds * float64(max(0, nHyp-nRef))
		both += seconds * float64(min(nRef, nHyp))
		for r := range ref.names {
			for h := range hyp.names {
				if ref.speaking[r] > 0 && hyp.speaking[h] > 0 {
					together[r][h] += seconds
				}
			}
		}
	}
	right := 0.0
	e.Mapping = map[string]string{}
	for r, h := range match(together) {
		if h >= 0 {
			right += together[r][h]
			e.Mapping[hyp.names[h]] = ref.names[r]
		}
	}
	if e.Confusion = both - right; e.Confusion < 1e-9 { // rounding errors of the sums
		e.Confusion = 0
	}
	return e
}

// collars returns the times within collar seconds of the starts and ends of turns.
func collars(turns []Turn, collar float64) []Turn {
	var around []Turn
	for _, t := range turns {
		around = append(around,
			Turn{Start: t.Start - collar, End: t.Start + collar}, Turn{
				Start: t.End - collar,
				End:   t.End + collar,
			})
	}
	return around
}

// A track goes through turns in the order of time. For each speaker it counts the turns that have
// begun and not ended.
type track struct {
	turns    []Turn
	names    []string
	times    []float64 // at which a turn begins or ends
	begins   []change
	ends     []change
	speaking []int // number of current turns of each speaker
	voices   int   // number of speakers who speak now
}

// A change is the start or the end of a speaker's turn.
type change struct {
	at      float64
	speaker int
}

func newTrack(turns []Turn) *track {
	t := &track{}
	numbers := map[string]int{}
	for _, turn := range turns {
		if !(turn.End > turn.Start) || math.IsInf(turn.Start, 0) || math.IsInf(turn.End, 0) {
			continue
		}
		t.turns = append(t.turns, turn)
		numbers[turn.Speaker] = 0
	}
	t.names = slices.Sorted(maps.Keys(numbers))
	for i, name := range t.names {
		numbers[name] = i
	}
	for _, turn := range t.turns {
		n := numbers[turn.Speaker]
		t.begins = append(t.begins, change{turn.Start, n})
		t.ends = append(t.ends, change{turn.End, n})
		t.times = append(t.times, turn.Start, turn.End)
	}
	byTime := func(a, b change) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(t.begins, byTime)
	slices.SortFunc(t.ends, byTime)
	t.speaking = make([]int, len(t.names))
	return t
}

// enter moves the track to a time and returns how many speakers speak from this time on. The time
// must not be before the time of the last call.
func (t *track) enter(at float64) int {
	for len(t.begins) > 0 && t.begins[0].at <= at {
		n := t.begins[0].speaker
		if t.speaking[n]++; t.speaking[n] == 1 {
			t.voices++
		}
		t.begins = t.begins[1:]
	}
	for len(t.ends) > 0 && t.ends[0].at <= at {
		n := t.ends[0].speaker
		if t.speaking[n]--; t.speaking[n] == 0 {
			t.voices--
		}
		t.ends = t.ends[1:]
	}
	return t.voices
}
