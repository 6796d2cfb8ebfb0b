package speakers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Segment is a stretch of a transcript: what was said in one go. Times are seconds from the start
// of the audio.
type Segment struct {
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Speaker string  `json:"speaker,omitempty"` // "" where nobody is known to have spoken
	Text    string  `json:"text"`
	Words   []Word  `json:"words,omitempty"`
}

// A Word is one word of a segment. Times are seconds from the start of the audio.
type Word struct {
	// With the blank in front of it, so that a segment is its words put together.
	Text        string  `json:"word"`
	Start       float64 `json:"start"`
	End         float64 `json:"end"`
	Probability float64 `json:"probability"` // 0 to 1: the mean of its tokens'
	Speaker     string  `json:"speaker,omitempty"`
}

// A Token is what a speech model emits: a word or a part of one. Its text may end amid a character.
type Token struct {
	Text        string
	Start, End  float64 // seconds
	Probability float64
}

// JoinTokens puts tokens together to words. It is Whisper's own split_to_word_tokens
// (openai/whisper, whisper/tokenizer.py) with its merging of punctuation: a word begins with a
// blank, and where the script has none between words (Chinese, Japanese, Thai, Lao, Burmese) at
// every token that is whole characters; punctuation goes with the word that it follows, an opening
// bracket with the one behind. Tokens of the model's own, such as its times, are not to be among
// them.
//
// Bytes that are no UTF-8 become U+FFFD. A word that ends before it starts lasts no time.
func JoinTokens(tokens []Token) []Word {
	var words []Word
	units := wholeCharacters(tokens)
	for len(units) > 0 {
		word, n := units[0], 1
		for ; n < len(units) && !beginsWord(word.Text, units[n].Text); n++ {
			word.join(units[n])
		}
		units = units[n:]
		if strings.TrimSpace(word.Text) != "" {
			words = append(words, Word{
				Text:        strings.ToValidUTF8(word.Text, "\uFFFD"),
				Start:       word.Start,
				End:         max(word.Start, word.End),
				Probability: word.Probability / float64(word.tokens),
			})
		}
	}
	return words
}

// A unit is several tokens; its probability is their sum.
type unit struct {
	Token
	tokens int
}

func (u *unit) join(next unit) {
	u.Text += next.Text
	u.Start, u.End = min(u.Start, next.Start), max(u.End, next.End)
	u.Probability += next.Probability
	u.tokens += next.tokens
}

// wholeCharacters joins tokens that end amid a character with those that hold the rest of it.
func wholeCharacters(tokens []Token) []unit {
	var units []unit
	for _, t := range tokens {
		last := len(units) - 1
		switch {
		case t.Text == "":
		case last >= 0 && endsAmid(units[last].Text) && !utf8.RuneStart(t.Text[0]):
			units[last].join(unit{t, 1})
		default:
			units = append(units, unit{t, 1})
		}
	}
	return units
}

// endsAmid says whether text lacks the rest of its last character.
func endsAmid(text string) bool {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			return !utf8.FullRuneInString(text[i:])
		}
	}
	return false
}

// beginsWord says whether text behind a word so far is another word.
func beginsWord(soFar, text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(soFar)
	switch {
	case strings.TrimSpace(soFar) == "", unicode.In(last, unicode.Ps, unicode.Pi):
		return false
	case unicode.IsSpace(first):
		return true
	}
	return unicode.In(first, unspaced...) || unicode.In(last, unspaced...) && unicode.In(first,
		unicode.Ps, unicode.Pi)
}

// unspaced are the scripts of the languages that Whisper splits at every character.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai,
	unicode.Lao, unicode.Myanmar,
}
