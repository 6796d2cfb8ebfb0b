package lex

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Logfmt calls field for each key=value in a text. A value with spaces must be quoted as Go
// quotes strings. Logfmt stops at the first field that it cannot read, and returns an error with
// the text from this field on.
func Logfmt(text string, field func(key, value string)) error {
	for {
		for text != "" && isBlank(text[0]) {
			text = text[1:]
		}
		if text == "" {
			return nil
		}
		end := 0
		for end < len(text) && text[end] != '=' && !isBlank(text[end]) {
			end++
		}
		if end == 0 || end == len(text) || text[end] != '=' {
			return fmt.Errorf("%s", Shorten(text, 60))
		}
		key, rest := text[:end], text[end+1:]
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return fmt.Errorf("%s", Shorten(text, 60))
			}
			value, err := strconv.Unquote(quoted)
			if err != nil {
				return fmt.Errorf("%s", Shorten(text, 60))
			}
			field(key, value)
			text = rest[len(quoted):]
			continue
		}
		end = 0
		for end < len(rest) && !isBlank(rest[end]) {
			end++
		}
		field(key, rest[:end])
		text = rest[end:]
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// parseBytes reads a whole number of bytes from 0 to below 4 EiB.
func parseBytes(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n >= 1<<62 {
		return 0, fmt.Errorf("expected whole bytes, found %q", s)
	}
	return n, nil
}

// ParseCount reads a whole number such as a device, a rank or an index.
func ParseCount(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("expected a whole number, found %q", s)
	}
	return int(n), nil
}

// parseSeconds reads a number of seconds that is finite and not negative.
func parseSeconds(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("expected seconds, found %q", s)
	}
	return f, nil
}
