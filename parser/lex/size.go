package lex

import (
	"fmt"
	"strings"

	"vramsoak/parser/record"
)

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
