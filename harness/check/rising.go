package check

import "slices"

// risingBlocks is about how many blocks of consecutive files keepsRising compares.
const risingBlocks = 16

// keepsRising reports whether growth continues in its second half. The files are put into blocks,
// and at least five in six blocks must be higher than the block before. A cache that keeps what
// it took rises too, but more and more rarely: the n-th file is the largest so far with a
// probability of 1/n. A block counts by its lowest value.
func keepsRising(values []float64) bool {
	size := max(1, len(values)/risingBlocks)
	var lowest []float64
	for block := range slices.Chunk(values, size) {
		if len(block) == size {
			lowest = append(lowest, slices.Min(block))
		}
	}
	second := lowest[len(lowest)/2:]
	rises := 0
	for i := range second[1:] {
		if second[i+1] > second[i] {
			rises++
		}
	}
	return 6*rises >= 5*(len(second)-1)
}
