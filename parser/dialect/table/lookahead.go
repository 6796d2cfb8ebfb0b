package table

// A lookahead says with which bytes a match may go on: bit i of the entry of a byte is set if the
// byte may be the i-th. So most choices of a match need no second try: at "ttl: 7" the entry of t
// has bit 0 for a pattern that goes on with "time", and that of the second t lacks bit 1.
type lookahead [256]uint8

const lookaheadBytes = 4

// anyBytes allows everything. It is never written to.
var anyBytes = func() *lookahead {
	var a lookahead
	for c := range a {
		a[c] = 1<<lookaheadBytes - 1
	}
	return &a
}()

// allows reports whether the bytes at an offset of a text, which must not be its end, are among
// those that may follow. Close to the end it looks at one byte only.
func (a *lookahead) allows(text []byte, at int) bool {
	if a[text[at]]&1 == 0 {
		return false
	}
	b := text[at:]
	return len(b) < lookaheadBytes || a[b[1]]&2 != 0 && a[b[2]]&4 != 0 && a[b[3]]&8 != 0
}

// add adds what another one allows.
func (a *lookahead) add(o *lookahead) {
	for c, bits := range o {
		a[c] |= bits
	}
}

// behindText returns the lookahead of a text that comes before.
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

// behindRun returns the lookahead of a run that comes before: at least `least` bytes of a set, and
// at most `most` if this is not negative. A nil set has all bytes.
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
