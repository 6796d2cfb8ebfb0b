package table

// A lookahead says which bytes may follow in a match: bit i of a[c] is set if the byte c may be the
// i-th byte from here, for i from 0 to 3. So a machine rarely has to try both ways of a choice. For
// example, the lookahead of a pattern that goes on with "time" does not allow "ttl: 7": a['t'] has
// bit 0 and lacks bit 1.
type lookahead [256]uint8

const lookaheadBytes = 4

// anyBytes allows all bytes. It is never written to.
var anyBytes = func() *lookahead {
	var a lookahead
	for c := range a {
		a[c] = 1<<lookaheadBytes - 1
	}
	return &a
}()

// allows reports whether the lookahead allows the four bytes of the text from the offset `at` on.
// If the text has fewer there, it checks only the first. There must be at least one.
func (a *lookahead) allows(text []byte, at int) bool {
	if a[text[at]]&1 == 0 {
		return false
	}
	b := text[at:]
	return len(b) < lookaheadBytes || a[b[1]]&2 != 0 && a[b[2]]&4 != 0 && a[b[3]]&8 != 0
}

// add makes a allow also the bytes that o allows.
func (a *lookahead) add(o *lookahead) {
	for c, bits := range o {
		a[c] |= bits
	}
}

// behindText returns the lookahead for the given text followed by what a allows.
func (a *lookahead) behindText(text []byte) *lookahead {
	var all lookahead
	for c, bits := range a {
		all[c] = bits << len(text) & anyBytes[c]
	}
	for i, c := range text[:min(len(text), lookaheadBytes)] {
		all[c] |= 1 << i
	}
	return &all
}

// behindRun returns the lookahead for a run of bytes of a set, followed by what a allows. The run
// has at least `least` bytes, and at most `most` unless this is negative. A nil set has all bytes.
func (a *lookahead) behindRun(set *byteSet, least, most int) *lookahead {
	var all lookahead
	for i := range lookaheadBytes {
		for c := range all {
			if (set == nil || set[c]) && (most < 0 || i < most) {
				all[c] |= 1 << i
			}
		}
	}
	for n := least; n < lookaheadBytes && (most < 0 || n <= most); n++ {
		for c, bits := range a {
			all[c] |= bits << n & anyBytes[c]
		}
	}
	return &all
}
