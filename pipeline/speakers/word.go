package speakers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Segment is a piece of a transcript, usually a sentence or a phrase. Times are seconds from the
// start of the audio.
type Segment struct {
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Speaker string  `json:"speaker,omitempty"` // "" if unknown
	Text    string  `json:"text"`
	Words   []Word  `json:"words,omitempty"`
}

// A Word is one word of a segment. Times are seconds from the start of the audio.
type Word struct {
	// Text includes the blank before the word, so that the texts of all words together are the text of
	// the segment.
	Text        string  `json:"word"`
	Start       float64 `json:"start"`
	End         float64 `json:"end"`
	Probability float64 `json:"probability"` // 0 to 1: the mean over the word's tokens
	Speaker     string  `json:"speaker,omitempty"`
}

// A Token is a word or a part of a word from a speech model. Its text may end in the middle of a
// character's bytes.
type Token struct {
	Text        string
	Start, End  float64 // seconds
	Probability float64
}

// JoinTokens joins tokens to words. It follows Whisper's split_to_word_tokens and Whisper's merging
// of punctuation (openai/whisper, whisper/tokenizer.py). A token that begins with a blank begins a
// word. In scripts without blanks between words (Chinese, Japanese, Thai, Lao, Burmese), every
// token of whole characters begins a word. Punctuation belongs to the word before it, and an
// opening bracket to the word after it. The tokens must not include the model's control tokens,
// such as time stamps.
//
// Bytes that are not UTF-8 become U+FFFD. If a word would end before it starts, its end becomes its
// start.
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

// A unit is one or more tokens of a word. Its Probability is the sum of the tokens' probabilities.
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

// wholeCharacters joins a token that ends in the middle of a character with the tokens that have
// the rest of it.
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

// endsAmid reports whether text ends in the middle of a character's bytes.
func endsAmid(text string) bool {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			return !utf8.FullRuneInString(text[i:])
		}
	}
	return false
}

// beginsWord reports whether text begins a new word. soFar is the text of the word before it.
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

// unspaced are the scripts without blanks between words; Whisper splits their languages at every
// character.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai,
	unicode.Lao, unicode.Myanmar,
}
