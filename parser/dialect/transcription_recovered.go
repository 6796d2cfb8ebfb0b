package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// recoveredNeedles are the needles of what a program says about its own cleanup.
var recoveredNeedles = []string{"y recovered", "y Recovered", "RY RECOVER"}

// recovered are the words that each of the needles is a part of.
const recovered = "memory recovered"

var (
	// recoveredSize matches "7.23GB (97%)" and "7.05 GB of 7.23 GB (97.5 %)", or the size alone.
	recoveredSize = lex.Expression(`(?i)^(?:: ?)?~?(\d[\d.]* ?[KMGT]i?B)(?: of \d[\d.]* ?[KMGT]i?B)?` +
		`(?: \((\d[\d.]*) ?%\))?[\s.)]*$`)
	// recoveredShare matches "97% (7.05GB)", or the share alone.
	recoveredShare = lex.Expression(`(?i)^(?:: ?)?(\d[\d.]*) ?%` +
		`(?: \((\d[\d.]* ?[KMGT]i?B)\))?[\s.)]*$`)
	// ofDevice matches the word before "memory" that says that it is the device's.
	ofDevice = lex.Expression(`(?i)(?:^|\W)(?:GPU|CUDA|VRAM|device)[ _-]$`)
)

// readRecovered reads how much memory a program says that its cleanup gave back:
//
//	Memory recovered: 7.23GB (97%)
//
// Other programs use the words for host memory, a database and more. So the line must give a size
// and a share, name the device, or follow a checkpoint. The parameter needle is the offset of a
// needle.
func readRecovered(l *scan.Line, needle int) (end int) {
	at := needle - len("memor")
	if l.Text[needle] == 'R' { // the needle has a letter more
		at++
	}
	if at < 0 {
		return 0
	}
	behind, ok := cutFold(l.Text[at:], recovered)
	if !ok || l.Head(at).InSource() || source.IsQuoted(l.Text, at) {
		return 0
	}
	text := source.Unquoted(lex.FirstBytes(behind, 128))
	change := record.Change{Header: l.Header(at), Name: record.MemoryRecovered}
	var size, share []byte
	if m := recoveredSize().FindSubmatch(text); m != nil {
		size, share = m[1], m[2]
	} else if m := recoveredShare().FindSubmatch(text); m != nil {
		share, size = m[1], m[2]
	}
	if s, _, ok := lex.CutSize(size, 0); ok {
		change.Set(record.Allocated, s)
	}
	if n, _, ok := lex.CutNumber(share); ok {
		step := lex.Decimal{Digits: 1, Decimals: n.Decimals}
		change.Percent, change.PercentStep = n.Float(), step.Float()
	}
	hasSize, hasShare := change.Len() > 0, change.PercentStep > 0
	switch {
	case !hasSize && !hasShare:
		return 0
	case hasSize && hasShare, ofDevice().Match(l.Text[max(0, at-16):at]), behindCheckpoint(l):
	default:
		return 0
	}
	l.Add(change)
	return len(l.Text)
}

// behindCheckpoint reports whether one of the three lines above is a checkpoint.
func behindCheckpoint(l *scan.Line) bool {
	for n := 1; n <= 3; n++ {
		before, ok := l.Previous(n)
		if ok && bytes.Contains(before, []byte(record.MemoryPrefix)) {
			return true
		}
	}
	return false
}
