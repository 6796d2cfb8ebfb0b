#include "textflag.h"

// func teddy(text []byte, tables *teddyTables) (at int, set uint8)
//
// One round looks at 32 places: for each of the four bytes of a print, the nibbles of text[at+j:at+j+32] choose from the
// two tables of place j the buckets that have such a byte there; what is left when all eight are and-ed has the whole
// print, up to the mixing of nibbles.
TEXT ·teddy(SB), NOSPLIT, $0-41
	MOVQ text_base+0(FP), SI
	MOVQ text_len+8(FP), CX
	MOVQ tables+24(FP), DX
	VMOVDQU 0(DX), Y8    // place 0, low nibble
	VMOVDQU 32(DX), Y9   // place 0, high nibble
	VMOVDQU 64(DX), Y10
	VMOVDQU 96(DX), Y11
	VMOVDQU 128(DX), Y12
	VMOVDQU 160(DX), Y13
	VMOVDQU 192(DX), Y14
	VMOVDQU 224(DX), Y15
	MOVQ $0x0f0f0f0f0f0f0f0f, AX
	VMOVQ AX, X7
	VPBROADCASTQ X7, Y7
	VPXOR Y6, Y6, Y6
	XORQ AX, AX
	SUBQ $35, CX         // the last place at which a round may begin
	JLT none

round:
	VMOVDQU 0(SI)(AX*1), Y0
	VMOVDQU 1(SI)(AX*1), Y1
	VMOVDQU 2(SI)(AX*1), Y2
	VMOVDQU 3(SI)(AX*1), Y3

	VPSRLW $4, Y0, Y4
	VPAND Y7, Y0, Y0
	VPAND Y7, Y4, Y4
	VPSHUFB Y0, Y8, Y0
	VPSHUFB Y4, Y9, Y4
	VPAND Y4, Y0, Y0

	VPSRLW $4, Y1, Y4
	VPAND Y7, Y1, Y1
	VPAND Y7, Y4, Y4
	VPSHUFB Y1, Y10, Y1
	VPSHUFB Y4, Y11, Y4
	VPAND Y4, Y1, Y1

	VPSRLW $4, Y2, Y4
	VPAND Y7, Y2, Y2
	VPAND Y7, Y4, Y4
	VPSHUFB Y2, Y12, Y2
	VPSHUFB Y4, Y13, Y4
	VPAND Y4, Y2, Y2

	VPSRLW $4, Y3, Y4
	VPAND Y7, Y3, Y3
	VPAND Y7, Y4, Y4
	VPSHUFB Y3, Y14, Y3
	VPSHUFB Y4, Y15, Y4
	VPAND Y4, Y3, Y3

	VPAND Y1, Y0, Y0
	VPAND Y3, Y2, Y2
	VPAND Y2, Y0, Y0
	VPTEST Y0, Y0
	JNZ found

	ADDQ $32, AX
	CMPQ AX, CX
	JLE round

none:
	MOVQ AX, at+32(FP)
	MOVB $0, set+40(FP)
	VZEROUPPER
	RET

found:
	VPCMPEQB Y6, Y0, Y1
	VPMOVMSKB Y1, BX
	NOTL BX
	BSFL BX, BX
	ADDQ BX, AX
	MOVQ AX, at+32(FP)
	// Byte BX of Y0 are the buckets.
	CMPQ BX, $16
	JLT low
	VEXTRACTI128 $1, Y0, X0
	SUBQ $16, BX

low:
	VMOVQ BX, X2
	VPSHUFB X2, X0, X0
	VMOVQ X0, BX
	MOVB BX, set+40(FP)
	VZEROUPPER
	RET
