package parser

import "golang.org/x/sys/cpu"

func init() {
	if cpu.X86.HasAVX2 {
		teddies["AVX2"] = teddyAVX2
	}
	if cpu.X86.HasAVX512VBMI {
		teddies["VBMI"] = teddyVBMI
	}
}
