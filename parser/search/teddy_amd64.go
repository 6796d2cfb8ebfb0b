package search

import "golang.org/x/sys/cpu"

// teddy is the fastest search function that this processor can run, or nil if it has no AVX2.
//
// The function returns the offset of the first bytes that may be a fingerprint, or of the first
// escape byte, and the number of newlines before it. If the text has neither, found is false and
// `at` is the number of bytes that were searched. This is less than the whole text, because the
// last bytes do not fill a vector.
var teddy = func() func(text []byte, tables *teddyTables) (at, lines int, found bool) {
	switch {
	case cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512BW && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT:
		return teddyVBMI
	case cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT:
		return teddyAVX2
	}
	return nil
}()

//go:noescape
func teddyVBMI(text []byte, tables *teddyTables) (at, lines int, found bool)

//go:noescape
func teddyAVX2(text []byte, tables *teddyTables) (at, lines int, found bool)

// lineEnd is the fastest search for a line's end that this processor can run, or nil if it has no
// AVX2.
//
// The function returns the offset of the first '\n' or '\r', and whether an escape byte precedes
// it. If the text has neither, `at` is the number of bytes that were searched. This is less than
// the whole text, because the last bytes do not fill a vector.
var lineEnd = func() func(text []byte) (at int, escaped bool) {
	if cpu.X86.HasAVX2 {
		return lineEndAVX2
	}
	return nil
}()

//go:noescape
func lineEndAVX2(text []byte) (at int, escaped bool)
