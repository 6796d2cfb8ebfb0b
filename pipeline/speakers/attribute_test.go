package speakers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAttribute(t *testing.T) {
	reference := []Turn{{0, 2, "A"}, {3, 5, "B"}, {4, 6, "A"}}
	word := func(start, end float64, speaker string) Word {
		return Word{Start: start, End: end, Speaker: speaker}
	}
	for _, test := range []struct {
		name     string
		words    []Word
		want     Attribution
		accuracy float64
	}{
		{"all right, with other names", []Word{
			word(0, 1, "x"), word(1, 2, "x"), word(3, 4, "y"),
			word(5, 6, "x"),
		}, Attribution{4, 4, 0}, 1},
		{
			"one wrong",
			[]Word{word(0, 1, "x"), word(1, 2, "x"), word(3, 4, "x"), word(5, 6, "x")},
			Attribution{4, 3, 0},
			0.75,
		},
		{
			"by the longer overlap",
			[]Word{word(1, 2, "x"), word(1.5, 3.4, "x"), word(1.9, 3.4, "y")},
			Attribution{3, 3, 0},
			1,
		},
		{"in a pause, without a duration", []Word{
			word(2.2, 2.8, "x"), word(1, 1, "x"),
			word(2.5, 2.5, "x"),
		}, Attribution{1, 1, 2}, 1},
		{"nobody's", []Word{word(0, 1, ""), word(1, 2, "x")}, Attribution{2, 1, 0}, 0.5},
		{"three speakers for two, one is unmatched", []Word{
			word(0, 1, "x"), word(1, 2, "z"),
			word(5, 6, "x"), word(3, 4, "y"),
		}, Attribution{4, 3, 0}, 0.75},
		{"the mapping that is best for all", []Word{
			word(0, 1, "x"), word(0, 1, "x"), word(0, 1, "y"), word(3, 4, "x"), word(3, 4, "x"),
			word(3, 4, "x"),
		}, Attribution{6, 4, 0}, 4.0 / 6},
		{"no words", nil, Attribution{}, 1},
	} {
		got := Attribute(test.words, reference)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if got.Accuracy() != test.accuracy {
			t.Errorf("%s: expected %g, found %g", test.name, test.accuracy, got.Accuracy())
		}
	}
	sum := Attribution{1, 1, 1}
	sum.Add(Attribution{3, 1, 0})
	if sum != (Attribution{4, 2, 1}) {
		t.Errorf("found %+v", sum)
	}
}

// TestAttributeToTheReference: if Align sets the speakers of words from the reference, all words
// are right.
func TestAttributeToTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := drawTurns(t, "turns", 8)
		var words []Word
		for range rapid.IntRange(0, 20).Draw(t, "words") {
			start := float64(rapid.IntRange(0, 40).Draw(t, "start"))
			words = append(words, Word{Start: start, End: start + float64(rapid.IntRange(0,
				3).Draw(t, "length"))})
		}
		assign(words, turns)
		a := Attribute(words, turns)
		if a.Right != a.Words || a.Words+a.Outside != len(words) {
			t.Fatalf("found %+v, expected all %d words to be right", a, len(words))
		}
	})
}
