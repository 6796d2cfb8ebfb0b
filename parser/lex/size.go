package lex

import (
	"bytes"
	"fmt"
	"strings"

	"vramsoak/parser/record"
)

// A listed size is one of a list with commas: "Allocated: 2.34 GB, Reserved: 2.86 GB".
type ListedSize struct {
	Key  string
	Size record.Size
}

// CutSizes reads a list of sizes, each behind one of the keys and a colon. bad is what cannot be read at its end: a line
// that was cut.
func CutSizes(text []byte, keys ...string) (list []ListedSize, rest []byte, bad *Mistake) {
	for {
		key, after := cutKey(text, keys)
		if key == "" {
			if word := string(bytes.TrimSpace(text)); len(list) > 0 && isTornKey(word, keys) {
				bad = &Mistake{"a field such as " + keys[len(keys)-1] + ": 1.23GB", text}
			}
			return list, text, bad
		}
		size, behind, ok := CutSize(after, 0)
		if !ok {
			return list, text, &Mistake{fmt.Sprintf("a size such as 1.23GB after %q", key+":"), after}
		}
		list = append(list, ListedSize{key, size})
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
func isTornKey(word string, keys []string) bool {
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
func IsTornSize(text []byte) bool {
	_, rest, ok := CutNumber(text)
	return ok && (len(rest) == 0 || len(rest) == 1 && bytes.IndexByte([]byte(" KMGT"), rest[0]) >= 0)
}

// A Mistake is a place in a line that cannot be read.
type Mistake struct {
	Expected string
	Found    []byte
}

// ParseSize reads a whole text as a size: "7.23GB", "24 GiB", "512MiB", "4M" or plain bytes, which
// are exact. If a person typed the size, in a flag or a policy, use its Bytes.
func ParseSize(s string) (record.Size, error) {
	n, rest, ok := CutNumber([]byte(strings.TrimSpace(s)))
	word := strings.TrimSpace(string(rest))
	if !ok || strings.HasPrefix(word, ".") {
		return record.Size{}, fmt.Errorf("expected a size such as 7.23GB or 512MiB, found %q", s)
	}
	unit, rest := CutUnit(rest)
	if word == "" {
		unit = 1
	}
	if unit == 0 || len(rest) > 0 {
		return record.Size{}, fmt.Errorf(
			"expected a unit of B, KiB, MiB, GiB or TiB (GB reads as GiB), found %q in %q",
			strings.ToLower(word), s)
	}
	size, ok := n.Times(unit)
	if !ok {
		return record.Size{}, fmt.Errorf("expected a size below 4 EiB, found %q", s)
	}
	return size, nil
}
