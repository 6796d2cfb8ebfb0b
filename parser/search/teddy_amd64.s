#include "textflag.h"

// func teddyAVX2(text []byte, tables *teddyTables) (at, lines int, found bool)
//
// One round looks at 32 offsets. For each of six bytes, the half bytes of text[at+j:at+j+32] select
// from the two tables of byte j the buckets that may have such a byte. The AND of all twelve has a
// bit for each bucket with a fingerprint there, or with a mixture of its fingerprints. Offsets whose
// four bytes are not in the filter are then dropped. Escapes count as found. Line ends are counted on
// the way.
TEXT ·teddyAVX2(SB), NOSPLIT, $0-49
	MOVQ text_base+0(FP), SI
	MOVQ text_len+8(FP), CX
	MOVQ tables+24(FP), DX
	VMOVDQU 0(DX), Y4    // byte 0, low nibble
	VMOVDQU 32(DX), Y5   // byte 0, high nibble
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
	XORQ R12, R12        // line ends
	XORQ AX, AX
	SUBQ $37, CX         // the last offset at which a round may begin
	JLT none

round:
	VMOVDQU 0(SI)(AX*1), Y1
	VPCMPEQB 1792(DX), Y1, Y0
	VPMOVMSKB Y0, R13    // line ends, one bit each
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

	VMOVDQU 0(SI)(AX*1), Y1
	VPCMPEQB 1856(DX), Y1, Y1 // escapes
	VPOR Y1, Y0, Y0
	VPTEST Y0, Y0
	JNZ some

next:
	POPCNTL R13, R13
	ADDQ R13, R12
	ADDQ $32, AX
	CMPQ AX, CX
	JLE round

none:
	MOVQ AX, at+32(FP)
	MOVQ R12, lines+40(FP)
	MOVB $0, found+48(FP)
	VZEROUPPER
	RET

some:
	VPXOR Y1, Y1, Y1
	VPCMPEQB Y1, Y0, Y1
	VPMOVMSKB Y1, BX
	NOTL BX              // a bit for each offset that is left

place:
	BSFL BX, R8
	ADDQ AX, R8
	MOVL (SI)(R8*1), R9
	CMPB R9, $0x1b
	JEQ found
	IMULL $0x9e3779b1, R9
	SHRL $19, R9         // the fingerprint's bit in the filter
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
	MOVQ R8, CX
	SUBQ AX, CX
	MOVL $1, R9
	SHLL CX, R9
	DECL R9
	ANDL R9, R13         // those before
	POPCNTL R13, R13
	ADDQ R13, R12
	MOVQ R12, lines+40(FP)
	MOVB $1, found+48(FP)
	VZEROUPPER
	RET

// func teddyVBMI(text []byte, tables *teddyTables) (at, lines int, found bool)
//
// Like teddyAVX2, with 64 offsets in a round. VPERMB looks a byte up by its low six bits in one table
// of 64, in place of both half bytes. The last rounds load only what the text has, so that all offsets
// are searched.
TEXT ·teddyVBMI(SB), NOSPLIT, $0-49
	MOVQ text_base+0(FP), SI
	MOVQ text_len+8(FP), CX
	MOVQ tables+24(FP), DX
	LEAQ 384(DX), R11        // the filter
	VMOVDQU64 1408(DX), Z4   // byte 0
	VMOVDQU64 1472(DX), Z5
	VMOVDQU64 1536(DX), Z6
	VMOVDQU64 1600(DX), Z7
	VMOVDQU64 1664(DX), Z8
	VMOVDQU64 1728(DX), Z9
	VMOVDQU64 1792(DX), Z16  // line ends
	VMOVDQU64 1856(DX), Z17  // escapes
	XORQ R14, R14            // how many line ends
	XORQ AX, AX
	SUBQ $69, CX             // the last offset at which a whole round may begin
	JLT tail

round:
	PREFETCHT0 512(SI)(AX*1) // the text comes from the second cache, and a fifth of the time was waiting for it
	VMOVDQU64 0(SI)(AX*1), Z10
	VMOVDQU64 1(SI)(AX*1), Z11
	VMOVDQU64 2(SI)(AX*1), Z12
	VMOVDQU64 3(SI)(AX*1), Z13
	VMOVDQU64 4(SI)(AX*1), Z14
	VMOVDQU64 5(SI)(AX*1), Z15
	VPCMPEQB Z16, Z10, K2
	VPCMPEQB Z17, Z10, K3
	KMOVQ K2, R15            // line ends, one bit each
	VPERMB Z4, Z10, Z10
	VPERMB Z5, Z11, Z11
	VPERMB Z6, Z12, Z12
	VPERMB Z7, Z13, Z13
	VPERMB Z8, Z14, Z14
	VPERMB Z9, Z15, Z15
	VPTERNLOGD $0x80, Z10, Z11, Z12 // all three
	VPTERNLOGD $0x80, Z13, Z14, Z15
	VPTESTMB Z12, Z15, K1
	KORQ K1, K3, K1
	KMOVQ K1, BX             // a bit for each offset that is left
	TESTQ BX, BX
	JNZ place

next:
	POPCNTQ R15, R15
	ADDQ R15, R14
	ADDQ $64, AX
	CMPQ AX, CX
	JLE round

tail:
	MOVQ CX, R12
	ADDQ $69, R12
	SUBQ AX, R12             // bytes that are left, 68 at most
	CMPQ R12, $4
	JLT none
	MOVQ $-1, DI
	BZHIQ R12, DI, R13
	KMOVQ R13, K1
	VMOVDQU8.Z 0(SI)(AX*1), K1, Z10
	LEAQ -1(R12), R13
	BZHIQ R13, DI, R13
	KMOVQ R13, K1
	VMOVDQU8.Z 1(SI)(AX*1), K1, Z11
	LEAQ -2(R12), R13
	BZHIQ R13, DI, R13
	KMOVQ R13, K1
	VMOVDQU8.Z 2(SI)(AX*1), K1, Z12
	LEAQ -3(R12), R13
	BZHIQ R13, DI, R13
	KMOVQ R13, K2            // also the offsets at which four bytes are left
	VMOVDQU8.Z 3(SI)(AX*1), K2, Z13
	LEAQ -4(R12), R13
	BZHIQ R13, DI, R13
	KMOVQ R13, K1
	VMOVDQU8.Z 4(SI)(AX*1), K1, Z14
	SHRQ $1, R13
	KMOVQ R13, K1
	VMOVDQU8.Z 5(SI)(AX*1), K1, Z15
	VPCMPEQB Z16, Z10, K2, K1
	VPCMPEQB Z17, Z10, K2, K3
	KMOVQ K1, R15
	VPERMB Z4, Z10, Z10
	VPERMB Z5, Z11, Z11
	VPERMB Z6, Z12, Z12
	VPERMB Z7, Z13, Z13
	VPERMB Z8, Z14, Z14
	VPERMB Z9, Z15, Z15
	VPTERNLOGD $0x80, Z10, Z11, Z12
	VPTERNLOGD $0x80, Z13, Z14, Z15
	VPTESTMB Z12, Z15, K2, K1
	KORQ K1, K3, K1
	KMOVQ K1, BX
	TESTQ BX, BX
	JZ next

place:
	BSFQ BX, R8
	ADDQ AX, R8
	MOVL (SI)(R8*1), R9
	CMPB R9, $0x1b
	JEQ found
	IMULL $0x9e3779b1, R9
	SHRL $19, R9
	MOVL R9, R10
	SHRL $5, R10
	MOVL (R11)(R10*4), R10
	BTL R9, R10
	JCS found
	LEAQ -1(BX), R9
	ANDQ R9, BX
	JNZ place
	JMP next

none:
	ADDQ $66, CX             // all but the last three bytes are searched
	XORQ AX, AX
	CMPQ CX, AX
	CMOVQGT CX, AX
	MOVQ AX, at+32(FP)
	MOVQ R14, lines+40(FP)
	MOVB $0, found+48(FP)
	VZEROUPPER
	RET

found:
	MOVQ R8, at+32(FP)
	SUBQ AX, R8
	BZHIQ R8, R15, R15       // those before
	POPCNTQ R15, R15
	ADDQ R15, R14
	MOVQ R14, lines+40(FP)
	MOVB $1, found+48(FP)
	VZEROUPPER
	RET

// func lineEndAVX2(text []byte) (at int, escaped bool)
TEXT ·lineEndAVX2(SB), NOSPLIT, $0-33
	MOVQ text_base+0(FP), SI
	MOVQ text_len+8(FP), CX
	MOVQ $0x0a0a0a0a0a0a0a0a, AX
	VMOVQ AX, X1
	VPBROADCASTQ X1, Y1
	MOVQ $0x0d0d0d0d0d0d0d0d, AX
	VMOVQ AX, X2
	VPBROADCASTQ X2, Y2
	MOVQ $0x1b1b1b1b1b1b1b1b, AX
	VMOVQ AX, X3
	VPBROADCASTQ X3, Y3
	XORQ AX, AX
	XORL DX, DX          // escapes so far, one bit each
	SUBQ $32, CX         // the last offset at which a round may begin
	JLT none

round:
	VMOVDQU (SI)(AX*1), Y0
	VPCMPEQB Y0, Y1, Y4
	VPCMPEQB Y0, Y2, Y5
	VPCMPEQB Y0, Y3, Y6
	VPOR Y4, Y5, Y4
	VPMOVMSKB Y4, BX
	VPMOVMSKB Y6, R8
	TESTL BX, BX
	JNZ found
	ORL R8, DX
	ADDQ $32, AX
	CMPQ AX, CX
	JLE round

none:
	MOVQ AX, at+24(FP)
	TESTL DX, DX
	SETNE escaped+32(FP)
	VZEROUPPER
	RET

found:
	MOVL BX, R9
	NEGL R9
	ANDL BX, R9
	DECL R9
	ANDL R9, R8          // those before
	ORL R8, DX
	BSFL BX, BX
	ADDQ BX, AX
	JMP none
