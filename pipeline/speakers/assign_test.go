package speakers

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// assign sets the speaker of each word with Align.
func assign(words []Word, turns []Turn) {
	given := words[:0]
	for _, s := range Align([]Segment{{Words: words}}, turns) {
		given = append(given, s.Words...)
	}
}

func TestAlignGivesWordsSpeakers(t *testing.T) {
	turns := []Turn{{4, 6, "B"}, {0, 2, "A"}, {5, 8, "A"}, {9, 10, "C"}} // unordered
	for _, test := range []struct {
		name       string
		start, end float64
		speaker    string
	}{
		{"within a turn", 0.5, 1, "A"},
		{"longer in one turn", 3.9, 5.5, "B"},
		{"within the overlap, whole in both: B spoke first", 5.2, 5.8, "B"},
		{"from the overlap on", 5.8, 6.5, "A"},
		{"two turns of A outweigh one of B", 0, 7, "A"},
		{"nearest turn before", 2.1, 2.5, "A"},
		{"nearest turn behind", 3.5, 3.9, "B"},
		{"midway: who spoke first", 2.5, 3.5, "A"},
		{"before all", -2, -1, "A"},
		{"behind all", 20, 21, "C"},
		{"without a duration, in a turn", 9.5, 9.5, "C"},
		{"without a duration, in a pause", 8.9, 8.9, "C"},
		{"touches a turn's end", 2, 2.2, "A"},
	} {
		words := []Word{{Start: test.start, End: test.end}}
		assign(words, turns)
		if words[0].Speaker != test.speaker {
			t.Errorf("%s: expected %s, found %q", test.name, test.speaker, words[0].Speaker)
		}
	}
	words := []Word{{Start: 1, End: 2, Speaker: "A"}}
	if assign(words, nil); words[0].Speaker != "" {
		t.Errorf("without turns: found %q", words[0].Speaker)
	}
}

// TestAlignAgainstAllTurns compares the speakers that the index finds with those from a search over
// all turns.
func TestAlignAgainstAllTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := drawTurns(t, "turns", 8)
		start := rapid.IntRange(0, 40).Draw(t, "start")
		end := start + rapid.IntRange(0, 10).Draw(t, "length")
		words := []Word{{Start: float64(start), End: float64(end)}}
		assign(words, turns)
		overlaps, nearest := map[string]float64{}, math.Inf(1)
		for _, turn := range turns {
			if o := min(turn.End, float64(end)) - max(turn.Start, float64(start)); o > 0 {
				overlaps[turn.Speaker] += o
			}
			nearest = min(nearest, max(0, turn.Start-float64(end), float64(start)-turn.End))
		}
		found := words[0].Speaker
		for speaker, o := range overlaps {
			if o > overlaps[found] {
				t.Fatalf("%s overlaps %g s, %s overlaps %g s", found, overlaps[found], speaker, o)
			}
		}
		if len(overlaps) > 0 {
			return
		}
		for _, turn := range turns {
			if turn.Speaker == found && max(0, turn.Start-float64(end),
				float64(start)-turn.End) == nearest {
				return
			}
		}
		if len(turns) > 0 {
			t.Fatalf("found %q, whose turns are further than %g s", found, nearest)
		}
	})
}

// drawTurns draws at most `most` turns of up to four speakers. The turns begin and end at whole
// seconds, and some overlap.
func drawTurns(t *rapid.T, name string, most int) []Turn {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Turn {
		start := rapid.IntRange(0, 30).Draw(t, "start")
		length := rapid.IntRange(1, 10).Draw(t, "length")
		return Turn{float64(start), float64(start + length), rapid.SampledFrom([]string{
			"A", "B",
			"C", "D",
		}).Draw(t, "speaker")}
	}), 0, most).Draw(t, name)
}

func TestAlign(t *testing.T) {
	word := func(text string, start, end float64) Word {
		return Word{Text: text, Start: start, End: end}
	}
	segments := []Segment{
		{Start: 0, End: 4, Text: "So you came. I did.", Words: []Word{
			word(" So", 0.2, 0.5), word(" you", 0.5, 0.9), word(" came.", 0.9, 1.4),
			word(" I", 2.1, 2.2), word(" did.", 2.2, 2.8),
		}},
		{Start: 4, End: 5, Text: "Hm"},
	}
	turns := []Turn{{0, 1.5, "A"}, {2, 3, "B"}, {4, 4.5, "A"}}
	got := Align(segments, turns)
	by := func(w Word, speaker string) Word { w.Speaker = speaker; return w }
	want := []Segment{
		{Start: 0, End: 1.4, Speaker: "A", Text: "So you came.", Words: []Word{
			by(word(" So", 0.2, 0.5), "A"), by(word(" you", 0.5, 0.9), "A"),
			by(word(" came.", 0.9, 1.4), "A"),
		}},
		{Start: 2.1, End: 4, Speaker: "B", Text: "I did.", Words: []Word{by(word(" I", 2.1, 2.2),
			"B"), by(word(" did.", 2.2, 2.8), "B")}},
		{Start: 4, End: 5, Speaker: "A", Text: "Hm"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if segments[0].Words[0].Speaker != "" {
		t.Error("Align changed its input")
	}
	if got := Align(nil, turns); len(got) != 0 {
		t.Errorf("no words: found %+v", got)
	}
}

// TestAlignKeepsWords: Align loses, adds and moves no word, and no segment has words of two
// speakers.
func TestAlignKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := drawTurns(t, "turns", 8)
		var segments []Segment
		var before, after []string
		for at := 0; at < 30; at += 10 {
			s := Segment{Start: float64(at), End: float64(at) + 10}
			for i := range rapid.IntRange(0, 5).Draw(t, "words") {
				text := strings.Repeat(" x", i+1)
				s.Words = append(s.Words, Word{
					Text: text, Start: float64(at + 2*i),
					End: float64(at + 2*i + 1),
				})
				before = append(before, text)
			}
			segments = append(segments, s)
		}
		for _, s := range Align(segments, turns) {
			if s.End < s.Start {
				t.Fatalf("%+v ends before it starts", s)
			}
			for _, w := range s.Words {
				if w.Speaker != s.Speaker || w.Start < s.Start || w.End > s.End {
					t.Fatalf("the word %+v is in the segment %+v", w, s)
				}
				after = append(after, w.Text)
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	})
}
