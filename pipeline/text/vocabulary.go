package text

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"
)

// VocabularyName is the name of the vocabulary in the folder of a model, as optimum and Hugging
// Face write it.
const VocabularyName = "vocab.txt"

// The limits of a vocabulary. The largest of WordPiece have half a million words (LaBSE).
const (
	maxWords = 1 << 20
	maxWord  = 1 << 10 // bytes of a word
)

// The words that every vocabulary of BERT has for other purposes than text.
const (
	unknownWord  = "[UNK]"
	beginWord    = "[CLS]"
	endWord      = "[SEP]"
	continuation = "##" // begins a part of a word other than the first
)

// ReadVocabulary returns a tokenizer for the vocabulary at path: one word a line, and the number of
// a word is the number of its line, from 0. Errors have the place in the file.
func ReadVocabulary(path string) (*Tokenizer, error) {
	// Without O_NONBLOCK, opening a pipe would wait for its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: expected a vocabulary, found no regular file; give the %s of the "+
			"model", path, VocabularyName)
	}
	return readVocabulary(f, path)
}

func readVocabulary(r io.Reader, name string) (*Tokenizer, error) {
	t := &Tokenizer{words: map[string]int64{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxWord)
	for lines.Scan() {
		word := strings.TrimSuffix(lines.Text(), "\r")
		switch {
		case t.size >= maxWords:
			return nil, fmt.Errorf("%s:%d: expected at most %d words, found more; give the %s of the "+
				"model", name, t.size+1, maxWords, VocabularyName)
		case !utf8.ValidString(word) || strings.ContainsRune(word, 0):
			return nil, fmt.Errorf("%s:%d: expected a word in UTF-8, found other bytes; give the %s "+
				"of the model", name, t.size+1, VocabularyName)
		}
		t.words[word] = int64(t.size) // the last of a word's lines counts, as in transformers
		t.size++
		t.cased = t.cased || hasCapital(word)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: expected a word of at most %d bytes, found a longer line; "+
			"give the %s of the model", name, t.size+1, maxWord, VocabularyName)
	} else if err != nil {
		return nil, err
	}
	for _, word := range []string{unknownWord, beginWord, endWord} {
		if _, found := t.words[word]; !found {
			return nil, fmt.Errorf("%s: expected a vocabulary of BERT with the word %s, found none "+
				"among %d words; give the %s of the model", name, word, t.size, VocabularyName)
		}
	}
	t.unknown, t.begin, t.end = t.words[unknownWord], t.words[beginWord], t.words[endWord]
	return t, nil
}

// hasCapital reports whether a word has a letter from A to Z. Words such as [CLS] do not count.
func hasCapital(word string) bool {
	return !strings.HasPrefix(word, "[") && strings.ContainsAny(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
