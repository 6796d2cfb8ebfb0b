package speakers

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// tokens splits text at "|" into tokens. Each token lasts a second and has a probability of 0.5.
func tokens(text string) []Token {
	var tokens []Token
	for i, part := range strings.Split(text, "|") {
		tokens = append(tokens, Token{part, float64(i), float64(i) + 1, 0.5})
	}
	return tokens
}

func TestJoinTokens(t *testing.T) {
	for _, test := range []struct{ name, tokens, words string }{
		{"words", " Hello| world", " Hello| world"},
		{"parts of words", " un|believ|able| story", " unbelievable| story"},
		{"no blank at the start", "Hello| world", "Hello| world"},
		{"punctuation behind", " Yes|,| it| is|.", " Yes,| it| is."},
		{"punctuation in front", " he| said| \"|Hello|\"", " he| said| \"Hello\""},
		{"an opening bracket with a blank behind", " (| hello|)", " ( hello)"},
		{"apostrophe", " don|'t| stop", " don't| stop"},
		{"a blank alone", " well| |there", " well| there"},
		{"blanks at the end", " well| ", " well"},
		{"Chinese", "你好|世界|。|好", "你好|世界。|好"},
		{"Japanese brackets", "彼|は|「|はい|」|と", "彼|は|「はい」|と"},
		{"mixed scripts", " I| say|你好", " I| say|你好"},
		{"a character over three tokens", " caf|\xc3|\xa9| au", " café| au"},
		{"a Chinese one", "\xe4|\xbd|\xa0|\xe5\xa5|\xbd", "你|好"},
		{"a character that never ends", " a\xe4\xbd| b", " a\uFFFD| b"},
		{"invalid UTF-8", " a|\xff|\x80b| c", " a\uFFFDb| c"},
		{"empty tokens", "| a||b|", " ab"},
		{"nothing", "", ""},
	} {
		var words []string
		for _, w := range JoinTokens(tokens(test.tokens)) {
			words = append(words, w.Text)
		}
		if got := strings.Join(words, "|"); got != test.words {
			t.Errorf("%s: expected %q, found %q", test.name, test.words, got)
		}
	}
}

func TestJoinTokensTimes(t *testing.T) {
	got := JoinTokens([]Token{
		{" be", 1.0, 1.2, 0.9},
		{"fore", 1.2, 1.5, 0.5},
		{" it", 2.0, 1.9, 0.25}, // whisper.cpp may give an improbable token an end before its start
		{" caf", 3.0, 3.1, 0.6},
		{"\xc3", 3.1, 3.2, 0.2},
		{"\xa9", 3.2, 3.4, 0.4},
	})
	want := []Word{
		{Text: " before", Start: 1.0, End: 1.5, Probability: 0.7},
		{Text: " it", Start: 2.0, End: 2.0, Probability: 0.25},
		{Text: " café", Start: 3.0, End: 3.4, Probability: 0.4},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
}

// TestJoinTokensKeepsText: the words together have the text of the tokens, except blanks at the
// ends and bytes that are not UTF-8.
func TestJoinTokensKeepsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			" a", "b", " ", "你", "\xe4", "\xbd", "\xa0", "\xc3", "\xa9", "(", "「", ",", "。", " \"",
			"\xff", "ไทย", "",
		})).Draw(t, "tokens")
		all := strings.Join(parts, "")
		var joined string
		for _, w := range JoinTokens(tokens(strings.Join(parts, "|"))) {
			if strings.TrimSpace(w.Text) == "" || !utf8.ValidString(w.Text) || w.End < w.Start ||
				w.Probability < 0 || w.Probability > 1 {
				t.Fatalf("bad word %+v", w)
			}
			joined += w.Text
		}
		// If invalid bytes lie at the end of one word and at the start of the next, each of the two
		// words gets a U+FFFD.
		squeeze := func(s string) string {
			s = strings.ToValidUTF8(s, "\uFFFD")
			for strings.Contains(s, "\uFFFD\uFFFD") {
				s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
			}
			return strings.TrimSpace(s)
		}
		if squeeze(joined) != squeeze(all) {
			t.Fatalf("%q became %q", all, joined)
		}
	})
}
