package parser

import "golang.org/x/sys/cpu"

// hasTeddy says whether the processor can do what teddy needs.
var hasTeddy = cpu.X86.HasAVX2

// teddy is the first place where a print may stand. Where none is found, the places before at are searched; fewer than 38
// bytes then follow.
//
//go:noescape
func teddy(text []byte, tables *teddyTables) (at int, found bool)
