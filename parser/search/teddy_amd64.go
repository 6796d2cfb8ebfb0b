package search

import "golang.org/x/sys/cpu"

// teddy is the fastest search that the processor can do, or nil.
//
// It returns the offset of the first bytes that may be a fingerprint or are an escape, and the
// number of line ends before it. If there are none, `at` is how many bytes were searched: all but
// the last few.
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

// lineEnd is the fastest search for the end of a line that the processor can do, or nil.
//
// It returns the offset of the first '\n' or '\r', and whether an escape is before it. If there is
// none, `at` is how many bytes were searched: all but the last few.
var lineEnd = func() func(text []byte) (at int, escaped bool) {
	if cpu.X86.HasAVX2 {
		return lineEndAVX2
	}
	return nil
}()

//go:noescape
func lineEndAVX2(text []byte) (at int, escaped bool)
