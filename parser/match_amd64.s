#include "textflag.h"

// func teddy(text []byte, tables *teddyTables) (at int, found bool)
//
// One round looks at 32 places: for each of the six bytes from there on, the nibbles of text[at+j:at+j+32] choose from the
// two tables of place j the buckets that may have such a byte there; what is left when all twelve are and-ed has the whole
// print, up to the mixing of nibbles and of prints. Of those places, the ones go out whose print is not in the filter.
TEXT ·teddy(SB), NOSPLIT, $0-41
	MOVQ text_base+0(FP), SI
	MOVQ text_len+8(FP), CX
	MOVQ tables+24(FP), DX
	VMOVDQU 0(DX), Y4    // place 0, low nibble
	VMOVDQU 32(DX), Y5   // place 0, high nibble
	VMOVDQU 64(DX), Y6
	VMOVDQU 96(DX), Y7
	VMOVDQU 128(DX), Y8
	VMOVDQU 160(DX), Y9
	VMOVDQU 192(DX), Y10
	VMOVDQU 224(DX), Y11
	VMOVDQU 256(DX), Y12
	VMOVDQU 288(DX), Y13
	VMOVDQU 320(DX), Y14
	VMOVDQU 352(DX), Y15
	LEAQ 384(DX), R11    // the filter
	MOVQ $0x0f0f0f0f0f0f0f0f, AX
	VMOVQ AX, X3
	VPBROADCASTQ X3, Y3
	XORQ AX, AX
	SUBQ $37, CX         // the last place at which a round may begin
	JLT none

round:
	VMOVDQU 0(SI)(AX*1), Y1
	VPSRLW $4, Y1, Y2
	VPAND Y3, Y1, Y1
	VPAND Y3, Y2, Y2
	VPSHUFB Y1, Y4, Y1
	VPSHUFB Y2, Y5, Y2
	VPAND Y1, Y2, Y0

	VMOVDQU 1(SI)(AX*1), Y1
	VPSRLW $4, Y1, Y2
	VPAND Y3, Y1, Y1
	VPAND Y3, Y2, Y2
	VPSHUFB Y1, Y6, Y1
	VPSHUFB Y2, Y7, Y2
	VPAND Y1, Y0, Y0
	VPAND Y2, Y0, Y0

	VMOVDQU 2(SI)(AX*1), Y1
	VPSRLW $4, Y1, Y2
	VPAND Y3, Y1, Y1
	VPAND Y3, Y2, Y2
	VPSHUFB Y1, Y8, Y1
	VPSHUFB Y2, Y9, Y2
	VPAND Y1, Y0, Y0
	VPAND Y2, Y0, Y0

	VMOVDQU 3(SI)(AX*1), Y1
	VPSRLW $4, Y1, Y2
	VPAND Y3, Y1, Y1
	VPAND Y3, Y2, Y2
	VPSHUFB Y1, Y10, Y1
	VPSHUFB Y2, Y11, Y2
	VPAND Y1, Y0, Y0
	VPAND Y2, Y0, Y0

	VMOVDQU 4(SI)(AX*1), Y1
	VPSRLW $4, Y1, Y2
	VPAND Y3, Y1, Y1
	VPAND Y3, Y2, Y2
	VPSHUFB Y1, Y12, Y1
	VPSHUFB Y2, Y13, Y2
	VPAND Y1, Y0, Y0
	VPAND Y2, Y0, Y0

	VMOVDQU 5(SI)(AX*1), Y1
	VPSRLW $4, Y1, Y2
	VPAND Y3, Y1, Y1
	VPAND Y3, Y2, Y2
	VPSHUFB Y1, Y14, Y1
	VPSHUFB Y2, Y15, Y2
	VPAND Y1, Y0, Y0
	VPAND Y2, Y0, Y0

	VPTEST Y0, Y0
	JNZ some

next:
	ADDQ $32, AX
	CMPQ AX, CX
	JLE round

none:
	MOVQ AX, at+32(FP)
	MOVB $0, found+40(FP)
	VZEROUPPER
	RET

some:
	VPXOR Y1, Y1, Y1
	VPCMPEQB Y1, Y0, Y1
	VPMOVMSKB Y1, BX
	NOTL BX              // the places that are left, one bit each

place:
	BSFL BX, R8
	ADDQ AX, R8
	MOVL (SI)(R8*1), R9
	IMULL $0x9e3779b1, R9
	SHRL $19, R9         // the print's bit in the filter
	MOVL R9, R10
	SHRL $5, R10
	MOVL (R11)(R10*4), R10
	BTL R9, R10
	JCS found
	LEAL -1(BX), R9
	ANDL R9, BX
	JNZ place
	JMP next

found:
	MOVQ R8, at+32(FP)
	MOVB $1, found+40(FP)
	VZEROUPPER
	RET
