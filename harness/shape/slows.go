package shape

import (
	"math"
	"slices"
)

// slowsBy is the share of the growth before it that the growth at the end must reach, if it does
// not slow down. It lies between 1, of a leak, and what fills: the largest of n random values so
// far has ln(55/40)/15 : ln(40/20)/20 = 0.61 in 60 files, and a full cache has 0.
const slowsBy = 0.65

// Slows reports whether growth slows down: whether the last third of the values rises less than
// slowsBy times as fast as the third before it. A cache that fills does, and so does a pool of
// threads of which each needs memory at its first file. A rise is measured between medians, so
// that a few high or low values do not decide. Missing values are left out.
func Slows(values []float64) bool {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	third := len(values) / 3
	if third < 2 {
		return false
	}
	around := third / 2 // values on each side of a boundary
	at := func(i int) float64 {
		return Median(values[max(0, i-around):min(len(values), i+around)])
	}
	end := Median(values[len(values)-around:])
	// From the middle of the second third to that of the last one, and from there to the end, are
	// not the same number of values. So both are rises per value.
	middle, late := len(values)-2*third, len(values)-third
	before := (at(late) - at(middle)) / float64(third)
	after := (end - at(late)) / (float64(third) - float64(around)/2)
	return after < slowsBy*before
}
