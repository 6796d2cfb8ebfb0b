package text

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// vocabularyOf returns a tokenizer for words, which need not have [UNK], [CLS] and [SEP].
func vocabularyOf(t testing.TB, words ...string) *Tokenizer {
	t.Helper()
	for _, word := range []string{"[UNK]", "[CLS]", "[SEP]"} {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	tokenizer, err := readVocabulary(strings.NewReader(strings.Join(words, "\n")), "vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

// split returns the tokens of a text without [CLS] and [SEP].
func (t *Tokenizer) split(text string) []string {
	byID := map[int64]string{}
	for word, id := range t.words {
		byID[id] = word
	}
	tokens := []string{}
	ids := t.Tokens(text)
	for _, id := range ids[1 : len(ids)-1] {
		tokens = append(tokens, byID[id])
	}
	return tokens
}

// TestTokensOfGoogle repeats the cases of tokenization_test.py in github.com/google-research/bert.
func TestTokensOfGoogle(t *testing.T) {
	words := []string{
		"[UNK]", "[CLS]", "[SEP]", "want", "##want", "##ed", "wa", "un", "runn", "##ing", ",",
	}
	full := vocabularyOf(t, words...)
	if diff := cmp.Diff([]int64{1, 7, 4, 5, 10, 8, 9, 2},
		full.Tokens("UNwant\u00E9d,running")); diff != "" {
		t.Errorf("test_full_tokenizer:\n%s", diff)
	}
	for _, test := range []struct {
		name, text string
		vocabulary []string
		want       []string
	}{
		{"test_wordpiece_tokenizer", "", words, []string{}},
		{
			"test_wordpiece_tokenizer", "unwanted running", words,
			[]string{"un", "##want", "##ed", "runn", "##ing"},
		},
		{
			"test_wordpiece_tokenizer", "unwantedX running", words,
			[]string{"[UNK]", "runn", "##ing"},
		},
		{
			"test_chinese", "ah\u535A\u63A8zz",
			[]string{"ah", "\u535A", "\u63A8", "zz"},
			[]string{"ah", "\u535A", "\u63A8", "zz"},
		},
		{
			"test_basic_tokenizer_lower", " \tHeLLo!how  \n Are yoU?  ",
			[]string{"hello", "!", "how", "are", "you", "?"},
			[]string{"hello", "!", "how", "are", "you", "?"},
		},
		{"test_basic_tokenizer_lower", "H\u00E9llo", []string{"hello"}, []string{"hello"}},
		{
			"test_basic_tokenizer_no_lower", " \tHeLLo!how  \n Are yoU?  ",
			[]string{"HeLLo", "!", "how", "Are", "yoU", "?"},
			[]string{"HeLLo", "!", "how", "Are", "yoU", "?"},
		},
		// Of transformers, tests/models/bert/test_tokenization_bert.py.
		{
			"no_lower_strip_accents_false", " \tHäLLo!how  \n Are yoU?  ",
			[]string{"HäLLo", "!", "how", "Are", "yoU", "?"},
			[]string{"HäLLo", "!", "how", "Are", "yoU", "?"},
		},
		{"remove_control_chars_true", "\u200E\u200F", words, []string{}},
		{"test_clean_text", "\u00ad", words, []string{}},
	} {
		got := vocabularyOf(t, test.vocabulary...).split(test.text)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s, %q:\n%s", test.name, test.text, diff)
		}
	}
}

// TestTokensOfBERT compares with the tokens that another program finds, with the words of
// bert-base-uncased.
func TestTokensOfBERT(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/bert-base-uncased.txtar")
	if err != nil {
		t.Fatal(err)
	}
	vocabulary, cases := archive.Files[0], archive.Files[1]
	tokenizer, err := readVocabulary(strings.NewReader(string(vocabulary.Data)), vocabulary.Name)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(cases.Data)) {
		var c struct {
			Text   string
			Tokens []string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Tokens, tokenizer.split(c.Text)); diff != "" {
			t.Errorf("%q:\n%s", c.Text, diff)
		}
		n++
	}
	if n != 25 {
		t.Errorf("compared %d texts, want 25", n)
	}
}

// TestTokensOfALongText: a text has at most 512 tokens, the last of which is [SEP].
func TestTokensOfALongText(t *testing.T) {
	tokenizer := vocabularyOf(t, "[UNK]", "[CLS]", "[SEP]", "a", "##a")
	for words, want := range map[int]int{509: 511, 510: 512, 511: 512, 5000: 512} {
		ids := tokenizer.Tokens(strings.Repeat("a ", words))
		if len(ids) != want || ids[0] != 1 || ids[len(ids)-1] != 2 ||
			slices.Contains(ids[1:len(ids)-1], 2) {
			t.Errorf("%d words: %d tokens, want %d", words, len(ids), want)
		}
	}
	// The parts of a word may end the text, too.
	ids := tokenizer.Tokens(strings.Repeat("a ", 500) + strings.Repeat("a", 100))
	if len(ids) != 512 || ids[511] != 2 || ids[510] != 4 {
		t.Errorf("%d tokens, the last %v", len(ids), ids[len(ids)-3:])
	}
}

func TestSpecialWordsInATextAreText(t *testing.T) {
	tokenizer := vocabularyOf(t, "[UNK]", "[CLS]", "[SEP]", "[", "]", "sep")
	if diff := cmp.Diff([]string{"[", "sep", "]"}, tokenizer.split("[SEP]")); diff != "" {
		t.Error(diff)
	}
}

func TestVocabularyRefuses(t *testing.T) {
	for content, want := range map[string]string{
		"":               "vocab.txt: expected a vocabulary of BERT with the word [UNK], found none among 0 words",
		"[UNK]\n[CLS]\n": "vocab.txt: expected a vocabulary of BERT with the word [SEP], found none among 2 words",
		"a\nb\x00\n":     "vocab.txt:2: expected a word in UTF-8, found other bytes",
		"a\n\xff\n":      "vocab.txt:2: expected a word in UTF-8, found other bytes",
		"a\nb\n" + strings.Repeat("c", 5000): "vocab.txt:3: expected a word of at most 1024 bytes, " +
			"found a longer line",
		strings.Repeat("a\n", 1<<20+1): "vocab.txt:1048577: expected at most 1048576 words, found more",
	} {
		_, err := readVocabulary(strings.NewReader(content), "vocab.txt")
		if err == nil || !strings.HasPrefix(err.Error(), want) ||
			!strings.Contains(err.Error(), "give the vocab.txt of the model") {
			t.Errorf("%.20q:\nfound    %v\nexpected %s", content, err, want)
		}
	}
	if _, err := ReadVocabulary(t.TempDir() + "/none"); err == nil {
		t.Error("a missing file: expected an error")
	}
}

// TestVocabularyNumbersItsLines: the number of a word is that of its line, also if lines end with
// \r\n. If a word is there twice, the last line counts.
func TestVocabularyNumbersItsLines(t *testing.T) {
	tokenizer, err := readVocabulary(strings.NewReader("[UNK]\r\n[CLS]\r\na\r\n[SEP]\r\na\r\n"),
		"vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 4, 0, 3}, tokenizer.Tokens("a b")); diff != "" {
		t.Error(diff)
	}
}

// FuzzTokens: the tokens of any text begin with [CLS], end with [SEP], are at most 512 and are in
// the vocabulary. The words of a text are split without loss.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		"Hello, world!", "naïve\u0301", "\u535A\u63A8", "\x00\xff\u2028 ",
		"a" + strings.Repeat("\u0301", 99),
	} {
		f.Add(seed)
	}
	uncased := vocabularyOf(f, "a", "##a", "b", "##b", "##ab", ",", "\u535A")
	cased := vocabularyOf(f, "A", "##A", "a", "##a", "é")
	f.Fuzz(func(t *testing.T, text string) {
		for _, tokenizer := range []*Tokenizer{uncased, cased} {
			ids := tokenizer.Tokens(text)
			if len(ids) < 2 || len(ids) > MaxTokens || ids[0] != tokenizer.begin ||
				ids[len(ids)-1] != tokenizer.end {
				t.Fatalf("%q: tokens %v", text, ids)
			}
			for _, id := range ids {
				if id < 0 || id >= int64(tokenizer.size) {
					t.Fatalf("%q: token %d of %d", text, id, tokenizer.size)
				}
			}
			tokens := tokenizer.split(text)
			if len(ids) == MaxTokens || slices.Contains(tokens, unknownWord) {
				continue
			}
			joined := strings.ReplaceAll(strings.Join(tokens, ""), continuation, "")
			if want := strings.Join(strings.Fields(tokenizer.spaced(text)), ""); joined != want {
				t.Errorf("%q: tokens %q, words %q", text, tokens, want)
			}
		}
	})
}

// FuzzVocabulary: any file is a vocabulary or an error with the file's name, and a vocabulary can
// be used.
func FuzzVocabulary(f *testing.F) {
	f.Add("[UNK]\n[CLS]\n[SEP]\na\n##b\n", "ab c")
	f.Add("[UNK]\r\n\n\n[CLS]\n[SEP]", "")
	f.Add("\x00\xff", "a")
	f.Fuzz(func(t *testing.T, content, text string) {
		tokenizer, err := readVocabulary(strings.NewReader(content), "vocab.txt")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "vocab.txt:") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		if n := strings.Count(content, "\n") + 1; tokenizer.size > n {
			t.Errorf("%d words in %d lines", tokenizer.size, n)
		}
		for _, id := range tokenizer.Tokens(text) {
			if id < 0 || id >= int64(tokenizer.size) {
				t.Errorf("token %d of %d", id, tokenizer.size)
			}
		}
	})
}
