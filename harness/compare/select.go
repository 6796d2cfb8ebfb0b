package compare

import "math"

// kth is the k-th smallest, from 1, of numbers that need not be kept: atMost counts those that are v or less. It halves the
// range of all floating-point numbers in their order, which takes 64 steps at most.
func kth(k int, atMost func(v float64) int) float64 {
	low, high := place(math.Inf(-1)), place(math.Inf(1))
	for low < high {
		middle := low&high + (low^high)>>1 // rounded down, without overflow
		if atMost(at(middle)) >= k {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return at(low)
}

// place numbers the floating-point numbers in their order.
func place(v float64) int64 {
	bits := int64(math.Float64bits(v))
	if bits < 0 {
		return -(bits & math.MaxInt64)
	}
	return bits
}

// at is the number at a place.
func at(place int64) float64 {
	if place < 0 {
		return -math.Float64frombits(uint64(-place))
	}
	return math.Float64frombits(uint64(place))
}

// middle is the median of count numbers.
func middle(count int, atMost func(v float64) int) float64 {
	lower := kth((count+1)/2, atMost)
	if count%2 == 1 {
		return lower
	}
	return lower + (kth(count/2+1, atMost)-lower)/2
}
