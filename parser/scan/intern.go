package scan

import (
	"bytes"
	"encoding/binary"
	"strings"

	"vramsoak/parser/record"
)

// An interner returns the same string for equal texts, to save memory. Most logs repeat the same
// names all the time.
type interner struct {
	known  map[string]string
	recent [256]string // strings of known that were returned last, each at the index slotOf
}

// knownMax is the most strings that an interner keeps. A log may give every record another name.
const knownMax = 4096

// str returns b as a string of valid UTF-8, without blanks at both ends.
func (in *interner) str(b []byte) string {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return ""
	}
	recent := &in.recent[slotOf(b)]
	if *recent == string(b) {
		return *recent
	}
	if s, ok := in.known[string(b)]; ok {
		*recent = s
		return s
	}
	s := strings.ToValidUTF8(string(b), "�")
	if len(in.known) < knownMax && len(b) < 256 {
		in.known[string(b)] = s
	}
	return s
}

// join returns the name of a process that a wrapper and a logger give. The logger's rank replaces
// that of the wrapper.
func (in *interner) join(outer, inner string) string {
	if inner == "" {
		return outer
	}
	if _, ranked := record.WriterRank(inner); ranked {
		outer = record.WithoutRank(outer)
	}
	if outer == "" {
		return inner
	}
	return in.str([]byte(outer + " " + inner))
}

// slotOf returns the slot of a string in interner.recent. It hashes the first and the last eight
// bytes.
func slotOf(b []byte) int {
	h := uint64(len(b))
	if n := len(b); n >= 8 {
		h += binary.LittleEndian.Uint64(b)*3 + binary.LittleEndian.Uint64(b[n-8:])
	} else {
		h += uint64(b[0])<<16 + uint64(b[n/2])<<8 + uint64(b[n-1])
	}
	const factor = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4)
	return int(h * factor >> 56)
}
