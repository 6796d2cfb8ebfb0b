package lex

import (
	"bytes"
	"fmt"
	"strings"

	"vramsoak/parser/record"
)

// A ListedSize is one size in a list such as "Allocated: 2.34 GB, Reserved: 2.86 GB", with its
// key.
type ListedSize struct {
	Key  string
	Size record.Size
}

// CutSizes cuts a list of sizes, separated by commas, off the text. One of the keys and a colon
// precede each size. bad is set if an item cannot be read, for example because the line was cut
// off inside this item.
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

// cutKey cuts one of the keys and its colon off the text. key is "" if the text begins with none of
// the keys.
func cutKey(text []byte, keys []string) (key string, rest []byte) {
	for _, key := range keys {
		if after, ok := CutPrefix(text, key); ok && len(after) > 0 && after[0] == ':' {
			return key, TrimBlanks(after[1:])
		}
	}
	return "", text
}

// isTornKey reports whether the word is the beginning of one of the keys, as at the end of a line
// that was cut off. The empty word counts too.
func isTornKey(word string, keys []string) bool {
	for _, key := range keys {
		if strings.HasPrefix(key, word) {
			return true
		}
	}
	return false
}

// SetSize sets a quantity of a checkpoint. It returns a mistake if the size is negative.
func SetSize(c *record.Checkpoint, q record.Quantity, s record.Size, key string) *Mistake {
	if s.Bytes < 0 {
		return &Mistake{fmt.Sprintf("a size of 0 or more after %q", key+":"), []byte(s.String())}
	}
	c.Set(q, s)
	return nil
}

// IsTornSize reports whether a line was cut off inside a size. The parameter text is the rest of
// the line, from the size on. In a line that was cut off, this is a number without a unit, or a
// number with a blank or the first letter of a unit.
func IsTornSize(text []byte) bool {
	_, rest, ok := CutNumber(text)
	return ok && (len(rest) == 0 || len(rest) == 1 && bytes.IndexByte([]byte(" KMGT"), rest[0]) >= 0)
}

// A Mistake describes a part of a line that cannot be read.
type Mistake struct {
	Expected string
	Found    []byte
}

// ParseSize returns the size that the whole text gives: "7.23GB", "24 GiB", "512MiB", "4M", or a
// number of bytes. If a person typed the size, in a flag or a policy, use only its Bytes: the
// resolution describes rounding in a log.
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
