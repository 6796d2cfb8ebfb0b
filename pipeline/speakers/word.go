package speakers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Segment is a stretch of a transcript that was said in one go. Times are seconds from the start
// of the audio.
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
	Probability float64 `json:"probability"` // 0 to 1: the mean over its tokens
	Speaker     string  `json:"speaker,omitempty"`
}

// A Token is a word or part of a word from a speech model. Its text may end inside a character.
type Token struct {
	Text        string
	Start, End  float64 // seconds
	Probability float64
}

// JoinTokens joins tokens to words. It does what Whisper's split_to_word_tokens and its merging of
// punctuation do (openai/whisper, whisper/tokenizer.py). A word begins with a blank. Scripts
// without blanks between words (Chinese, Japanese, Thai, Lao, Burmese) begin one at every token of
// whole characters. Punctuation belongs to the word before it, an opening bracket to the word after
// it. Leave out the model's control tokens, such as times.
//
// Bytes that are not UTF-8 become U+FFFD. A word that ends before it starts becomes empty in time.
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

// A unit is one or more tokens; its probability is their sum.
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

// wholeCharacters joins tokens that end inside a character with those that hold the rest of it.
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

// endsAmid reports whether text ends inside a character.
func endsAmid(text string) bool {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			return !utf8.FullRuneInString(text[i:])
		}
	}
	return false
}

// beginsWord reports whether text begins another word after the word so far.
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
