package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A Tokenizer splits texts into tokens, the words and parts of words of a vocabulary. It does what
// BERT's tokenizer does (tokenization.py in github.com/google-research/bert): it lower-cases the
// text and takes the accents off, splits it at blanks and punctuation, and splits each word into
// the longest parts that the vocabulary has. Where versions of that tokenizer differ, it does as
// BertTokenizerFast of transformers: it drops code points that Unicode has not assigned, and it
// lower-cases the Greek sigma at the end of a word like any other.
//
// If the vocabulary has capital letters, the text keeps its capitals and accents. Words such as
// [SEP] in a text are text.
type Tokenizer struct {
	words               map[string]int64 // token ids
	size                int              // lines of the vocabulary
	cased               bool
	unknown, begin, end int64
}

// MaxTokens is the largest number of tokens of a text, with [CLS] and [SEP]. BERT has positions for
// no more. The end of a longer text is left out.
const MaxTokens = 512

// Tokens returns the ids of the tokens of a text: [CLS], at most MaxTokens-2 tokens, [SEP].
func (t *Tokenizer) Tokens(text string) []int64 {
	ids := []int64{t.begin}
	for word := range strings.FieldsSeq(t.spaced(text)) {
		if ids = t.pieces(ids, word); len(ids) >= MaxTokens {
			ids = ids[:MaxTokens-1]
			break
		}
	}
	return append(ids, t.end)
}

// spaced returns the text as the vocabulary has it, with blanks around punctuation and around
// characters of Chinese, which are words of their own.
func (t *Tokenizer) spaced(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	put := func(r rune) {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case isPunctuation(r) || isChinese(r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	if t.cased {
		for _, r := range text {
			if !isDropped(r) {
				put(r)
			}
		}
		return b.String()
	}
	// The decomposition turns é into e and an accent, which is a nonspacing mark (Mn). A character is
	// dropped before the decomposition, not after: transformers does it in this order.
	var kept strings.Builder
	kept.Grow(len(text))
	for _, r := range text {
		if !isDropped(r) {
			kept.WriteRune(r)
		}
	}
	for _, r := range norm.NFD.String(kept.String()) {
		if !unicode.Is(unicode.Mn, r) {
			put(unicode.ToLower(r))
		}
	}
	return b.String()
}

// isDropped reports whether a character is left out: a control character that is no blank, or the
// mark of an unreadable one.
func isDropped(r rune) bool {
	switch r {
	case '\t', '\n', '\r':
		return false
	case 0, unicode.ReplacementChar:
		return true
	}
	return unicode.Is(unicode.C, r)
}

// isPunctuation reports whether a character is a token of its own. For BERT all symbols of ASCII
// are punctuation, also those that are not for Unicode: $ + < = > ^ ` | ~.
func isPunctuation(r rune) bool {
	if r <= unicode.MaxASCII {
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' ||
			'{' <= r && r <= '~'
	}
	return unicode.IsPunct(r)
}

// isChinese reports whether a character is in Unicode's blocks of CJK ideographs. These are the
// blocks that BERT lists. Hangul, Hiragana and Katakana are not among them: they have words.
func isChinese(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0x20000 <= r && r <= 0x2A6DF ||
		0x2A700 <= r && r <= 0x2B73F || 0x2B740 <= r && r <= 0x2B81F || 0x2B820 <= r && r <= 0x2CEAF ||
		0xF900 <= r && r <= 0xFAFF || 0x2F800 <= r && r <= 0x2FA1F
}

// longestWord is the number of characters from which on a word is unknown.
const longestWord = 100

// pieces appends the ids of a word's parts: always the longest part that the vocabulary has, from
// the left. If there is none, the whole word is unknown.
func (t *Tokenizer) pieces(ids []int64, word string) []int64 {
	runes := []rune(word)
	if len(runes) > longestWord {
		return append(ids, t.unknown)
	}
	whole := len(ids)
	for from := 0; from < len(runes); {
		id, to := int64(0), len(runes)
		for found := false; ; to-- {
			if to == from {
				return append(ids[:whole], t.unknown)
			}
			piece := string(runes[from:to])
			if from > 0 {
				piece = continuation + piece
			}
			if id, found = t.words[piece]; found {
				break
			}
		}
		ids, from = append(ids, id), to
	}
	return ids
}
