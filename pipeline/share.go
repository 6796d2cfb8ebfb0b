package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"vramsoak/parser/lex"
)

// A Share is a part of the free memory, given as a fraction or in bytes. The zero Share is all free
// memory.
type Share struct {
	fraction float64 // above 0 and at most 1; 0 if the share is in bytes or is all free memory
	bytes    int64
	text     string // as the user wrote it
}

// Fraction returns the share 1/n.
func Fraction(n int) Share { return Share{fraction: 1 / float64(n), text: fmt.Sprintf("1/%d", n)} }

// Set reads a share such as "1/8", "12.5%" or "512MiB". It implements flag.Value.
func (s *Share) Set(text string) error {
	text = strings.TrimSpace(text)
	bad := func(found string) error {
		return fmt.Errorf("expected a part of the free memory above 0 and at most all of it, "+
			"such as 1/8, 12.5%% or 512MiB (a number needs a unit), found %q", found)
	}
	part, whole, isFraction := strings.Cut(text, "/")
	percent, isPercent := strings.CutSuffix(text, "%")
	if isPercent && !isFraction {
		part, whole = percent, "100"
	}
	if isFraction || isPercent {
		p, errPart := strconv.ParseFloat(strings.TrimSpace(part), 64)
		w, errWhole := strconv.ParseFloat(strings.TrimSpace(whole), 64)
		if errPart != nil || errWhole != nil || !(p > 0 && p <= w) || p/w == 0 || math.IsNaN(p/w) {
			return bad(text)
		}
		*s = Share{fraction: p / w, text: text}
		return nil
	}
	size, err := lex.ParseSize(text)
	// A number alone, such as 2, is ambiguous: two bytes, or twice the free memory.
	if _, number := strconv.ParseFloat(text, 64); number == nil || err != nil || size.Bytes <= 0 {
		return bad(text)
	}
	*s = Share{bytes: size.Bytes, text: text}
	return nil
}

// String returns the share as the user wrote it.
func (s *Share) String() string { return s.text }

// Of returns the size of the share in bytes if `free` bytes are free.
func (s Share) Of(free int64) int64 {
	switch {
	case s.fraction > 0:
		return int64(s.fraction * float64(free))
	case s.bytes > 0:
		return min(s.bytes, free)
	}
	return free
}
