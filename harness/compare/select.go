package compare

import "math"

// kth returns the k-th smallest of a set of numbers, counted from 1, without having the numbers
// stored. The function atMost returns how many of them are at most v. kth bisects the range of all
// floating-point numbers, which takes at most 64 steps.
func kth(k int, atMost func(v float64) int) float64 {
	low, high := ordinal(math.Inf(-1)), ordinal(math.Inf(1))
	for low < high {
		middle := low&high + (low^high)>>1 // rounded down, without overflow
		if atMost(fromOrdinal(middle)) >= k {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return fromOrdinal(low)
}

// ordinal returns a number for v such that larger floating-point numbers have larger numbers, and
// adjacent ones have adjacent numbers.
func ordinal(v float64) int64 {
	bits := int64(math.Float64bits(v))
	if bits < 0 {
		return -(bits & math.MaxInt64)
	}
	return bits
}

// fromOrdinal returns the floating-point number for which ordinal returns this number.
func fromOrdinal(ordinal int64) float64 {
	if ordinal < 0 {
		return -math.Float64frombits(uint64(-ordinal))
	}
	return math.Float64frombits(uint64(ordinal))
}

// middle returns the median of a set of count numbers. For atMost see [kth].
func middle(count int, atMost func(v float64) int) float64 {
	lower := kth((count+1)/2, atMost)
	if count%2 == 1 {
		return lower
	}
	return lower + (kth(count/2+1, atMost)-lower)/2
}
