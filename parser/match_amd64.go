package parser

import "golang.org/x/sys/cpu"

// hasTeddy says whether the processor can do what teddy needs.
var hasTeddy = cpu.X86.HasAVX2

// teddy is the first place where the print of a needle may stand, and the buckets in which to look for it. Where there is
// none, set is 0 and the places before at are searched; fewer than 36 bytes then follow at.
//
//go:noescape
func teddy(text []byte, tables *teddyTables) (at int, set uint8)
