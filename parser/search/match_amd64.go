package search

import "golang.org/x/sys/cpu"

// teddy is the fastest that the processor can do, nil where it can none.
//
// It returns the first place where a print may stand, or an escape does, and the number of line ends before it. Where none is
// found, the places before at are searched, which are all but the last few.
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

// LineBreak returns the offset of the first line end, '\n' or '\r', and whether an escape stands before it; where there is
// none, it is how far the text is looked through, which is all but the last few bytes.
var LineBreak = func() func(text []byte) (at int, escaped bool) {
	if cpu.X86.HasAVX2 {
		return lineBreakAVX2
	}
	return noLineBreak
}()

//go:noescape
func lineBreakAVX2(text []byte) (at int, escaped bool)
