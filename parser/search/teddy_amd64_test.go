//go:build !race

package search

import "golang.org/x/sys/cpu"

func init() {
	if cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT {
		teddies["AVX2"] = teddyAVX2
	}
	if cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512BW && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT {
		teddies["VBMI"] = teddyVBMI
	}
}
