package lex

import (
	"bytes"
	"fmt"
	"strings"

	"vramsoak/parser/record"
)

// A listed size is one of a list with commas: "Allocated: 2.34 GB, Reserved: 2.86 GB".
type listed struct {
	Key  string
	Size record.Size
}

// CutSizes reads a list of sizes, each behind one of the keys and a colon. bad is what cannot be read at its end: a line
// that was cut.
func CutSizes(text []byte, keys ...string) (list []listed, rest []byte, bad *Mistake) {
	for {
		key, after := cutKey(text, keys)
		if key == "" {
			if word := string(bytes.TrimSpace(text)); len(list) > 0 && isCutKey(word, keys) {
				bad = &Mistake{"a field such as " + keys[len(keys)-1] + ": 1.23GB", text}
			}
			return list, text, bad
		}
		size, behind, ok := CutSize(after, 0)
		if !ok {
			return list, text, &Mistake{fmt.Sprintf("a size such as 1.23GB after %q", key+":"), after}
		}
		list = append(list, listed{key, size})
		if len(behind) == 0 || behind[0] != ',' || len(list) == 8 {
			return list, behind, nil
		}
		text = TrimBlanks(behind[1:])
	}
}

func cutKey(text []byte, keys []string) (key string, rest []byte) {
	for _, key := range keys {
		if after, ok := CutPrefix(text, key); ok && len(after) > 0 && after[0] == ':' {
			return key, TrimBlanks(after[1:])
		}
	}
	return "", text
}

// isCutKey says that a word was to be one of the keys, or that nothing follows the comma.
func isCutKey(word string, keys []string) bool {
	for _, key := range keys {
		if strings.HasPrefix(key, word) {
			return true
		}
	}
	return false
}

// SetSize gives a checkpoint a quantity; a level is no less than nothing.
func SetSize(c *record.Checkpoint, q record.Quantity, s record.Size, key string) *Mistake {
	if s.Bytes < 0 {
		return &Mistake{fmt.Sprintf("a size of 0 or more after %q", key+":"), []byte(s.String())}
	}
	c.Set(q, s)
	return nil
}

// IsCutSize says that the text is a number and no more, or the first letter of a unit: the line was cut in a size.
func IsCutSize(text []byte) bool {
	_, rest, ok := CutNumber(text)
	return ok && (len(rest) == 0 || len(rest) == 1 && bytes.IndexByte([]byte(" KMGT"), rest[0]) >= 0)
}

// IsNumberAt says whether a number begins the text.
func IsNumberAt(text []byte) bool {
	_, _, ok := CutNumber(text)
	return ok
}

// CutGrouped cuts a whole number with commas off the text: "1,234,567".
func CutGrouped(text []byte) (n int64, rest []byte, ok bool) {
	i, digits := 0, 0
	for ; i < len(text) && (IsDigit(text[i]) || text[i] == ',' && i+1 < len(text) && IsDigit(text[i+1])); i++ {
		if text[i] == ',' {
			continue
		}
		if digits++; digits > 18 {
			return 0, text, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, text[i:], digits > 0
}

// NumberBefore is the offset at which the number begins that ends the text, len(text) where there is none.
func NumberBefore(text []byte) int {
	i := len(text)
	for i > 0 && (IsDigit(text[i-1]) || text[i-1] == '.' || text[i-1] == ',') {
		i--
	}
	return i
}

// A Mistake is a place in a line that cannot be read.
type Mistake struct {
	Expected string
	Found    []byte
}
