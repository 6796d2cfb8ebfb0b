//go:build whisper

package whisper

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// blocks has, for each ggml type in a model file, how many weights a block contains and how many
// bytes the block takes (ggml-common.h).
var blocks = map[int32]struct{ weights, bytes int64 }{
	0: {1, 4}, 1: {1, 2}, 30: {1, 2}, // F32, F16, BF16
	2: {32, 18}, 3: {32, 20}, 6: {32, 22}, 7: {32, 24}, 8: {32, 34}, // Q4_0, Q4_1, Q5_0, Q5_1, Q8_0
	10: {256, 84}, 11: {256, 110}, 12: {256, 144}, 13: {256, 176}, 14: {256, 210}, // Q2_K to Q6_K
}

// checkTensors refuses a model file of size bytes that ends in the middle of a tensor; whisper.cpp
// does not check the last tensor. If a tensor has a type that checkTensors does not know, it
// returns nil, and whisper.cpp checks the rest.
func checkTensors(f io.ReaderAt, size int64) error {
	cut := fmt.Errorf("ends after %d bytes in the middle of its data; the file is cut off, copy "+
		"or download it again", size)
	at := int64(binary.Size(header{}))
	r := bufio.NewReader(io.NewSectionReader(f, at, size-at))
	number := func() (n uint32, err error) {
		at += 4
		return n, binary.Read(r, binary.LittleEndian, &n)
	}
	skip := func(n int64) error {
		at += n
		if at > size {
			return io.ErrUnexpectedEOF
		}
		_, err := r.Discard(int(n))
		return err
	}
	// The mel filters come first, then the vocabulary.
	bands, _ := number()
	bins, _ := number()
	if skip(4*int64(bands)*int64(bins)) != nil {
		return cut
	}
	words, _ := number()
	for range words {
		length, err := number()
		if err != nil || skip(int64(length)) != nil {
			return cut
		}
	}
	for at < size {
		var t struct{ Dimensions, Name, Type int32 }
		if binary.Read(io.NewSectionReader(f, at, 12), binary.LittleEndian, &t) != nil {
			return cut
		}
		block, known := blocks[t.Type]
		if !known || t.Dimensions < 1 || t.Dimensions > 4 || t.Name < 0 || t.Name > 1<<10 {
			return nil
		}
		shape := make([]int32, t.Dimensions)
		if binary.Read(io.NewSectionReader(f, at+12, 4*int64(len(shape))), binary.LittleEndian,
			shape) != nil {
			return cut
		}
		weights := int64(1)
		for _, n := range shape {
			if n < 1 || int64(n) > 8*size/weights { // too large for the file, whatever the type
				return nil
			}
			weights *= int64(n)
		}
		if at += 12 + 4*int64(len(shape)) + int64(t.Name) +
			weights/block.weights*block.bytes; at > size {
			return cut
		}
	}
	return nil
}
